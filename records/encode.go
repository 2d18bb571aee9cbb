package records

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Tags of the messages in tensorflow/core/example/{example,feature}.proto:
// field number and wire type 2 in one byte. In Example, in Features, in the
// map's entries and in the lists, field 1 and 2 are all there is.
const (
	tagFirst  = 1<<3 | 2 // features; feature; key; value of a list
	tagSecond = 2<<3 | 2 // value of an entry; float_list of a Feature
	tagInts   = 3<<3 | 2 // int64_list of a Feature
	tagFloats = tagSecond
)

// Append appends the wire form of e to dst. It allocates nothing when dst has
// room.
func (e *Example) Append(dst []byte) []byte {
	label := [1]int32{e.NextSentenceLabel}
	lists := [...]intList{
		newIntList(InputIDs, e.InputIDs),
		newIntList(InputMask, e.InputMask),
		newIntList(SegmentIDs, e.SegmentIDs),
		newIntList(MaskedLMPositions, e.MaskedLMPositions),
		newIntList(MaskedLMIDs, e.MaskedLMIDs),
		newIntList(NextSentenceLabels, label[:]),
	}
	weights := listLayout(MaskedLMWeights, 4*len(e.MaskedLMWeights))
	body := nested(weights.entry)
	for i := range lists {
		body += nested(lists[i].entry)
	}

	dst = slices.Grow(dst, nested(body)+spareBytes)
	dst = appendTag(dst, tagFirst, body)
	for i := range lists[:5] {
		dst = lists[i].append(dst)
	}
	dst = appendFloats(dst, weights, e.MaskedLMWeights)
	return lists[5].append(dst)
}

// A layout is the sizes of one map entry, from the inside out: those of the
// packed values, the list with them, the Feature with that, and the entry.
type layout struct {
	name                         string
	packed, list, feature, entry int
}

func listLayout(name string, packed int) layout {
	l := layout{name: name, packed: packed}
	if packed > 0 { // an empty packed field is left out
		l.list = nested(packed)
	}
	l.feature = nested(l.list)
	l.entry = nested(len(name)) + nested(l.feature)
	return l
}

// nested is the size of a length-delimited field whose content has n bytes,
// tag included.
func nested(n int) int { return 1 + uvarintBytes(uint64(n)) + n }

func uvarintBytes(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// appendTag appends what precedes n bytes of a length-delimited field.
func appendTag(dst []byte, tag byte, n int) []byte {
	return binary.AppendUvarint(append(dst, tag), uint64(n))
}

// appendOpen appends everything of an entry that precedes its values.
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

// An intList is an int64 feature on its way out.
type intList struct {
	layout
	values []int32
	short  bool // no value is shortLimit or more
}

func newIntList(name string, values []int32) intList {
	size, all := len(values), uint32(0)
	for _, signed := range values {
		v := uint32(signed)
		second, third := further(v)
		size += int(second + third)
		all |= v
	}
	if all >= shortLimit {
		size = 0
		for _, v := range values {
			size += uvarintBytes(uint64(int64(v))) // ten where negative
		}
	}
	return intList{layout: listLayout(name, size), values: values, short: all < shortLimit}
}

// shortLimit is where varints get longer than three bytes. No vocabulary goes
// so far.
const shortLimit = 1 << 21

// further returns 1 for a second and for a third byte of a varint below
// shortLimit, without a branch: each difference is negative where v is larger.
func further(v uint32) (second, third uint32) {
	return (0x7f - v) >> 31, (0x3fff - v) >> 31
}

// spareBytes is how far append may write beyond the end of what it appends.
const spareBytes = 3

// append appends the entry; dst must have room for it and spareBytes.
func (l *intList) append(dst []byte) []byte {
	dst = l.appendOpen(dst, tagInts)
	switch {
	case l.packed == len(l.values):
		return appendBytes(dst, l.values)
	case l.short:
		return appendShort(dst, l.values, l.packed)
	}
	for _, v := range l.values {
		dst = binary.AppendUvarint(dst, uint64(int64(v)))
	}
	return dst
}

// appendBytes appends varints of one byte.
func appendBytes(dst []byte, values []int32) []byte {
	n := len(dst)
	dst = dst[:n+len(values)]
	out := dst[n:]
	for i, v := range values {
		out[i] = byte(v)
	}
	return dst
}

// appendShort appends varints below shortLimit, size in all.
func appendShort(dst []byte, values []int32, size int) []byte {
	n := len(dst)
	at := putShort(dst[n:n+size+spareBytes], values)
	return dst[:n+at]
}

// putShort writes varints below shortLimit to out, which has spareBytes more
// than they take, and returns their size. It spreads the groups of seven bits
// over a word, sets the continuation bits and stores the word, whatever the
// length: no branch on a value that cannot be foreseen. The next value
// overwrites what was too much.
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
