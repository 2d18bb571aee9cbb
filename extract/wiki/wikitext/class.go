package wikitext

// Classes of bytes, as bits. Plain text is skipped with one table look-up for
// each byte.
const (
	classInline   = 1 << iota // may begin markup within a line
	classLine                 // is handled in the search for the end of a line
	classBrace                // is handled when brackets are paired
	classTarget               // is not allowed in the target of a link
	classLabel                // is handled in the search for the end of a label
	classColon                // splits a term from its definition
	classVariant              // may begin a language variant
	classURL                  // is not allowed in the URL of an external link
	classLetter               // ASCII letter
	classOdd                  // a title that contains it must be checked
	classArgument             // is handled when arguments of a template are split
	classNoKey                // is not allowed in the name of an argument
	classSpace                // a blank or a line feed
)

var class = buildClasses()

// skip returns the offset of the first byte in src[i:] that has one of the
// classes, or len(src). Most of the scanner's time is spent here, so four bytes
// share one bounds check.
func skip(src []byte, i int, classes uint16) int {
	for i+4 <= len(src) {
		b := src[i : i+4 : i+4]
		if class[b[0]]&classes != 0 {
			return i
		}
		if class[b[1]]&classes != 0 {
			return i + 1
		}
		if class[b[2]]&classes != 0 {
			return i + 2
		}
		if class[b[3]]&classes != 0 {
			return i + 3
		}
		i += 4
	}
	for i < len(src) && class[src[i]]&classes == 0 {
		i++
	}
	return i
}

func buildClasses() (t [256]uint16) {
	set := func(chars string, c uint16) {
		for i := range len(chars) {
			t[chars[i]] |= c
		}
	}
	set("\n{[<&'_\xC2", classInline)
	set("\n{<", classLine)
	set("{}[]<", classBrace)
	set("\n{}[]|<>", classTarget)
	set("[]{<", classLabel)
	set(":", classColon)
	set("-", classVariant)
	set("[]<>\"\x7F", classURL)
	set(":%&~/{<\xC2", classOdd)
	set("{[<=|", classArgument)
	set(" \t\r\n", classSpace)
	set("[<{\"'/\n", classNoKey)
	set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", classLetter)
	for c := range 0x21 {
		t[c] |= classURL
	}
	return t
}
