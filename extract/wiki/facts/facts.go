// Package facts holds the facts about wikis in manifests and side-cars, for programs
// that do not read dumps: lost templates, and the counts that show that a source is a
// wiki.
package facts

import "pretext/counts"

// Counts of the pages of a wiki.
var (
	Pages = counts.Declare("pages", counts.About{Label: "pages", In: counts.Summary | counts.Stats,
		Meaning: "pages of dumps and of wikis as HTML; = their documents + their rejects"})
	Footers   = counts.Declare("footers", counts.About{Meaning: "`</mediawiki>` tags: 0 for a dump that may have been cut between two pages"})
	HTMLBytes = counts.Declare("html_bytes", counts.About{Unit: counts.Bytes, Meaning: "decompressed HTML and JSON"})
)

// Unended reports whether the counts belong to a dump that has no end tag, and may be
// truncated.
func Unended(c counts.Counts) bool {
	return Pages.Of(c) > 0 && Footers.Of(c) == 0 && HTMLBytes.Of(c) == 0
}
