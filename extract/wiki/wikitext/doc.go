// Package wikitext turns the wikitext of one page into plain text.
//
//	s := wikitext.NewScanner(wikitext.DefaultOptions())
//	var text []byte
//	for page := range pages {
//		text = s.AppendText(text[:0], page.Source, wikitext.Page{Title: page.Title, Lang: "en"})
//		…
//	}
//
// # Text
//
// The text is the prose that a reader of the rendered page sees. A paragraph, a
// heading or a list item is one line; lines end with one line feed, none is
// empty, and there is no white space at the ends of the text. Lines of one
// paragraph are joined with a space.
//
//   - Kept: words of paragraphs and list items, labels of links, headings of
//     sections that have text, code inside a sentence, preformatted text,
//     quotations, and the output of inline templates: quantities, dates, words
//     in foreign languages, names of ships, currencies, places of Wikivoyage.
//     Numbers have the separators of the wiki's language ([Page.Lang]). Parser
//     functions are computed if everything that they depend on is on the page.
//   - Dropped: tables, files with their captions, galleries, footnotes,
//     elements that are not displayed or not prose (hidden.go), categories, links
//     to other languages and, on lines of their own, to other projects, comments,
//     behaviour switches, formulas, blocks of code, pronunciation in parentheses,
//     navigation and maintenance templates, templates that are not known, sections
//     that hold no prose ([Options]).
//
// Dropped content leaves no trace: "Albedo ({{IPAc-en|…}}) is" becomes "Albedo
// is". Only the text around the removed part is repaired, so an "f()" in the
// source is kept.
//
// Otherwise the rules are those of MediaWiki's parser, including its edge
// cases: which of five apostrophes is text, where a link's label ends, which
// colon ends a term. Broken markup is rendered as MediaWiki does, with four
// exceptions: a line with unclosed braces is dropped; after an unclosed table,
// text resumes at the next heading, or paragraph that is not a row; the tag of an
// unclosed footnote is dropped and the text after it is kept; the label of
// [[http://a|b]], which MediaWiki takes for a part of the address, is shown.
//
// Input need not be valid UTF-8; invalid bytes are copied. For valid input the
// text is valid.
//
// # Implementation
//
// A [Scanner] wires parts together. Each owns its fields, and holds pointers to the
// parts that it calls:
//
//	blocks ─▶ tables ─┐          a page's lines: headings, list items, paragraphs
//	   └──────────────┴▶ inline  the markup within a line
//	                      ├▶ links      labels
//	                      ├▶ tags       HTML and extension tags
//	                      └▶ templates  rules (operations), functions, expansion
//
//	finder  the source and the ends of constructs: read by all of them
//	writer  the text: append, repair the place of removed markup; called by all
//	wiki    what names of templates mean in the language
//	losses  what was dropped
//
// The last four are leaves (finder asks wiki whether a template gives a URL).
// Because markup nests, there are two ways back up: links, tables and templates
// render labels, text between cells and arguments with inline.render, and templates
// render arguments of whole lines with blocks.lines. What renders one template is a
// function of a call (call.go, operations.go) and owns no state.
//
// Comments are removed first (comments.go), because they may be inside any markup.
// Then the page is processed in one pass, without a syntax tree. Plain text is
// skipped with a map of the bytes that may begin markup, made with vector
// instructions (specialmap.go), or with a table of byte classes. Each handler first
// finds the end of its construct, then writes. Only arguments and labels with text
// are scanned again, to a bounded depth.
//
// The scans that find ends are never repeated, because their results are cached
// for each construct (braces.go, tables.go, exttags.go, links.go). So time and
// memory are linear in the page for any input.
//
// # Concurrency
//
// A [Scanner] must not be used by several goroutines at once. It reuses its
// buffers, so that after some pages it allocates nothing. Results do not depend
// on earlier pages. Functions are safe for concurrent use.
package wikitext
