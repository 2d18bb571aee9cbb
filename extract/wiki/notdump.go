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

// ErrNotDump is wrapped by every [NotDumpError].
var ErrNotDump = failure.Usage(errors.New("not a pages dump"))

// A NotDumpError reports a valid file that is not a dump of pages, or that is in
// an unsupported archive format.
type NotDumpError struct {
	What string // "an SQL table"
	Cure string // what to do, e.g. "unpack it"
}

func (e *NotDumpError) Error() string {
	return fmt.Sprintf("%v but %s: %s", ErrNotDump, e.What, e.Cure)
}

// Unwrap returns [ErrNotDump].
func (e *NotDumpError) Unwrap() error { return ErrNotDump }

// multistreamIndex describes the index file of a multistream dump.
const multistreamIndex = "the index of a multistream dump"

// NotDump returns the error for a file that was published with a dump but holds
// no pages. what describes the file, as [Companion] does.
func NotDump(what string) *NotDumpError {
	if what == multistreamIndex {
		return &NotDumpError{what, "give the .xml.bz2 file beside it, which needs no index"}
	}
	return &NotDumpError{what, givePages}
}

// What a user should do instead: values of NotDumpError.Cure.
const (
	givePages = "give the file of its dump that is called …-pages-articles….xml.bz2, or a content export"
	unpack    = "unpack it, and give the .xml, .xml.bz2 or .xml.gz file in it"
	repack    = "unpack it, or compress it with bzip2"
)

// packings are unsupported file formats, recognized by their first bytes
// (magic).
var packings = []struct{ magic, what, cure string }{
	{"\xfd7zXZ\x00", "compressed with xz, which is not supported", repack},
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", repack},
	{"\x28\xb5\x2f\xfd", "compressed with zstd, which is not supported", repack},
	{"PK\x03\x04", "a zip archive", unpack},
	{"PK\x05\x06", "a zip archive", unpack},
	{"Rar!\x1a\x07", "a RAR archive", unpack},
	{"%PDF-", "a PDF file", "give a MediaWiki dump"},
	{"PAR1", "a Parquet file", "give it to --books, with --column for the name of its text"},
	{"SQLite format 3\x00", "an SQLite database", givePages},
}

// Packing returns what a file is, by its first bytes: an archive or compressed
// file of a kind that no source of wikis may have ("a zip archive"), or "".
func Packing(magic []byte) string {
	for _, p := range packings {
		if bytes.HasPrefix(magic, []byte(p.magic)) {
			return p.what
		}
	}
	return ""
}

// foreignPacking returns a [*NotDumpError] if magic, the beginning of a file,
// shows one of the formats in packings, else nil.
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

// tarMagic is the string at offset 257 (tarMagicAt) of every tar archive.
const tarMagic, tarMagicAt = "ustar", 257

// foreignArchive returns a [*NotDumpError] if text begins a tar archive, else
// nil. The archive may contain a dump, so this is tested before text is
// searched for <mediawiki>.
func foreignArchive(text []byte) error {
	if len(text) >= tarMagicAt+len(tarMagic) && string(text[tarMagicAt:tarMagicAt+len(tarMagic)]) == tarMagic {
		return &NotDumpError{"a tar archive", unpack}
	}
	return nil
}

// foreignText returns a [*NotDumpError] if text, the decoded beginning of a
// file, shows that the file is not a dump, else nil.
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
		return NotDump(multistreamIndex)
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
		return &NotDumpError{fmt.Sprintf("another XML format (<%s>)", root[1]), givePages}
	}
	if isPlainText(trimmed) {
		return &NotDumpError{"plain text", "give a MediaWiki XML dump; texts and books go to --books"}
	}
	return nil
}

// rootElement matches the beginning of an XML file up to its first start tag.
// Its group is the name of that element.
var rootElement = regexp.MustCompile(`^\s*(?:<\?xml[^>]*>\s*|<!--(?s:.*?)-->\s*)*<([A-Za-z_][\w:.-]{0,63})(?:\s[^<]*)?/?>`)

// isPlainText reports whether text, the beginning of a file, is plain text: it
// is not empty, does not begin with "<", is valid UTF-8 (except that the last
// character may be incomplete) and has no control characters other than white
// space. Zero bytes, which an unfinished download may have, are control
// characters.
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
