package wiki

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"

	"pretext/internal/failure"
)

// A Spool stores the pages of ranges of dumps in a temporary file, so that a second
// pass need not decode the dump again. A range can be read once; its file space is
// freed while it is read. A Spool is a cache: if writing fails, ranges are missing from
// it. It is safe for concurrent use.
type Spool struct {
	file SpoolFile
	pack bool // compress chunks

	mu     sync.Mutex
	next   int64 // offset of the next chunk in file
	full   bool  // writing failed; no more chunks are written
	ranges map[string]*spooled
}

// A SpoolFile is the temporary file of a [Spool].
type SpoolFile interface {
	io.ReaderAt
	io.WriterAt
	Discard(off, n int64) // frees the space of n bytes, which will not be read again
}

// spooled is a stored range: the file chunks with its pages, and the state of the
// [Reader] after the last page.
type spooled struct {
	chunks         []spoolChunk
	owned, footers int64
	end            SpoolEnd
}

// A SpoolEnd holds results of reading a range that are known after its last page.
type SpoolEnd struct {
	SHA256   [32]byte // of the range's bytes
	Trailing string   // the error for bytes after the last bzip2 stream; "": none
}

// A spoolChunk is a chunk of the file. It contains pages, compressed as an S2 block if
// the spool is packed.
type spoolChunk struct {
	offset int64
	size   int
	sum    uint64 // xxHash64 of the bytes in the file
}

// spoolPage is the alignment of chunks in bytes: file systems free only whole pages.
const spoolPage = 4096

// space returns the number of bytes that the chunk occupies in the file.
func (c spoolChunk) space() int64 { return (int64(c.size) + spoolPage - 1) &^ (spoolPage - 1) }

// spoolChunkBytes is the size, before compression, at which a chunk is written.
const spoolChunkBytes = 256 << 10

// errSpool is the error for a temporary file that was changed after it was written.
var errSpool = failure.Damaged("the temporary file of pages is corrupt: run again")

// NewSpool returns an empty spool that uses file, an empty file. The caller closes the
// file. With pack, chunks are compressed: the file has half the size, and the CPU time
// is an eighth higher than without a spool.
func NewSpool(file SpoolFile, pack bool) *Spool {
	return &Spool{file: file, pack: pack, ranges: map[string]*spooled{}}
}

// write appends a chunk to the file; ok is false if writing has failed.
func (s *Spool) write(p []byte) (c spoolChunk, ok bool) {
	s.mu.Lock()
	c = spoolChunk{s.next, len(p), xxhash.Sum64(p)}
	s.next += c.space()
	full := s.full
	s.mu.Unlock()
	if full {
		return c, false
	}
	if _, err := s.file.WriteAt(p, c.offset); err != nil {
		s.mu.Lock()
		s.full = true
		s.mu.Unlock()
		return c, false
	}
	return c, true
}

// A SpoolWriter adds the pages of a range to a [Spool].
type SpoolWriter struct {
	spool   *Spool
	key     string
	options Options
	r       spooled
	raw     []byte
	packed  []byte
	failed  bool
}

// Create begins a range; key identifies it in [Spool.Open]. For pages that options
// reject before their text is read, only the heads are stored.
func (s *Spool) Create(key string, options Options) *SpoolWriter {
	return &SpoolWriter{spool: s, key: key, options: options}
}

// Flags of a page in a chunk. The lowest two bits are its ending.
const (
	spoolTooLarge = 1 << (2 + iota)
	spoolHead
	spoolRevision
)

// add appends a page to the open chunk.
func (w *SpoolWriter) add(r *Reader, p rawPage) {
	if w.failed {
		return
	}
	flags := byte(p.end)
	if p.tooLarge {
		flags |= spoolTooLarge
	}
	if p.head != nil {
		flags |= spoolHead
	}
	h, ns, ok := r.namespaceOf(p)
	if wanted := ok && !h.redirect && !p.tooLarge && (!h.hasNS || w.options.Keeps(ns)); wanted && p.revision != nil {
		flags |= spoolRevision
	} else if p.revision = nil; wanted {
		flags &^= spoolRevision
	}
	w.raw = append(w.raw, flags)
	w.raw = binary.AppendUvarint(w.raw, uint64(p.offset))
	w.raw = binary.AppendUvarint(w.raw, uint64(len(p.head)))
	w.raw = binary.AppendUvarint(w.raw, uint64(len(p.revision)))
	w.raw = append(append(w.raw, p.head...), p.revision...)
	if len(w.raw) >= spoolChunkBytes {
		w.flush()
	}
}

// flush writes the open chunk to the file.
func (w *SpoolWriter) flush() {
	if len(w.raw) == 0 {
		return
	}
	chunk := w.raw
	if w.spool.pack {
		w.packed = s2.Encode(w.packed[:cap(w.packed)], w.raw)
		chunk = w.packed
	}
	c, ok := w.spool.write(chunk)
	w.failed = !ok
	w.r.chunks = append(w.r.chunks, c)
	if w.raw = w.raw[:0]; cap(w.raw) > keptText {
		w.raw, w.packed = nil, nil
	}
}

// Close ends the range after r has read all of it. Only then is the range available in
// the spool.
func (w *SpoolWriter) Close(r *Reader, end SpoolEnd) {
	w.flush()
	if w.failed {
		return
	}
	done := w.r // the spool must not keep the writer, which has buffers of megabytes
	done.owned, done.footers, done.end = r.split.owned, r.split.footers, end
	w.spool.mu.Lock()
	w.spool.ranges[w.key] = &done
	w.spool.mu.Unlock()
}

// A SpoolReader reads the pages of a range.
type SpoolReader struct {
	spool  *Spool
	r      *spooled
	chunk  int // index of the next chunk
	raw    []byte
	buf    []byte
	packed []byte
}

// Open returns a reader of the range with the given key. It returns nil if the spool
// does not contain the range or the range was opened before. reuse is a reader whose
// memory is reused, or nil.
func (s *Spool) Open(key string, reuse *SpoolReader) *SpoolReader {
	s.mu.Lock()
	r := s.ranges[key]
	delete(s.ranges, key)
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	if reuse == nil {
		reuse = &SpoolReader{}
	}
	*reuse = SpoolReader{spool: s, r: r, buf: reuse.buf, packed: reuse.packed}
	if cap(reuse.buf) > keptText {
		reuse.buf, reuse.packed = nil, nil
	}
	return reuse
}

// End returns the results that were known after the last page of the range.
func (r *SpoolReader) End() SpoolEnd { return r.r.end }

// next returns the next page, or io.EOF. Its slices are valid until the next call.
func (r *SpoolReader) next() (p rawPage, err error) {
	if len(r.raw) == 0 {
		if err := r.fill(); err != nil {
			return p, err
		}
	}
	flags := r.raw[0]
	b := r.raw[1:]
	var numbers [3]uint64
	for k := range numbers {
		n := 0
		if numbers[k], n = binary.Uvarint(b); n <= 0 {
			return p, errSpool
		}
		b = b[n:]
	}
	head, revision := numbers[1], numbers[2]
	if head > uint64(len(b)) || revision > uint64(len(b))-head {
		return p, errSpool
	}
	p = rawPage{tooLarge: flags&spoolTooLarge != 0, end: ending(flags & 3), offset: int64(numbers[0])}
	if flags&spoolHead != 0 {
		p.head = b[:head:head]
	}
	if flags&spoolRevision != 0 {
		p.revision = b[head : head+revision : head+revision]
	}
	r.raw = b[head+revision:]
	return p, nil
}

// fill reads the next chunk.
func (r *SpoolReader) fill() error {
	if r.chunk == len(r.r.chunks) {
		return io.EOF
	}
	c := r.r.chunks[r.chunk]
	r.chunk++
	if cap(r.packed) < c.size {
		r.packed = make([]byte, c.size)
	}
	r.packed = r.packed[:c.size]
	if n, err := r.spool.file.ReadAt(r.packed, c.offset); n < c.size {
		if err == io.EOF {
			return errSpool
		}
		return fmt.Errorf("read the temporary file of pages: %w", err)
	}
	if xxhash.Sum64(r.packed) != c.sum {
		return errSpool
	}
	r.spool.file.Discard(c.offset, c.space())
	if r.raw = r.packed; !r.spool.pack {
		return nil
	}
	var err error
	if r.buf, err = s2.Decode(r.buf[:cap(r.buf)], r.packed); err != nil || len(r.buf) == 0 {
		return errSpool
	}
	r.raw = r.buf
	return nil
}
