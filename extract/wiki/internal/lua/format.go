package lua

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// format is string.format.
func (a Args) format() string {
	form := a.String(0)
	var out []byte
	next := 1
	for k := 0; k < len(form); k++ {
		if form[k] != '%' {
			out = append(out, form[k])
			continue
		}
		k++
		start := k
		for k < len(form) && strings.IndexByte("-+ #0123456789.", form[k]) >= 0 {
			k++
		}
		flags := form[start:k]
		if k == len(form) || len(flags) > 10 || tooWide(flags) {
			a.m.Throw("invalid option to 'format'")
		}
		if form[k] == '%' {
			out = append(out, '%')
			continue
		}
		out = a.formatted(out, next, flags, form[k])
		next++
	}
	return string(out)
}

// tooWide reports whether a width or precision has more than two digits.
func tooWide(flags string) bool {
	digits := 0
	for _, c := range []byte(flags) {
		if digits++; !isDigit(c) {
			digits = 0
		}
		if digits > 3 || digits == 3 && c != '0' {
			return true
		}
	}
	return false
}

// formatted appends argument k in the format %flags verb.
func (a Args) formatted(out []byte, k int, flags string, verb byte) []byte {
	if k >= len(a.list) {
		a.m.Throw("bad argument #%d to 'format' (no value)", k+1)
	}
	unsigned := strings.Map(func(c rune) rune { // which has no sign
		if c == '+' || c == ' ' {
			return -1
		}
		return c
	}, flags)
	form := "%" + flags + string(verb)
	switch verb {
	case 'd', 'i':
		return fmt.Appendf(out, "%"+flags+"d", int64(a.Number(k)))
	case 'u':
		return fmt.Appendf(out, "%"+unsigned+"d", uint64(int64(a.Number(k))))
	case 'c':
		return a.padded(out, string([]byte{byte(a.Int(k, 0))}), strings.SplitN(flags, ".", 2)[0])
	case 'x', 'X', 'o':
		n := uint64(int64(a.Number(k)))
		if n == 0 {
			unsigned = strings.ReplaceAll(unsigned, "#", "")
		}
		return fmt.Appendf(out, "%"+unsigned+string(verb), n)
	case 'e', 'E', 'f', 'g', 'G':
		n := a.Number(k)
		if !strings.Contains(flags, ".") && (verb == 'g' || verb == 'G') {
			form = "%" + flags + ".6" + string(verb)
		}
		if math.IsInf(n, 0) || math.IsNaN(n) {
			return fmt.Appendf(out, "%"+strings.Trim(strings.SplitN(flags, ".", 2)[0], "0")+"s", formatNumber(n))
		}
		return fmt.Appendf(out, form, n)
	case 'q':
		return append(append(append(out, '"'), quoter.Replace(a.String(k))...), '"')
	case 's':
		s := a.m.ToString(a.list[k])
		a.m.Step(len(s) / 64)
		width, precision, cut := strings.Cut(flags, ".")
		if n, _ := strconv.Atoi(precision); cut && n < len(s) {
			s = s[:n]
		}
		return a.padded(out, s, width)
	}
	a.m.Throw("invalid option '%%%c' to 'format'", verb)
	return nil
}

// quoter escapes what %q does.
var quoter = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", "\\\n", "\r", `\r`, "\x00", `\000`)

// padded appends s with spaces up to a width, which has flags before its digits.
func (a Args) padded(out []byte, s, width string) []byte {
	n, _ := strconv.Atoi(strings.TrimLeft(width, "-+ #0"))
	pad := strings.Repeat(" ", max(n-len(s), 0))
	if strings.Contains(width, "-") {
		return append(append(out, s...), pad...)
	}
	return append(append(out, pad...), s...)
}
