package wiki

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"pretext/internal/failure"
)

// ErrNotDump is what a [NotDumpError] unwraps to.
var ErrNotDump = failure.Usage(errors.New("not a pages dump"))

// A NotDumpError says that a file is whole but something else than a dump of
// pages: the wrong file was given, or it is packed in a way that is not read.
type NotDumpError struct {
	What string // "an SQL table"
	Cure string // what to do, e.g. "unpack it"
}

func (e *NotDumpError) Error() string {
	return fmt.Sprintf("%v but %s: %s", ErrNotDump, e.What, e.Cure)
}

// Unwrap returns [ErrNotDump].
func (e *NotDumpError) Unwrap() error { return ErrNotDump }

// anIndex is what lies beside each part of a multistream dump.
const anIndex = "the index of a multistream dump"

// NotDump returns the error of a file that lies beside the dumps of pages, as
// [Companion] names it.
func NotDump(what string) *NotDumpError {
	if what == anIndex {
		return &NotDumpError{what, "give the .xml.bz2 file beside it, which needs no index"}
	}
	return &NotDumpError{what, givePages}
}

// Cures of a [NotDumpError].
const (
	givePages = "give the file of its dump that is called …-pages-articles….xml.bz2, or a content export"
	unpack    = "unpack it, and give the .xml, .xml.bz2 or .xml.gz file in it"
	repack    = "unpack it, or pack it with bzip2"
)

// packings are formats by their first bytes that hold no dump, or not in a way
// that is read.
var packings = []struct{ magic, what, cure string }{
	{"\xfd7zXZ\x00", "packed with xz, which is not read", repack},
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", repack},
	{"\x28\xb5\x2f\xfd", "packed with zstd, which is not read", repack},
	{"PK\x03\x04", "a zip archive", unpack},
	{"PK\x05\x06", "a zip archive", unpack},
	{"Rar!\x1a\x07", "a RAR archive", unpack},
	{"%PDF-", "a PDF file", "give a MediaWiki dump"},
	{"PAR1", "a Parquet file", "give it to --books, with --column for the name of its text"},
	{"SQLite format 3\x00", "an SQLite database", givePages},
}

// foreignPacking returns the error of a file that begins like a format which is no
// dump, nil where it does not.
func foreignPacking(magic []byte) error {
	for _, p := range packings {
		if bytes.HasPrefix(magic, []byte(p.magic)) {
			return &NotDumpError{p.what, p.cure}
		}
	}
	return nil
}

var (
	indexLine    = regexp.MustCompile(`^\d+:\d+:[^\n]`)
	checksumLine = regexp.MustCompile(`^[0-9a-f]{32,64} [ *]\S`)
	sqlStart     = regexp.MustCompile(`^\s*(-- |/\*!|CREATE |DROP |INSERT |SET )`)
	sqlWord      = regexp.MustCompile(`(CREATE TABLE|INSERT INTO|MySQL dump|MariaDB dump)`)
	pageStart    = regexp.MustCompile(`(?i)^\s*(<!--.*?-->\s*|<\?xml[^>]*>\s*)*<(!doctype html|html|head|script|body)\b`)
)

// tarMagic stands at byte 257 of tar archives, old and new.
const tarMagic, tarMagicAt = "ustar", 257

// foreignArchive returns the error of a tar archive, in which a dump may begin, nil
// for anything else.
func foreignArchive(text []byte) error {
	if len(text) >= tarMagicAt+len(tarMagic) && string(text[tarMagicAt:tarMagicAt+len(tarMagic)]) == tarMagic {
		return &NotDumpError{"a tar archive", unpack}
	}
	return nil
}

// foreignText returns the error of the decoded beginning of a file that is known
// to be something else than a dump, nil where it is not.
func foreignText(text []byte) error {
	if len(text) > 64<<10 {
		text = text[:64<<10]
	}
	plain := bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimLeft(plain, " \t\r\n")
	switch {
	case pageStart.Match(plain):
		return &NotDumpError{"a web page (HTML)", "download the file itself: prepare-data download --wiki NAME does"}
	case bytes.Contains(plain, []byte("<feed>")) && bytes.Contains(plain, []byte("<doc>")):
		return &NotDumpError{"the abstracts of pages", givePages}
	case sqlStart.Match(plain) && sqlWord.Match(plain):
		return &NotDumpError{"an SQL table", givePages}
	case indexLine.Match(plain):
		return NotDump(anIndex)
	case checksumLine.Match(plain):
		return &NotDumpError{"a list of checksums", givePages}
	case bytes.HasPrefix(trimmed, []byte("{")), bytes.HasPrefix(trimmed, []byte("[")):
		return &NotDumpError{"JSON", "give a MediaWiki XML dump; JSON lines go to prepare-data examples"}
	case bytes.HasPrefix(plain, []byte("page_namespace\t")), bytes.HasPrefix(plain, []byte("page_title\n")):
		return &NotDumpError{"a list of titles", givePages}
	case bytes.HasPrefix(trimmed, []byte("<rss")), strings.HasPrefix(string(trimmed), "<?xml") && bytes.Contains(plain, []byte("<rss")):
		return &NotDumpError{"an RSS feed", givePages}
	}
	if err := foreignPacking(text); err != nil {
		return err
	}
	if root := rootElement.FindSubmatch(plain); root != nil && string(root[1]) != "mediawiki" {
		return &NotDumpError{fmt.Sprintf("XML of another kind (<%s>)", root[1]), givePages}
	}
	if isPlainText(trimmed) {
		return &NotDumpError{"plain text", "give a MediaWiki XML dump; texts and books go to --books"}
	}
	return nil
}

// rootElement matches the first start tag of an XML file whose name is complete.
var rootElement = regexp.MustCompile(`^\s*(?:<\?xml[^>]*>\s*|<!--(?s:.*?)-->\s*)*<([A-Za-z_][\w:.-]{0,63})(?:\s[^<]*)?/?>`)

// isPlainText reports whether text is not empty, does not begin with markup, is
// valid UTF-8 (but for a character cut at its end) and has no control characters
// except white space. Zeros, as an unfinished download leaves, are not text.
func isPlainText(text []byte) bool {
	if len(text) == 0 || text[0] == '<' {
		return false
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			return !utf8.FullRune(text)
		}
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return false
		}
		text = text[size:]
	}
	return true
}
