package books

import "bytes"

// Limits for recognizing markup. 27 books of Project Gutenberg have no mark at all. Of
// the pages of 13 wikis, 99 % have more than one mark per 1,000 characters, and most
// have ten.
const (
	markupSample = 64 << 10 // size of the part of a book that is examined, in bytes
	leastMarks   = 3
	markBytes    = 1000 // a text with a mark per this number of bytes counts as markup
)

// isWikitext reports whether a text contains the markup of a wiki's page: links,
// templates and headings.
func isWikitext(text []byte) bool { return hasMarks(text, "[[", "{{", "\n==") }

// hasTags reports whether a text contains end tags of HTML or XML.
func hasTags(text []byte) bool { return hasMarks(text, "</") }

func hasMarks(text []byte, marks ...string) bool {
	text = text[:min(len(text), markupSample)]
	n := 0
	for _, mark := range marks {
		n += bytes.Count(text, []byte(mark))
	}
	return n >= leastMarks && n*markBytes >= len(text)
}
