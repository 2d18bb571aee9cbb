package books

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/flate"
	"golang.org/x/text/encoding/charmap"

	"pretext/extract/internal/counting"
)

// Signatures and sizes of the records of a zip archive (PKWARE, APPNOTE.TXT
// 6.3, §4.3).
const (
	localSignature   = "PK\x03\x04"
	centralSignature = "PK\x01\x02"
	endSignature     = "PK\x05\x06"
	end64Signature   = "PK\x06\x06"
	find64Signature  = "PK\x06\x07"

	localSize   = 30
	centralSize = 46
	endSize     = 22
	end64Size   = 56
	find64Size  = 20

	zip64Extra = 0x0001
	uint32Max  = 1<<32 - 1
	uint16Max  = 1<<16 - 1
)

// A zipArchive is a zip archive whose directory is read entry by entry. Package
// archive/zip holds the whole directory in memory, about 300 MB for a million
// members.
type zipArchive struct {
	r      io.ReaderAt
	size   int64
	base   int64 // number of bytes before the archive; all offsets in it are relative to base
	dir    int64 // offset in r where the directory begins
	dirEnd int64
	count  uint64
	inflater
}

// An inflater decompresses one member after the other.
type inflater struct {
	in  *bufio.Reader
	out io.ReadCloser
}

// isZip reports whether head, the first bytes of a file, begins a zip archive: with a
// member, or with the end record of an empty archive.
func isZip(head []byte) bool {
	return bytes.HasPrefix(head, []byte(localSignature)) || bytes.HasPrefix(head, []byte(endSignature))
}

func corruptAt(offset int64, format string, args ...any) error {
	return &CorruptError{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// readAt returns the n bytes at offset. If the archive ends too early, the error is a
// [CorruptError].
func (z *zipArchive) readAt(offset int64, n int) ([]byte, error) {
	if offset < 0 || offset > z.size-int64(n) {
		return nil, corruptAt(z.size, "archive ends inside a record at byte %d", offset)
	}
	b := make([]byte, n)
	if got, err := z.r.ReadAt(b, offset); got < n {
		if err == io.EOF {
			return nil, corruptAt(offset+int64(got), "archive ends inside a record")
		}
		return nil, err
	}
	return b, nil
}

// openZip opens a zip archive of the given size in bytes and finds its
// directory.
func openZip(r io.ReaderAt, size int64) (*zipArchive, error) {
	z := &zipArchive{r: r, size: size}
	tailSize := min(size, endSize+uint16Max)
	tail, err := z.readAt(size-tailSize, int(tailSize))
	if err != nil {
		return nil, err
	}
	at := len(tail) - endSize // offset of the end record; only its comment may follow
	for at >= 0 && (string(tail[at:at+4]) != endSignature || int(binary.LittleEndian.Uint16(tail[at+20:])) > len(tail)-at-endSize) {
		at--
	}
	if at < 0 {
		return nil, corruptAt(size, "zip: no end of the directory: is the file truncated?")
	}
	end := tail[at:]
	z.count = uint64(binary.LittleEndian.Uint16(end[10:]))
	dirSize := uint64(binary.LittleEndian.Uint32(end[12:]))
	offset := uint64(binary.LittleEndian.Uint32(end[16:]))
	z.dirEnd = size - tailSize + int64(at)
	if z.count == uint16Max || dirSize == uint32Max || offset == uint32Max {
		if err := z.find64(&dirSize, &offset); err != nil {
			return nil, err
		}
	}
	if dirSize > uint64(z.dirEnd) || offset > uint64(z.dirEnd)-dirSize {
		return nil, corruptAt(z.dirEnd, "zip: directory of %d bytes at %d does not fit", dirSize, offset)
	}
	z.dir = z.dirEnd - int64(dirSize)
	z.base = z.dir - int64(offset)
	if z.base > 0 && z.signatureAt(int64(offset), centralSignature) {
		z.base, z.dir = 0, int64(offset) // there are bytes between the directory and its end record
	}
	return z, nil
}

// find64 sets dirSize, offset and z.count from the 64-bit fields of a zip64 archive.
// For other archives it changes nothing.
func (z *zipArchive) find64(dirSize, offset *uint64) error {
	at := z.dirEnd - find64Size
	if !z.signatureAt(at, find64Signature) {
		return nil
	}
	locator, err := z.readAt(at, find64Size)
	if err != nil {
		return err
	}
	place := int64(binary.LittleEndian.Uint64(locator[8:]))
	if !z.signatureAt(place, end64Signature) {
		place = at - end64Size // bytes precede the archive: its offsets are too low
	}
	if !z.signatureAt(place, end64Signature) {
		return corruptAt(at, "zip64: no end of the directory")
	}
	end, err := z.readAt(place, end64Size)
	if err != nil {
		return err
	}
	z.count = binary.LittleEndian.Uint64(end[32:])
	*dirSize = binary.LittleEndian.Uint64(end[40:])
	*offset = binary.LittleEndian.Uint64(end[48:])
	z.dirEnd = place
	return nil
}

func (z *zipArchive) signatureAt(offset int64, signature string) bool {
	if offset < 0 {
		return false
	}
	b := make([]byte, 4)
	n, _ := z.r.ReadAt(b, offset)
	return n == 4 && string(b) == signature
}

// A zipEntry is a member of a zip archive, as the directory describes it.
type zipEntry struct {
	name   string // name as stored in the directory
	flags  uint16
	method uint16
	crc    uint32
	packed uint64 // compressed size in bytes
	size   uint64 // decompressed size in bytes
	offset uint64
	madeBy uint8
	mode   uint32 // external file attributes
	at     int64  // offset of the entry in the directory
}

// Flags and methods of a member.
const (
	flagEncrypted = 1 << 0
	flagUTF8      = 1 << 11
	stored        = 0
	deflated      = 8
	madeByUnix    = 3
	madeByMac     = 19
)

// regular reports whether the member is a plain file, not a folder, link or
// device.
func (e *zipEntry) regular() bool {
	if strings.HasSuffix(e.name, "/") || strings.HasSuffix(e.name, `\`) {
		return false
	}
	const typeMask, regular = 0xF000, 0x8000 // S_IFMT, S_IFREG
	kind := e.mode >> 16 & typeMask
	return e.madeBy != madeByUnix && e.madeBy != madeByMac || kind == 0 || kind == regular
}

// path returns the name of the member in UTF-8. A name without the UTF-8 flag is
// converted from code page 437 if it is not valid UTF-8.
func (e *zipEntry) path() string {
	if e.flags&flagUTF8 != 0 || utf8.ValidString(e.name) {
		return e.name
	}
	var b strings.Builder
	for i := range len(e.name) {
		b.WriteRune(charmap.CodePage437.DecodeByte(e.name[i]))
	}
	return b.String()
}

// entries yields the members in the order of the directory, and an error at the end if
// there is one. It returns an error if the members together are larger than the
// archive, because then some overlap (a zip bomb). So the work is proportional to the
// size of the archive.
func (z *zipArchive) entries() iter.Seq2[*zipEntry, error] {
	return func(yield func(*zipEntry, error) bool) {
		in := &counting.Reader{R: bufio.NewReaderSize(io.NewSectionReader(z.r, z.dir, z.dirEnd-z.dir), 64<<10)}
		var n, packed uint64
		for in.N < z.dirEnd-z.dir {
			at := z.dir + in.N
			entry, err := z.readEntry(in)
			if err == nil {
				entry.at = at
				packed += localSize
				packed += entry.packed
				if entry.packed > uint64(z.size) || packed > uint64(z.size) {
					err = corruptAt(at, "zip: members overlap")
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			n++
			if !yield(entry, nil) {
				return
			}
		}
		// Programs without zip64 support store the count modulo 65536.
		if uint16(n) != uint16(z.count) {
			yield(nil, corruptAt(z.dirEnd, "zip: %d members, %d announced", n, z.count))
		}
	}
}

// readEntry reads the next entry of the directory.
func (z *zipArchive) readEntry(in *counting.Reader) (*zipEntry, error) {
	at := z.dir + in.N
	var fixed [centralSize]byte
	if _, err := io.ReadFull(in, fixed[:]); err != nil {
		return nil, z.cut(in, err)
	}
	if string(fixed[:4]) != centralSignature {
		return nil, corruptAt(at, "zip: no record of the directory")
	}
	le := binary.LittleEndian
	nameLen, extraLen, commentLen := int(le.Uint16(fixed[28:])), int(le.Uint16(fixed[30:])), int(le.Uint16(fixed[32:]))
	rest := make([]byte, nameLen+extraLen+commentLen)
	if _, err := io.ReadFull(in, rest); err != nil {
		return nil, z.cut(in, err)
	}
	entry := &zipEntry{
		name: string(rest[:nameLen]), madeBy: fixed[5],
		flags: le.Uint16(fixed[8:]), method: le.Uint16(fixed[10:]), crc: le.Uint32(fixed[16:]),
		packed: uint64(le.Uint32(fixed[20:])), size: uint64(le.Uint32(fixed[24:])),
		offset: uint64(le.Uint32(fixed[42:])), mode: le.Uint32(fixed[38:]),
	}
	entry.widen(rest[nameLen : nameLen+extraLen])
	return entry, nil
}

// cut returns the error for a directory that ends early. This is the error of reading
// the file, if any, or else a [CorruptError].
func (z *zipArchive) cut(in *counting.Reader, err error) error {
	if in.Err != nil {
		return in.Err
	}
	return corruptAt(z.dir+in.N, "zip: directory: %v", err)
}

// widen sets sizes and the offset from the zip64 extra field, where they do not fit in
// 32 bits.
func (e *zipEntry) widen(extra []byte) {
	for len(extra) >= 4 {
		tag, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		extra = extra[4:]
		if n > len(extra) {
			return
		}
		field := extra[:n]
		extra = extra[n:]
		if tag != zip64Extra {
			continue
		}
		for _, v := range []*uint64{&e.size, &e.packed, &e.offset} {
			if *v == uint32Max && len(field) >= 8 {
				*v = binary.LittleEndian.Uint64(field)
				field = field[8:]
			}
		}
		return
	}
}

// open returns a reader of the content of a member. Only one member can be open
// at a time. If the member is corrupt, the error is a [memberError].
func (z *zipArchive) open(e *zipEntry) (io.Reader, error) {
	packed, err := z.packed(e)
	if err != nil {
		return nil, err
	}
	return e.unpack(packed, &z.inflater)
}

// packed returns a reader of the bytes of a member as they are in the archive. If the
// member cannot be there, the error is a [memberError].
func (z *zipArchive) packed(e *zipEntry) (io.Reader, error) {
	if e.flags&flagEncrypted != 0 {
		return nil, &memberError{"encrypted"}
	}
	if e.offset > uint64(z.size) || int64(e.offset) > z.size-z.base-localSize {
		return nil, &memberError{"lies outside of the archive"}
	}
	at := z.base + int64(e.offset)
	local, err := z.readAt(at, localSize)
	if err != nil {
		return nil, err
	}
	if string(local[:4]) != localSignature {
		return nil, &memberError{"is not where the directory says"}
	}
	at += localSize + int64(binary.LittleEndian.Uint16(local[26:])) + int64(binary.LittleEndian.Uint16(local[28:]))
	if int64(e.packed) > z.size-at {
		return nil, &memberError{"is cut short"}
	}
	return io.NewSectionReader(z.r, at, int64(e.packed)), nil
}

// unpack returns a reader of the content of a member. packed has its bytes in the archive.
func (e *zipEntry) unpack(packed io.Reader, with *inflater) (io.Reader, error) {
	source := &counting.Reader{R: packed}
	m := &memberReader{source: source, crc: crc32.NewIEEE(), want: e}
	switch e.method {
	case stored:
		m.r = source
	case deflated:
		m.r = with.inflate(source)
	default:
		return nil, &memberError{fmt.Sprintf("packed by method %d, which is not supported", e.method)}
	}
	return m, nil
}

// inflate returns a reader of decompressed data. It is valid until the next call.
func (i *inflater) inflate(src io.Reader) io.Reader {
	if i.in == nil {
		i.in = bufio.NewReaderSize(nil, 16<<10)
	}
	i.in.Reset(src)
	if reset, ok := i.out.(flate.Resetter); ok {
		if reset.Reset(i.in, nil) == nil {
			return i.out
		}
	}
	i.out = flate.NewReader(i.in)
	return i.out
}

// A memberReader reads a member of a zip archive and verifies its size and
// checksum.
type memberReader struct {
	r      io.Reader
	source *counting.Reader
	crc    hash.Hash32
	n      uint64
	want   *zipEntry
}

func (m *memberReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += uint64(n)
	m.crc.Write(p[:n])
	switch {
	case err == io.EOF && m.n != m.want.size, m.n > m.want.size:
		return n, &memberError{fmt.Sprintf("holds other than the %d bytes announced", m.want.size)}
	case err == io.EOF && m.crc.Sum32() != m.want.crc:
		return n, &memberError{"wrong checksum"}
	case err == nil || err == io.EOF:
		return n, err
	case m.source.Err != nil:
		return n, m.source.Err
	}
	return n, &memberError{err.Error()}
}
