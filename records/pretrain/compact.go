package pretrain

import (
	"encoding/binary"
	"errors"

	"pretext/records"
)

// An instance is an example before padding. "Instance" is the original script's
// word.
type instance struct {
	tokens     []int32 // with [CLS] and [SEP], masked
	second     int     // index of the first token of segment B
	positions  []int32 // positions to predict, ascending
	labels     []int32 // original ids at these positions
	randomNext bool

	lists []byte // tokens, positions and labels as packed varints, one list after the other
}

// The compact form is how an instance is stored until the final shuffle: six
// varints, then the three lists packed as in the wire format. Ids are packed
// once, while they are in the processor's cache; the payload is then made by
// copying.
//
//	tokens<<1 | randomNext, second, predictions,
//	bytes of ids, bytes of positions, bytes of labels
//	ids, positions, labels
//
// maxHeaderBytes is the maximum size of the six varints.
const maxHeaderBytes = 6 * 4 // each number is below 2^28

// maxCompactBytes returns the maximum size in bytes of the compact form of an
// instance with these options and this vocabulary.
func maxCompactBytes(o Options, v Vocab) int {
	id := len(binary.AppendUvarint(nil, uint64(v.Size)))
	position := len(binary.AppendUvarint(nil, uint64(o.MaxSeqLength)))
	return maxHeaderBytes + o.MaxSeqLength*id + o.MaxPredictionsPerSeq*(id+position)
}

// appendCompact appends the compact form of in to dst.
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

var errScratch = errors.New("read scratch file: the example differs from the one written")

// readCompact parses the compact form at the start of b. The result refers to
// the memory of b. A scratch file may return corrupt data and the encoder does
// not check it, so readCompact checks every number against the options.
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
