package loader

import (
	"context"
	"fmt"
	"slices"

	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/trainer"
)

// A trainWindow holds the records of one window of an order in memory. frames has
// one place for each sequence.
type trainWindow struct {
	epoch  int64
	number int // of the window in memory; -1: none
	order  []int32
	frames []place // the sequences, in the order of the spans
	parts  []window
	file   []int // file number of each part
	buf    []byte
	cut    cutter

	example records.Example // scratch memory for cut
}

// A place locates a sequence: its record, and its piece of the record.
type place struct {
	part   int32 // index in trainWindow.parts
	length int32 // of the frame; 0 if an earlier length is corrupt, so that the start is unknown
	offset int64 // start of the frame; if it is unknown, the offset of the corruption
	index  int64 // number of the record in the file
	piece  int32 // number of the sequence in the record
	pieces int32 // number of sequences of the record
}

// load reads a window of the order, unless it is in memory.
func (w *trainWindow) load(ctx context.Context, x *Index, o *order, number int) error {
	if w.number == number && w.epoch == o.epoch {
		return nil
	}
	w.reset()
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
	sequences := int(o.starts[number+1] - o.starts[number])
	w.order, w.number, w.epoch = trainer.Permutation(o.key(o.epoch, int64(number)), sequences), number, o.epoch
	return nil
}

func (x *Index) bytes(s span) int64 {
	blocks := x.files[s.file].blocks
	return blocks[s.to].offset - blocks[s.from].offset
}

func (w *trainWindow) reset() {
	w.number = -1
	w.frames, w.parts, w.file = w.frames[:0], w.parts[:0], w.file[:0]
}

// read appends the bytes of a span to w.buf and locates its sequences.
func (w *trainWindow) read(ctx context.Context, x *Index, s span) error {
	w.cut = x.cut
	f, blocks := &x.shards.files[s.file], x.files[s.file].blocks
	n := int(x.bytes(s))
	file, err := x.shards.openAt(ctx, f, blocks[s.from].offset, int64(n))
	if err != nil {
		return err
	}
	defer file.Close()
	start := len(w.buf)
	w.buf = w.buf[:start+n]
	at := Record{File: f.Path, Index: blocks[s.from].record, Offset: blocks[s.from].offset}
	part := window{offset: at.Offset, data: w.buf[start:]}
	if m, err := file.ReadAt(part.data, at.Offset); m < n {
		return at.fault(fmt.Errorf("read %d bytes: %w", n, err))
	}
	w.parts, w.file = append(w.parts, part), append(w.file, s.file)
	for b := s.from; b < s.to; b++ {
		w.walk(&w.parts[len(w.parts)-1], blocks[b], blocks[b+1])
	}
	return nil
}

// walk locates the records of a block by following their lengths: a record begins at
// the end of the previous one.
func (w *trainWindow) walk(in *window, from, to block) {
	first := len(w.frames)
	at := from
	for ; at.record < to.record; at.record++ {
		n, ok := in.frame(at.offset)
		if !ok {
			break
		}
		w.addRecord(in, at, n)
		at.offset += n
	}
	if at != to {
		w.frames = w.frames[:first]
		w.walkDamaged(in, from, to)
	}
}

// walkDamaged locates the records of a block that has a corrupt length, up to the
// first corrupt record. It adds the remaining records with length 0, because their
// start is unknown.
func (w *trainWindow) walkDamaged(in *window, from, to block) {
	at := from
	for ; at.record < to.record; at.record++ {
		n, ok := in.frame(at.offset)
		if !ok || at.offset+n > to.offset {
			break
		}
		if _, err := tfrecord.ReadAt(in, tfrecord.Span{Offset: at.offset, Length: n}, nil); err != nil {
			break
		}
		w.addRecord(in, at, n)
		at.offset += n
	}
	for ; at.record < to.record; at.record++ {
		w.add(at, 0, 0, 1)
	}
}

// addRecord adds the sequences of the record whose frame has length bytes.
func (w *trainWindow) addRecord(in *window, at block, length int64) {
	pieces := w.cut.pieces(in, at.offset, length, &w.example)
	for piece := range pieces {
		w.add(at, length, piece, pieces)
	}
}

func (w *trainWindow) add(at block, length int64, piece, pieces int32) {
	w.frames = append(w.frames, place{int32(len(w.parts) - 1), int32(length), at.offset, at.record, piece, pieces})
}

// place returns the sequence at an index of the shuffled window.
func (w *trainWindow) place(index int64) place { return w.frames[w.order[index]] }

// at decodes the record of a sequence into record, and returns the number of
// its file among the selected files.
func (w *trainWindow) at(x *Index, p place, record *Record) (file int, err error) {
	file = w.file[p.part]
	record.File, record.Index, record.Offset = x.shards.files[file].Path, p.index, p.offset
	if p.length == 0 {
		return file, record.fault(&tfrecord.CorruptError{Offset: p.offset, Record: p.index,
			Reason: "corrupt length; the records after it in the same block of the index are lost"})
	}
	part := &w.parts[p.part]
	start := p.offset - part.offset
	payload, err := tfrecord.Payload(part.data[start:start+int64(p.length)], p.offset)
	if err == nil {
		err = x.shards.decode(payload, record.Example)
	}
	if err != nil {
		return file, record.fault(err)
	}
	return file, nil
}
