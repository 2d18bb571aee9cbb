package mds

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"pretext/records/columns"
)

// maxRowBytes is the maximum size of a row, both for writing and for reading.
const maxRowBytes = 1 << 30

// A listWriter writes rows with lists of any length. It holds the rows of a file in memory,
// since the file has the offsets of all rows before the first row.
type listWriter struct {
	*writer
	rows []byte
	ends []uint32 // end of each row in rows
}

func (w *listWriter) Write(row []columns.Value) error {
	if err := columns.CheckRow(w.schema, row); err != nil {
		return err
	}
	w.row = w.appendRow(w.row[:0], row)
	if len(w.row) > maxRowBytes {
		return fmt.Errorf("%s: a row of %d bytes, the maximum in an MDS file is %d", w.part.Stem, len(w.row), maxRowBytes)
	}
	if w.written == w.part.Rows {
		return fmt.Errorf("%s: more rows than the %d that were announced", w.part.Stem, w.part.Rows)
	}
	if len(w.ends) > 0 && w.size()+len(w.row)+4 > listFileBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.rows = append(w.rows, w.row...)
	w.ends = append(w.ends, uint32(len(w.rows)))
	w.written++
	return nil
}

// size returns the uncompressed size of the current file.
func (w *listWriter) size() int {
	return 4 + 4*(len(w.ends)+1) + len(w.head) + len(w.rows)
}

// flush writes a file with the rows in memory.
func (w *listWriter) flush() error {
	if err := w.open(int64(w.size())); err != nil {
		return err
	}
	first := w.size() - len(w.rows)
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(w.ends)))
	b = binary.LittleEndian.AppendUint32(b, uint32(first))
	for _, end := range w.ends {
		b = binary.LittleEndian.AppendUint32(b, uint32(first)+end)
	}
	for _, part := range [][]byte{b, w.head, w.rows} {
		if err := w.emit(part); err != nil {
			return err
		}
	}
	n := len(w.ends)
	w.rows, w.ends = w.rows[:0], w.ends[:0]
	return w.end(int64(n))
}

func (w *listWriter) Close() ([]columns.File, error) {
	if len(w.ends) > 0 {
		if err := w.flush(); err != nil {
			return nil, err
		}
	}
	return w.writer.Close()
}

// appendRow appends the sizes of the lists of a row, then its values.
func (l *layout) appendRow(dst []byte, row []columns.Value) []byte {
	for _, i := range l.order {
		if c := l.schema[i]; asList(c) {
			n := len(row[i].Ints) + len(row[i].Floats)
			dst = binary.LittleEndian.AppendUint32(dst, uint32(shapeBytes(c, n)+c.Type.Size()*n))
		}
	}
	for _, i := range l.order {
		if shapeBytes(l.schema[i], 1) > 0 {
			dst = appendShape(dst, len(row[i].Ints)+len(row[i].Floats))
		}
		dst = columns.AppendLittle(dst, l.schema[i].Type, row[i])
	}
	return dst
}

// shapeBytes returns the size of the shape of n values of a column.
func shapeBytes(c columns.Column, n int) int {
	if c.Plain || c.Len != 0 {
		return 0
	}
	return 1 + lengthBytes(n)
}

// lengthBytes returns the number of bytes in which the length of a list of n values is
// stored.
func lengthBytes(n int) int {
	switch {
	case n < 1<<8:
		return 1
	case n < 1<<16:
		return 2
	}
	return 4
}

// appendShape appends the shape of an array with one dimension and n values.
func appendShape(dst []byte, n int) []byte {
	size := lengthBytes(n)
	dst = append(dst, byte(1<<2|bits.TrailingZeros(uint(size))))
	for i := range size {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst
}

// listRows reads the rest of a file of n rows with lists, after the count.
func (r *reader) listRows(b *bufio.Reader, n int64) error {
	ends, err := r.listHead(b, n)
	if err != nil {
		return err
	}
	values := columns.NewRow(r.schema)
	var row []byte
	for i := range n {
		size := int64(ends[i+1]) - int64(ends[i])
		if size < 1 || size > maxRowBytes {
			return fmt.Errorf("%w: a row of %d bytes", columns.ErrCorrupt, size)
		}
		if row, err = readRow(b, row[:0], size); err != nil {
			return broken(err)
		}
		if !r.parseRow(row, values) {
			return fmt.Errorf("%w: row %d is not one of its columns", columns.ErrCorrupt, r.rows)
		}
		r.rows++
		if r.stopped = !r.yield(values, nil); r.stopped {
			return nil
		}
	}
	if _, err := b.ReadByte(); err != io.EOF {
		return fmt.Errorf("%w: data after the last row", columns.ErrCorrupt)
	}
	return nil
}

// listHead reads everything between the count and the rows of a file of n rows. It returns
// n+1 offsets: the start of the first row and the end of each row.
func (r *reader) listHead(b *bufio.Reader, n int64) (ends []uint32, err error) {
	if n == 0 || n > r.want-r.rows {
		return nil, fmt.Errorf("%w: %d rows in a file of a part with %d", columns.ErrCorrupt, n, r.want)
	}
	var four [4]byte
	for range n + 1 {
		if _, err := io.ReadFull(b, four[:]); err != nil {
			return nil, broken(err)
		}
		ends = append(ends, binary.LittleEndian.Uint32(four[:]))
	}
	head := make([]byte, len(r.head))
	if _, err := io.ReadFull(b, head); err != nil {
		return nil, broken(err)
	}
	if string(head) != string(r.head) || int64(ends[0]) != 4+4*(n+1)+int64(len(head)) {
		return nil, fmt.Errorf("%w: columns or offsets that differ from those of the data set", columns.ErrCorrupt)
	}
	return ends, nil
}

// readRow reads size bytes. It allocates at most about twice the memory of the bytes that
// in really has.
func readRow(in io.Reader, row []byte, size int64) ([]byte, error) {
	for size > 0 {
		n := min(size, max(1<<20, int64(len(row))))
		from := len(row)
		row = append(row, make([]byte, n)...)
		if _, err := io.ReadFull(in, row[from:]); err != nil {
			return row, err
		}
		size -= n
	}
	return row, nil
}

// parseRow decodes a row that appendRow wrote. It returns false if the row is corrupt.
func (r *reader) parseRow(row []byte, values []columns.Value) bool {
	rest, ok := r.parseSizes(row, values)
	if !ok {
		return false
	}
	for _, i := range r.order {
		if shapeBytes(r.schema[i], 1) > 0 {
			shape := appendShape(nil, len(values[i].Ints)+len(values[i].Floats))
			if string(rest[:len(shape)]) != string(shape) {
				return false
			}
			rest = rest[len(shape):]
		}
		rest = columns.ReadLittle(rest, r.schema[i].Type, values[i])
	}
	return true
}

// parseSizes reads the sizes of the lists of a row, resizes values to them and returns the
// rest of row. ok is false if these sizes do not match the size of the row.
func (r *reader) parseSizes(row []byte, values []columns.Value) (rest []byte, ok bool) {
	left := len(row)
	for _, c := range r.schema {
		if asList(c) {
			left -= 4 // the size of the list
		} else {
			left -= c.Type.Size() * c.Len
		}
	}
	rest = row
	for _, i := range r.order {
		if !asList(r.schema[i]) {
			continue
		}
		if left < 0 || len(rest) < 4 {
			return nil, false
		}
		size := int(binary.LittleEndian.Uint32(rest))
		rest = rest[4:]
		n := listLength(r.schema[i], size)
		if left -= size; n < 1 || left < 0 {
			return nil, false
		}
		values[i].Resize(r.schema[i], n)
	}
	return rest, left == 0
}

// listLength returns the number of values of a column that take size bytes with their
// shape; 0 if no values have this size.
func listLength(c columns.Column, size int) int {
	width := c.Type.Size()
	for _, shape := range []int{0, 2, 3, 5} {
		n := (size - shape) / width
		if n > 0 && (size-shape)%width == 0 && shapeBytes(c, n) == shape && (c.Len == 0 || n == c.Len) {
			return n
		}
	}
	return 0
}
