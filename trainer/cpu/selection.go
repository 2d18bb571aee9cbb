package cpu

import "pretext/trainer"

// A rowset lists the rows of the batch that are the rows of a matrix, in order.
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

// behindAttention returns the rows for which the rest of a layer, after its attention, is
// computed: the selected rows in the last layer, all rows in other layers.
func (e *encoder[T]) behindAttention(b *trainer.Batch, layer int) rowset {
	if e.selected.All || layer < len(e.layers)-1 {
		return rowset{n: b.Tokens()}
	}
	return rowset{len(e.selected.Rows), e.selected.Rows}
}

// gather moves the rows in s to the front of x, which has all rows.
func gather[T any](x []T, s rowset, width int) {
	for r := range s.rows {
		copy(x[r*width:(r+1)*width], x[s.row(r)*width:])
	}
}

// spread reverses gather: it moves the rows at the front of x to their places among t rows,
// and sets all other rows to zero.
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
