package wikitext

import "bytes"

// hasVariants tells whether a language is written in several variants, so that
// -{…}- is markup (LanguageConverter).
func hasVariants(lang string) bool {
	switch lang {
	case "zh", "sr", "sh", "kk", "ku", "uz", "crh", "iu", "shi", "tg", "gan", "wuu", "zh-classical", "ban", "tly":
		return true
	}
	return false
}

var variantEnd = []byte("}-")

// maxVariant bounds the length of a variant.
const maxVariant = 4096

// variant renders -{…}-: of "zh-hans:x;zh-hant:y" the first alternative, of
// "H|…", "A|…" and the like what these flags show.
func (s *Scanner) variant(start, i, e int) (next int) {
	if i+1 >= e || s.src[i+1] != '{' || i+2 < e && s.src[i+2] == '{' {
		return i
	}
	from := i + 2
	to := s.next(&s.ext.variant, from, variantEnd)
	if to < 0 || to+2 > e || to > i+maxVariant {
		return i
	}
	s.text(s.src[start:i])
	if bar := bytes.IndexByte(s.src[from:to], '|'); bar >= 0 {
		flags := trimSpace(s.src[from : from+bar])
		from += bar + 1
		switch string(flags) {
		case "H", "T", "-", "h", "t": // rules for the rest of the page, or its title
			s.removed()
			return to + 2
		}
	}
	s.alternative(from, to)
	return to + 2
}

// alternative renders the first of "code:text;code:text", or all if it is no
// such list.
func (s *Scanner) alternative(i, e int) {
	b := s.src[i:e]
	if colon := bytes.IndexByte(b, ':'); colon > 0 && isVariantCode(trimSpace(b[:colon])) {
		i += colon + 1
		if semi := bytes.IndexByte(s.src[i:e], ';'); semi >= 0 {
			e = i + semi
		}
	}
	saved := s.depth
	if s.depth++; s.depth <= maxDepth {
		s.inline(i, e, modeArgument)
	}
	s.depth = saved
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
