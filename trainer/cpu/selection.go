package cpu

import "pretext/trainer"

// A selection is the set of rows of the encoder's output that something reads:
// masked tokens, and the first token of each sequence if there is a pooler.
// After its attention, the last layer is computed only for these rows: there no
// row depends on another, and the gradients of the others are zero. A span head
// reads every row, so there is nothing to save.
type selection struct {
	all   bool
	rows  []int32 // ascending rows of the batch, one for each row of the output
	place []int32 // (T) index in the output of a row of the batch, if selected
}

// choose selects the rows that the heads h and the wanted outputs read.
func (s *selection) choose(b *trainer.Batch, h trainer.Heads, want trainer.Output) {
	s.rows = s.rows[:0]
	if s.all = h.Span || want&trainer.OutputHidden != 0; s.all {
		return
	}
	const read = -1
	place := s.place[:b.Tokens()]
	clear(place)
	if h.MLM {
		for _, r := range b.MaskedIndex {
			place[r] = read
		}
	}
	if h.Pooled() {
		for _, r := range b.CuSeqlens[:b.Sequences()] {
			place[r] = read
		}
	}
	for r, p := range place {
		if p == read {
			place[r] = int32(len(s.rows))
			s.rows = append(s.rows, int32(r))
		}
	}
}

// at returns the index in the output of a selected row of the batch.
func (s *selection) at(row int32) int {
	if s.all {
		return int(row)
	}
	return int(s.place[row])
}

// A rowset is the list of batch rows that a matrix has, in order.
type rowset struct {
	n    int
	rows []int32 // nil: all
}

// row returns the batch row of the matrix's row r.
func (s rowset) row(r int) int {
	if s.rows == nil {
		return r
	}
	return int(s.rows[r])
}

// behindAttention returns the rows for which a layer is computed after its
// attention: the selected rows in the last layer, all rows in the others.
func (m *model[T]) behindAttention(b *trainer.Batch, layer int) rowset {
	if m.a.selected.all || layer < len(m.p.blocks)-1 {
		return rowset{n: b.Tokens()}
	}
	return rowset{len(m.a.selected.rows), m.a.selected.rows}
}

// gather moves the rows of a set to the front of x, which has all rows.
func gather[T any](x []T, s rowset, width int) {
	for r := range s.rows {
		copy(x[r*width:(r+1)*width], x[s.row(r)*width:])
	}
}

// spread reverses gather: it moves rows from the front of x to their places
// among t rows and sets all others to zero.
func spread[T any](x []T, s rowset, t, width int) {
	if s.rows == nil {
		return
	}
	end := t
	for r := s.n - 1; r >= 0; r-- {
		row := s.row(r)
		clear(x[(row+1)*width : end*width])
		copy(x[row*width:(row+1)*width], x[r*width:])
		end = row
	}
	clear(x[:end*width])
}
