package records

import (
	"encoding/binary"
	"iter"
	"math"
)

// A Kind is the value type of a feature.
type Kind int

// The value types of tf.train.Feature. The numbers are the field numbers in
// feature.proto.
const (
	KindNone  Kind = 0 // a feature without a list
	KindBytes Kind = 1
	KindFloat Kind = 2
	KindInt64 Kind = 3
)

// String returns "none", "bytes", "float" or "int64".
func (k Kind) String() string {
	switch k {
	case KindBytes:
		return "bytes"
	case KindFloat:
		return "float"
	case KindInt64:
		return "int64"
	}
	return "none"
}

// A Feature is one named list of values in any tf.train.Example.
type Feature struct {
	Name  string
	Kind  Kind
	Count int // number of values

	lists []byte // serialized lists of this Kind, validated
}

// Features iterates over the features of any tf.train.Example, in the order of
// the payload. It yields at most one error, a [*FeatureError], and then stops.
// The features refer to the memory of the payload.
func Features(payload []byte) iter.Seq2[Feature, error] {
	return func(yield func(Feature, error) bool) {
		stopped := false
		err := eachFeature(payload, func(name, message []byte) error {
			f, err := newFeature(name, message)
			if err == nil && !yield(f, nil) {
				stopped = true
				err = ErrExample // any error stops eachFeature
			}
			return err
		})
		if err != nil && !stopped {
			yield(Feature{}, err)
		}
	}
}

func newFeature(name, message []byte) (Feature, error) {
	f := Feature{Name: string(name)}
	var reason string
	if f.Kind, f.lists, reason = cutOneof(message); reason == "" {
		reason = eachValue(f.Kind, f.lists, func([]byte) string {
			f.Count++
			return ""
		})
	}
	if reason != "" {
		return f, &FeatureError{f.Name, reason}
	}
	return f, nil
}

// AppendInts appends the values of an int64 feature to dst. For a feature of
// another kind it appends nothing.
func (f Feature) AppendInts(dst []int64) []int64 {
	f.each(KindInt64, func(v []byte) {
		n, _ := binary.Uvarint(v)
		dst = append(dst, int64(n))
	})
	return dst
}

// AppendFloats appends the values of a float feature to dst. For a feature of
// another kind it appends nothing.
func (f Feature) AppendFloats(dst []float32) []float32 {
	f.each(KindFloat, func(v []byte) { dst = append(dst, float(v)) })
	return dst
}

// AppendBytes appends the values of a bytes feature to dst. The values refer to
// the memory of the payload. For a feature of another kind it appends nothing.
func (f Feature) AppendBytes(dst [][]byte) [][]byte {
	f.each(KindBytes, func(v []byte) { dst = append(dst, v) })
	return dst
}

func (f Feature) each(kind Kind, visit func(value []byte)) {
	if f.Kind == kind {
		eachValue(kind, f.lists, func(v []byte) string { visit(v); return "" })
	}
}

func float(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// cutOneof returns the kind of a serialized Feature and the part of message that has its
// lists of that kind. Feature is a protobuf oneof: a list of another kind replaces all
// lists before it, and a list of the same kind is merged with them. So the result begins
// after the last change of kind. reason is "", or states why message is invalid.
func cutOneof(message []byte) (kind Kind, lists []byte, reason string) {
	for rest := message; len(rest) > 0; {
		f, after, reason := cutField(rest)
		if reason != "" {
			return KindNone, nil, reason
		}
		if isList(f) && Kind(f.number) != kind {
			kind, lists = Kind(f.number), rest
		}
		rest = after
	}
	return kind, lists, ""
}

func isList(f field) bool {
	return f.wire == wireBytes && f.number >= uint64(KindBytes) && f.number <= uint64(KindInt64)
}

// eachValue calls visit with every value of lists, in its serialized form. It stops when
// visit returns a reason, and returns that reason. kind and lists must be results of
// cutOneof.
func eachValue(kind Kind, lists []byte, visit func(value []byte) string) string {
	return eachField(lists, func(list field) string {
		if !isList(list) {
			return ""
		}
		return eachField(list.value, func(f field) string { return eachOf(kind, f, visit) })
	})
}

// eachOf calls visit for the values in f, one field of a list: a single value or a packed
// sequence of values. It stops at the first value that visit rejects and returns the
// reason, or "" if visit rejects none.
func eachOf(kind Kind, f field, visit func(value []byte) string) string {
	if f.number != 1 {
		return ""
	}
	packed := f.wire == wireBytes
	switch {
	case kind == KindBytes && packed,
		kind == KindFloat && f.wire == wireFixed32,
		kind == KindInt64 && f.wire == wireVarint:
		return visit(f.value)
	case kind == KindBytes || !packed:
		return "" // the list has an unknown field with number 1
	}
	for b := f.value; len(b) > 0; {
		n := 4
		if kind == KindInt64 {
			_, n = binary.Uvarint(b)
		}
		if n <= 0 || n > len(b) {
			return "bad packed " + kind.String() + " list"
		}
		if reason := visit(b[:n]); reason != "" {
			return reason
		}
		b = b[n:]
	}
	return ""
}
