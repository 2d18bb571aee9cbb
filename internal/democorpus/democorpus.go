// Package democorpus embeds a small corpus in the program, so that the complete
// pipeline from a dump to trained weights can be tried offline: a MediaWiki
// dump of about eighty encyclopaedic articles, and two short books.
//
// All of it was written for this project, in its authors' own words, and is
// distributed under its licence; titles, names and short quotations aside,
// nothing was taken from a wiki or a book. The articles are meant to be true,
// except "Lake Ostra", whose text states that it is invented.
//
// The dump has the format that Wikimedia publishes: export version 0.11,
// multistream bzip2 with a stream for the head, one for every twenty pages, and
// one for the end. It contains the difficulties of real dumps: templates in
// templates, tables in tables, references over several lines, a dozen scripts,
// redirects, pages of other namespaces and models, a deleted text, an empty
// page, and a page whose markup is broken.
//
// # Changing the corpus
//
// The sources are the .xml in this folder, the folder epub and the .txt in
// books. After a change of the first two, run "go generate" in this folder. It
// updates the lengths and hashes in the .xml, and writes the .xml.bz2 (with the
// command bzip2) and the .epub.
package democorpus

import (
	"embed"
	"io/fs"
)

//go:generate go run ../dev/demogen

// DumpName is the file name of the dump, in the form
// WIKI-DATE-pages-articles-multistream.xml.bz2.
const DumpName = "demowiki-20260901-pages-articles-multistream.xml.bz2"

//go:embed demowiki-20260901-pages-articles-multistream.xml.bz2
var dump string

//go:embed books/*.txt books/*.epub
var books embed.FS

// Dump returns the bytes of the dump. The caller may change them.
func Dump() []byte { return []byte(dump) }

// Books returns the folder of the books: a .txt and an .epub.
func Books() fs.FS {
	sub, err := fs.Sub(books, "books")
	if err != nil {
		panic("BUG: embedded folder: " + err.Error())
	}
	return sub
}
