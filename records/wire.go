package records

import "encoding/binary"

// Wire types of protocol buffers. Groups (3 and 4) are deprecated and rejected
// as corrupt.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// A field is one field of a message: its number, its wire type and the bytes of
// its value, without the length prefix.
type field struct {
	number uint64
	wire   int
	value  []byte
}

// is reports whether f is length-delimited and has the given number.
func (f field) is(number uint64) bool { return f.number == number && f.wire == wireBytes }

// cutField splits the first field off a message, which must not be empty. reason is "", or
// states why the message is invalid.
func cutField(b []byte) (f field, rest []byte, reason string) {
	tag, n := binary.Uvarint(b)
	if n <= 0 {
		return f, nil, "bad field tag"
	}
	f.number, f.wire = tag>>3, int(tag&7)
	if f.number == 0 || f.number > 1<<29-1 {
		return f, nil, "bad field number"
	}
	b = b[n:]
	var size uint64
	switch f.wire {
	case wireVarint:
		if _, n = binary.Uvarint(b); n <= 0 {
			return f, nil, "bad varint"
		}
		size = uint64(n)
	case wireFixed64:
		size = 8
	case wireFixed32:
		size = 4
	case wireBytes:
		if size, n = binary.Uvarint(b); n <= 0 {
			return f, nil, "bad length"
		}
		b = b[n:]
	default:
		return f, nil, "bad wire type"
	}
	if size > uint64(len(b)) {
		return f, nil, "cut within a field"
	}
	f.value = b[:size:size]
	return f, b[size:], ""
}

// eachField calls visit for every field of a message. It stops when visit returns a reason,
// or at an invalid field, and returns the reason.
func eachField(message []byte, visit func(f field) string) string {
	for len(message) > 0 {
		f, rest, reason := cutField(message)
		if reason != "" {
			return reason
		}
		if reason = visit(f); reason != "" {
			return reason
		}
		message = rest
	}
	return ""
}

// eachFeature calls visit for every entry of the feature map of a serialized
// tf.train.Example, in the order of the bytes. feature is a serialized Feature message. If
// a name occurs more than once, visit gets all its entries; the last one is valid.
func eachFeature(example []byte, visit func(name, feature []byte) error) error {
	var failed error
	reason := eachField(example, func(features field) string {
		if !features.is(1) {
			return ""
		}
		return eachField(features.value, func(entry field) string {
			if !entry.is(1) {
				return ""
			}
			name, feature, reason := cutEntry(entry.value)
			if reason == "" {
				if failed = visit(name, feature); failed != nil {
					return "stopped"
				}
			}
			return reason
		})
	})
	switch {
	case failed != nil:
		return failed
	case reason != "":
		return &FeatureError{Reason: reason}
	}
	return nil
}

// cutEntry splits an entry of the feature map into its key (name) and value (feature). An
// absent key or value is returned empty. If the value is split over several fields, they
// are concatenated, because that is how protocol buffers merge messages. reason is "", or
// states why entry is invalid.
func cutEntry(entry []byte) (name, feature []byte, reason string) {
	reason = eachField(entry, func(f field) string {
		switch {
		case f.is(1):
			name = f.value
		case f.is(2) && feature == nil:
			feature = f.value
		case f.is(2):
			feature = append(feature, f.value...) // copies, because cutField limits the capacity
		}
		return ""
	})
	return name, feature, reason
}
