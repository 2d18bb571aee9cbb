package wikitext

import (
	"bytes"
	"slices"
	"strings"
)

// hasVariants reports whether -{…}- is markup on a wiki in the given language,
// because the language is written in several variants (MediaWiki's
// LanguageConverter). A script or country in the code does not matter: zh-Hans-CN.
func hasVariants(lang string) bool {
	for {
		base, last, ok := cutLast(lang)
		if !ok || len(last) != len("Hans") && len(last) != len("CN") {
			break // zh-min-nan is another language
		}
		lang = base
	}
	switch lang {
	case "zh", "sr", "sh", "kk", "ku", "uz", "crh", "iu", "shi", "tg", "gan", "wuu", "zh-classical", "ban", "tly":
		return true
	}
	return false
}

// cutLast cuts the last subtag off a language code.
func cutLast(lang string) (base, last string, ok bool) {
	if k := strings.LastIndexByte(lang, '-'); k >= 0 {
		return lang[:k], lang[k+1:], true
	}
	return lang, "", false
}

// maxVariant is the maximum length of -{…}- in bytes. Longer text is not
// markup.
const maxVariant = 4096

// variantAt renders the language variant -{…}- at src[i], after writing the plain text
// src[start:i]. Of "zh-hans:x;zh-hant:y" it renders the first alternative, "x"; of
// "A|x" the text after the flags, "x". It returns the offset after the variant, or i if
// there is none.
func (n *inline) variantAt(start, i, e int) (next int) {
	if i+1 >= e || n.in.src[i+1] != '{' || i+2 < e && n.in.src[i+2] == '{' {
		return i
	}
	from := i + 2
	to := n.in.variantEnd(from, e)
	if to < 0 || to > i+maxVariant {
		return i
	}
	n.w.text(n.in.src[start:i])
	if bar := bytes.IndexByte(n.in.src[from:to], '|'); bar >= 0 && isFlags(n.in.src[from:from+bar]) {
		flags := trimSpace(n.in.src[from : from+bar])
		from += bar + 1
		switch string(flags) {
		case "H", "T", "-", "h", "t": // rules for the rest of the page or for its title
			n.w.removed()
			return to + 2
		}
	}
	n.alternative(from, to)
	return to + 2
}

// A variantFinder finds the end of each "-{" in the page. Variants may be nested, so
// the first lookup pairs all of them.
type variantFinder struct {
	pairs   []span // sorted by start; end = 0: not closed
	open    []int  // scratch: indices in pairs
	matched bool
}

func (f *variantFinder) reset() {
	if cap(f.pairs) > maxKept {
		f.pairs, f.open = nil, nil
	}
	f.pairs, f.matched = f.pairs[:0], false
}

// match pairs each "-{" in src with the "}-" that closes it.
func (f *variantFinder) match(src []byte) {
	f.matched = true
	f.open = f.open[:0]
	for i := 0; ; i += 2 {
		k := bytes.IndexByte(src[i:], '-')
		if k < 0 {
			return
		}
		i += k
		switch {
		case i > 0 && src[i-1] == '}' && len(f.open) > 0:
			last := len(f.open) - 1
			f.pairs[f.open[last]].end = i - 1
			f.open = f.open[:last]
			i--
		case i+1 < len(src) && src[i+1] == '{' && (i+2 == len(src) || src[i+2] != '{'):
			f.open = append(f.open, len(f.pairs))
			f.pairs = append(f.pairs, span{start: i + 2})
		default:
			i--
		}
	}
}

// variantEnd returns the offset of the "}-" that closes the "-{" that ends at
// src[i], or -1 if it is not closed before e.
func (f *finder) variantEnd(i, e int) int {
	v := &f.variants
	if !v.matched {
		v.match(f.src)
		f.work += len(f.src)
	}
	k, found := slices.BinarySearchFunc(v.pairs, i, func(p span, start int) int { return p.start - start })
	if !found || v.pairs[k].end == 0 || v.pairs[k].end+2 > e {
		return -1
	}
	return v.pairs[k].end
}

// alternative renders src[i:e]: only the first alternative if the text has the form
// "code:text;code:text", otherwise the whole text.
func (n *inline) alternative(i, e int) {
	b := n.in.src[i:e]
	if semi := bytes.IndexByte(b, ';'); semi >= 0 && len(trimSpace(b[:semi])) == 0 {
		i += semi + 1
		b = b[semi+1:]
	}
	if colon := bytes.IndexByte(b, ':'); colon > 0 && isVariantCode(trimSpace(b[:colon])) {
		i += colon + 1
		n.in.work += e - i
		e = i + n.alternativeEnd(n.in.src[i:e])
	}
	saved := n.depth
	if n.depth++; n.depth <= maxDepth {
		n.render(i, e, modeArgument)
	}
	n.depth = saved
}

// alternativeEnd returns the end of the first alternative in b: the first
// semicolon that is not inside braces or a character reference.
func (n *inline) alternativeEnd(b []byte) int {
	open := 0
	for i, c := range b {
		switch c {
		case '{':
			open++
		case '}':
			open--
		case ';':
			if open > 0 {
				continue
			}
			tail := b[max(0, i+1-maxReference) : i+1]
			k := bytes.LastIndexByte(tail, '&')
			if k < 0 {
				return i
			}
			if ent, ok := n.in.entities.at(tail, k); !ok || ent.next != len(tail) {
				return i
			}
		}
	}
	return len(b)
}

// maxReference is the maximum length, in bytes, of a character reference that
// alternativeEnd recognizes.
const maxReference = 33

// isFlags reports whether b, the text before a bar in -{…}-, consists of flags:
// letters or codes of language variants.
func isFlags(b []byte) bool {
	for _, c := range b {
		if class[c]&classLetter == 0 && c != '-' && c != ';' && !isBlank(c) {
			return false
		}
	}
	return true
}

func isVariantCode(b []byte) bool {
	if len(b) < 2 || len(b) > 12 {
		return false
	}
	for _, c := range b {
		if (c < 'a' || c > 'z') && c != '-' {
			return false
		}
	}
	return true
}
