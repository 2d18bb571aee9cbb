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
// The text is what a reader of the rendered page sees as prose. A paragraph,
// a heading or a list item is one line; lines end with one line feed, none is
// empty, and there is no white space at the ends of the text. Lines of one
// paragraph are joined with a space.
//
//   - Kept: words of paragraphs and list items, labels of links, headings of
//     sections that have text, code inside a sentence, preformatted text,
//     quotations, and what inline templates show: quantities, dates, words in
//     foreign languages, names of ships, currencies, places of Wikivoyage.
//     Numbers have the separators of the wiki's language ([Page.Lang]). Parser
//     functions are computed where all that they depend on stands on the page.
//   - Dropped: tables, files with their captions, galleries, footnotes,
//     categories, links to other languages and, on lines of their own, to other
//     projects, comments, behaviour switches, formulas, blocks of code, pronunciation in parentheses, navigation and
//     maintenance templates, templates that are not known, sections that hold
//     no prose ([Options]).
//
// Where something was dropped no trace remains: "Albedo ({{IPAc-en|…}}) is"
// gives "Albedo is". The repair works on the seam only, so a "f()" that the
// page itself has stands.
//
// Beyond that the rules are those of MediaWiki's parser, down to its odd
// corners: which of five apostrophes is text, where a link's label ends, which
// colon ends a term. Broken markup is shown as MediaWiki shows it, but for
// braces that are not closed (the line is dropped), tables that are not closed
// (text resumes at the next heading) and footnotes and the like that are not
// closed (the tag is dropped, the text behind it shown).
//
// Input need not be valid UTF-8: other bytes pass through. Of valid input the
// text is valid.
//
// # How it works
//
// Comments are taken out first (comments.go): they may stand inside any markup.
// Then one pass, no syntax tree. A map of the bytes that may begin markup, made
// with vector instructions where there are some (special.go), or else a table of
// byte classes steps over plain text; a line's first byte selects the block
// construct (blocks.go), any other special
// byte the inline one (inline.go). Each handler first finds the end of its
// construct, then writes. Only arguments and labels that carry text are
// scanned again, to a bounded depth.
//
// Ends are found by scans that are never repeated: what is open and closed is
// remembered per construct (match.go, tables.go, exttags.go, links.go), so
// time is linear in the page, and memory is bounded by it, whatever the page
// holds.
//
// # Concurrency
//
// A [Scanner] serves one goroutine and keeps its buffers from page to page;
// after some pages it allocates nothing. Results do not depend on the pages
// before. Functions are safe to call from several goroutines.
package wikitext
