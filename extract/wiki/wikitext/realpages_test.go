package wikitext

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"html"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"pretext/internal/dev/realdata"
)

// A realPage is a page of a dump, as a plain splitter finds it.
type realPage struct {
	title string
	ns    string
	text  []byte
}

// readPages returns the pages of a dump whose content is not a redirect.
func readPages(tb testing.TB, name string) []realPage {
	tb.Helper()
	f, err := os.Open(realdata.Path(tb, "wiki/"+name))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".bz2") {
		r = bzip2.NewReader(f)
	}
	data, err := io.ReadAll(r)
	if err != nil && len(data) == 0 {
		tb.Fatal(err)
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) {
		units := make([]uint16, 0, len(data)/2)
		for k := 2; k+1 < len(data); k += 2 {
			units = append(units, binary.LittleEndian.Uint16(data[k:]))
		}
		data = []byte(string(utf16.Decode(units)))
	}
	var pages []realPage
	for {
		_, rest, ok := bytes.Cut(data, []byte("<page>"))
		if !ok {
			return pages
		}
		page, rest, ok := bytes.Cut(rest, []byte("</page>"))
		if !ok {
			return pages
		}
		data = rest
		if p := splitPage(page); p.text != nil {
			pages = append(pages, p)
		}
	}
}

func splitPage(page []byte) (p realPage) {
	between := func(from, to string) []byte {
		_, rest, ok := bytes.Cut(page, []byte(from))
		if !ok {
			return nil
		}
		if text, _, ok := bytes.Cut(rest, []byte(to)); ok {
			return text
		}
		return nil
	}
	p.title = html.UnescapeString(string(between("<title>", "</title>")))
	p.ns = string(between("<ns>", "</ns>"))
	text := between("<text", "</text>")
	if k := bytes.IndexByte(text, '>'); k >= 0 && !bytes.Contains(page, []byte("<redirect")) {
		r := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&")
		p.text = []byte(r.Replace(string(text[k+1:])))
	}
	return p
}
