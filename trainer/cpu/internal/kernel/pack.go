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

// packFast packs a full panel in groups of rows, if the set supports it and m has enough
// memory after the area. If the width is not a multiple of a group's, the last group overlaps
// the one before. A width below that of a group reads two extra rows and writes them to the
// place of the next column, or to the slack.
func (s *Set[T]) packFast(panel []T, m Matrix[T], a area, width int) bool {
	if s.Transpose8 == nil || len(panel) < width*a.columns+slack && width%8 != 0 {
		return false
	}
	group := 8
	if m.Trans {
		group = s.CopyWidth
	}
	if width < group && m.end(area{a.row, group, a.column, a.columns}) > len(m.Data) {
		return false
	}
	if m.Trans && width == s.NR {
		s.CopyPanels(panel, width, m.Data[a.column*m.Stride+a.row:], m.Stride, a.columns)
		return true
	}
	for first := 0; first < width; first += group {
		at := max(0, min(first, width-group))
		s.packGroup(panel[at:], m, area{a.row + at, group, a.column, a.columns}, width)
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

func (s *Set[T]) packGroup(dst []T, m Matrix[T], a area, width int) {
	if m.Trans {
		s.CopyTiles(dst, width, m.Data[a.column*m.Stride+a.row:], m.Stride, a.columns)
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
