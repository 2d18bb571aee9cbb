package records

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Tags of the messages in tensorflow/core/example/{example,feature}.proto: the
// field number and wire type 2 (length-delimited) in one byte. Example,
// Features, the map entries and the lists use fields 1 and 2 only.
const (
	tagFirst  = 1<<3 | 2 // features; feature; key; value of a list
	tagSecond = 2<<3 | 2 // value of an entry; float_list of a Feature
	tagInts   = 3<<3 | 2 // int64_list of a Feature
	tagFloats = tagSecond
)

// Append appends the serialized tf.train.Example of e, of the form [Pairs], to
// dst. It does not allocate if dst has enough capacity.
func (e *Example) Append(dst []byte) []byte { return e.AppendForm(dst, Pairs) }

// AppendForm is [Example.Append] for any form: it writes only the features of f.
//
// The sizes in front of the values are known when these are packed. So it packs them behind
// the place where they belong, with room for everything else before them, and then moves
// them to it, one list after the other.
func (e *Example) AppendForm(dst []byte, f Form) []byte {
	room := headBytes + 4*len(e.MaskedLMWeights)
	for _, p := range f.Lists() {
		room += headBytes + len(p.Name())
	}
	start := len(dst)
	dst = slices.Grow(dst, room)[:start+room]

	one := [1]int32{e.NextSentenceLabel}
	floats := listLayout(MaskedLMWeights, 4*len(e.MaskedLMWeights))
	var ints [len(lists)]layout
	body := 0
	for _, p := range f.Lists() {
		if p == weights {
			body += nested(floats.entry)
			continue
		}
		values := one[:] // the label, unless p is another list
		if at := e.ints(p); at != nil {
			values = *at
		}
		n := len(dst)
		dst = AppendPacked(dst, values)
		ints[p] = listLayout(p.Name(), len(dst)-n)
		body += nested(ints[p].entry)
	}

	packed := dst[start+room:] // of all lists
	dst = appendTag(dst[:start], tagFirst, body)
	for _, p := range f.Lists() {
		if p == weights {
			dst = appendFloats(dst, floats, e.MaskedLMWeights)
			continue
		}
		l := &ints[p]
		dst = append(l.appendOpen(dst, tagInts), packed[:l.packed]...)
		packed = packed[l.packed:]
	}
	return dst
}

// headBytes is no less than the bytes before the values of a list, without its name: five
// tags with a length each. They are more than what is before all lists.
const headBytes = 5 * (1 + binary.MaxVarintLen64)

// A layout holds the sizes in bytes of the nested parts of a map entry: the
// packed values, the list message that contains them, the Feature that contains
// the list, and the whole entry.
type layout struct {
	name                         string
	packed, list, feature, entry int
}

func listLayout(name string, packed int) layout {
	l := layout{name: name, packed: packed}
	if packed > 0 { // an empty packed field is omitted
		l.list = nested(packed)
	}
	l.feature = nested(l.list)
	l.entry = nested(len(name)) + nested(l.feature)
	return l
}

// nested returns the size of a length-delimited field with n bytes of content,
// including tag and length.
func nested(n int) int { return 1 + uvarintBytes(uint64(n)) + n }

func uvarintBytes(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// appendTag appends the tag of a length-delimited field and its length n in
// bytes.
func appendTag(dst []byte, tag byte, n int) []byte {
	return binary.AppendUvarint(append(dst, tag), uint64(n))
}

// appendOpen appends the part of an entry that precedes its values: the name,
// and the headers of the Feature and of its list. kind is the tag of the list.
func (l *layout) appendOpen(dst []byte, kind byte) []byte {
	dst = appendTag(dst, tagFirst, l.entry)
	dst = appendTag(dst, tagFirst, len(l.name))
	dst = append(dst, l.name...)
	dst = appendTag(dst, tagSecond, l.feature)
	dst = appendTag(dst, kind, l.list)
	if l.packed > 0 {
		dst = appendTag(dst, tagFirst, l.packed)
	}
	return dst
}

func appendFloats(dst []byte, l layout, values []float32) []byte {
	dst = l.appendOpen(dst, tagFloats)
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

// shortLimit is the smallest value whose varint needs more than three bytes.
// Ids of real vocabularies are far below it.
const shortLimit = 1 << 21

// further returns, as 0 or 1 each, whether the varint of v has a second and a third byte. v
// must be below shortLimit. There is no branch: the sign bit of each difference is set if v
// does not fit in the bytes before.
func further(v uint32) (second, third uint32) {
	return (0x7f - v) >> 31, (0x3fff - v) >> 31
}

// spareBytes is the number of bytes that putShort may overwrite after the end of its result.
const spareBytes = 3

// putShort writes the varints of values below shortLimit to out, which must be
// spareBytes longer than the result, and returns the size of the result. For
// each value it spreads the groups of seven bits over a 32-bit word, sets the
// continuation bits and stores the whole word, whatever the length; the next
// value overwrites the excess. So there is no branch that the processor could
// mispredict.
func putShort(out []byte, values []int32) int {
	at := 0
	for _, signed := range values {
		v := uint32(signed)
		second, third := further(v)
		word := v&0x7f | v&(0x7f<<7)<<1 | v&(0x7f<<14)<<2 | second<<7 | third<<15
		binary.LittleEndian.PutUint32(out[at:], word)
		at += int(1 + second + third)
	}
	return at
}
