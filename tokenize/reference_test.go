package tokenize_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pretext/internal/dev/realdata"
	"pretext/tokenize"
)

// reference is tokenization.py of google-research/bert, rule for rule, over the
// Unicode tables of Go and x/text. It shares nothing with the package it
// checks and is about two hundred times slower.
//
// With nvidia set it is tokenization.py of NVIDIA's BERT for PyTorch.
type reference struct {
	vocab  *tokenize.Vocab
	lower  bool
	strip  bool // accents
	alone  bool // ideographs
	nvidia bool
	max    int
}

// newReference returns the reference for the profiles google and nvidia-pt.
func newReference(v *tokenize.Vocab, o tokenize.Options) reference {
	f := reference{v, o.DoLowerCase, o.DoLowerCase, true, o.Profile == tokenize.ProfileNVIDIA, o.MaxCharsPerWord}
	if o.StripAccents != nil {
		f.strip = *o.StripAccents
	}
	if o.TokenizeChineseChars != nil {
		f.alone = *o.TokenizeChineseChars
	}
	switch {
	case f.max > 0:
	case f.nvidia:
		f.max = 100
	default:
		f.max = 200
	}
	return f
}

// needOracle skips the test where Go's tables are of another Unicode version
// than the package's own.
func needOracle(tb testing.TB) {
	tb.Helper()
	if unicode.Version != tokenize.UnicodeVersion || norm.Version != tokenize.UnicodeVersion {
		realdata.Missing(tb, fmt.Sprintf("Go has Unicode %s, x/text %s; the oracle needs %s", unicode.Version, norm.Version, tokenize.UnicodeVersion))
	}
}

// tokens is FullTokenizer.tokenize.
func (f reference) tokens(text string) []string {
	out := []string{}
	for _, word := range f.words(text) {
		out = append(out, f.pieces(word)...)
	}
	return out
}

// words is BasicTokenizer.tokenize, on bytes that are decoded as Python's
// bytes.decode("utf-8", "ignore") does.
func (f reference) words(text string) []string {
	text = f.clean(decodeIgnoring(text))
	if f.alone {
		text = f.spaceIdeographs(text)
	}
	out := []string{}
	for _, token := range pythonSplit(text) {
		if f.nvidia && slices.Contains(tokenize.SpecialTokens(), token) {
			out = append(out, token)
			continue
		}
		if f.lower {
			token = pythonLower(token)
		}
		if f.strip {
			token = stripAccents(token)
		}
		out = append(out, splitOnPunctuation(token)...)
	}
	return pythonSplit(strings.Join(out, " "))
}

func decodeIgnoring(text string) string {
	var out []rune
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r != utf8.RuneError || size > 1 {
			out = append(out, r)
		}
		text = text[size:]
	}
	return string(out)
}

func (f reference) clean(text string) string {
	var out []rune
	for _, r := range text {
		switch {
		case r == 0 || r == 0xfffd || isControl(r) || f.nvidia && unicode.In(r, unicode.Co, unicode.Cn):
		case isWhitespace(r):
			out = append(out, ' ')
		default:
			out = append(out, r)
		}
	}
	return string(out)
}

func isWhitespace(r rune) bool {
	return r == ' ' || r == '\t' || r == '\n' || r == '\r' || unicode.Is(unicode.Zs, r)
}

func isControl(r rune) bool {
	if r == '\t' || r == '\n' || r == '\r' {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf)
}

func isPunctuation(r rune) bool {
	if r >= 33 && r <= 47 || r >= 58 && r <= 64 || r >= 91 && r <= 96 || r >= 123 && r <= 126 {
		return true
	}
	return unicode.Is(unicode.P, r)
}

func (f reference) spaceIdeographs(text string) string {
	var out []rune
	for _, r := range text {
		if r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF ||
			r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F ||
			r >= 0x2B740 && r <= 0x2B81F || r >= 0x2B820 && r <= 0x2CEAF ||
			r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F {
			out = append(out, ' ', r, ' ')
		} else {
			out = append(out, r)
		}
	}
	return string(out)
}

// pythonSplit is str.split without arguments.
func pythonSplit(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r >= 9 && r <= 13 || r >= 0x1c && r <= 0x20 || r == 0x85 || unicode.In(r, unicode.Z)
	})
}

// pythonLower is str.lower.
func pythonLower(token string) string {
	runes := []rune(token)
	var out []rune
	for i, r := range runes {
		switch {
		case r == 'Σ' && finalSigma(runes, i):
			out = append(out, 'ς')
		case r == 'İ':
			out = append(out, 'i', 0x307)
		default:
			out = append(out, unicode.ToLower(r))
		}
	}
	return string(out)
}

// finalSigma is handle_capital_sigma of CPython.
func finalSigma(runes []rune, i int) bool {
	before := i - 1
	for before >= 0 && caseIgnorable(runes[before]) {
		before--
	}
	if before < 0 || !cased(runes[before]) {
		return false
	}
	after := i + 1
	for after < len(runes) && caseIgnorable(runes[after]) {
		after++
	}
	return after == len(runes) || !cased(runes[after])
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) ||
		slices.Contains([]rune{
			0x27, 0x2e, 0x3a, 0xb7, 0x387, 0x55f, 0x5f4, 0x2018, 0x2019, 0x2024, 0x2027,
			0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a,
		}, r)
}

func stripAccents(token string) string {
	var out []rune
	for _, r := range decompose(token) {
		if !unicode.Is(unicode.Mn, r) {
			out = append(out, r)
		}
	}
	return string(out)
}

// decompose is NFD of any length; norm.NFD.String breaks up runs of more than
// thirty non-starters.
func decompose(token string) []rune {
	var out []rune
	for _, r := range token {
		out = append(out, []rune(norm.NFD.String(string(r)))...)
	}
	ccc := func(r rune) int { return int(norm.NFD.PropertiesString(string(r)).CCC()) }
	for i := 0; i < len(out); i++ {
		end := i
		for end < len(out) && ccc(out[end]) != 0 {
			end++
		}
		slices.SortStableFunc(out[i:end], func(a, b rune) int { return ccc(a) - ccc(b) })
		i = end
	}
	return out
}

func splitOnPunctuation(token string) []string {
	var out [][]rune
	isNew := true
	for _, r := range token {
		if isPunctuation(r) {
			out = append(out, []rune{r})
			isNew = true
			continue
		}
		if isNew {
			out = append(out, nil)
		}
		isNew = false
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	words := make([]string, len(out))
	for i, w := range out {
		words[i] = string(w)
	}
	return words
}

// pieces is WordpieceTokenizer.tokenize for one word.
func (f reference) pieces(word string) []string {
	chars := []rune(word)
	if len(chars) > f.max {
		return []string{"[UNK]"}
	}
	var out []string
	for start := 0; start < len(chars); {
		end := len(chars)
		for ; end > start; end-- {
			piece := string(chars[start:end])
			if start > 0 {
				piece = "##" + piece
			}
			if _, ok := f.vocab.ID(piece); ok {
				out = append(out, piece)
				break
			}
		}
		if end == start {
			return []string{"[UNK]"}
		}
		start = end
	}
	return out
}
