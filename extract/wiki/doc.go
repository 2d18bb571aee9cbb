// Package wiki turns a MediaWiki XML dump into documents: decode, split into
// pages, filter on the page's header, and give the text of what is left to
// package wikitext. It reads dumps as Wikimedia publishes them (.xml.bz2 of one
// stream or many, with no need for the index of the multistream files),
// uncompressed and gzipped ones.
//
// A dump is read by ranges, in any order and by as many readers as there are
// cores:
//
//	head, err := wiki.ReadHead(file, size) // once
//	…
//	dump := wiki.Dump{File: file, Size: size, Name: "enwiki-latest-pages-articles.xml.bz2", Head: head}
//	for _, rng := range wiki.Ranges(size) { // each of these is a task
//		r := wiki.NewReader(dump, rng, wiki.DefaultOptions())
//		for doc, err := range r.Documents() {
//			if err != nil {
//				return err
//			}
//			… // doc is valid until the next step
//		}
//		stats.Add(r.Stats())
//	}
//
// # Which range a page belongs to
//
// A range [Start, End) owns the pages whose <page> tag begins in it: in these
// bytes of an uncompressed file, in a bzip2 block that begins in these bytes
// otherwise. It reads on behind its end to finish its last page. What is a page
// is told by tags alone, with no memory of what came before: a page begins at
// every <page> and ends at the next </page>. So the documents of the ranges,
// one range after the other, are those of the whole dump read at once, for any
// cuts, also for cuts inside pages, comments or tags. The price is that a <page>
// in a comment or CDATA section counts as one: MediaWiki writes neither, and
// escapes every < of a text.
//
// A gzipped dump and one in UTF-16 can only be read from the front: the range
// that begins at 0 owns all of it, all others own nothing.
//
// # What becomes of a page
//
// Every page is either a document or a reject, see [Stats]. The reasons, in the
// order in which they are looked for:
//
//	unterminated    no </page> before the next <page>, </mediawiki> or the end
//	malformed       no title; no id, or none that is a number; a namespace that is not a number;
//	                a tag without its end; below also: no <revision> or no <text>
//	namespace       not one of Options.Namespaces. Without <ns>, the title's prefix counts
//	redirect        <redirect> in the page's header; below also: a text that begins with #REDIRECT
//	too-large       a head over 1 MiB, or a last revision over extract.MaxPageBytes of wikitext
//	                as it stands in the dump (with what else it holds: over 1 MiB more)
//	deleted         the text's tag says so
//	model           the revision's <model> is not wikitext, or its <format> not text/x-wiki
//	empty           no text but white space, in the dump or after extraction
//	disambiguation  see wikitext.IsDisambiguation and Options.KeepDisambiguations
//	too-short       below Options.MinCharacters
//
// Of several revisions the last one counts, as in a dump of a page's history the
// last is the newest; earlier ones are not looked at, and not held.
//
// # What becomes of the XML
//
// References to characters and the five entities of XML are decoded, once;
// others stay as they are, for the wikitext may know them. A DOCTYPE is never
// interpreted: nothing it declares is expanded, no file is opened for it. Bytes
// that are not UTF-8 are dropped and counted. Raw quotation marks in titles and
// attributes, raw & and < in texts, comments, CDATA sections, CR LF line ends, a
// byte order mark, tags without line breaks between them: all of these are read.
//
// # Damage
//
// A checksum that does not match, a file that ends inside a page or a bzip2
// stream, bytes behind the last stream: a [*CorruptError] with the place, after
// all pages that precede it. A file that ends between two pages is accepted, as
// dumps cut to a number of pages are in use; Stats.Footers is 0 for it.
//
// # Concurrency and memory
//
// A [Reader] belongs to one goroutine; readers share nothing but the
// io.ReaderAt. One holds about 15 MiB, and below 64 MiB whatever it is given: no page
// is held that is over the limit.
package wiki
