package cpu

import "pretext/trainer"

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
func (e *encoder[T]) behindAttention(b *trainer.Batch, layer int) rowset {
	if e.selected.All || layer < len(e.layers)-1 {
		return rowset{n: b.Tokens()}
	}
	return rowset{len(e.selected.Rows), e.selected.Rows}
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
