package hf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseScore parses a JSON number with the rounding of the library. The library's parser
// (serde_json without the feature float_roundtrip) rounds the digits to a floating-point
// number and then scales that by a power of ten, which can be off by one in the last place.
// Such differences decide between splits of a word that are otherwise equally good.
func parseScore(s string) (float64, error) {
	rest, negative := strings.CutPrefix(s, "-")
	significand, exponent, rest, ok := parseDigits(rest)
	if !ok {
		return 0, fmt.Errorf("score %.40q: not a number", s)
	}
	if rest != "" {
		e, err := strconv.Atoi(strings.TrimPrefix(rest[1:], "+"))
		if rest[0]|0x20 != 'e' || err != nil || e < -1<<20 || e > 1<<20 {
			return 0, fmt.Errorf("score %.40q: not a number", s)
		}
		exponent += e
	}
	f := scaled(significand, exponent)
	if math.IsInf(f, 0) {
		return 0, fmt.Errorf("score %.40q: out of range", s)
	}
	if negative {
		f = -f
	}
	return f, nil
}

// parseDigits reads digits, with at most one decimal point, from the start of s. It returns
// the number as significand × 10^exponent, and the rest of s.
func parseDigits(s string) (significand uint64, exponent int, rest string, ok bool) {
	rest = s
	full, digits := false, 0
	for point := false; rest != ""; rest = rest[1:] {
		c := rest[0]
		if c == '.' && !point {
			point, full = true, false
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits++
		digit := uint64(c - '0')
		switch {
		case full || significand > (math.MaxUint64-digit)/10: // further digits are ignored
			full = true
			if !point {
				exponent++
			}
		default:
			significand = significand*10 + digit
			if point {
				exponent--
			}
		}
	}
	return significand, exponent, rest, digits > 0
}

// scaled returns significand × 10^exponent with the library's rounding.
func scaled(significand uint64, exponent int) float64 {
	f := float64(significand)
	for ; exponent < -308 && f != 0; exponent += 308 {
		f /= 1e308
	}
	switch {
	case exponent > 308 && f != 0:
		f = math.Inf(1)
	case exponent >= 0 && f != 0:
		f *= powerOfTen(exponent)
	case f != 0:
		f /= powerOfTen(-exponent)
	}
	return f
}

// powerOfTen returns 10 to the power of n, at most 308, correctly rounded.
func powerOfTen(n int) float64 {
	f, err := strconv.ParseFloat("1e"+strconv.Itoa(n), 64)
	if err != nil {
		panic("BUG: power of ten: " + err.Error())
	}
	return f
}
