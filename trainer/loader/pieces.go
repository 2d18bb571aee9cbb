package loader

import (
	"context"

	"pretext/records"
	"pretext/records/tfrecord"
)

// A cutter cuts documents into sequences: a document of n tokens into the fewest
// pieces of at most most tokens, whose lengths differ by at most one. The zero
// cutter leaves records whole.
type cutter struct {
	form records.Form // of the records
	most int          // tokens of a piece, without [CLS] and [SEP]; 0: records are whole
}

// headerBytes is the size of what precedes the payload in a frame: its length
// and the checksum of the length.
const headerBytes = 12

// pieces returns the number of sequences of the record whose frame is in the
// window. A record that cannot be decoded counts as one. It does not verify the
// checksum, so it is the same whenever the bytes are. It overwrites e.
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

// piece returns the tokens of a piece of a document. Pieces of n tokens begin at
// ⌊n·piece/pieces⌋.
func piece(ids []int32, p place) []int32 {
	n, pieces := int64(len(ids)), int64(p.pieces)
	return ids[n*int64(p.piece)/pieces : n*int64(p.piece+1)/pieces]
}

// countSequences reads all records once and sets the number of sequences before
// each block: these depend on the lengths of the documents, which no index has.
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
