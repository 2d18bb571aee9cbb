// Package wiki extracts documents from MediaWiki XML dumps. It decodes a dump,
// splits it into pages, filters the pages by their heads and converts the text
// of the remaining pages with package wikitext. It reads the dumps that Wikimedia
// publishes (.xml.bz2 of one or many streams; the index of a multistream dump is
// not needed), and dumps that are not compressed or gzipped.
//
// A dump is read in ranges of its bytes, in any order and by any number of
// readers:
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
//			… // doc is valid until the next iteration
//		}
//		stats.Add(r.Stats())
//	}
//
// # Format
//
//	<mediawiki xml:lang="en">                                          ┐
//	  <siteinfo> sitename, dbname, base, generator, namespaces          │ Head
//	  </siteinfo>                                                       ┘
//	  <page> title, ns, id, redirect                                    ─ head of the page
//	    <revision> …, model, format, text </revision> <revision> …      ─ the last one counts
//	  </page>
//	  <page> …
//	</mediawiki>                                                        ─ Stats.Footers
//
// # Which range a page belongs to
//
// A range [Start, End) owns the pages whose <page> tag begins in these bytes of
// an uncompressed file, or in a bzip2 block that begins in these bytes. The
// reader continues after End to finish its last page. Pages are recognized by
// tags alone: a page begins at every <page> and ends at the next </page>. So all
// ranges together, in order, give the documents of the whole dump, wherever it is
// divided, even inside pages, comments or tags. As a consequence a <page> in a
// comment or CDATA section counts as a page. MediaWiki writes neither, and
// escapes every < of a text.
//
// A gzipped dump and one in UTF-16 can only be read from the beginning: the
// range that begins at 0 owns all of its pages, the other ranges own none.
//
// # Rejects
//
// Every page becomes a document or a reject, see [Stats]. The reasons, in the order in
// which they are tested:
//
//	unterminated    no </page> before the next <page>, </mediawiki> or the end of the file
//	malformed       no title; no ID, or not a number; a namespace that is not a number;
//	                an unclosed tag; tested later: no <revision> or no <text>
//	namespace       not in Options.Namespaces. Without <ns>, the title's prefix counts
//	redirect        <redirect> in the page's head; tested later: a text that begins with #REDIRECT
//	too-large       a head over 1 MiB, or a last revision with over extract.MaxPageBytes of wikitext,
//	                counted with its XML escapes (the whole revision: 1 MiB more)
//	deleted         the text is marked as deleted
//	model           <model> of the revision is not wikitext, or <format> not text/x-wiki
//	empty           only white space, in the dump or after extraction
//	disambiguation  see wikitext.IsDisambiguation and Options.KeepDisambiguations
//	too-short       shorter than Options.MinCharacters
//
// If a page has several revisions, its last revision is used, which is the newest
// in a dump of the history. Earlier revisions are neither parsed nor held in
// memory.
//
// # XML
//
// Character references and the five entities of XML are decoded once. Other
// entities are kept, because wikitext may contain them. A DOCTYPE is ignored:
// nothing that it declares is expanded, and no file is opened. Bytes that are not
// UTF-8 are dropped and counted. The reader accepts raw quotation marks in titles
// and attributes, raw & and < in texts, comments, CDATA sections, CR LF line
// ends, a byte order mark, and tags without line breaks between them.
//
// # Corrupt dumps
//
// The reader returns a [*CorruptError] with an offset for a checksum mismatch, a
// file that ends inside a page or a bzip2 stream, and data after the last stream.
// The documents before that offset are yielded first. A file that ends between two
// pages is accepted, because dumps truncated to some pages are in use; its
// Stats.Footers is 0.
//
// # Concurrency and memory
//
// A [Reader] must not be used by several goroutines at once. Readers share only
// the io.ReaderAt. A reader takes about 15 MiB of memory, and less than 64 MiB
// for any input, because it never holds a page that exceeds the limit.
package wiki
