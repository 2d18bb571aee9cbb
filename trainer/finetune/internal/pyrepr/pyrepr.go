// Package pyrepr formats numbers and strings as Python's repr and json.dumps do. So,
// for equal values, prediction files equal those of google-research/bert byte for byte.
package pyrepr

import (
	"math"
	"strconv"
	"unicode/utf16"
)

// AppendFloat appends v as Python's repr(float(v)) formats it or, if bits is
// 32, as numpy formats a float32: with the fewest digits that parse back to v,
// and with an exponent below 1e-4 and from 1e16.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(dst, v, 'e', -1, bits)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'f', -1, bits)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// AppendString appends s as json.dumps does by default: quoted, with everything
// but printable ASCII escaped. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case r == '\b':
			dst = append(dst, `\b`...)
		case r >= ' ' && r <= '~':
			dst = append(dst, byte(r))
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			dst = appendUnit(appendUnit(dst, hi), lo)
		default:
			dst = appendUnit(dst, r)
		}
	}
	return append(dst, '"')
}

// appendUnit appends a UTF-16 code unit as \uXXXX.
func appendUnit(dst []byte, u rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
}
