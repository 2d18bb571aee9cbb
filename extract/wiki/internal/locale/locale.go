// Package locale has what depends on the language of a wiki: how numbers are written, which
// plural form is chosen, and the words of lists.
//
// Functions are safe for concurrent use.
package locale

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Numbers is the form of numbers on a wiki.
type Numbers struct {
	Group, Decimal string // separators
	least          int    // numbers with fewer digits before the point are not grouped
	indian         bool   // groups of two digits before the last three: 12,34,567
	digits         []rune // from zero to nine; nil: European
}

// english is the form of all languages that numberStyles does not name.
var english = Numbers{Group: ",", Decimal: ".", least: 4}

var styles = sync.OnceValue(func() map[string]*Numbers {
	m := map[string]*Numbers{}
	for k := range numberStyles {
		for _, code := range strings.Fields(numberStyles[k].codes) {
			m[code] = &numberStyles[k].Numbers
		}
	}
	return m
})

// sisters are the wikis that show their own digits although the Wikipedia in their language
// does not.
var sisters = []string{"as", "bh", "hi", "ks", "lo", "ml", "sd"}

// NumbersOf returns the form of numbers on a wiki, given its language and its name, such as
// "dewiki"; either may be empty.
func NumbersOf(lang, wiki string) *Numbers {
	lang = strings.ToLower(lang)
	base, _, _ := strings.Cut(lang, "-")
	all := styles()
	if slices.Contains(sisters, base) && wiki != "" && !strings.HasSuffix(wiki, "wiki") && wiki != "hiwikiversity" {
		if n := all[base+"+"]; n != nil {
			return n
		}
	}
	if n := all[lang]; n != nil {
		return n
	}
	if n := all[base]; n != nil {
		return n
	}
	return &english
}

// AppendFormatted appends a text as {{formatnum:text}} gives it: each number in it is written
// in the form of the wiki.
func (n *Numbers) AppendFormatted(dst []byte, text string) []byte {
	if v, ok := numeric(text); ok {
		return n.appendNumber(dst, strings.TrimSpace(text), v)
	}
	for text != "" {
		length := numberLength(text)
		if length == 0 {
			dst = append(dst, text[0])
			text = text[1:]
			continue
		}
		v, err := strconv.ParseFloat(text[:length], 64)
		if err != nil {
			dst = append(dst, text[:length]...) // out of range
		} else {
			dst = n.appendNumber(dst, text[:length], v)
		}
		text = text[length:]
	}
	return dst
}

// AppendDigits appends a text as {{formatnum:text|NOSEP}} gives it: with the wiki's digits
// and minus sign, without separators.
func (n *Numbers) AppendDigits(dst []byte, text string) []byte {
	_, whole := numeric(text)
	for k := 0; k < len(text); k++ {
		if text[k] == '-' && (whole || numberLength(text[k:]) > 0) {
			dst = append(dst, "−"...)
			continue
		}
		dst = n.appendByte(dst, text[k])
	}
	return dst
}

// Parse returns a text as {{formatnum:text|R}} gives it: separators and digits of the wiki
// are replaced by those of computers.
func (n *Numbers) Parse(text string) string {
	var b strings.Builder
	for k := 0; k < len(text); {
		switch rest := text[k:]; {
		case strings.HasPrefix(rest, "−"):
			b.WriteByte('-')
			k += len("−")
		case strings.HasPrefix(rest, "\u00a0") && n.Group == " ":
			k += len("\u00a0")
		case n.Group != "" && n.Group != "," && n.Group != " " && strings.HasPrefix(rest, n.Group):
			k += len(n.Group)
		case n.Decimal != "." && strings.HasPrefix(rest, n.Decimal):
			b.WriteByte('.')
			k += len(n.Decimal)
		case rest[0] == ',':
			k++
		default:
			r := []rune(rest[:min(len(rest), 4)])[0]
			digit := false
			for value, d := range n.digits {
				if d == r {
					b.WriteByte(byte('0' + value))
					k += len(string(r))
					digit = true
				}
			}
			if !digit {
				b.WriteByte(rest[0])
				k++
			}
		}
	}
	return b.String()
}

// AppendGrouped appends a plain decimal number, with a sign as it is, with the separators and
// digits of the wiki. All other text is appended unchanged.
func (n *Numbers) AppendGrouped(dst []byte, text string) []byte {
	start := 0
	if text != "" && (text[0] == '-' || text[0] == '+') {
		start = 1
	}
	end := start
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	if end < len(text) && text[end] != '.' {
		return append(dst, text...)
	}
	dst = append(dst, text[:start]...)
	dst = n.appendGroups(dst, text[start:end])
	if end+1 < len(text) {
		dst = append(dst, n.Decimal...)
		end++
	}
	for ; end < len(text); end++ {
		dst = n.appendByte(dst, text[end])
	}
	return dst
}

// appendGroups appends digits with separators between groups.
func (n *Numbers) appendGroups(dst []byte, digits string) []byte {
	for k := range len(digits) {
		if left := len(digits) - k; k > 0 && len(digits) >= n.least && (left == 3 || left > 3 && (!n.indian && left%3 == 0 || n.indian && left%2 == 1)) {
			dst = append(dst, n.Group...)
		}
		dst = n.appendByte(dst, digits[k])
	}
	return dst
}

// appendByte appends a byte; a digit as one of the wiki.
func (n *Numbers) appendByte(dst []byte, c byte) []byte {
	if n.digits != nil && c >= '0' && c <= '9' {
		return append(dst, string(n.digits[c-'0'])...)
	}
	return append(dst, c)
}

// maxExact is the maximum number of digits that a number of 64 bits holds exactly.
const maxExact = 15

// appendNumber appends a number, given also as text.
func (n *Numbers) appendNumber(dst []byte, text string, v float64) []byte {
	negative := text[0] == '-'
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, hasPoint := strings.Cut(digits, ".")
	plain := onlyDigits(whole) && onlyDigits(fraction)
	switch {
	case n.least > 4 && !(len(whole) >= n.least && onlyDigits(whole[:n.least])):
		// too short for groups: the text stays as it is
		if negative {
			dst = append(dst, "−"...)
		}
		for k := range len(digits) {
			switch digits[k] {
			case '.':
				dst = append(dst, n.Decimal...)
			case '-':
				dst = append(dst, "−"...)
			default:
				dst = n.appendByte(dst, digits[k])
			}
		}
		return dst
	case !plain: // with a plus sign or an exponent: up to three decimals
		digits = strconv.FormatFloat(math.Abs(v), 'f', 3, 64)
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
		whole, fraction, hasPoint = strings.Cut(digits, ".")
	case len(whole)+len(fraction) > maxExact:
		decimals := len(fraction)
		whole, fraction, _ = strings.Cut(strconv.FormatFloat(math.Abs(v), 'f', -1, 64), ".")
		fraction += strings.Repeat("0", max(decimals-len(fraction), 0))
		fraction = fraction[:decimals]
	}
	if negative {
		dst = append(dst, "−"...)
	}
	dst = n.appendGroups(dst, whole)
	if hasPoint {
		dst = append(dst, n.Decimal...)
		for k := range len(fraction) {
			dst = n.appendByte(dst, fraction[k])
		}
	}
	return dst
}

func onlyDigits(s string) bool {
	for k := range len(s) {
		if s[k] < '0' || s[k] > '9' {
			return false
		}
	}
	return true
}

// numeric parses a text that is a number in PHP, with blanks around it; ok is false if it is
// none.
func numeric(text string) (v float64, ok bool) {
	text = strings.Trim(text, " \t\n\r\v\f")
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || digits == "" || numberLength(digits) != len(digits) {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// numberLength returns the length of the number at the beginning of a text; 0 if there is
// none.
func numberLength(text string) int {
	k := 0
	digits := func() int {
		start := k
		for k < len(text) && text[k] >= '0' && text[k] <= '9' {
			k++
		}
		return k - start
	}
	if k < len(text) && text[k] == '-' {
		k++
	}
	whole := digits()
	if k < len(text) && text[k] == '.' {
		k++
		if digits() == 0 && whole == 0 {
			return 0
		}
	} else if whole == 0 {
		return 0
	}
	end := k
	if k < len(text) && text[k]|0x20 == 'e' {
		k++
		if k < len(text) && (text[k] == '-' || text[k] == '+') {
			k++
		}
		if digits() > 0 {
			end = k
		}
	}
	return end
}
