package pretrain

import (
	"encoding/binary"
	"errors"

	"pretext/records"
)

// An instance is an example before padding.
type instance struct {
	tokens     []int32 // with specials, masked
	second     int     // place of the first token of segment 1
	positions  []int32 // predicted, ascending
	labels     []int32 // what stood there
	randomNext bool

	lists []byte // the three lists packed, in the compact form's order
}

// The compact form, in which an instance waits for its turn: six varints, then
// the lists as the wire form packs them. So an id is packed once, when it is
// in the processor's cache, and a payload is made by copying.
//
//	tokens<<1 | randomNext, second, predictions,
//	bytes of ids, bytes of positions, bytes of labels
//	ids, positions, labels
const maxHeaderBytes = 6 * 4 // each number is below 2^28

// maxCompactBytes bounds the compact form for ids of one vocabulary.
func maxCompactBytes(o Options, v Vocab) int {
	id := len(binary.AppendUvarint(nil, uint64(v.Size)))
	position := len(binary.AppendUvarint(nil, uint64(o.MaxSeqLength)))
	return maxHeaderBytes + o.MaxSeqLength*id + o.MaxPredictionsPerSeq*(id+position)
}

// appendCompact appends the compact form to dst.
func (in *instance) appendCompact(dst []byte) []byte {
	in.lists = records.AppendPacked(in.lists[:0], in.tokens)
	ids := len(in.lists)
	in.lists = records.AppendPacked(in.lists, in.positions)
	positions := len(in.lists) - ids
	in.lists = records.AppendPacked(in.lists, in.labels)
	labels := len(in.lists) - ids - positions

	first := uint64(len(in.tokens)) << 1
	if in.randomNext {
		first |= 1
	}
	dst = binary.AppendUvarint(dst, first)
	for _, n := range [...]int{in.second, len(in.positions), ids, positions, labels} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return append(dst, in.lists...)
}

var errScratch = errors.New("read scratch: not the example that was written")

// readCompact reads the compact form at the start of b, which it points into.
// What a file gave back may be damaged: nothing is taken that an encoder for
// the options would not stand.
func readCompact(b []byte, o Options) (p records.Parts, err error) {
	var numbers [6]int
	for i := range numbers {
		v, n := binary.Uvarint(b)
		if n <= 0 || v >= chunkBytes {
			return p, errScratch
		}
		numbers[i] = int(v)
		b = b[n:]
	}
	p.Tokens, p.RandomNext = numbers[0]>>1, numbers[0]&1 != 0
	p.Second, p.Predictions = numbers[1], numbers[2]
	ids, positions, labels := numbers[3], numbers[4], numbers[5]
	if p.Tokens > o.MaxSeqLength || p.Second > p.Tokens || p.Predictions > o.MaxPredictionsPerSeq ||
		ids+positions+labels > len(b) {
		return p, errScratch
	}
	p.IDs, b = b[:ids], b[ids:]
	p.Positions, b = b[:positions], b[positions:]
	p.Labels = b[:labels]
	return p, nil
}
