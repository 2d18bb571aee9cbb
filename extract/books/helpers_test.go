package books

import (
	"os"
	"path/filepath"
	"testing"
)

func writeFile(tb testing.TB, path, content string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		tb.Fatal(err)
	}
}

func symlink(tb testing.TB, target, path string) {
	tb.Helper()
	if err := os.Symlink(target, path); err != nil {
		tb.Fatal(err)
	}
}

const container = `<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">
<rootfiles><rootfile full-path="OEBPS/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`

const packageXML = `<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The
  Title</dc:title><dc:title>Other</dc:title><dc:language>fr</dc:language></metadata>
<manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="c2" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="c1" href="text/one.xhtml#top" media-type="application/xhtml+xml"/>
<item id="notes" href="text/notes.xhtml" media-type="application/xhtml+xml"/>
<item id="img" href="a.png" media-type="image/png"/>
</manifest>
<spine><itemref idref="nav"/><itemref idref="c1"/><itemref idref="c2"/><itemref idref="c1"/><itemref idref="notes" linear="no"/><itemref idref="img"/><itemref idref="gone"/></spine>
</package>`

// xhtml makes a document of a body.
func xhtml(body string) string {
	return `<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x.js"/></head><body>` + body + `</body></html>`
}

func epubMembers() []member {
	return []member{
		{"mimetype", "application/epub+zip"},
		{"META-INF/container.xml", container},
		{"OEBPS/package.opf", packageXML},
		{"OEBPS/nav.xhtml", xhtml("<nav>Contents</nav> of nav")},
		{"OEBPS/text/two b.xhtml", xhtml("<p>Two.</p>")},
		{"OEBPS/text/one.xhtml", xhtml("<p>One.</p>")},
		{"OEBPS/text/notes.xhtml", xhtml("<p>A note.</p>")},
	}
}

// simpleEPUB is a book of two chapters.
func simpleEPUB(tb testing.TB) string { return zipOf(tb, epubMembers()...) }

// epubWith is an EPUB of one chapter.
func epubWith(tb testing.TB, chapter string) string {
	members := epubMembers()
	members[5].content = chapter
	members[4].content = ""
	return zipOf(tb, members...)
}
