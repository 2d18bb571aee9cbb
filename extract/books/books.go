// Package books reads books: text files and EPUBs, in folders, tar and zip
// archives or alone, and rows of Parquet files, and gives a document for each.
//
//	tasks, err := books.Plan(books.Local{}, []string{"corpus/", "more.tar.gz"}, books.Options{})
//	...
//	for _, task := range tasks { // on any machine that sees the files
//		r := books.NewReader(books.Local{}, task, books.Options{Lang: "en"})
//		for doc, err := range r.Documents() {
//			if err != nil {
//				return err
//			}
//			use(doc)
//		}
//		add(r.Stats())
//	}
//
// # Sources
//
// A folder gives its .txt, .epub and .parquet files at any depth, in the order of their
// paths by bytes; [Plan] groups them into tasks. A file is a task of its own
// and read for what its first bytes say: a zip archive, an EPUB (a zip archive
// with META-INF/container.xml), a tar archive, or else a text file; tar and
// text may be packed with gzip, of any number of members, or zstd. An archive
// gives its .txt and .epub members in its own order. Names that begin with a
// dot, other files, archives inside archives, links, devices and folders are
// passed over and counted.
//
// Archives are only read: nothing is ever written or opened under a name that
// an archive holds. A name becomes an ID after cleaning: slashes for
// backslashes, no empty, "." and ".." elements, no control characters, no bytes
// that are not UTF-8; one that leaves nothing, or more than 1024 bytes, makes
// the book malformed.
//
// # Documents
//
// ID is "books:" and the path inside the folder or archive, or the base name of
// a lone file; Title the file name without its extension, or what an EPUB calls
// itself; Source the base name of the folder, archive or file; Lang what an
// EPUB says, or [Options.Lang]. Equal IDs are kept and counted.
//
// # Text files
//
// Lines end at LF, CR or CRLF. Text is UTF-8, or UTF-16 with a byte order mark.
// Bytes that are not UTF-8 mean Windows-1252 if they outnumber the characters
// above U+007F that are UTF-8 and look like letters and quotation marks of
// Western European text. Otherwise they are dropped and counted; but the book
// is rejected (encoding) when they are more than a tenth of it, or outnumber
// those characters and are more than a hundredth of it.
// A NUL, or more than one control character in a hundred, makes it binary.
// Text above [extract.MaxDocumentBytes] or a file above 512 MiB is too-large,
// found without holding it.
//
// Books are often broken into lines of some 70 characters. Blank lines separate
// paragraphs; a line break inside of a paragraph stays, or becomes a space, by
// these rules:
//
//   - Where half or more of those breaks come after the end of a sentence, or
//     lines run to more than 120 characters, the file has a sentence or a
//     paragraph a line: every break stays. (Length: the 98th percentile.)
//   - Otherwise the file is wrapped at that length. A break stays where the next
//     word would have fitted with room to spare, that is in three quarters of
//     the length: verse, addresses, signatures, lists. It also stays before a
//     line indented by two columns more than the one before it and by more than
//     the one after it: a paragraph without a blank line.
//   - Every other break becomes a space; none after a hyphen or dash, none
//     between characters of scripts that do not use spaces.
//
// In a file of lines under 30 characters, as with a word a line, no break
// inside of a paragraph stays. [Options.KeepLines] keeps all of them.
//
// The header and the licence of Project Gutenberg go where their markers
// ("*** START OF …", "*** END OF …") are found, unless
// [Options.KeepBoilerplate] is set.
//
// # Lines and rows
//
// Corpora without boundaries have a sentence a line or row, gigabytes of them.
// With [Options.LinesPerDocument] a text file gives a document for each so many
// lines that are not blank, in a stream: lines end at LF, encodings are UTF-8 and
// UTF-16 with a byte order mark, bytes that are not are dropped and counted. The
// rules for paragraphs and Project Gutenberg do not apply.
//
// A Parquet file gives a document for each row of the column [Options.Column], or
// for as many as asked for; nulls and blank rows do not count. Its row groups are
// read in tasks of about 32 MiB, and no document reaches from one task into the
// next. What is not read is said in package parquet.
//
// The ID of such a document ends in "#" and the number, from 1, of its first line
// or row.
//
// # Chapters
//
// A whole book is a document, unless [Options.Chapters] is set: then each of its
// chapters is, its ID ending in "#" and a number from 1. In a text file a chapter
// begins at a line with a word for one in a dozen languages and a number, in
// digits, Roman or English ("CHAPTER IV. The Sea", "Part the First"); in an EPUB
// with each document of the spine. What has less than 200 characters, such as a
// title page or a line of the contents, belongs to the next chapter. A book
// without such headings stays whole.
//
// # EPUB
//
// The documents of the spine in its order, without those for navigation and
// those outside of the linear reading order. Block elements are paragraphs;
// script, style, head, navigation, page numbers and marks of notes are dropped;
// entities are resolved. Remote resources are never read.
//
// # Damage
//
// A damaged book in a folder or a zip archive is a reject (malformed) with a
// note. Where an archive itself cannot be read on, or the only file is damaged,
// the error is a [CorruptError] or a [text.CorruptError] with the place; what
// came before it has been yielded.
//
// A [Reader] is not safe for concurrent use; readers of different tasks are
// independent.
package books

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"path"
	"strings"

	"pretext/extract"
)

// Options configures a [Reader]; the zero value is ready to use.
type Options struct {
	Lang            string `json:"lang,omitempty"`             // language of books that do not name theirs
	KeepLines       bool   `json:"keep_lines,omitempty"`       // every line of a text file is a paragraph
	KeepBoilerplate bool   `json:"keep_boilerplate,omitempty"` // leave Project Gutenberg's header and licence in
	// LinesPerDocument makes a document of so many lines of a text file or rows
	// of a Parquet file, in place of the whole file or one row; 0: off.
	LinesPerDocument int    `json:"lines_per_document,omitempty"`
	Chapters         bool   `json:"chapters,omitempty"` // every chapter of a book is a document
	Column           string `json:"column,omitempty"`   // of Parquet files; "" is "text"
}

// column is the name of the column of Parquet files.
func (o Options) column() string { return cmp.Or(o.Column, "text") }

// Validate returns what is wrong with the options.
func (o Options) Validate() error {
	if o.LinesPerDocument < 0 {
		return fmt.Errorf("lines_per_document %d: must be at least 1, or 0 for whole files", o.LinesPerDocument)
	}
	return nil
}

// MaxNotes is how many notes [Stats] remembers.
const MaxNotes = 20

// Stats counts what was read. Books = Kept + the sum of Rejects.
type Stats struct {
	Books        int64 // files taken for books; where they are cut, the documents cut from them
	Lines        int64 // lines and rows that were cut into documents
	Kept         int64 // documents
	Rejects      map[extract.Reject]int64
	Skipped      int64 // files and members that are no books
	Duplicates   int64 // documents with the ID of an earlier one of this task
	InvalidBytes int64 // bytes dropped because they are not UTF-8
	Recoded      int64 // books that were UTF-16 or taken for Windows-1252
	Trimmed      int64 // books that lost a Project Gutenberg header or licence
	Notes        []Note
}

// A Note says what was odd about a book.
type Note struct {
	Name string // path in the folder or archive, cleaned
	Text string
}

// ErrCorrupt is what a [CorruptError] unwraps to.
var ErrCorrupt = errors.New("corrupt archive")

// A CorruptError locates damage in an archive.
type CorruptError struct {
	File   string // path of the source
	Offset int64  // in the archive, unpacked if it is a packed tar
	Reason string // e.g. "unexpected EOF"
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v %q near byte %d: %s", ErrCorrupt, e.File, e.Offset, e.Reason)
}

// Unwrap returns [ErrCorrupt].
func (e *CorruptError) Unwrap() error { return ErrCorrupt }

// A Reader reads the books of a task.
type Reader struct {
	store     Store
	task      Task
	opts      Options
	limit     int   // extract.MaxDocumentBytes; tests set a smaller one
	fileLimit int64 // maxFileBytes; likewise

	buf   []byte // for reading: archives may have a million books of no length
	stats Stats
	seen  map[uint64]struct{} // hashes of IDs
	yield func(*extract.Document, error) bool
}

// NewReader returns a reader of a task that [Plan] made.
func NewReader(store Store, task Task, opts Options) *Reader {
	return &Reader{
		store: store, task: task, opts: opts, limit: extract.MaxDocumentBytes, fileLimit: maxFileBytes,
		stats: Stats{Rejects: map[extract.Reject]int64{}, Skipped: task.Skipped},
		seen:  map[uint64]struct{}{},
	}
}

// Stats returns what was counted so far. The result shares memory with the
// reader.
func (r *Reader) Stats() Stats { return r.stats }

// errStopped says that the consumer wants no more documents.
var errStopped = errors.New("stopped")

// Documents yields the documents of the task, or an error and then nothing
// more. It is for one use.
func (r *Reader) Documents() iter.Seq2[*extract.Document, error] {
	return func(yield func(*extract.Document, error) bool) {
		r.yield = yield
		if err := r.readTask(); err != nil && err != errStopped {
			yield(nil, fmt.Errorf("read books %q: %w", r.task.Path, err))
		}
	}
}

func (r *Reader) readTask() error {
	if r.task.Kind == KindFile {
		f, err := r.store.Open(string(r.task.Path), "")
		if err != nil {
			return err
		}
		defer f.Close()
		return r.readLone(f, path.Base(string(r.task.Path)))
	}
	if r.task.Kind == KindRows {
		return r.readRowsTask()
	}
	for _, name := range r.task.Files {
		if err := r.readOne(string(name)); err != nil {
			return err
		}
	}
	return nil
}

// readRowsTask reads the part of a Parquet file that the task is.
func (r *Reader) readRowsTask() error {
	inner, name := "", path.Base(string(r.task.Path))
	if len(r.task.Files) > 0 {
		inner = string(r.task.Files[0])
		name = inner
	}
	f, err := r.store.Open(string(r.task.Path), inner)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := r.readRows(name, f); err != nil {
		return r.rowsError(name, err)
	}
	return nil
}

// A book is what a source gave for one document.
type book struct {
	name   string // cleaned path
	title  string // "" for the file name
	lang   string // "" for that of the options
	text   []byte
	parts  [][]byte       // its chapters, where those are documents, in place of text
	reject extract.Reject // why there is no document, or ""
	note   string
	piece  bool // of a file of lines, rows or chapters: its ID is like no other of the file
}

// finish counts a book and hands its document, or those of its chapters, to the
// consumer.
func (r *Reader) finish(b book) error {
	if b.reject == "" && r.opts.Chapters && !b.piece {
		chapters := joinShort(b.parts)
		if b.parts == nil {
			chapters = joinShort(cutChapters(b.text))
		}
		if len(chapters) > 1 {
			if b.title == "" {
				b.title = stem(path.Base(b.name))
			}
			if b.note != "" {
				r.note(b.name, b.note)
			}
			for i, text := range chapters {
				if err := r.finish(book{name: fmt.Sprintf("%s#%d", b.name, i+1), title: b.title, lang: b.lang, text: text, piece: true}); err != nil {
					return err
				}
			}
			return nil
		}
		b.text = bytes.Join(chapters, nil)
	}
	r.stats.Books++
	if b.note != "" {
		r.note(b.name, b.note)
	}
	if b.reject == "" && len(b.text) == 0 {
		b.reject = extract.RejectEmpty
	}
	if b.reject != "" {
		r.stats.Rejects[b.reject]++
		return nil
	}
	r.stats.Kept++
	doc := &extract.Document{
		ID: "books:" + b.name, Title: b.title, Text: string(b.text),
		Source: r.source(), Lang: b.lang,
	}
	if doc.Title == "" {
		doc.Title = stem(path.Base(b.name))
	}
	if doc.Lang == "" {
		doc.Lang = r.opts.Lang
	}
	if !b.piece { // there may be hundreds of millions
		r.countID(doc.ID)
	}
	if !r.yield(doc, nil) {
		return errStopped
	}
	return nil
}

func (r *Reader) countID(id string) {
	h := fnv.New64a()
	h.Write([]byte(id))
	if _, ok := r.seen[h.Sum64()]; ok {
		r.stats.Duplicates++
	}
	r.seen[h.Sum64()] = struct{}{}
}

func (r *Reader) note(name, note string) {
	if len(r.stats.Notes) < MaxNotes {
		r.stats.Notes = append(r.stats.Notes, Note{name, note})
	}
}

// source returns the base name of what the task reads.
func (r *Reader) source() string {
	base, ok := cleanName(path.Base(strings.TrimRight(string(r.task.Path), "/")))
	if !ok {
		return "books"
	}
	return base
}

// damaged makes the reject of a book that cannot be read.
func damaged(name string, reason string) book {
	return book{name: name, reject: extract.RejectMalformed, note: reason}
}
