package records

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Names of TensorFlow's model garden for two of the features.
const (
	inputWordIDs = "input_word_ids" // input_ids
	inputTypeIDs = "input_type_ids" // segment_ids
)

// maxValues bounds a list of an Example: a record may be 1 GiB long, and
// decoded values take more room than encoded ones.
const maxValues = 1 << 20

// Decode sets e to the example of a payload, in whatever order and packing its
// features come, reusing the slices of e. It keeps nothing of the payload.
//
// The error is a [*FeatureError] that names the feature which is missing, of
// the wrong type, negative or beyond an int32, or whose length is not that of
// its fellows; e is not to be used then. Whether the values make sense is
// asked of [Rules].
func (e *Example) Decode(payload []byte) error {
	d := decoder{e: e}
	if err := eachFeature(payload, d.feature); err != nil {
		return err
	}
	return d.finish()
}

// A decoder is one call of Decode.
type decoder struct {
	e    *Example
	seen [len(order)]bool
}

// Places in seen, in the order of the wire form.
const (
	inputIDs = iota
	inputMask
	segmentIDs
	positions
	ids
	weights
	label
)

// order names the features by their place in seen.
var order = [...]string{
	InputIDs, InputMask, SegmentIDs, MaskedLMPositions, MaskedLMIDs, MaskedLMWeights, NextSentenceLabels,
}

// feature takes one entry of the feature map. The last one of a name counts.
func (d *decoder) feature(name, message []byte) (err error) {
	e := d.e
	switch string(name) {
	case InputIDs, inputWordIDs:
		e.InputIDs, err = d.ints(inputIDs, e.InputIDs, message)
	case InputMask:
		e.InputMask, err = d.ints(inputMask, e.InputMask, message)
	case SegmentIDs, inputTypeIDs:
		e.SegmentIDs, err = d.ints(segmentIDs, e.SegmentIDs, message)
	case MaskedLMPositions:
		e.MaskedLMPositions, err = d.ints(positions, e.MaskedLMPositions, message)
	case MaskedLMIDs:
		e.MaskedLMIDs, err = d.ints(ids, e.MaskedLMIDs, message)
	case MaskedLMWeights:
		err = d.floats(message)
	case NextSentenceLabels:
		err = d.labels(message)
	}
	return err
}

// lists returns the lists of a feature, which must be of the kind wanted.
// Where an empty list was left out there is no kind.
func (d *decoder) lists(place int, message []byte, want Kind) ([]byte, error) {
	kind, lists, reason := cutOneof(message)
	if reason == "" && kind != want && kind != KindNone {
		reason = fmt.Sprintf("%v values where %v is due", kind, want)
	}
	if reason != "" {
		return nil, &FeatureError{order[place], reason}
	}
	d.seen[place] = true
	return lists, nil
}

// ints returns the values of an int64 feature, in the room of out.
func (d *decoder) ints(place int, out []int32, message []byte) ([]int32, error) {
	lists, err := d.lists(place, message, KindInt64)
	if err != nil {
		return nil, err
	}
	out = out[:0]
	reason := eachField(lists, func(list field) string {
		if !isList(list) {
			return ""
		}
		return eachField(list.value, func(f field) (reason string) {
			if f.number == 1 && (f.wire == wireBytes || f.wire == wireVarint) {
				out, reason = appendInts(out, f.value)
			}
			return reason
		})
	})
	if reason != "" {
		return nil, &FeatureError{order[place], reason}
	}
	return out, nil
}

// appendInts appends packed varints, most of which have one or two bytes.
func appendInts(dst []int32, b []byte) ([]int32, string) {
	dst = slices.Grow(dst, min(len(b), max(0, maxValues-len(dst))))
	for i := 0; i < len(b); {
		if len(dst) >= maxValues {
			return dst, fmt.Sprintf("more than %d values", maxValues)
		}
		if len(b)-i >= 8 {
			word := binary.LittleEndian.Uint64(b[i:])
			switch word & 0x8080808080808080 {
			case 0:
				dst = appendWord(dst, word)
				i += 8
				continue
			case 0x0080008000800080: // four of two bytes, as most ids of a vocabulary have
				dst = appendPairs(dst, word)
				i += 8
				continue
			}
			if b[i+1] < 0x80 && b[i] >= 0x80 {
				dst = append(dst, int32(b[i]&0x7f)|int32(b[i+1])<<7)
				i += 2
				continue
			}
		}
		v, n := binary.Uvarint(b[i:])
		switch {
		case n <= 0:
			return dst, "bad packed int64 list"
		case int64(v) < 0:
			return dst, fmt.Sprintf("value %d is negative: %d", len(dst), int64(v))
		case v > math.MaxInt32:
			return dst, fmt.Sprintf("value %d is beyond 32 bits: %d", len(dst), v)
		}
		dst = append(dst, int32(v))
		i += n
	}
	return dst, ""
}

// appendWord appends eight one-byte varints.
func appendWord(dst []int32, word uint64) []int32 {
	return append(dst,
		int32(word&0x7f), int32(word>>8&0x7f), int32(word>>16&0x7f), int32(word>>24&0x7f),
		int32(word>>32&0x7f), int32(word>>40&0x7f), int32(word>>48&0x7f), int32(word>>56))
}

// appendPairs appends four two-byte varints.
func appendPairs(dst []int32, word uint64) []int32 {
	word = word&0x007f007f007f007f | word&0x7f007f007f007f00>>1
	return append(dst, int32(word&0x3fff), int32(word>>16&0x3fff), int32(word>>32&0x3fff), int32(word>>48&0x3fff))
}

func (d *decoder) floats(message []byte) error {
	lists, err := d.lists(weights, message, KindFloat)
	if err != nil {
		return err
	}
	out := d.e.MaskedLMWeights[:0]
	reason := eachValue(KindFloat, lists, func(v []byte) string {
		if len(out) == maxValues {
			return fmt.Sprintf("more than %d values", maxValues)
		}
		out = append(out, float(v))
		return ""
	})
	d.e.MaskedLMWeights = out
	if reason != "" {
		return &FeatureError{MaskedLMWeights, reason}
	}
	return nil
}

func (d *decoder) labels(message []byte) error {
	var one [1]int32
	out, err := d.ints(label, one[:], message)
	if err != nil {
		return err
	}
	if len(out) != 1 {
		return &FeatureError{NextSentenceLabels, fmt.Sprintf("%d values where 1 is due", len(out))}
	}
	d.e.NextSentenceLabel = out[0]
	return nil
}

// finish tells whether all is there, and of equal length.
func (d *decoder) finish() error {
	for place, name := range order {
		if !d.seen[place] {
			return &FeatureError{name, "missing"}
		}
	}
	e := d.e
	if len(e.InputIDs) == 0 {
		return &FeatureError{InputIDs, "empty"}
	}
	if err := sameLength([3]int{inputIDs, inputMask, segmentIDs},
		[3]int{len(e.InputIDs), len(e.InputMask), len(e.SegmentIDs)}); err != nil {
		return err
	}
	return sameLength([3]int{positions, ids, weights},
		[3]int{len(e.MaskedLMPositions), len(e.MaskedLMIDs), len(e.MaskedLMWeights)})
}

// sameLength blames the one of three features that differs from the others.
func sameLength(places, lengths [3]int) error {
	a, b, c := lengths[0], lengths[1], lengths[2]
	odd, other := 0, 1
	switch {
	case a == b && b == c:
		return nil
	case a == b:
		odd, other = 2, 0
	case a == c:
		odd, other = 1, 0
	}
	return &FeatureError{order[places[odd]], fmt.Sprintf("%d values where %s has %d",
		lengths[odd], order[places[other]], lengths[other])}
}
