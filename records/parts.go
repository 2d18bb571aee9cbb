package records

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// Parts is an example before padding. Its lists are packed varints, made by
// [AppendPacked], as in the wire format. Parts take little memory, and an
// [Encoder] turns them into a payload by copying. The Encoder determines S
// (max_seq_length) and P (max_predictions_per_seq).
type Parts struct {
	Tokens      int    // at most S
	Second      int    // index of the first token of segment 1, at most Tokens
	Predictions int    // at most P
	IDs         []byte // Tokens packed values
	Positions   []byte // Predictions packed values
	Labels      []byte // Predictions packed values
	RandomNext  bool   // segment 1 does not follow segment 0
	Lengths     []byte // packed sequence_lengths or sentence_lengths; only in the forms Packed and Sentences
}

// AppendPacked appends values to a packed list, a sequence of varints.
func AppendPacked(dst []byte, values []int32) []byte {
	dst = slices.Grow(dst, 3*len(values)+vectorSpare)
	n := len(dst)
	if size := packVector(dst[n:cap(dst)], values); size >= 0 {
		return dst[:n+size]
	}
	return appendPlain(dst, values)
}

// vectorSpare is the number of bytes that packVector may overwrite after the end of its
// result.
const vectorSpare = 64

// appendPlain is AppendPacked without vector instructions; values may be of any size.
func appendPlain(dst []byte, values []int32) []byte {
	all := int32(0)
	for _, v := range values {
		all |= v
	}
	if uint32(all) >= shortLimit {
		for _, v := range values {
			dst = binary.AppendUvarint(dst, uint64(int64(v)))
		}
		return dst
	}
	dst = slices.Grow(dst, 3*len(values)+spareBytes)
	n := len(dst)
	return dst[:n+putShort(dst[n:cap(dst)], values)]
}

// An Encoder serializes [Parts] to payloads with fixed S (max_seq_length) and P
// (max_predictions_per_seq). It is immutable and safe for concurrent use.
type Encoder struct {
	form             Form
	masks, rows      bool   // Masks and Rows of form
	lists            []List // of form
	seq, predictions int

	pad int // size in bytes of the varint of the padding id

	mask, segments, weights, label []byte // the part of each entry before its values

	ones   []byte // S ones, then S zeros: input_mask and segment_ids are copied from it
	floats []byte // P ones, then P zeros, as 4-byte floats
	pads   []byte // S padding ids

	template
}

// NewEncoder returns an Encoder with S = maxSeqLength and P =
// maxPredictionsPerSeq that pads input_ids with the id pad. The original script
// pads with 0, even if [PAD] has another id in the vocabulary.
func NewEncoder(maxSeqLength, maxPredictionsPerSeq int, pad int32) *Encoder {
	s, p := maxSeqLength, maxPredictionsPerSeq
	padding := AppendPacked(nil, []int32{pad})
	e := &Encoder{
		masks: true, lists: Pairs.Lists(),
		seq: s, predictions: p,
		pad:      len(padding),
		pads:     bytes.Repeat(padding, s),
		mask:     openEntry(InputMask, s, tagInts),
		segments: openEntry(SegmentIDs, s, tagInts),
		weights:  openEntry(MaskedLMWeights, 4*p, tagFloats),
		label:    openEntry(NextSentenceLabels, 1, tagInts),
		ones:     make([]byte, 2*s),
		floats:   make([]byte, 8*p),
	}
	for i := range s {
		e.ones[i] = 1
	}
	for i := range p {
		binary.LittleEndian.PutUint32(e.floats[4*i:], math.Float32bits(1))
	}
	e.template = e.newTemplate()
	return e
}

// Form returns the form of the records that e encodes.
func (e *Encoder) Form() Form { return e.form }

// For returns a copy of e that encodes records of the form f.
func (e *Encoder) For(f Form) *Encoder {
	other := *e
	other.form, other.masks, other.rows, other.lists = f, f.Masks(), f.Rows(), f.Lists()
	if !f.Pairs() {
		other.label = nil
		other.template = other.newTemplate()
	}
	return &other
}

func openEntry(name string, packed int, kind byte) []byte {
	l := listLayout(name, packed)
	return l.appendOpen(nil, kind)
}

// Append appends the payload of an example to dst. The bytes are those of
// [Example.Append], or of [Example.AppendForm] after [Encoder.For].
func (e *Encoder) Append(dst []byte, p Parts) []byte {
	if !e.masks {
		return e.appendIDs(dst, p)
	}
	if out, ok := e.appendMasks(dst, p); ok {
		return out
	}
	return e.appendPlain(dst, p)
}

// appendPlain is Append for a form with masks, with values of any size.
func (e *Encoder) appendPlain(dst []byte, p Parts) []byte {
	zeros := e.ones[e.seq:]
	padding, unused := e.seq-p.Tokens, e.predictions-p.Predictions
	ids := listLayout(InputIDs, len(p.IDs)+padding*e.pad)
	positions := listLayout(MaskedLMPositions, len(p.Positions)+unused)
	labels := listLayout(MaskedLMIDs, len(p.Labels)+unused)
	body := nested(ids.entry) + nested(positions.entry) + nested(labels.entry) +
		len(e.mask) + e.seq + len(e.segments) + e.seq +
		len(e.weights) + 4*e.predictions + min(1, len(e.label)) + len(e.label)

	dst = slices.Grow(dst, nested(body))
	dst = appendTag(dst, tagFirst, body)
	dst = ids.appendList(dst, p.IDs, e.pads[:padding*e.pad])
	dst = append(dst, e.mask...)
	dst = append(dst, e.ones[padding:padding+e.seq]...)
	dst = append(dst, e.segments...)
	dst = append(dst, zeros[:p.Second]...)
	dst = append(dst, e.ones[:p.Tokens-p.Second]...)
	dst = append(dst, zeros[:padding]...)
	dst = positions.appendList(dst, p.Positions, unusedZeros(zeros, unused))
	dst = labels.appendList(dst, p.Labels, unusedZeros(zeros, unused))
	dst = append(dst, e.weights...)
	dst = append(dst, e.floats[4*unused:4*(unused+e.predictions)]...)
	if e.label == nil {
		return dst
	}
	dst = append(dst, e.label...)
	if p.RandomNext {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// appendIDs appends a payload of a form without masks.
func (e *Encoder) appendIDs(dst []byte, p Parts) []byte {
	var padding []byte
	if e.rows {
		padding = e.pads[:(e.seq-p.Tokens)*e.pad]
	}
	ids := listLayout(InputIDs, len(p.IDs)+len(padding))
	body := nested(ids.entry)
	var parts layout // of the second feature, if the form has one
	if len(e.lists) > 1 {
		parts = listLayout(e.lists[1].Name(), len(p.Lengths))
		body += nested(parts.entry)
	}
	dst = slices.Grow(dst, nested(body))
	dst = appendTag(dst, tagFirst, body)
	dst = ids.appendList(dst, p.IDs, padding)
	if len(e.lists) > 1 {
		dst = parts.appendList(dst, p.Lengths, nil)
	}
	return dst
}

// unusedZeros returns n zero bytes: the first n of zeros if there are enough,
// else new ones. There are always enough unless P > S.
func unusedZeros(zeros []byte, n int) []byte {
	if n <= len(zeros) {
		return zeros[:n]
	}
	return make([]byte, n)
}

// appendList appends an entry with packed values and their padding.
func (l *layout) appendList(dst, values, padding []byte) []byte {
	return append(append(l.appendOpen(dst, tagInts), values...), padding...)
}
