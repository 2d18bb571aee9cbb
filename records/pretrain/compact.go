package pretrain

import (
	"encoding/binary"

	"pretext/records"
)

// An instance is an example before padding.
type instance struct {
	tokens     []int32  // with specials, masked
	second     int      // place of the first token of segment 1
	positions  []uint16 // predicted, ascending
	labels     []int32  // what stood there
	randomNext bool
}

// headerBytes is the size of what precedes an instance in its compact form:
// four 16-bit numbers, the tokens, second, the predictions, and 1 for
// randomNext. Then come tokens, positions and labels, ids in two or four bytes.
const headerBytes = 8

// compactBytes returns the size of the compact form.
func compactBytes(tokens, predictions, idBytes int) int {
	return headerBytes + tokens*idBytes + predictions*(2+idBytes)
}

// put writes the compact form to b and returns its size.
func (in *instance) put(b []byte, wide bool) int {
	var random uint16
	if in.randomNext {
		random = 1
	}
	le := binary.LittleEndian
	le.PutUint16(b, uint16(len(in.tokens)))
	le.PutUint16(b[2:], uint16(in.second))
	le.PutUint16(b[4:], uint16(len(in.positions)))
	le.PutUint16(b[6:], random)
	at := headerBytes + putIDs(b[headerBytes:], in.tokens, wide)
	for _, p := range in.positions {
		le.PutUint16(b[at:], p)
		at += 2
	}
	return at + putIDs(b[at:], in.labels, wide)
}

func putIDs(b []byte, ids []int32, wide bool) int {
	if wide {
		for i, id := range ids {
			binary.LittleEndian.PutUint32(b[4*i:], uint32(id))
		}
		return 4 * len(ids)
	}
	for i, id := range ids {
		binary.LittleEndian.PutUint16(b[2*i:], uint16(id))
	}
	return 2 * len(ids)
}

func getIDs(ids []int32, b []byte, wide bool) int {
	if wide {
		for i := range ids {
			ids[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
		}
		return 4 * len(ids)
	}
	for i := range ids {
		ids[i] = int32(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return 2 * len(ids)
}

// newExample returns an example of zeros.
func newExample(o Options) *records.Example {
	s, p := o.MaxSeqLength, o.MaxPredictionsPerSeq
	return &records.Example{
		InputIDs: make([]int32, s), InputMask: make([]int32, s), SegmentIDs: make([]int32, s),
		MaskedLMPositions: make([]int32, p), MaskedLMIDs: make([]int32, p), MaskedLMWeights: make([]float32, p),
	}
}

// expand sets an example to the compact form at the start of b, padded. It
// returns the numbers of tokens and predictions.
func expand(e *records.Example, b []byte, wide bool) (tokens, predictions int) {
	le := binary.LittleEndian
	tokens, predictions = int(le.Uint16(b)), int(le.Uint16(b[4:]))
	second := int(le.Uint16(b[2:]))
	e.NextSentenceLabel = int32(le.Uint16(b[6:]))

	at := headerBytes + getIDs(e.InputIDs[:tokens], b[headerBytes:], wide)
	clear(e.InputIDs[tokens:])
	fill(e.InputMask, 0, tokens)
	fill(e.SegmentIDs, second, tokens)

	for i := range e.MaskedLMPositions[:predictions] {
		e.MaskedLMPositions[i] = int32(le.Uint16(b[at:]))
		at += 2
	}
	clear(e.MaskedLMPositions[predictions:])
	getIDs(e.MaskedLMIDs[:predictions], b[at:], wide)
	clear(e.MaskedLMIDs[predictions:])
	fill(e.MaskedLMWeights, 0, predictions)
	return tokens, predictions
}

// fill sets v[from:to] to 1 and the rest to 0.
func fill[T int32 | float32](v []T, from, to int) {
	clear(v[:from])
	for i := range v[from:to] {
		v[from+i] = 1
	}
	clear(v[to:])
}
