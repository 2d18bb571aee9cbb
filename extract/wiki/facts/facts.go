// Package facts has what manifests and side-cars say of wikis, for readers that need
// no reader of dumps: the counts by which a source is known to be a wiki.
package facts

import "pretext/counts"

// Counts of the pages of a wiki.
var (
	Pages = counts.Declare("pages", counts.About{Label: "pages", In: counts.Summary | counts.Stats,
		Meaning: "pages of dumps and of wikis as HTML; = their documents + their rejects"})
	Footers   = counts.Declare("footers", counts.About{Meaning: "`</mediawiki>` tags: 0 for a dump that may have been cut between two pages"})
	HTMLBytes = counts.Declare("html_bytes", counts.About{Unit: counts.Bytes, Meaning: "decompressed HTML and JSON"})
)

// Unended reports whether counts are of a dump without an end.
func Unended(c counts.Counts) bool {
	return Pages.Of(c) > 0 && Footers.Of(c) == 0 && HTMLBytes.Of(c) == 0
}
