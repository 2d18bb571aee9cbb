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
}

// The compact form is the format in which instances are stored until the final shuffle: six
// numbers, then the three lists, packed as in the wire format. So ids are packed once,
// while they are in the processor's cache, and payloads are then made by copying.
//
//	tokens<<1 | randomNext, second, predictions,
//	bytes of ids, bytes of positions, bytes of labels: four bytes each
//	ids, positions, labels
const compactHeader = 6 * 4

// packSpare is the number of bytes that [records.AppendPacked] needs after the end of its
// result.
const packSpare = 64

// maxCompactBytes returns the size of the buffer in which putCompact writes an instance, in
// bytes, for these options and this vocabulary.
func maxCompactBytes(o Options, v Vocab) int {
	const least = 3 // bytes that AppendPacked reserves for each number
	id := max(least, len(binary.AppendUvarint(nil, uint64(v.Size))))
	position := max(least, len(binary.AppendUvarint(nil, uint64(o.MaxSeqLength))))
	return compactHeader + o.MaxSeqLength*id + o.MaxPredictionsPerSeq*(id+position) + packSpare
}

// putCompact writes the compact form of in to place and returns its size. place must have
// at least [maxCompactBytes].
func (in *instance) putCompact(place []byte) int {
	lists := records.AppendPacked(place[:compactHeader], in.tokens)
	ids := len(lists) - compactHeader
	lists = records.AppendPacked(lists, in.positions)
	positions := len(lists) - compactHeader - ids
	lists = records.AppendPacked(lists, in.labels)
	labels := len(lists) - compactHeader - ids - positions
	if &lists[0] != &place[0] {
		panic("BUG: pretrain: the memory of an example is too small")
	}
	first := uint32(len(in.tokens)) << 1
	if in.randomNext {
		first |= 1
	}
	for i, n := range [...]uint32{first, uint32(in.second), uint32(len(in.positions)), uint32(ids), uint32(positions), uint32(labels)} {
		binary.LittleEndian.PutUint32(place[4*i:], n)
	}
	return len(lists)
}

var errScratch = errors.New("read scratch file: the example differs from the one written")

// readCompact parses the compact form at the start of b. The result refers to the memory of
// b. readCompact checks every number against the options, because a scratch file may return
// corrupt data and the encoder does not check its input.
func readCompact(b []byte, o Options) (p records.Parts, err error) {
	if len(b) < compactHeader {
		return p, errScratch
	}
	var numbers [6]int
	for i := range numbers {
		v := binary.LittleEndian.Uint32(b[4*i:])
		if v >= chunkBytes {
			return p, errScratch
		}
		numbers[i] = int(v)
	}
	b = b[compactHeader:]
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
