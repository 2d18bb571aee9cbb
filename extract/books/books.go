// Package books reads books and makes a document of each book. A book is a text
// file or an EPUB, alone or in a folder, tar or zip archive, or a row of a
// Parquet file.
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
// In a folder, the .txt, .epub and .parquet files at any depth are read, in
// byte order of their paths; [Plan] groups them into tasks. A single file is a
// task of its own. Its first bytes determine its format: a zip archive, an
// EPUB (a zip archive with META-INF/container.xml), a tar archive, or otherwise
// a text file. Tar and text files may be compressed with gzip (any number of
// members) or zstd. In an archive, the .txt and .epub members are read in
// archive order. Names that begin with a dot, other files, archives inside
// archives, links, devices and folders are skipped and counted.
//
// No file is ever opened or written under a name from an archive. A name is
// cleaned before it becomes part of an ID: backslashes become slashes, and
// empty, "." and ".." elements, control characters and invalid UTF-8 are
// removed. If the result is empty or longer than 1024 bytes, the book is
// malformed.
//
// # Documents
//
// The ID is "books:" and the path in the folder or archive, or the base name of
// a single file. Title is the title in an EPUB, or the file name without
// extension. Source is the base name of the folder, archive or file. Lang is
// the language in an EPUB, or [Options.Lang]. Documents with equal IDs are kept
// and counted.
//
// # Text files
//
// Lines end at LF, CR or CRLF. Text is UTF-8, or UTF-16 with a byte order mark, or
// in [Options.Encoding] if it is not UTF-8. Without that option, the encoding of a text
// whose first 256 KiB are not UTF-8 is detected, and noted: Western, Central European,
// Turkish, Baltic, Cyrillic, Greek and East Asian ones (detect.go).
// Text with invalid UTF-8 is read as Windows-1252 if the invalid bytes
// outnumber the valid characters above U+007F and look like letters and
// quotation marks of Western European text. Otherwise the invalid bytes are
// dropped and counted. A book is rejected for these reasons:
//
//   - encoding: it is in another encoding that is not certain, or not in the one given;
//     more than 10 % of its bytes are invalid; or more than 1 %, and they
//     outnumber the valid characters above U+007F.
//   - binary: it has a NUL, or more than one control character per hundred bytes.
//   - too-large: its text is larger than [extract.MaxDocumentBytes], or its file
//     larger than 512 MiB. Such a book is never held in memory.
//
// Books are often wrapped at about 70 characters. Blank lines separate
// paragraphs. A line break inside a paragraph is kept or becomes a space by
// these rules:
//
//   - If at least half of these breaks follow the end of a sentence, or lines
//     are longer than 120 characters (98th percentile), the file has one
//     sentence or paragraph on each line: all breaks are kept.
//   - Otherwise the file is wrapped at that length. A break is kept if the next
//     word would have fitted within three quarters of the length, as in verse,
//     addresses, signatures and lists. It is also kept before a line that is
//     indented by two columns more than the line before and by more than the
//     line after: a paragraph without a blank line.
//   - Every other break becomes a space; but it is removed after a hyphen or
//     dash, and between characters of scripts without spaces. The hyphen goes
//     too if the book writes the word more often without it.
//
// In a file of lines under 30 characters, such as one word on each line, no
// break inside a paragraph is kept. [Options.KeepLines] keeps all breaks.
//
// The header and the licence of Project Gutenberg are removed if their markers
// ("*** START OF …", "*** END OF …") are found, unless
// [Options.KeepBoilerplate] is set. So are what transcribers added, and what is not the
// text on a page: captions ("[Illustration: …]"), footnotes in brackets and their marks,
// page numbers ("{12}", "[Pg 12]"), lines of stars or dashes, credits and notes of
// transcribers, underscores that mark italics, and repeated spaces. Of Japanese books
// of Aozora Bunko, readings (《…》), notes (［＃…］) and the frame are removed.
//
// # Lines and rows
//
// Some corpora have no document boundaries, only gigabytes of lines or rows
// with one sentence each. With [Options.LinesPerDocument], that number of lines of
// a text file becomes a document; blank lines do not count. The file is streamed:
// lines end at LF, the encoding is UTF-8, or UTF-16 with a byte order mark, and
// invalid bytes are dropped and counted. The rules for paragraphs and Project
// Gutenberg do not apply.
//
// In a Parquet file, each row of the column [Options.Column] is a document, or
// every LinesPerDocument rows; nulls and blank rows do not count. Row groups
// are read in tasks of about 32 MiB, and no document extends over two tasks.
// Package parquet lists the supported features.
//
// The ID of such a document ends in "#" and the number, from 1, of its first
// line or row.
//
// # Markup
//
// Wikitext and HTML in text files are kept unchanged, and counted in [Stats]. A text
// counts as wikitext or HTML if its first 65,536 bytes have at least three links,
// templates, headings or end tags, and at least one per 1,000 bytes.
//
// # Chapters
//
// A book is one document. With [Options.Chapters], each chapter is a document
// whose ID ends in "#" and a number from 1. In a text file, a chapter begins at
// a line with a word for "chapter" in one of a dozen languages and a number in
// digits, Roman numerals or English words ("CHAPTER IV. The Sea", "Part the
// First"). In an EPUB, each document of the spine is a chapter. A part with
// less than 200 characters, such as a title page or a line of the contents, is
// joined to the next chapter. A book without chapter headings is one document.
//
// # EPUB
//
// The text of an EPUB is the text of the documents in the spine, in order, except
// navigation documents and documents outside the linear reading order. Block
// elements are paragraphs. Script, style, head, navigation, page numbers and
// note marks are dropped; entities are resolved. Remote resources are never
// read.
//
// # Corrupt input
//
// A corrupt book in a folder or a zip archive is rejected (malformed) with a
// note. If the archive itself or a single file is corrupt, the error is a
// [CorruptError] or a [text.CorruptError] with the offset. Books before that offset
// are yielded first.
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
	"path/filepath"

	"golang.org/x/text/encoding"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/parallel"
	"pretext/internal/failure"
)

// Options configures a [Reader]. The zero value is ready to use.
type Options struct {
	Lang            string `json:"lang,omitempty"`             // language of books that do not state their own
	KeepLines       bool   `json:"keep_lines,omitempty"`       // every line of a text file is a paragraph
	KeepBoilerplate bool   `json:"keep_boilerplate,omitempty"` // keep Project Gutenberg's header and licence, and what transcribers added
	// LinesPerDocument is the number of lines of a text file, or rows of a Parquet
	// file, that become one document; 0: the whole file or each row does.
	LinesPerDocument int    `json:"lines_per_document,omitempty"`
	Chapters         bool   `json:"chapters,omitempty"` // every chapter of a book is a document
	Column           string `json:"column,omitempty"`   // column of Parquet files with the text; "" means "text"
	// Encoding is that of text files without a byte order mark that are not UTF-8, by its
	// name in the WHATWG Encoding Standard, or "macintosh", "ibm850"; "": it is detected.
	Encoding string `json:"encoding,omitempty"`
}

// column returns the name of the Parquet column that holds the text.
func (o Options) column() string { return cmp.Or(o.Column, "text") }

// Validate returns an error if the value of a field is invalid.
func (o Options) Validate() error {
	if o.LinesPerDocument < 0 {
		return fmt.Errorf("lines_per_document %d: must be at least 1, or 0 for whole files", o.LinesPerDocument)
	}
	_, err := encodingOf(o.Encoding)
	return err
}

// maxNotes is the maximum number of notes in [Stats].
const maxNotes = 20

// Stats counts what a [Reader] read. Books equals Kept plus the sum of Rejects.
type Stats struct {
	Books        int64 // books, or documents if a file is divided into several
	Lines        int64 // lines and rows that were grouped into documents
	Kept         int64 // documents
	Rejects      map[extract.Reject]int64
	Skipped      int64 // files and members that are not books
	Duplicates   int64 // documents with the ID of an earlier document of the task
	InvalidBytes int64 // bytes dropped because they are not UTF-8
	Recoded      int64 // books that were UTF-16 or read as Windows-1252
	Trimmed      int64 // books from which a Project Gutenberg header or licence was removed
	Apparatus    int64 // lines removed as captions, footnotes, page numbers, ornaments or credits
	Wikitext     int64 // documents that look like wikitext, with its markup
	HTML         int64 // documents that look like HTML or XML, with its tags
	Notes        []Note
}

// Counts of books, besides those of package extract.
var (
	Skipped = counts.Declare("skipped_files", counts.About{Meaning: "files that are no books"})
	Recoded = counts.Declare("recoded_files", counts.About{Meaning: "books in another encoding than UTF-8"})
	Trimmed = counts.Declare("trimmed_files", counts.About{Meaning: "books that lost a Project Gutenberg frame"})

	Apparatus = counts.Declare("apparatus_lines", counts.About{Sparse: true, Meaning: "lines of books that were captions, footnotes, page numbers, ornaments or credits; absent if 0"})
)

// Counts returns the counts for a side-car.
func (s *Stats) Counts() counts.Counts {
	c := counts.Counts{extract.Files.Key: s.Books, extract.Documents.Key: s.Kept, Skipped.Key: s.Skipped,
		extract.InvalidUTF8.Key: s.InvalidBytes, Recoded.Key: s.Recoded, Trimmed.Key: s.Trimmed}
	if s.Lines > 0 {
		extract.Lines.Add(c, s.Lines)
	}
	Apparatus.Add(c, s.Apparatus)
	extract.Wikitext.Add(c, s.Wikitext)
	extract.HTML.Add(c, s.HTML)
	extract.Rejects.AddAll(c, s.Rejects)
	return c
}

// add adds the counts of other, and the notes for which there is room.
func (s *Stats) add(other *Stats) {
	s.Books += other.Books
	s.Lines += other.Lines
	s.Kept += other.Kept
	for reason, n := range other.Rejects {
		s.Rejects[reason] += n
	}
	s.Skipped += other.Skipped
	s.Duplicates += other.Duplicates
	s.InvalidBytes += other.InvalidBytes
	s.Recoded += other.Recoded
	s.Trimmed += other.Trimmed
	s.Apparatus += other.Apparatus
	s.Wikitext += other.Wikitext
	s.HTML += other.HTML
	s.Notes = append(s.Notes, other.Notes[:min(len(other.Notes), maxNotes-len(s.Notes))]...)
}

// A Note reports something unusual about a book.
type Note struct {
	Name string // path in the folder or archive, as returned by cleanName
	Text string
}

// ErrCorrupt is wrapped by every [CorruptError].
var ErrCorrupt = failure.Damaged("corrupt archive")

// A CorruptError locates corrupt data in an archive.
type CorruptError struct {
	File   string // path of the source
	Offset int64  // offset in the archive, or in the uncompressed data of a compressed tar
	Reason string // e.g. "unexpected EOF"
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v %q near byte %d: %s", ErrCorrupt, e.File, e.Offset, e.Reason)
}

// Unwrap returns [ErrCorrupt].
func (e *CorruptError) Unwrap() error { return ErrCorrupt }

// A Reader reads the books of a task, a part of the sources ([Plan]).
type Reader struct {
	store     Store
	task      Task
	opts      Options
	limit     int   // extract.MaxDocumentBytes; smaller in tests
	fileLimit int64 // maxFileBytes; smaller in tests

	given encoding.Encoding // Options.Encoding; nil: none
	tools
	stats Stats
	seen  map[uint64]struct{} // hashes of IDs
	yield func(*extract.Document, error) bool
	team  *parallel.Team

	gather func(event) // takes the documents instead of yield; nil: none

	onReject func(*extract.Rejected) // may be nil
}

// NewReader returns a reader of a task from [Plan]. It panics if the options are invalid
// ([Options.Validate]).
func NewReader(store Store, task Task, opts Options) *Reader {
	given, err := encodingOf(opts.Encoding)
	if err != nil {
		panic("BUG: books options: " + err.Error())
	}
	return &Reader{
		given: given,
		store: store, task: task, opts: opts, limit: extract.MaxDocumentBytes, fileLimit: maxFileBytes,
		stats: Stats{Rejects: map[extract.Reject]int64{}, Skipped: task.Skipped},
		seen:  map[uint64]struct{}{},
		team:  parallel.NewTeam(nil),
	}
}

// Stats returns the counts so far. The result shares memory with the reader.
func (r *Reader) Stats() Stats { return r.stats }

// errStopped is returned inside the package when the consumer of Documents has
// stopped the iteration.
var errStopped = errors.New("stopped")

// Documents yields the documents of the task. If reading fails, it yields the error
// last. It may be called only once.
func (r *Reader) Documents() iter.Seq2[*extract.Document, error] {
	return func(yield func(*extract.Document, error) bool) {
		r.yield = yield
		if err := r.readTask(); err != nil && err != errStopped {
			yield(nil, fmt.Errorf("read books %q: %w", r.task.Path, err))
		}
	}
}

func (r *Reader) readTask() error {
	inner, name := "", r.base()
	if r.task.Kind == kindRows && len(r.task.Files) > 0 {
		inner = string(r.task.Files[0])
		name = inner
	}
	if r.task.Kind == kindFile || r.task.Kind == kindRows {
		f, err := r.store.Open(string(r.task.Path), inner)
		if err != nil {
			return err
		}
		defer f.Close()
		if r.task.Kind == kindFile {
			return r.readLone(f, name)
		}
		if err := r.readRows(name, f); err != nil {
			return r.rowsError(name, err)
		}
		return nil
	}
	for _, name := range r.task.Files {
		if err := r.readOne(string(name)); err != nil {
			return err
		}
	}
	return nil
}

// A book is the input of one document, or the reason why there is no document.
type book struct {
	name   string // path, as returned by cleanName
	title  string // "": the file name is the title
	lang   string // "": the language of the options
	text   []byte
	parts  [][]byte       // set instead of text if each chapter is a document
	reject extract.Reject // why there is no document, or ""
	note   string
	piece  bool // it is a part of a file (lines, rows or a chapter), whose ID is unique
}

func (b book) titleOrName() string { return cmp.Or(b.title, stem(path.Base(b.name))) }

// finish counts a book and yields its document or, with Options.Chapters, one document
// per chapter.
func (r *Reader) finish(b book) error {
	if b.reject == "" && r.opts.Chapters && !b.piece {
		if b.parts == nil {
			b.parts = cutChapters(b.text)
		}
		chapters := joinShort(b.parts)
		if len(chapters) > 1 {
			r.note(b.name, b.note)
			for i, text := range chapters {
				err := r.finish(book{name: fmt.Sprintf("%s#%d", b.name, i+1), title: b.titleOrName(), lang: b.lang, text: text, piece: true})
				if err != nil {
					return err
				}
			}
			return nil
		}
		b.text = bytes.Join(chapters, nil)
	}
	r.stats.Books++
	r.note(b.name, b.note)
	if b.reject == "" && len(b.text) == 0 {
		b.reject = extract.RejectEmpty
	}
	if b.reject != "" {
		r.stats.Rejects[b.reject]++
		r.report(b)
		return nil
	}
	r.stats.Kept++
	switch {
	case isWikitext(b.text):
		r.stats.Wikitext++
	case hasTags(b.text):
		r.stats.HTML++
	}
	doc := &extract.Document{
		ID: "books:" + b.name, Title: b.titleOrName(), Text: string(b.text),
		Source: r.source(), Lang: cmp.Or(b.lang, r.opts.Lang),
	}
	return r.emit(doc, !b.piece)
}

// emit yields a document. whole reports whether it is a whole book.
func (r *Reader) emit(doc *extract.Document, whole bool) error {
	if r.gather != nil {
		r.gather(event{doc: doc, whole: whole})
		return nil
	}
	if whole { // not for pieces: there may be hundreds of millions
		r.countID(doc.ID)
	}
	if !r.yield(doc, nil) {
		return errStopped
	}
	return nil
}

// OnReject sets the function that is called with each rejected book, in the order of
// the books.
func (r *Reader) OnReject(f func(*extract.Rejected)) { r.onReject = f }

// report passes a rejected book to the function set by OnReject.
func (r *Reader) report(b book) {
	switch {
	case r.onReject == nil:
	case b.name == "":
		r.onReject(&extract.Rejected{Reason: b.reject, Place: &extract.Place{Source: r.source()}})
	default:
		r.onReject(&extract.Rejected{ID: "books:" + b.name, Title: b.titleOrName(), Reason: b.reject})
	}
}

func (r *Reader) countID(id string) {
	h := fnv.New64a()
	h.Write([]byte(id))
	if _, ok := r.seen[h.Sum64()]; ok {
		r.stats.Duplicates++
	}
	r.seen[h.Sum64()] = struct{}{}
}

// note adds a note about a book to the statistics. An empty note is ignored.
func (r *Reader) note(name, note string) {
	if note != "" && len(r.stats.Notes) < maxNotes {
		r.stats.Notes = append(r.stats.Notes, Note{name, note})
	}
}

// base returns the last element of the task's path.
func (r *Reader) base() string { return path.Base(filepath.ToSlash(string(r.task.Path))) }

// source returns the base name of the task's source.
func (r *Reader) source() string {
	base, ok := cleanName(r.base())
	if !ok {
		return "books"
	}
	return base
}

// damaged returns the rejected book for a file that could not be read. reason becomes
// its note.
func damaged(name string, reason string) book {
	return book{name: name, reject: extract.RejectMalformed, note: reason}
}
