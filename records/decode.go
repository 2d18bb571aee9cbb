package records

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Alternative names of two features, as TensorFlow's model garden writes them.
const (
	inputWordIDs = "input_word_ids" // input_ids
	inputTypeIDs = "input_type_ids" // segment_ids
)

// MaxValues limits the number of values in each list of an Example. A limit on the payload
// size is not enough: a record may be 1 GiB long, and decoded values take more memory than
// encoded ones.
const MaxValues = 1 << 20

// Decode parses payload, a serialized tf.train.Example of the form [Pairs], into e.
// Features may come in any order, packed or unpacked. Decode reuses the slices of e and
// does not retain the payload.
//
// The error is a [*FeatureError]. It names a feature that is missing, of the wrong type,
// negative or above the maximum int32, or whose length differs from that of related
// features. After an error, the content of e is undefined. Decode does not check whether
// the values are valid BERT input; [Rules] does.
func (e *Example) Decode(payload []byte) error { return e.DecodeForm(Pairs, payload) }

// A decoder holds the state of one call of DecodeForm.
type decoder struct {
	e          *Example
	form       []List // lists of the form that is decoded
	want, seen [len(lists)]bool
}

// feature decodes one entry of the feature map: a name and a serialized
// Feature. If a name occurs twice, the last entry counts, as in protocol
// buffers.
func (d *decoder) feature(name, message []byte) (err error) {
	p := place(name)
	if p < 0 || !d.want[p] {
		return nil
	}
	switch p {
	case weights:
		return d.floats(message)
	case label:
		return d.labels(message)
	}
	at := d.e.ints(p)
	*at, err = d.ints(p, *at, message)
	return err
}

// values returns the serialized lists in message, a Feature of the list named place, whose
// values must be of kind want. A Feature without a list (KindNone) is accepted as an empty
// list, because encoders may omit an empty list.
func (d *decoder) values(place List, message []byte, want Kind) ([]byte, error) {
	kind, lists, reason := cutOneof(message)
	if reason == "" && kind != want && kind != KindNone {
		reason = fmt.Sprintf("%v values, want %v", kind, want)
	}
	if reason != "" {
		return nil, &FeatureError{place.Name(), reason}
	}
	d.seen[place] = true
	return lists, nil
}

// ints decodes message, an int64 Feature of the list named place, into the memory of out
// and returns the values.
func (d *decoder) ints(place List, out []int32, message []byte) ([]int32, error) {
	lists, err := d.values(place, message, KindInt64)
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
		return nil, &FeatureError{place.Name(), reason}
	}
	return out, nil
}

// appendInts decodes packed varints and appends them to dst. The second result is "", or
// the reason why b is invalid.
func appendInts(dst []int32, b []byte) ([]int32, string) {
	room := min(len(b), max(0, MaxValues-len(dst)))
	dst = slices.Grow(dst, room)
	values, used := unpackVector(dst[len(dst):len(dst)+room], b)
	return appendPlainInts(dst[:len(dst)+values], b[used:])
}

// appendPlainInts is appendInts without vector instructions. It has fast paths for varints
// of one and two bytes, the usual sizes. The capacity of dst suffices for MaxValues, or for
// all of b.
func appendPlainInts(dst []int32, b []byte) ([]int32, string) {
	for i := 0; i < len(b); {
		if len(dst) >= MaxValues {
			return dst, fmt.Sprintf("more than %d values", MaxValues)
		}
		if len(b)-i >= 8 {
			word := binary.LittleEndian.Uint64(b[i:])
			switch word & 0x8080808080808080 {
			case 0:
				dst = appendWord(dst, word)
				i += 8
				continue
			case 0x0080008000800080: // four varints of two bytes, the usual size of an id
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

// appendWord appends the eight one-byte varints in the bytes of word, lowest
// byte first.
func appendWord(dst []int32, word uint64) []int32 {
	return append(dst,
		int32(word&0x7f), int32(word>>8&0x7f), int32(word>>16&0x7f), int32(word>>24&0x7f),
		int32(word>>32&0x7f), int32(word>>40&0x7f), int32(word>>48&0x7f), int32(word>>56))
}

// appendPairs appends the four two-byte varints in the bytes of word, lowest
// bytes first.
func appendPairs(dst []int32, word uint64) []int32 {
	word = word&0x007f007f007f007f | word&0x7f007f007f007f00>>1
	return append(dst, int32(word&0x3fff), int32(word>>16&0x3fff), int32(word>>32&0x3fff), int32(word>>48&0x3fff))
}

func (d *decoder) floats(message []byte) error {
	lists, err := d.values(weights, message, KindFloat)
	if err != nil {
		return err
	}
	out := d.e.MaskedLMWeights[:0]
	reason := eachValue(KindFloat, lists, func(v []byte) string {
		if len(out) == MaxValues {
			return fmt.Sprintf("more than %d values", MaxValues)
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
		return &FeatureError{NextSentenceLabels, fmt.Sprintf("%d values, want 1", len(out))}
	}
	d.e.NextSentenceLabel = out[0]
	return nil
}

// finish checks that every feature of the form is present, and that the lists are
// consistent.
func (d *decoder) finish() error {
	for _, place := range d.form {
		if !d.seen[place] {
			return &FeatureError{place.Name(), "missing"}
		}
	}
	return d.e.consistent(&d.want)
}

// consistent checks the lengths of the lists of a form.
func (e *Example) consistent(want *[len(lists)]bool) error {
	if len(e.InputIDs) == 0 {
		return &FeatureError{InputIDs, "empty"}
	}
	if want[lengths] {
		return e.pieces()
	}
	if want[sentences] {
		return e.sentences()
	}
	if !want[inputMask] {
		return nil
	}
	if err := sameLength([3]List{inputIDs, inputMask, segmentIDs},
		[3]int{len(e.InputIDs), len(e.InputMask), len(e.SegmentIDs)}); err != nil {
		return err
	}
	return sameLength([3]List{positions, ids, weights},
		[3]int{len(e.MaskedLMPositions), len(e.MaskedLMIDs), len(e.MaskedLMWeights)})
}

// sameLength returns nil if the three features in places have equal lengths, else a
// FeatureError for the feature whose length differs.
func sameLength(places [3]List, lengths [3]int) error {
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
	return &FeatureError{places[odd].Name(), fmt.Sprintf("%d values where %s has %d",
		lengths[odd], places[other].Name(), lengths[other])}
}
