package wiki

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"pretext/internal/failure"
	"pretext/internal/recognize"
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
const multistreamIndex = string(recognize.DumpIndex)

// NotDump returns the error for a file that was published with a dump but contains no
// pages. what is the description of the file from [Companion].
func NotDump(what string) *NotDumpError {
	if what == multistreamIndex {
		return &NotDumpError{what, cures[recognize.DumpIndex]}
	}
	return &NotDumpError{what, givePages}
}

// What a user should do instead: values of NotDumpError.Cure.
const (
	givePages = "give the file of its dump that is called …-pages-articles….xml.bz2, or a content export"
	unpack    = "unpack it, and give the .xml, .xml.bz2 or .xml.gz file in it"
	repack    = "unpack it, or compress it with bzip2"
	giveText  = "give a MediaWiki XML dump; texts and books go to --books"
)

// cures maps kinds of files that are not dumps to advice for the user. The advice for
// all other kinds is givePages.
var cures = map[recognize.Kind]string{
	recognize.DumpIndex: "give the .xml.bz2 file beside it, which needs no index",
	recognize.HTML:      "download the file itself: prepare-data download --wiki NAME does",
	recognize.JSON:      "give a MediaWiki XML dump; JSON lines go to prepare-data examples",
	recognize.Parquet:   "give it to --books, with --column for the name of its text",
	recognize.Text:      giveText, recognize.EPUB: giveText, recognize.Vocab: "give a MediaWiki XML dump; vocabularies go to --vocab",
	recognize.PDF: "give a MediaWiki dump", recognize.Office: "give a MediaWiki dump", recognize.Records: "give a MediaWiki dump",
	recognize.Zip: unpack, recognize.Tar: unpack, recognize.RAR: unpack,
	recognize.SevenZip: repack, recognize.Xz: repack, recognize.Zstd: repack,
}

// notDump returns the error for a file of the given kind, which is not a dump.
func notDump(k recognize.Kind) error {
	what := string(k)
	if k == recognize.Xz || k == recognize.Zstd {
		what += ", which is not supported"
	}
	return &NotDumpError{what, cmp.Or(cures[k], givePages)}
}

// Packing describes an archive or compressed file ("a zip archive") by its first bytes.
// It returns "" if the file may be a wiki dump: uncompressed, gzip or bzip2.
func Packing(magic []byte) string {
	var foreign *NotDumpError
	if errors.As(foreignPacking(magic), &foreign) {
		return foreign.What
	}
	return ""
}

// foreignPacking returns a [*NotDumpError] if magic, the first bytes of a file, shows a
// format that dumps never have; otherwise nil.
func foreignPacking(magic []byte) error {
	switch k := recognize.Magic(magic); k {
	case "", recognize.Gzip, recognize.Bzip2:
		return nil
	default:
		return notDump(k)
	}
}

// foreignArchive returns a [*NotDumpError] if text is the beginning of a tar archive,
// otherwise nil. It must be called before text is searched for <mediawiki>, because a
// tar archive may contain a dump.
func foreignArchive(text []byte) error {
	if recognize.IsTar(text) {
		return notDump(recognize.Tar)
	}
	return nil
}

// foreignText returns a [*NotDumpError] if text, the decoded beginning of a file, shows
// that the file is not a dump; otherwise nil.
func foreignText(text []byte) error {
	if err := foreignPacking(text); err != nil {
		return err
	}
	switch k := recognize.Content(text); k {
	case "", recognize.Dump:
		return nil
	case recognize.XML:
		return &NotDumpError{fmt.Sprintf("another XML format (<%s>)", recognize.RootElement(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))), givePages}
	case recognize.TokenizerJSON, recognize.ModelConfig:
		return notDump(recognize.JSON)
	default:
		return notDump(k)
	}
}
