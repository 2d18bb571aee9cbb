package wikihtml

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"pretext/extract/wiki"
	"pretext/internal/failure"
)

// ErrForeign is wrapped by the errors for files that are not snapshots.
var ErrForeign = failure.Usage(errors.New("not a snapshot of pages as HTML"))

// foreign returns an error if head, the beginning of an uncompressed file, shows
// another format. A line that is not JSON is not a reason: such lines are rejected one
// by one.
func foreign(head []byte) error {
	text := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"))
	if rest, ok := bytes.CutPrefix(text, []byte("<?xml")); ok {
		_, rest, _ = bytes.Cut(rest, []byte(">"))
		text = bytes.TrimLeft(rest, " \t\r\n")
	}
	what := wiki.Packing(head)
	cure := "unpack it"
	switch {
	case bytes.HasPrefix(head, []byte("BZh")):
		what, cure = "compressed with bzip2", "give a dump to --wiki-dump, or unpack it"
	case bytes.HasPrefix(text, []byte("<mediawiki")):
		what, cure = "a MediaWiki XML dump", "give it to --wiki-dump"
	case bytes.HasPrefix(text, []byte("<!doctype html")) || bytes.HasPrefix(text, []byte("<html")):
		what, cure = "a page as HTML", "name it .html, or give its directory"
	case what == "":
		return nil
	}
	return fmt.Errorf("%w but %s: %s", ErrForeign, what, cure)
}

// CheckSnapshot returns an error that wraps [ErrForeign] if the beginning of a file
// shows another format. If the file cannot be read, it returns nil, because the reader
// will return the error.
func CheckSnapshot(file io.Reader) error {
	in, err := decompressed(file)
	if err != nil {
		return nil
	}
	return peekForeign(in)
}

// foreignBytes is the number of bytes at the beginning of a file that foreign checks.
const foreignBytes = 512

func peekForeign(in *bufio.Reader) error {
	head, _ := in.Peek(foreignBytes)
	return foreign(head)
}
