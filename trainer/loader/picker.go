package loader

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sort"

	"pretext/internal/store"
	"pretext/records"
	"pretext/records/tfrecord"
)

// A Picker reads examples by their number. It keeps one file open and one block
// of it in memory, so that neighbours cost little. It is for one goroutine;
// close it at the end.
type Picker struct {
	index   *Index
	example records.Example
	frame   []byte

	number int        // of the file that is open
	file   store.File // nil: none
	block  int        // in that file; -1: none is read
	window window
}

// NewPicker returns a reader of single examples.
func (x *Index) NewPicker() *Picker { return &Picker{index: x} }

// Close closes the file that is open.
func (p *Picker) Close() error {
	if p.file == nil {
		return nil
	}
	file := p.file
	p.file = nil
	return file.Close()
}

// At returns the example of a number, from 0 to [Index.Len] less 1, counted over
// all selected files in their order; it is valid until the next call. Its
// checksum is verified; errors are those of [Shards.Examples]. A number outside
// is a programming mistake and panics.
func (p *Picker) At(ctx context.Context, number int64) (Record, error) {
	x := p.index
	if number < 0 || number >= x.total {
		panic(fmt.Sprintf("BUG: example %d of %d", number, x.total))
	}
	// The last file that begins at or before the number: one without records
	// begins where the next does.
	i := sort.Search(len(x.files), func(i int) bool { return x.files[i].first > number }) - 1
	in := &x.files[i]
	record := Record{File: x.shards.files[i].Path, Index: number - in.first, Example: &p.example}
	b := sort.Search(len(in.blocks), func(b int) bool { return in.blocks[b].record > record.Index }) - 1
	record.Offset = in.blocks[b].offset
	if err := p.use(ctx, i); err != nil {
		return Record{}, err
	}
	if err := p.load(b, in.blocks[b], in.blocks[b+1]); err != nil {
		return Record{}, record.fault(err)
	}
	if err := p.decode(&record, record.Index-in.blocks[b].record); err != nil {
		return Record{}, record.fault(err)
	}
	return record, nil
}

// use opens file i, if it is not open.
func (p *Picker) use(ctx context.Context, i int) error {
	if p.file != nil && p.number == i {
		return ctx.Err()
	}
	if err := p.Close(); err != nil {
		return err
	}
	file, err := p.index.shards.open(ctx, &p.index.shards.files[i])
	if err != nil {
		return err
	}
	p.file, p.number, p.block = file, i, -1
	return nil
}

// load reads a block, if it is not the one that is there.
func (p *Picker) load(number int, from, to block) error {
	if p.block == number {
		return nil
	}
	p.block = -1
	n := int(to.offset - from.offset)
	if cap(p.window.data) < n {
		p.window.data = make([]byte, max(n, blockBytes))
	}
	p.window.data, p.window.offset = p.window.data[:n], from.offset
	if m, err := p.file.ReadAt(p.window.data, from.offset); m < n {
		return fmt.Errorf("read %d bytes: %w", n, err)
	}
	p.block = number
	return nil
}

// decode goes over skip records of the block and decodes the next one.
func (p *Picker) decode(record *Record, skip int64) error {
	for ; ; skip-- {
		n, ok := p.window.frame(record.Offset)
		if !ok {
			return &tfrecord.CorruptError{Offset: record.Offset, Record: record.Index - skip, Reason: "not the record that the index says"}
		}
		if skip > 0 {
			record.Offset += n
			continue
		}
		if int64(cap(p.frame)) < n {
			p.frame = make([]byte, 2*n) // n bytes are in the window
		}
		payload, err := tfrecord.ReadAt(&p.window, tfrecord.Span{Offset: record.Offset, Length: n}, p.frame)
		if err != nil {
			return err
		}
		return p.index.shards.decode(payload, record.Example)
	}
}

// A window is a part of a file in memory, addressed as the file is.
type window struct {
	offset int64
	data   []byte
}

// frame returns the length of the frame at an offset, by its header, which is
// yet to be checked; ok is false when it does not lie within the window.
func (w *window) frame(offset int64) (n int64, ok bool) {
	rest := w.data[offset-w.offset:]
	if len(rest) < tfrecord.FrameBytes {
		return 0, false
	}
	length := binary.LittleEndian.Uint64(rest)
	if length > math.MaxInt32 || int(length) > len(rest)-tfrecord.FrameBytes {
		return 0, false
	}
	return tfrecord.FrameBytes + int64(length), true
}

// ReadAt reads from the window; what lies outside is the end of the file.
func (w *window) ReadAt(b []byte, offset int64) (int, error) {
	if offset < w.offset || offset-w.offset > int64(len(w.data)) {
		return 0, io.EOF
	}
	n := copy(b, w.data[offset-w.offset:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
