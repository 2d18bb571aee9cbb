// Package wikihtml extracts documents from pages of wikis in the HTML that
// MediaWiki's parser Parsoid makes: snapshots of Wikimedia Enterprise (.tar.gz
// with files of JSON lines, or such files) and files with a page each.
//
//	r := wikihtml.NewReader(wikihtml.Input{Name: "enwiki_namespace_0.tar.gz", Open: open}, wiki.DefaultOptions())
//	for doc, err := range r.Documents() {
//		if err != nil {
//			return err
//		}
//		… // doc is valid until the next iteration
//	}
//
// # Text
//
// A page's HTML is written as plain wikitext (headings, list items, paragraphs;
// every other sign escaped), which package wikitext turns into text. So the
// options have the effects that they have for a dump, and both forms of a page
// give the same lines.
//
//   - Dropped, as from wikitext: tables, files and their captions, galleries,
//     footnotes, formulas, source code (unless Options.Wikitext.Code), hatnotes,
//     infoboxes, navigation and maintenance boxes, links for editing, elements
//     that are not displayed, back matter.
//   - Kept: the text of all other elements. Templates were expanded by the wiki,
//     so they leave no holes. Of text in several variants of a language
//     (data-mw-variant) the first is kept, as from wikitext.
//
// A file that begins like a dump, a page or a compressed file of another kind is
// refused ([ErrForeign]).
//
// # Uses of templates
//
// [Reader.OnTransclusion] reports each use of a template in a sentence, list item
// or definition with the text that the page shows. It comes from the elements
// that Parsoid marks as made by a template: siblings with one attribute "about",
// of which the first has typeof="mw:Transclusion" and data-mw, an object:
//
//	{"parts": [{"template": {"target": {"wt": "Höhe", "href": "./Vorlage:Höhe"}, "params": {"1": {"wt": "12"}}, "i": 0}}]}
//
// Uses elsewhere, of several templates at once, of parser functions, and data in
// other forms are counted ([TransclusionStats]).
//
// # Snapshots
//
// A line is an object with the fields name, identifier, url, date_modified,
// version.identifier, in_language.identifier, namespace.identifier,
// is_part_of.identifier, license[].identifier and article_body.html; others are
// ignored. What the object lacks is taken from the head of the HTML, as for a
// page in a file of its own:
//
//	<html about="https://en.wikipedia.org/wiki/Special:Redirect/revision/908922312">      revision
//	<title>Earth</title>                                                                  title
//	<meta property="mw:pageId" content="9228">  mw:pageNamespace  dc:modified             ID, namespace, time
//	<meta http-equiv="content-language" content="en">                                     language
//	<link rel="dc:isVersionOf" href="//en.wikipedia.org/wiki/Earth">                      address
//
// The ID of a document is that of the same page of a dump: "enwiki:9228". A page
// in a file of its own that has no number is named after the file.
//
// # Rejects
//
// Every line, or file, is a document or a reject. Reasons, in the order in which
// they are tested: malformed (not such an object; no name or number), namespace,
// redirect, too-large (over 32 MiB of JSON or HTML, or over extract.MaxPageBytes
// without markup), empty, disambiguation, empty after extraction, too-short.
//
// A truncated or corrupt archive is a [*wiki.CorruptError] after the documents
// before it.
//
// # Concurrency and memory
//
// A [Reader] must not be used by several goroutines at once. It holds one page:
// less than 200 MiB for one at the limit, some MiB for others.
package wikihtml
