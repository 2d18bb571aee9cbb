package columns

import (
	"encoding/binary"
	"math"
	"slices"
)

// AppendLittle appends the values of v to dst as little-endian numbers of four bytes.
func AppendLittle(dst []byte, v Value) []byte {
	for _, n := range v.Ints {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	for _, f := range v.Floats {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
	}
	return dst
}

// ReadLittle decodes values that [AppendLittle] wrote. It fills the slices of v, whose
// lengths determine how many values are read, and returns the rest of src. src must be long
// enough.
func ReadLittle(src []byte, v Value) (rest []byte) {
	for i := range v.Ints {
		v.Ints[i] = int32(binary.LittleEndian.Uint32(src[4*i:]))
	}
	src = src[4*len(v.Ints):]
	for i := range v.Floats {
		v.Floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
	return src[4*len(v.Floats):]
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
