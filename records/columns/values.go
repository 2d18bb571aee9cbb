package columns

import (
	"encoding/binary"
	"math"
	"slices"
)

// AppendLittle appends the values of v, which are of type t, to dst in little-endian order.
func AppendLittle(dst []byte, t Type, v Value) []byte {
	switch t {
	case Int64:
		for _, n := range v.Ints {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
		}
	case Uint16:
		for _, n := range v.Ints {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
		}
	default:
		for _, n := range v.Ints {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
		}
		for _, f := range v.Floats {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
		}
	}
	return dst
}

// ReadLittle decodes values of type t that [AppendLittle] wrote. It fills the slices of v,
// whose lengths determine how many values are read, and returns the rest of src. src must
// be long enough. An integer that does not fit int32 becomes the lowest int32, which is no
// value of an example.
func ReadLittle(src []byte, t Type, v Value) (rest []byte) {
	for i := range v.Ints {
		switch t {
		case Int64:
			n := int64(binary.LittleEndian.Uint64(src[8*i:]))
			v.Ints[i] = int32(n)
			if n != int64(int32(n)) {
				v.Ints[i] = math.MinInt32
			}
		case Uint16:
			v.Ints[i] = int32(binary.LittleEndian.Uint16(src[2*i:]))
		default:
			v.Ints[i] = int32(binary.LittleEndian.Uint32(src[4*i:]))
		}
	}
	for i := range v.Floats {
		v.Floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
	return src[t.Size()*(len(v.Ints)+len(v.Floats)):]
}

// Resize changes the length of v, a value of column c, to n, for use with [ReadLittle]. It
// keeps the first values.
func (v *Value) Resize(c Column, n int) {
	if c.Type == Float32 {
		v.Floats = slices.Grow(v.Floats, max(0, n-len(v.Floats)))[:n]
		return
	}
	v.Ints = slices.Grow(v.Ints, max(0, n-len(v.Ints)))[:n]
}

// NewRow returns a row whose slices have the lengths given by the schema.
func NewRow(schema []Column) []Value {
	row := make([]Value, len(schema))
	for i, c := range schema {
		if c.Type == Float32 {
			row[i].Floats = make([]float32, c.Len)
		} else {
			row[i].Ints = make([]int32, c.Len)
		}
	}
	return row
}
