package hf

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"pretext/tokenize/internal/bytetrie"
	"pretext/tokenize/internal/hfunicode"
)

// An addedToken is a token that the encoder searches for in the text before it passes the
// rest to the model.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // only if no word character is next to the token
	LStrip     bool   `json:"lstrip"`      // also consumes the white space before the token
	RStrip     bool   `json:"rstrip"`      // also consumes the white space after the token
	Normalized bool   `json:"normalized"`  // searched in the normalized text, normalized too
	Special    bool   `json:"special"`
}

// A finder finds added tokens in a text: the leftmost one first, and the longest of those
// that begin at the same position.
type finder struct {
	tokens []addedToken
	begins [256]bool // by byte: whether any token begins with it
	forms  *bytetrie.Trie
}

// newFinder returns a finder of tokens; forms has the text to search for each. It returns
// nil if there are no tokens.
func newFinder(tokens []addedToken, forms []string) (*finder, error) {
	if len(tokens) == 0 {
		return nil, nil
	}
	f := &finder{tokens: tokens}
	known := make(map[string]int, len(forms))
	for i, form := range forms {
		if form == "" {
			return nil, fmt.Errorf("added token %q: the normalizer leaves nothing of it", tokens[i].Content)
		}
		if other, ok := known[form]; ok {
			return nil, fmt.Errorf("added token %q: the same text as %q", tokens[i].Content, tokens[other].Content)
		}
		known[form] = i
		f.begins[form[0]] = true
	}
	f.forms = bytetrie.Of(forms)
	return f, nil
}

// at returns the longest token at the beginning of s, and its length; nil if there is none.
func (f *finder) at(b *budget, s string) (token *addedToken, length int) {
	node, i := bytetrie.Root, 0
	for i < len(s) {
		if node = f.forms.Next(node, s[i]); node < 0 {
			break
		}
		i++
		if t := f.forms.Value(node); t != bytetrie.None {
			token, length = &f.tokens[t], i
		}
	}
	b.take(i)
	return token, length
}

// split divides p into the added tokens that f finds and the text between them, and appends
// all pieces to dst. f may be nil and then finds none.
func (f *finder) split(b *budget, dst []piece, p piece) []piece {
	if p.text == "" {
		return dst
	}
	if f == nil {
		return append(dst, p)
	}
	last := 0 // end of the last token, with the white space that it consumes
	for i := 0; i < len(p.text); {
		if !f.begins[p.text[i]] {
			i++
			continue
		}
		token, n := f.at(b, p.text[i:])
		if b.spent() {
			return dst
		}
		if token == nil {
			i++
			continue
		}
		start, end := i, i+n
		i = end
		if token.SingleWord && !alone(p.text, start, end) {
			continue
		}
		start, end = token.strip(p.text, last, start, end)
		b.take(end - i)
		if last < start {
			dst = append(dst, p.cut(last, start))
		}
		dst = append(dst, piece{id: token.ID})
		last = end
	}
	if last < len(p.text) {
		dst = append(dst, p.cut(last, len(p.text)))
	}
	return dst
}

// strip returns the range of a token with the white space around it that the token
// consumes. last is the end of the token before, start and end are the range without white
// space.
func (t *addedToken) strip(text string, last, start, end int) (from, to int) {
	isSpace := hfunicode.Get("rust:space").Has
	if t.LStrip && start > last {
		start = last + len(strings.TrimRightFunc(text[last:start], isSpace))
	}
	if t.RStrip {
		end = len(text) - len(strings.TrimLeftFunc(text[end:], isSpace))
	}
	return max(start, last), end
}

// alone reports whether neither the character before start nor the one after end is a word
// character.
func alone(text string, start, end int) bool {
	word := hfunicode.Get("rust:word")
	before, n := utf8.DecodeLastRuneInString(text[:start])
	after, m := utf8.DecodeRuneInString(text[end:])
	return (n == 0 || !word.Has(before)) && (m == 0 || !word.Has(after))
}
