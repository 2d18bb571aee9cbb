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

// A Picker reads examples by number. It keeps one file open and one block of it
// in memory, so that reading nearby examples is fast. It must not be used by
// several goroutines at once. Close it after use.
type Picker struct {
	index   *Index
	example records.Example
	frame   []byte

	number int        // of the open file
	file   store.File // nil: none is open
	block  int        // block in memory; -1: none
	window window
}

// NewPicker returns a Picker of the index.
func (x *Index) NewPicker() *Picker { return &Picker{index: x} }

// Close closes the open file.
func (p *Picker) Close() error {
	if p.file == nil {
		return nil
	}
	file := p.file
	p.file = nil
	return file.Close()
}

// At returns the example with the given number, from 0 to [Index.Len]-1,
// counted over all selected files in order. The example is valid until the next
// call. At verifies the checksum and returns the same kinds of errors as
// [Shards.Examples]. It panics if the number is out of range.
func (p *Picker) At(ctx context.Context, number int64) (Record, error) {
	x := p.index
	if number < 0 || number >= x.total {
		panic(fmt.Sprintf("BUG: example %d of %d", number, x.total))
	}
	// Find the last file whose first example has at most this number. A file
	// without records has the same first number as the file after it.
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

// use opens file i, unless it is open.
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

// load reads the block with the given number of the open file, unless it is in
// memory. from is the start of the block, to the start of the next block.
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

// decode skips records of the block, starting at record.Offset, and decodes the
// record after them.
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

// A window is a part of a file in memory, addressed by file offsets.
type window struct {
	offset int64
	data   []byte
}

// frame returns the frame length in the unverified header at an offset; ok is
// false if the frame is not within the window.
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

// ReadAt reads from the window. It returns io.EOF outside the window.
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
