package wikihtml

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/klauspost/compress/gzip"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/internal/counting"
	"pretext/extract/wiki"
	"pretext/extract/wiki/facts"
	"pretext/extract/wiki/wikitext"
)

// An Input is an archive, file or directory of pages.
type Input struct {
	Name  string                                   // base name of the archive, file or directory; Source of the documents
	Files []string                                 // files of one page each, below the directory; nil: the input is one file
	Open  func(name string) (io.ReadCloser, error) // opens one of Files, or the single file if name is ""
}

// Stats counts pages. Pages equals Kept plus the sum of Rejects.
type Stats struct {
	Pages   int64 // lines of snapshots, or files with a page each
	Kept    int64 // pages that became documents
	Rejects map[extract.Reject]int64
	Bytes   int64 // bytes of HTML and JSON, decompressed
	Invalid int64 // bytes dropped because they are not UTF-8
}

// Counts returns the counts for a side-car.
func (s *Stats) Counts() counts.Counts {
	c := counts.Counts{facts.Pages.Key: s.Pages, extract.Documents.Key: s.Kept, facts.HTMLBytes.Key: s.Bytes, extract.InvalidUTF8.Key: s.Invalid}
	extract.Rejects.AddAll(c, s.Rejects)
	return c
}

// A Reader turns pages into documents. It must not be used by several goroutines
// at once.
type Reader struct {
	in      Input
	options wiki.Options
	scanner *wikitext.Scanner
	convert converter
	line    snapshotLine
	buf     []byte // the line or file being read
	text    []byte // text of the last document
	stats   Stats

	rejected extract.Rejected
	onReject func(*extract.Rejected)

	onTransclusion func(*Transclusion)

	yield func(*extract.Document, error) bool
}

// maxSource is the maximum size in bytes of a snapshot's line, or of a file with one
// page.
const maxSource = 32 << 20

// NewReader returns a reader of pages. The options must be valid.
func NewReader(in Input, opts wiki.Options) *Reader {
	return &Reader{in: in, options: opts, scanner: wikitext.NewScanner(opts.Wikitext), stats: Stats{Rejects: map[extract.Reject]int64{}}}
}

// OnReject sets the function that is called with each rejected page, in the order of
// the pages. The argument is valid during the call.
func (r *Reader) OnReject(f func(*extract.Rejected)) { r.onReject = f }

// Stats returns the counts so far.
func (r *Reader) Stats() Stats {
	s := r.stats
	s.Rejects = maps.Clone(s.Rejects)
	return s
}

// errStopped is returned inside the package when the consumer of Documents has
// stopped the iteration.
var errStopped = errors.New("stopped")

// Documents yields the documents in the order of their pages, and at most one
// error. It may be called only once. A document is valid until the next
// iteration, because the text buffer is reused.
func (r *Reader) Documents() iter.Seq2[*extract.Document, error] {
	return func(yield func(*extract.Document, error) bool) {
		r.yield = yield
		if err := r.read(); err != nil && err != errStopped {
			yield(nil, fmt.Errorf("read %s: %w", r.in.Name, err))
		}
	}
}

func (r *Reader) read() error {
	if r.in.Files == nil {
		f, err := r.in.Open("")
		if err != nil {
			return err
		}
		defer f.Close()
		return r.readSnapshot(f)
	}
	for _, name := range r.in.Files {
		if err := r.readFile(name); err != nil {
			return err
		}
	}
	return nil
}

// readSnapshot reads JSON lines, or a tar archive of files of JSON lines, each
// with or without gzip.
func (r *Reader) readSnapshot(f io.Reader) error {
	count := &counting.Reader{R: f}
	in, err := decompressed(count)
	if err == nil {
		if err := peekForeign(in); err != nil {
			return err
		}
		if head, _ := in.Peek(tarMagicAt + 5); len(head) == tarMagicAt+5 && string(head[tarMagicAt:]) == "ustar" {
			err = r.readTar(in)
		} else {
			err = r.readLines(in)
		}
	}
	return r.explain(count, err)
}

// explain returns a [*wiki.CorruptError] for an error of the decoders. It returns
// errors of reading the file unchanged.
func (r *Reader) explain(count *counting.Reader, err error) error {
	reason := "file ends inside the archive"
	switch {
	case err == nil, err == errStopped:
		return err
	case count.Err != nil:
		return count.Err
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		err = io.ErrUnexpectedEOF
	default:
		reason = err.Error()
	}
	return &wiki.CorruptError{Offset: count.N, Reason: reason, Err: err}
}

// decompressed returns a reader of in that decodes gzip, if in is gzipped.
func decompressed(in io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(in, 256<<10)
	if magic, _ := b.Peek(2); string(magic) != "\x1f\x8b" {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(z, 256<<10), nil
}

// tarMagicAt is the offset of "ustar" in a tar archive.
const tarMagicAt = 257

func (r *Reader) readTar(in io.Reader) error {
	t := tar.NewReader(in)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		lines, err := decompressed(t)
		if err != nil {
			return err
		}
		if err := r.readLines(lines); err != nil {
			return err
		}
	}
}

// readLines reads JSON lines. The rest of a line that is longer than maxSource is
// skipped.
func (r *Reader) readLines(in *bufio.Reader) error {
	for {
		r.buf = r.buf[:0]
		if cap(r.buf) > keptBuffer {
			r.buf = nil
		}
		over, err := false, bufio.ErrBufferFull
		for err == bufio.ErrBufferFull {
			var piece []byte
			piece, err = in.ReadSlice('\n')
			r.stats.Bytes += int64(len(piece))
			if over = over || len(r.buf)+len(piece) > maxSource; !over {
				r.buf = append(r.buf, piece...)
			}
		}
		if err != nil && err != io.EOF {
			return err
		}
		if len(bytes.TrimSpace(r.buf)) > 0 || over {
			if err := r.snapshotPage(over); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// keptBuffer is the maximum capacity, in bytes, of a buffer that is reused for the next
// page.
const keptBuffer = 4 << 20

// snapshotPage converts the line in r.buf to a document.
func (r *Reader) snapshotPage(over bool) error {
	r.stats.Pages++
	r.rejected = extract.Rejected{Place: &extract.Place{Source: r.in.Name, Line: r.stats.Pages}}
	if over {
		r.reject(extract.RejectTooLarge)
		return nil
	}
	r.buf = r.valid(r.buf)
	p, ok := r.line.parse(r.buf)
	if !ok {
		r.reject(extract.RejectMalformed)
		return nil
	}
	p.wiki = cmp.Or(p.wiki, wikiOf(p.url), stem(r.in.Name))
	// The HTML is only read, so it need not be copied.
	return r.finish(&p, unsafe.Slice(unsafe.StringData(r.line.Body.HTML), len(r.line.Body.HTML)), "")
}

// readFile converts a file with one page to a document.
func (r *Reader) readFile(name string) error {
	f, err := r.in.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	count := &counting.Reader{R: f}
	in, err := decompressed(count)
	if err == nil {
		var b bytes.Buffer
		b.Grow(64 << 10)
		_, err = b.ReadFrom(io.LimitReader(in, maxSource+1))
		r.buf = b.Bytes()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, r.explain(count, err))
	}
	r.stats.Pages++
	r.stats.Bytes += int64(len(r.buf))
	name = cmp.Or(name, r.in.Name)
	r.rejected = extract.Rejected{Place: &extract.Place{Source: name}}
	if len(r.buf) > maxSource {
		r.reject(extract.RejectTooLarge)
		return nil
	}
	return r.finish(&page{}, r.valid(r.buf), stem(name))
}

// IsPage reports whether a file has the name of a file with one page.
func IsPage(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".gz")
	return strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".htm")
}

// stem returns the base name of a file without its format suffixes.
func stem(name string) string {
	name = path.Base(name)
	for {
		cut := name
		for _, suffix := range []string{".gz", ".tar", ".tgz", ".ndjson", ".jsonl", ".json", ".html", ".htm"} {
			cut = strings.TrimSuffix(cut, suffix)
		}
		if cut == name || cut == "" {
			return name
		}
		name = cut
	}
}

// valid removes invalid UTF-8 from b.
func (r *Reader) valid(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	clean := bytes.ToValidUTF8(b, nil)
	r.stats.Invalid += int64(len(b) - len(clean))
	return clean
}

// finish converts a page and yields its document, or rejects it. name is the part of
// the ID after the wiki for a page without a number. If the page has neither number nor
// name, it is malformed.
func (r *Reader) finish(p *page, src []byte, name string) error {
	fits := r.convert.convert(src, p, extract.MaxPageBytes)
	if p.title == "" {
		p.title = strings.Join(strings.Fields(string(r.convert.title)), " ")
	}
	if p.id > 0 {
		name = strconv.FormatInt(p.id, 10)
	}
	p.wiki = cmp.Or(p.wiki, wikiOf(p.url), stem(r.in.Name))
	r.rejected.Title = p.title
	if p.title != "" && name != "" {
		r.rejected.ID, r.rejected.Place = p.wiki+":"+name, nil
	}
	reject := extract.RejectMalformed
	if r.rejected.ID != "" {
		reject = r.judge(p, fits)
	}
	if r.onTransclusion != nil {
		r.transclusions(p, reject)
	}
	if reject != "" {
		r.reject(reject)
		return nil
	}
	r.stats.Kept++
	doc := &extract.Document{ID: r.rejected.ID, Title: p.title, Text: unsafe.String(unsafe.SliceData(r.text), len(r.text)), Source: r.in.Name,
		Lang: cmp.Or(r.options.Language, p.lang), URL: p.url, Revision: p.revision, Timestamp: p.timestamp, License: cmp.Or(p.license, wiki.LicenseOf(p.url))}
	if !r.yield(doc, nil) {
		return errStopped
	}
	return nil
}

// judge converts a page to text, or returns the reason for rejecting the page. fits is
// false if the page's wikitext is too large.
func (r *Reader) judge(p *page, fits bool) extract.Reject {
	switch {
	case !r.options.Keeps(p.namespace):
		v := float64(p.namespace)
		r.rejected.Value = &v
		return extract.RejectNamespace
	case p.redirect:
		return extract.RejectRedirect
	case !fits:
		return extract.RejectTooLarge
	case len(bytes.TrimSpace(r.convert.out)) == 0:
		return extract.RejectEmpty
	case !r.options.KeepDisambiguations && (p.disambiguation || wikitext.IsDisambiguation(p.templates)):
		return extract.RejectDisambiguation
	}
	lang := cmp.Or(r.options.Language, p.lang)
	if cap(r.text) > keptBuffer {
		r.text = nil
	}
	r.text = r.scanner.AppendText(r.text[:0], r.convert.out, wikitext.Page{Title: p.title, Lang: lang, Wiki: p.wiki})
	reject, measured := r.options.RejectText(r.text)
	r.rejected.Value = measured
	return reject
}

func (r *Reader) reject(reason extract.Reject) {
	r.stats.Rejects[reason]++
	if r.onReject != nil {
		r.rejected.Reason = reason
		r.onReject(&r.rejected)
	}
}
