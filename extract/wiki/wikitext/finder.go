package wikitext

// A finder finds the ends of constructs and caches them. It is built on source,
// tagFinder and braceFinder. No scan is repeated: for each kind of construct, a finder
// stores the results and how far the page was scanned. So hostile input (unclosed or
// deeply nested markup) takes linear time. Most lookups are in source order.
type finder struct {
	braceFinder
	wiki     *wiki // decides whether a template gives a URL
	tables   tableFinder
	variants variantFinder
	near     nearFinder
	entities entities
	name     []byte // scratch: a folded name
}

// A nearFinder caches the ends of constructs that end inside the range being
// rendered: a link label, a template argument, or the whole page.
type nearFinder struct {
	image imageFinder
	label failure // of links
	url   failure // of external links
}

// load starts a page with the source src.
func (f *finder) load(src []byte) {
	f.braceFinder.load(src)
	f.tables.reset()
	f.variants.reset()
	f.near = nearFinder{}
}
