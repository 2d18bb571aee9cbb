// Package wikihtml extracts documents from wiki pages in HTML, as MediaWiki's parser
// Parsoid writes it. The input is a snapshot of Wikimedia Enterprise (files of JSON
// lines, alone or in a .tar.gz) or files with one page each.
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
// options have the same effects as for a dump, and both forms of a page give the
// same lines.
//
//   - Dropped, as from wikitext: tables, files and their captions, galleries,
//     footnotes, formulas, source code (unless Options.Wikitext.Code), hatnotes,
//     infoboxes, navigation and maintenance boxes, links for editing, elements
//     that are not displayed, back matter.
//   - Kept: the text of all other elements. Templates were expanded by the wiki,
//     so they leave no holes. If text has several variants of a language
//     (data-mw-variant), the first is kept, as from wikitext.
//
// A file that begins like a dump, a page or a compressed file of another kind is
// refused ([ErrForeign]).
//
// # Uses of templates
//
// [Reader.OnTransclusion] reports each use of a template in a sentence, list item
// or definition with the text that the page shows. Parsoid marks the elements that a
// template produced: siblings with the same attribute "about", of which the first has
// typeof="mw:Transclusion" and data-mw, an object:
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
// ignored. Missing fields are taken from the head of the HTML, as for a page in a
// separate file:
//
//	<html about="https://en.wikipedia.org/wiki/Special:Redirect/revision/908922312">      revision
//	<title>Earth</title>                                                                  title
//	<meta property="mw:pageId" content="9228">  mw:pageNamespace  dc:modified             ID, namespace, time
//	<meta http-equiv="content-language" content="en">                                     language
//	<link rel="dc:isVersionOf" href="//en.wikipedia.org/wiki/Earth">                      address
//
// A document has the same ID as the page in a dump: "enwiki:9228". The ID of a page in
// a separate file without a page number is made from the file name.
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
// A [Reader] must not be used by several goroutines at once. It holds one page in
// memory: a few MiB, and less than 200 MiB for a page of the maximum size.
package wikihtml
