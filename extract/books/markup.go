package books

import "bytes"

// Limits of what counts as markup. 27 books of Project Gutenberg have no mark at all;
// of the pages of 13 wikis, 99 in 100 have more than one for every 1,000 characters, and
// most have ten.
const (
	markupSample = 64 << 10 // bytes of a book that are looked at
	leastMarks   = 3
	markBytes    = 1000 // a mark for every so many bytes
)

// isWikitext reports whether a text is a wiki's page with its markup: links, templates
// and headings.
func isWikitext(text []byte) bool { return hasMarks(text, "[[", "{{", "\n==") }

// hasTags reports whether a text has the end tags of HTML or XML.
func hasTags(text []byte) bool { return hasMarks(text, "</") }

func hasMarks(text []byte, marks ...string) bool {
	text = text[:min(len(text), markupSample)]
	n := 0
	for _, mark := range marks {
		n += bytes.Count(text, []byte(mark))
	}
	return n >= leastMarks && n*markBytes >= len(text)
}
