package wiki

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Compression is the compression format of a dump.
type Compression string

// The supported compression formats.
const (
	CompressionNone  Compression = "none"
	CompressionBzip2 Compression = "bzip2" // one or many bzip2 streams
	CompressionGzip  Compression = "gzip"
)

// An Encoding is the character encoding of a dump.
type Encoding string

// The supported encodings.
const (
	EncodingUTF8    Encoding = "utf-8"
	EncodingUTF16LE Encoding = "utf-16le"
	EncodingUTF16BE Encoding = "utf-16be"
)

// A Head is the information at the beginning of a dump that applies to all of
// its pages. [ReadHead] reads it once. It is plain data, because every task
// that reads a range of the dump needs it and does not see the beginning.
//
// For a dump without <siteinfo> the fields from <siteinfo> are empty. Then the
// IDs of documents begin with the name that [DBName] derives from the file
// name, the language is unknown, and the English names of namespaces apply.
type Head struct {
	DBName     string      `json:"dbname"`    // "enwiki"
	Lang       string      `json:"lang"`      // xml:lang of <mediawiki>: "en"
	SiteName   string      `json:"sitename"`  // "Wikipedia"
	Base       string      `json:"base"`      // address of the main page
	Generator  string      `json:"generator"` // "MediaWiki 1.45.0-wmf.5"
	Namespaces []Namespace `json:"namespaces,omitempty"`
	// CaseSensitive is true for dictionaries: the first letter of a title may be a small one.
	CaseSensitive bool        `json:"case_sensitive,omitempty"`
	Compression   Compression `json:"compression"`
	Encoding      Encoding    `json:"encoding"`
}

// A Namespace is an entry of a dump's table of namespaces.
type Namespace struct {
	Key  int    `json:"key"`
	Name string `json:"name"`
}

// splittable reports whether the dump can be read from the middle.
func (h Head) splittable() bool {
	utf16 := h.Encoding == EncodingUTF16LE || h.Encoding == EncodingUTF16BE
	return h.Compression != CompressionGzip && !utf16
}

// maxHeadBytes is the maximum size of a dump's head, in bytes: about ten times the head
// of a wiki with many namespaces.
const maxHeadBytes = 1 << 20

// ReadHead reads the head of a dump of size bytes. It recognizes compression and
// encoding by the content of the file, not by its name. The error is a [*CorruptError]
// if the file is empty or its format unknown, and a [*NotDumpError] if the file has
// another known format.
func ReadHead(r io.ReaderAt, size int64) (Head, error) {
	h, err := readHead(r, size)
	if foreign := (*NotDumpError)(nil); errors.As(err, &foreign) {
		return Head{}, foreign
	}
	if err != nil {
		return Head{}, fmt.Errorf("read head of dump: %w", err)
	}
	return h, nil
}

func readHead(r io.ReaderAt, size int64) (Head, error) {
	if size <= 0 {
		return Head{}, &CorruptError{Reason: "file is empty", Err: io.ErrUnexpectedEOF}
	}
	d := Dump{File: r, Size: size}
	var err error
	if d.Head.Compression, err = sniffCompression(r, size); err != nil {
		return Head{}, err
	}
	text, err := decodedHead(openSource(d, Range{0, size}, nil))
	if err != nil {
		return Head{}, err
	}
	if d.Head.Encoding = sniffEncoding(text); d.Head.Encoding != EncodingUTF8 {
		if text, err = decodedHead(openSource(d, Range{0, size}, nil)); err != nil {
			return Head{}, err
		}
	}
	err = d.Head.parse(text)
	return d.Head, err
}

// sniffCompression returns the compression format that the first bytes of a
// file indicate.
func sniffCompression(r io.ReaderAt, size int64) (Compression, error) {
	magic := make([]byte, min(size, 16))
	if n, err := r.ReadAt(magic, 0); n < len(magic) {
		return "", readError(int64(n), err)
	}
	switch begins := func(s string) bool { return strings.HasPrefix(string(magic), s) }; {
	case begins("BZh"):
		return CompressionBzip2, nil
	case begins("\x1f\x8b"):
		return CompressionGzip, nil
	}
	if err := foreignPacking(magic); err != nil {
		return "", err
	}
	return CompressionNone, nil
}

// decodedHead returns the decoded beginning of a dump: at least up to the first
// page or the end of <siteinfo>, if one is in the first [maxHeadBytes].
func decodedHead(src source) ([]byte, error) {
	buf := make([]byte, 0, 64<<10)
	for len(buf) < maxHeadBytes && headEnd(buf) < 0 {
		buf = slices.Grow(buf, 64<<10)
		n, _, err := src.read(buf[len(buf):min(cap(buf), len(buf)+64<<10)])
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		buf = buf[:len(buf)+n]
	}
	return buf, nil
}

// headEnd returns the offset at which the head of a dump ends, or -1 if the end
// is not in b, the beginning of the dump.
func headEnd(b []byte) int {
	return firstOf(b, "</siteinfo", "<page>", "<page ")
}

// firstOf returns the offset in b where the first of the words begins, or -1.
func firstOf(b []byte, words ...string) int {
	first := -1
	for _, word := range words {
		if i := bytes.Index(b, []byte(word)); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

// sniffEncoding returns the encoding of b, the beginning of a dump. It uses the byte
// order mark or the bytes of the first "<".
func sniffEncoding(b []byte) Encoding {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("<\x00")):
		return EncodingUTF16LE
	case bytes.HasPrefix(b, []byte("\xfe\xff")), bytes.HasPrefix(b, []byte("\x00<")):
		return EncodingUTF16BE
	}
	return EncodingUTF8
}

// parse sets the fields of h from text, the decoded beginning of a dump.
func (h *Head) parse(text []byte) error {
	if len(text) == 0 {
		return &CorruptError{Reason: "compressed file is empty", Err: io.ErrUnexpectedEOF}
	}
	start, page := bytes.Index(text, []byte("<mediawiki")), firstOf(text, "<page>", "<page ")
	if err := foreignArchive(text); err != nil {
		return err
	}
	if start < 0 && page < 0 {
		if err := foreignText(text); err != nil {
			return err
		}
	}
	if err := checkDeclaration(text); err != nil {
		return err
	}
	switch {
	case page >= 0 && (start < 0 || page < start):
		return nil // no head: the file begins with a page
	case start < 0:
		return &CorruptError{Reason: "not a MediaWiki dump: neither <mediawiki> nor <page> at its beginning"}
	}
	end := headEnd(text[start:])
	if end < 0 {
		if len(text) < maxHeadBytes && !bytes.Contains(text, []byte("</mediawiki")) {
			return &CorruptError{Offset: 0, Reason: "file ends inside its head", Err: io.ErrUnexpectedEOF}
		}
		end = len(text) - start
	}
	h.siteinfo(text[start : start+end])
	return nil
}

// checkDeclaration returns an error if the XML declaration at the start of text
// names an unsupported encoding.
func checkDeclaration(text []byte) error {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !bytes.HasPrefix(text, []byte("<?xml")) {
		return nil
	}
	end := bytes.Index(text, []byte("?>"))
	if end < 0 {
		return &CorruptError{Reason: "XML declaration without end"}
	}
	name, ok := attr(text[len("<?xml"):end], "encoding")
	if !ok {
		return nil
	}
	switch s := strings.ToLower(string(name)); {
	case s == "utf-8", s == "utf8", s == "us-ascii", s == "ascii", strings.HasPrefix(s, "utf-16"):
		return nil
	}
	return fmt.Errorf("encoding %q is not supported: convert the dump to UTF-8", name)
}

// siteinfo sets the fields of h from b, the XML from "<mediawiki" up to
// "</siteinfo>".
func (h *Head) siteinfo(b []byte) {
	fields := map[string]*string{
		"sitename": &h.SiteName, "dbname": &h.DBName, "base": &h.Base, "generator": &h.Generator,
	}
	for w := (walker{b: b}); ; {
		t, ok := w.next()
		if !ok {
			return
		}
		if t.end {
			continue
		}
		name := string(t.name)
		switch field := fields[name]; {
		case name == "mediawiki":
			lang, _ := attr(t.attrs, "xml:lang")
			h.Lang = cleanString(lang, false)
		case t.empty && name != "namespace":
		case name == "case":
			h.CaseSensitive = w.string(t.name) == "case-sensitive"
		case field != nil:
			*field = w.string(t.name)
		case name == "namespace":
			h.namespace(&w, t)
		}
	}
}

// namespace adds the <namespace> element with the start tag t to h.Namespaces.
// The namespace of articles has no name: its tag is empty.
func (h *Head) namespace(w *walker, t tag) {
	value, _ := attr(t.attrs, "key")
	key, err := strconv.Atoi(string(value))
	name := ""
	if !t.empty {
		name = w.string(t.name)
	}
	if err == nil && math.MinInt32 <= key && key <= math.MaxInt32 {
		h.Namespaces = append(h.Namespaces, Namespace{Key: key, Name: name})
	}
}

// string returns the decoded content of the element whose start tag is before
// w.pos; "" if it has no end tag.
func (w *walker) string(name []byte) string {
	raw, markup, ok := w.content(name)
	if !ok {
		return ""
	}
	return cleanString(raw, markup)
}

// cleanString decodes a copy of raw, the content of an element, and returns it
// as valid UTF-8 without white space at its ends. markup reports whether raw
// contains "<".
func cleanString(raw []byte, markup bool) string {
	b, _, _ := dropInvalid(characters(bytes.Clone(raw), markup))
	return string(bytes.TrimSpace(b))
}

// DBName derives a database name from the base name of a dump file. It is used if the
// dump's head contains none. For a Wikimedia file name it returns the part before the
// date ("enwiki" for "enwiki-20250101-pages-articles.xml.bz2"). For any other name it
// only removes .xml, .gz and .bz2.
func DBName(source string) string {
	wiki, rest, _ := strings.Cut(source, "-")
	date, _, dashed := strings.Cut(rest, "-")
	if wiki != "" && dashed && (date == "latest" || len(date) == 8 && strings.Trim(date, "0123456789") == "") {
		return wiki
	}
	name := source
	for _, suffix := range []string{".bz2", ".gz", ".xml"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if name == "" {
		return source
	}
	return name
}
