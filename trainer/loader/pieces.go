package loader

import (
	"context"

	"pretext/records"
	"pretext/records/tfrecord"
)

// A cutter cuts documents into sequences: as few pieces as possible, each of at most
// `most` tokens, with lengths that differ by at most one. The zero cutter does not
// cut.
type cutter struct {
	form records.Form // of the records
	most int          // maximum tokens of a piece, without [CLS] and [SEP]; 0: do not cut
}

// headerBytes is the size of a frame's header: the payload length and the checksum
// of the length.
const headerBytes = 12

// pieces returns the number of sequences of the record at offset, whose frame has
// length bytes and lies in the window. It returns 1 for a record that cannot be
// decoded. It does not verify the checksum, so equal bytes give equal results. It
// overwrites e.
func (c cutter) pieces(in *window, offset, length int64, e *records.Example) int32 {
	if c.most == 0 {
		return 1
	}
	start := offset - in.offset
	frame := in.data[start : start+length]
	payload := frame[headerBytes : len(frame)-(tfrecord.FrameBytes-headerBytes)]
	if e.DecodeForm(c.form, payload) != nil {
		return 1
	}
	return int32(max(1, (len(e.InputIDs)+c.most-1)/c.most))
}

// piece returns the tokens of piece p.piece of a document. In a document of n
// tokens, this piece begins at ⌊n·p.piece/p.pieces⌋.
func piece(ids []int32, p place) []int32 {
	n, pieces := int64(len(ids)), int64(p.pieces)
	return ids[n*int64(p.piece)/pieces : n*int64(p.piece+1)/pieces]
}

// countSequences reads all records once and sets the number of sequences before
// each block. An index does not hold the lengths of documents, so they must be read.
func (x *Index) countSequences(ctx context.Context, c cutter) error {
	x.cut = c
	w := &trainWindow{}
	for _, s := range x.spans(spanBytes) {
		f := &x.files[s.file]
		if f.before == nil {
			f.before = make([]int64, 1, len(f.blocks))
		}
		w.reset()
		w.buf = w.buf[:0]
		if n := int(x.bytes(s)); cap(w.buf) < n {
			w.buf = make([]byte, 0, n)
		}
		if err := w.read(ctx, x, s); err != nil {
			return err
		}
		counts := make([]int64, s.to-s.from)
		b := s.from
		for _, p := range w.frames {
			for f.blocks[b+1].record <= p.index {
				b++
			}
			counts[b-s.from]++
		}
		for _, n := range counts {
			f.before = append(f.before, f.before[len(f.before)-1]+n)
		}
	}
	return nil
}
