package loader

import (
	"context"
	"fmt"
	"slices"

	"pretext/records/tfrecord"
)

// A trainWindow holds the records of one window of an order in memory.
type trainWindow struct {
	epoch  int64
	number int // -1: none
	order  []int32
	frames []place // in the order of the spans
	parts  []window
	file   []int // of each part
	buf    []byte
}

// A place is where a record lies: in which part, and where in its file.
type place struct {
	part   int32
	length int32 // of the frame
	offset int64
	index  int64 // number in its file
}

// load reads a window of the order, if it is not the one that is there.
func (w *trainWindow) load(ctx context.Context, x *Index, o *order, number int) error {
	if w.number == number && w.epoch == o.epoch {
		return nil
	}
	w.number = -1
	w.frames, w.parts, w.file = w.frames[:0], w.parts[:0], w.file[:0]
	need := int64(0)
	for _, s := range o.windowSpans(number) {
		need += x.bytes(o.spans[s])
	}
	w.buf = slices.Grow(w.buf[:0], int(need))
	for _, s := range o.windowSpans(number) {
		if err := w.read(ctx, x, o.spans[s]); err != nil {
			return err
		}
	}
	w.order, w.number, w.epoch = o.windowOrder(number), number, o.epoch
	return nil
}

func (x *Index) bytes(s span) int64 {
	blocks := x.files[s.file].blocks
	return blocks[s.to].offset - blocks[s.from].offset
}

// read appends a span and finds its records.
func (w *trainWindow) read(ctx context.Context, x *Index, s span) error {
	f, blocks := &x.shards.files[s.file], x.files[s.file].blocks
	file, err := x.shards.open(ctx, f)
	if err != nil {
		return err
	}
	defer file.Close()
	start := len(w.buf)
	n := int(x.bytes(s))
	w.buf = w.buf[:start+n]
	at := Record{File: f.Path, Index: blocks[s.from].record, Offset: blocks[s.from].offset}
	part := window{offset: at.Offset, data: w.buf[start:]}
	if m, err := file.ReadAt(part.data, at.Offset); m < n {
		return at.fault(fmt.Errorf("read %d bytes: %w", n, err))
	}
	w.parts, w.file = append(w.parts, part), append(w.file, s.file)
	for ; at.Index < blocks[s.to].record; at.Index++ {
		length, ok := part.frame(at.Offset)
		if !ok {
			return at.fault(&tfrecord.CorruptError{Offset: at.Offset, Record: at.Index, Reason: "not the record that the index says"})
		}
		w.frames = append(w.frames, place{int32(len(w.parts) - 1), int32(length), at.Offset, at.Index})
		at.Offset += length
	}
	if at.Offset != blocks[s.to].offset {
		return at.fault(&tfrecord.CorruptError{Offset: at.Offset, Record: at.Index, Reason: "the index says that it begins elsewhere"})
	}
	return nil
}

// at decodes the record at an index of the window.
func (w *trainWindow) at(x *Index, index int64, record *Record, frame *[]byte) error {
	p := w.frames[w.order[index]]
	record.File, record.Index, record.Offset = x.shards.files[w.file[p.part]].Path, p.index, p.offset
	if cap(*frame) < int(p.length) {
		*frame = make([]byte, 2*p.length)
	}
	payload, err := tfrecord.ReadAt(&w.parts[p.part], tfrecord.Span{Offset: p.offset, Length: int64(p.length)}, *frame)
	if err != nil {
		return record.fault(err)
	}
	if err := x.shards.decode(payload, record.Example); err != nil {
		return record.fault(err)
	}
	return nil
}
