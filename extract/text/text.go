// Package text reads documents from plain text: from the input format of BERT's
// create_pretraining_data.py, and from JSON lines as other tools write them.
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
// [NewLines] reads one sentence on each line, with blank lines between
// documents, by the rules of the original script:
//
//   - The sources are one stream of lines: a new file does not begin a new
//     document. The last line of a file needs no line feed.
//   - A line ends at LF only, not at U+2028 or U+0085. CR bytes are dropped
//     everywhere, so a lone CR joins two words.
//   - Then bytes that are not UTF-8 are dropped and counted.
//   - White space at the ends of a line is removed ([Strip]). An empty line ends
//     the document; any other line is a sentence. A byte order mark is not white
//     space; tokenization drops it.
//
// The text of a document is its lines joined by "\n". Its ID is "text:" and the
// hexadecimal SHA-256 of the text. Its source is the base name of the file in which
// it begins.
//
// # JSON lines
//
// [NewJSONLines] reads one JSON object per line, as extract, datatrove and dolma
// write them. The fields are:
//
//   - "text", or [Options.Field]: a string, required;
//   - "id": a string or number. A document without an ID gets "text:" and the
//     SHA-256 of its text;
//   - "source", "title", and "lang" or "language". These may also be in
//     "metadata", but top-level fields take precedence.
//
// Names are case-sensitive. If two fields have the same name, the last one is used.
// Other fields are ignored. The grammar is RFC 8259, plus NaN, Infinity and
// -Infinity, which Python writes. Half a surrogate pair becomes U+FFFD; invalid UTF-8
// is dropped and counted. Blank lines and a byte order mark at the start of a file
// are ignored. White space at the ends of the text is removed.
//
// # Limits
//
// A document with more than [extract.MaxDocumentBytes] of text is rejected, and
// reading continues with the next document. No more than this limit is held in
// memory, even if lines are longer. In JSON lines, white space at the ends of the
// text counts towards the limit.
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
	"path/filepath"

	"pretext/counts"
	"pretext/extract"
)

// A Source is one file to read.
type Source struct {
	Name string // path; its last element becomes Document.Source
	Open func() (io.ReadCloser, error)
}

// Options configures a [Reader]. The zero value is ready to use.
type Options struct {
	Lang string `json:"lang,omitempty"` // language of documents that do not state their own
	// Field is the name of the field of JSON lines that holds the text, at most
	// [maxFieldName] bytes; "" means "text".
	Field string `json:"field,omitempty"`
}

// maxFieldName is the maximum length of a field name in bytes.
const maxFieldName = 64

// field returns the name of the field with the text.
func (o Options) field() string { return cmp.Or(o.Field, "text") }

// Validate returns an error if the value of a field is invalid.
func (o Options) Validate() error {
	if len(o.Field) > maxFieldName {
		return fmt.Errorf("name of the text field has %d bytes, want at most %d", len(o.Field), maxFieldName)
	}
	return nil
}

// A Place locates a line of a source.
type Place struct {
	File string // name of the source
	Line int64  // from 1
}

// maxPlaces is the maximum length of Stats.Invalid and of Stats.Malformed.
const maxPlaces = 10

// Stats counts what a [Reader] read.
type Stats struct {
	Lines        int64 // lines of all sources
	Kept         int64 // documents
	Rejects      map[extract.Reject]int64
	InvalidBytes int64   // invalid UTF-8 bytes dropped
	Invalid      []Place // the first lines with invalid UTF-8
	Malformed    []Place // the first lines that are not valid documents (JSON lines)
}

// Counts returns the counts for a side-car.
func (s *Stats) Counts() counts.Counts {
	c := counts.Counts{extract.Lines.Key: s.Lines, extract.Documents.Key: s.Kept, extract.InvalidUTF8.Key: s.InvalidBytes}
	extract.Rejects.AddAll(c, s.Rejects)
	return c
}

// A Reader reads documents from a list of sources.
type Reader struct {
	sources []Source
	opts    Options
	read    func(io.Reader) error // reads one source
	finish  func() error          // called after the last source
	limit   int                   // extract.MaxDocumentBytes; smaller in tests
	lines   assembler
	json    jsonLine

	stats   Stats
	current Place // the line being read
	began   Place // first line of the document being read (BERT text)
	yield   func(*extract.Document, error) bool

	onReject func(*extract.Rejected) // nil: no function was set
}

// NewLines returns a reader of sources with one sentence on each line and blank
// lines between documents.
func NewLines(sources []Source, opts Options) *Reader {
	r := newReader(sources, opts)
	r.read, r.finish = r.readLines, r.endDocument
	return r
}

// NewJSONLines returns a reader of sources with one JSON object on each line.
func NewJSONLines(sources []Source, opts Options) *Reader {
	r := newReader(sources, opts)
	r.read, r.finish = r.readJSON, func() error { return nil }
	return r
}

func newReader(sources []Source, opts Options) *Reader {
	return &Reader{
		sources: sources, opts: opts, limit: extract.MaxDocumentBytes,
		stats: Stats{Rejects: map[extract.Reject]int64{}},
	}
}

// Stats returns the counts so far. The result shares memory with the reader.
func (r *Reader) Stats() Stats { return r.stats }

// errStopped is returned inside the package when the consumer of Documents has
// stopped the iteration.
var errStopped = errors.New("stopped")

// Documents yields the documents of all sources in order. If reading fails, it yields
// the error last. If a compressed source is corrupt, the error is a [CorruptError];
// complete documents before the corrupt place are yielded, and an incomplete document
// is dropped. Documents may be called only once.
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
		// The only possible error means that the consumer stopped.
		_ = r.finish()
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
	err = r.read(plain)
	if err != nil && err != errStopped {
		return fmt.Errorf("read text %q: %w", src.Name, err)
	}
	return err
}

// emit counts a document as kept and yields it.
func (r *Reader) emit(doc *extract.Document) error {
	r.stats.Kept++
	if !r.yield(doc, nil) {
		return errStopped
	}
	return nil
}

func (r *Reader) reject(why extract.Reject, at Place) {
	r.stats.Rejects[why]++
	if r.onReject != nil {
		r.onReject(&extract.Rejected{Reason: why, Place: &extract.Place{Source: baseName(at.File), Line: at.Line}})
	}
}

// OnReject sets the function that is called with each reject, in order.
func (r *Reader) OnReject(f func(*extract.Rejected)) { r.onReject = f }

// countInvalid records that n bytes of the current line were dropped.
func (r *Reader) countInvalid(n int) {
	if n == 0 {
		return
	}
	r.stats.InvalidBytes += int64(n)
	r.stats.Invalid = appendPlace(r.stats.Invalid, r.current)
}

func appendPlace(places []Place, p Place) []Place {
	if len(places) >= maxPlaces || len(places) > 0 && places[len(places)-1] == p {
		return places
	}
	return append(places, p)
}

func textID(text []byte) string {
	sum := sha256.Sum256(text)
	return "text:" + hex.EncodeToString(sum[:])
}

// baseName returns the part of a path or URL after the last slash.
func baseName(name string) string {
	name = string(bytes.ToValidUTF8([]byte(name), nil))
	return path.Base(filepath.ToSlash(name))
}
