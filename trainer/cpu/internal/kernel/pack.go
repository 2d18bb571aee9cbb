package kernel

// slack is the number of elements after a packed block that packing in groups of
// eight may overwrite.
const slack = 8

// An area is the rows [row, row+rows) and columns [column, column+columns) of a
// matrix.
type area struct{ row, rows, column, columns int }

// pack packs an area of m into panels of width rows:
// dst[panel*width*columns + p*width + i] is row panel*width+i, column p. Rows
// past the end are zero.
func (s *Set[T]) pack(dst []T, m Matrix[T], a area, width int) {
	for i := 0; i < a.rows; i += width {
		part := area{a.row + i, min(width, a.rows-i), a.column, a.columns}
		panel := dst[i*a.columns:]
		if part.rows == width && s.packFast(panel, m, part, width) {
			continue
		}
		packPlain(panel[:width*a.columns], m, part, width)
	}
}

func packPlain[T Float](panel []T, m Matrix[T], a area, width int) {
	if a.rows < width {
		clear(panel)
	}
	if m.Trans {
		for p := range a.columns {
			at := (a.column+p)*m.Stride + a.row
			copy(panel[p*width:p*width+a.rows], m.Data[at:at+a.rows])
		}
		return
	}
	for r := range a.rows {
		at := (a.row+r)*m.Stride + a.column
		for p, v := range m.Data[at : at+a.columns] {
			panel[p*width+r] = v
		}
	}
}

// packFast packs a full panel in groups of eight rows, if the set supports it
// and m has enough memory after the area. If the width is not a multiple of
// eight, the last group overlaps the one before. A width below eight reads two
// extra rows and writes them to the place of the next column, or to the slack.
func (s *Set[T]) packFast(panel []T, m Matrix[T], a area, width int) bool {
	if s.Transpose8 == nil || len(panel) < width*a.columns+slack && width%8 != 0 {
		return false
	}
	if width < 8 && m.end(area{a.row, 8, a.column, a.columns}) > len(m.Data) {
		return false
	}
	if m.Trans && width == s.NR {
		s.CopyPanels(panel, width, m.Data[a.column*m.Stride+a.row:], m.Stride, a.columns)
		return true
	}
	for group := 0; group < width; group += 8 {
		first := max(0, min(group, width-8))
		s.packEight(panel[first:], m, area{a.row + first, 8, a.column, a.columns}, width)
	}
	return true
}

// end returns the minimum length of m.Data for the area to be inside.
func (m Matrix[T]) end(a area) int {
	if m.Trans {
		return (a.column+a.columns-1)*m.Stride + a.row + a.rows
	}
	return (a.row+a.rows-1)*m.Stride + a.column + a.columns
}

func (s *Set[T]) packEight(dst []T, m Matrix[T], a area, width int) {
	if m.Trans {
		s.CopyEights(dst, width, m.Data[a.column*m.Stride+a.row:], m.Stride, a.columns)
		return
	}
	src := m.Data[a.row*m.Stride+a.column:]
	whole := a.columns &^ 7
	s.Transpose8(dst, width, src, m.Stride, whole)
	for p := whole; p < a.columns; p++ {
		for r := range min(8, width) {
			dst[p*width+r] = src[r*m.Stride+p]
		}
	}
}
