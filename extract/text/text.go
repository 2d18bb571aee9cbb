// Package text reads documents from files that hold plain text already: the
// text form that BERT's create_pretraining_data.py takes, and JSON lines as
// other tools write them.
//
//	r := text.NewLines(sources, text.Options{Lang: "en"})
//	for doc, err := range r.Documents() {
//		if err != nil {
//			return err
//		}
//		use(doc)
//	}
//	stats := r.Stats()
//
// # Lines
//
// [NewLines] reads a sentence a line and a blank line between documents, with
// the rules of the original script:
//
//   - The list of sources is one stream of lines: a new file begins no new
//     document. The last line of a file ends there, with or without its line
//     feed.
//   - A line ends at LF only, not at U+2028 or U+0085. CR bytes are dropped
//     wherever they stand, so a lone CR joins two words.
//   - Bytes that are not UTF-8 are dropped and counted, after the CRs.
//   - A line loses the blanks around it ([Strip]). One that has nothing else
//     ends the document; every other is a sentence. A byte order mark is
//     nothing special: it is not blank, and tokenization drops it.
//
// The text of a document is its lines joined by "\n", its ID "text:" and the
// hexadecimal SHA-256 of that text, its source the base name of the file in
// which it begins.
//
// # JSON lines
//
// [NewJSONLines] reads one JSON object a line: "text" or [Options.Field] (a string, required),
// "id" (a string or number), "source", "title", and "lang" or "language"; the
// latter three and "source" also inside "metadata", where the fields outside
// win. So it reads what extract, datatrove and dolma write. A document without
// an ID gets one as above. Names are case-sensitive, the last of two equal
// names counts, other fields are passed over. Grammar is that of RFC 8259,
// and besides NaN, Infinity and -Infinity, which Python writes. Half of a
// surrogate pair becomes U+FFFD; bytes that are not UTF-8 are dropped and
// counted. Blank lines and a byte order mark at the head of a file are passed
// over. Blanks around the text are dropped.
//
// # Limits
//
// A document of more than [extract.MaxDocumentBytes] of text is a reject, found
// without holding more than that: reading goes on at the next document, however
// long lines are. In JSON lines the blanks around the text count too.
//
// Sources may be compressed, see [Decompress]. A [Reader] is not safe for
// concurrent use.
package text

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"

	"pretext/extract"
)

// A Source is one file to read.
type Source struct {
	Name string // path; what stands after the last slash goes into Document.Source
	Open func() (io.ReadCloser, error)
}

// Options configures a [Reader]; the zero value is ready to use.
type Options struct {
	Lang string `json:"lang,omitempty"` // language of documents that do not name theirs
	// Field is the name of the field of JSON lines that holds the text, at most
	// [MaxFieldName] bytes; "" is "text".
	Field string `json:"field,omitempty"`
}

// MaxFieldName is the length of the longest name of a field that is told apart.
const MaxFieldName = 64

// field is the name of the field with the text.
func (o Options) field() string { return cmp.Or(o.Field, "text") }

// Validate returns what is wrong with the options.
func (o Options) Validate() error {
	if len(o.Field) > MaxFieldName {
		return fmt.Errorf("text field of %d bytes: must be at most %d", len(o.Field), MaxFieldName)
	}
	return nil
}

// A Place is a line of a source.
type Place struct {
	File string // name of the source
	Line int64  // from 1
}

// MaxPlaces is how many places [Stats] remembers of a kind.
const MaxPlaces = 10

// Stats counts what was read.
type Stats struct {
	Lines        int64 // lines of all sources
	Kept         int64 // documents
	Rejects      map[extract.Reject]int64
	InvalidBytes int64   // bytes dropped because they are not UTF-8
	Invalid      []Place // the first lines with such bytes
	Malformed    []Place // the first lines that are no document (JSON lines)
}

// A Reader reads documents from a list of sources.
type Reader struct {
	sources []Source
	opts    Options
	read    func(*Reader, io.Reader) error
	finish  func(*Reader) error
	limit   int // extract.MaxDocumentBytes; tests set a smaller one
	lines   assembler
	json    jsonLine

	stats   Stats
	current Place // the line being read
	began   string
	yield   func(*extract.Document, error) bool
}

// NewLines returns a reader of the text form: a sentence a line, a blank line
// between documents.
func NewLines(sources []Source, opts Options) *Reader {
	return newReader(sources, opts, (*Reader).readLines, (*Reader).endDocument)
}

// NewJSONLines returns a reader of JSON lines.
func NewJSONLines(sources []Source, opts Options) *Reader {
	return newReader(sources, opts, (*Reader).readJSON, func(*Reader) error { return nil })
}

func newReader(sources []Source, opts Options, read func(*Reader, io.Reader) error, finish func(*Reader) error) *Reader {
	return &Reader{
		sources: sources, opts: opts, read: read, finish: finish, limit: extract.MaxDocumentBytes,
		stats: Stats{Rejects: map[extract.Reject]int64{}},
	}
}

// Stats returns what was counted so far. The result shares memory with the
// reader.
func (r *Reader) Stats() Stats { return r.stats }

// errStopped says that the consumer wants no more documents.
var errStopped = errors.New("stopped")

// Documents yields the documents of all sources in order. Damage in a
// compressed source is a [CorruptError]; whole documents before it are yielded
// first, what was begun is dropped. Documents is for one use.
func (r *Reader) Documents() iter.Seq2[*extract.Document, error] {
	return func(yield func(*extract.Document, error) bool) {
		r.yield = yield
		for _, src := range r.sources {
			if err := r.readSource(src); err != nil {
				if err != errStopped {
					yield(nil, err)
				}
				return
			}
		}
		// The only error left is that the consumer wants no more.
		_ = r.finish(r)
	}
}

func (r *Reader) readSource(src Source) error {
	f, err := src.Open()
	if err != nil {
		return fmt.Errorf("open text %q: %w", src.Name, err)
	}
	defer f.Close()
	plain, err := Decompress(src.Name, f)
	if err != nil {
		return fmt.Errorf("read text %q: %w", src.Name, err)
	}
	defer plain.Close()
	r.current = Place{File: src.Name, Line: 1}
	err = r.read(r, plain)
	if err != nil && err != errStopped {
		return fmt.Errorf("read text %q: %w", src.Name, err)
	}
	return err
}

// emit counts a document and hands it to the consumer.
func (r *Reader) emit(doc *extract.Document) error {
	r.stats.Kept++
	if !r.yield(doc, nil) {
		return errStopped
	}
	return nil
}

func (r *Reader) reject(why extract.Reject) {
	r.stats.Rejects[why]++
}

// countInvalid records dropped bytes of the current line.
func (r *Reader) countInvalid(n int) {
	if n == 0 {
		return
	}
	r.stats.InvalidBytes += int64(n)
	r.stats.Invalid = appendPlace(r.stats.Invalid, r.current)
}

func appendPlace(places []Place, p Place) []Place {
	if len(places) >= MaxPlaces || len(places) > 0 && places[len(places)-1] == p {
		return places
	}
	return append(places, p)
}

func textID(text []byte) string {
	sum := sha256.Sum256(text)
	return "text:" + hex.EncodeToString(sum[:])
}

// baseName returns what stands after the last slash of a path or URL.
func baseName(name string) string {
	name = string(bytes.ToValidUTF8([]byte(name), nil))
	return path.Base(name)
}
