package tokenize

import "unicode/utf8"

//go:generate sh -c "go run ./internal/gentables > tables.tmp && mv tables.tmp tables_generated.go"

// A class holds everything that tokenization needs to know about a code point,
// in one byte of a two-stage table (classPage, classPages; 256 code points in
// each page):
//
//	bits 0-2  kind: what cleaning and splitting into words do with it, in cased
//	          and uncased mode
//	bits 3-5  lower: the result of lower-casing, decomposing (NFD) and removing
//	          accents (Mn), in uncased mode
//	bits 6-7  sigma: how it affects the lower case of a capital sigma before or
//	          after it
type class uint8

// Kinds.
const (
	kindMask   class = 7
	kindKeep   class = 0 // part of a word
	kindRemove class = 1 // U+0000, U+FFFD, control and format characters: deleted; the text around it is joined
	kindSpace  class = 2 // ends a word
	kindCJK    class = 3 // ideograph: a word by itself
	kindPunct  class = 4 // ASCII symbol or general category P: a word by itself
)

// Results of lower-casing, decomposing and removing accents.
const (
	lowerMask      class = 7 << 3
	lowerSame      class = 0 << 3 // stays as it is
	lowerMap       class = 1 << 3 // becomes its mapping (mappingOf)
	lowerPunct     class = 2 << 3 // becomes its mapping, one punctuation character
	lowerDrop      class = 3 << 3 // is removed; a non-starter (combining class other than 0)
	lowerDropBreak class = 4 << 3 // is removed, but ends a run of canonical ordering
	lowerReorder   class = 5 << 3 // stays, subject to canonical ordering: a non-starter outside Mn
	lowerMapTail   class = 6 << 3 // becomes its mapping, whose end is subject to canonical ordering
	lowerHangul    class = 7 << 3 // becomes two or three jamo by arithmetic
)

// Contexts of a capital sigma (Unicode, chapter 3.13, Final_Sigma).
const (
	sigmaMask       class = 3 << 6
	sigmaCased      class = 1 << 6 // a letter with case
	sigmaIgnorable  class = 2 << 6 // skipped (Case_Ignorable)
	sigmaUnassigned class = 3 << 6 // no context; general category Cn or Co, which the profile nvidia-pt deletes
)

// mappingOf returns the text that r becomes in uncased mode. The class of r
// must have lowerMap, lowerPunct or lowerMapTail.
func mappingOf(r rune) string {
	page := int(mappingPage[uint32(r)>>8])
	at := int(mappingPages[page<<8|int(r&0xff)])
	return mappingText[at+1 : at+1+int(mappingText[at])]
}

// combiningClass returns the Canonical_Combining_Class (UnicodeData.txt, field
// 3) of characters outside general category Mn: 0 for all but the non-starters
// listed here. Characters in Mn are removed before ordering.
func combiningClass(r rune) uint8 {
	switch {
	case r == 0x1715 || r == 0x1734 || r == 0x1b44 || r == 0x1baa ||
		r == 0x1bf2 || r == 0x1bf3 || r == 0xa953 || r == 0xa9c0 || r == 0x111c0 ||
		r == 0x11235 || r == 0x1134d || r == 0x116b6 || r == 0x1193d || r == 0x11f41:
		return 9 // viramas
	case r == 0x302e || r == 0x302f:
		return 224 // Hangul tone marks
	case r == 0x16ff0 || r == 0x16ff1:
		return 6 // Vietnamese reading marks
	case r == 0x1d165 || r == 0x1d166 || 0x1d16e <= r && r <= 0x1d172:
		return 216 // musical stems and flags
	case r == 0x1d16d:
		return 226 // musical augmentation dot
	}
	return 0
}

// bytestring is text as a string or a byte slice. Functions with this type parameter are
// compiled twice. Since methods cannot have type parameters, the first parameter of these
// functions stands for the receiver.
type bytestring interface{ string | []byte }

// decodeRune returns the character at s[i] and its length in bytes, or
// utf8.RuneError and 1 for invalid UTF-8. The reference drops both U+FFFD
// (which equals utf8.RuneError) and invalid bytes, so callers need not
// distinguish them.
func decodeRune[T bytestring](s T, i int) (r rune, size int) {
	b := s[i]
	if b < utf8.RuneSelf {
		return rune(b), 1
	}
	// Fast paths for the most common lengths; after 0xe0 and 0xed the second
	// byte is restricted.
	switch {
	case b >= 0xc2 && b < 0xe0 && i+1 < len(s) && s[i+1]&0xc0 == 0x80:
		return rune(b&0x1f)<<6 | rune(s[i+1]&0x3f), 2
	case b > 0xe0 && b < 0xf0 && b != 0xed && i+2 < len(s) && s[i+1]&0xc0 == 0x80 && s[i+2]&0xc0 == 0x80:
		return rune(b&0x0f)<<12 | rune(s[i+1]&0x3f)<<6 | rune(s[i+2]&0x3f), 3
	}
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], s[i:])
	return utf8.DecodeRune(buf[:n])
}

// decodeLastRune returns the character that ends before s[end] and its length
// in bytes, or utf8.RuneError and 1 for invalid UTF-8.
func decodeLastRune[T bytestring](s T, end int) (r rune, size int) {
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], s[max(0, end-utf8.UTFMax):end])
	return utf8.DecodeLastRune(buf[:n])
}
