package columns

import (
	"encoding/binary"
	"math"
	"slices"
)

// AppendLittle appends the values of a column as little-endian numbers of four
// bytes.
func AppendLittle(dst []byte, v Value) []byte {
	for _, n := range v.Ints {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	for _, f := range v.Floats {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
	}
	return dst
}

// ReadLittle reads the values of a column that [AppendLittle] wrote into v, whose
// slices have their length, and returns what follows in src. src must be long
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

// Resize gives v n values of column c, for [ReadLittle]; the first of them stay.
func (v *Value) Resize(c Column, n int) {
	if c.Type == Float32 {
		v.Floats = slices.Grow(v.Floats, max(0, n-len(v.Floats)))[:n]
		return
	}
	v.Ints = slices.Grow(v.Ints, max(0, n-len(v.Ints)))[:n]
}

// NewRow returns a row with slices of the lengths in the schema.
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
