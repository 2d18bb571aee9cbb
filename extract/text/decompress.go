package text

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"pretext/extract/internal/counting"
	"pretext/internal/failure"
)

// ErrCorrupt is wrapped by every [CorruptError].
var ErrCorrupt = failure.Damaged("corrupt file")

// A CorruptError locates corrupt data in a compressed file.
type CorruptError struct {
	File   string // name of the source
	Offset int64  // number of bytes read when the corruption was detected
	Reason string // e.g. "gzip: invalid checksum"
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v %q near byte %d: %s", ErrCorrupt, e.File, e.Offset, e.Reason)
}

// Unwrap returns [ErrCorrupt].
func (e *CorruptError) Unwrap() error { return ErrCorrupt }

// maxWindow is the maximum window size of zstd, in bytes: the default limit of
// the zstd command.
const maxWindow = 128 << 20

// Decompress returns a reader of the decompressed content of r. r may be compressed
// with gzip (any number of members) or zstd, or be uncompressed; its first bytes show
// the format. Zero bytes after the last gzip member are ignored as padding; other bytes
// there are an error. For corrupt data the error is a [CorruptError] with the given
// name; errors of r are returned unchanged. Close does not close r.
func Decompress(name string, r io.Reader) (io.ReadCloser, error) {
	src := &counting.Reader{R: r}
	buffered := bufio.NewReaderSize(src, 64<<10)
	d := &decompressor{name: name, src: src, close: func() {}}
	head, err := buffered.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case isGzip(head):
		d.r = &gzipMembers{src: buffered}
	case isZstd(head):
		dec, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, d.locate(err)
		}
		d.r, d.close = dec, dec.Close
	default:
		d.r = buffered
	}
	return d, nil
}

// IsCompressed reports whether [Decompress] decompresses a file with this head, of at
// least four bytes if the file has as many.
func IsCompressed(head []byte) bool { return isGzip(head) || isZstd(head) }

func isGzip(head []byte) bool { return len(head) >= 2 && head[0] == 0x1F && head[1] == 0x8B }

// isZstd reports whether head, the first bytes of a file, begins a zstd frame or a
// skippable frame (RFC 8878).
func isZstd(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	if head[1] == 0xB5 && head[2] == 0x2F && head[3] == 0xFD {
		return head[0] == 0x28
	}
	return head[0]&0xF0 == 0x50 && head[1] == 0x2A && head[2] == 0x4D && head[3] == 0x18
}

type decompressor struct {
	name  string
	src   *counting.Reader
	r     io.Reader
	close func()
}

func (d *decompressor) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && err != io.EOF {
		err = d.locate(err)
	}
	return n, err
}

// locate returns the error of reading the file, if there was one, otherwise a
// [CorruptError] for err.
func (d *decompressor) locate(err error) error {
	if d.src.Err != nil {
		return d.src.Err
	}
	return &CorruptError{File: d.name, Offset: d.src.N, Reason: err.Error()}
}

func (d *decompressor) Close() error {
	d.close()
	return nil
}

// gzipMembers reads all members of a gzip file, one after the other.
type gzipMembers struct {
	src *bufio.Reader
	z   *gzip.Reader
	err error
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	for g.err == nil {
		if g.z == nil {
			g.err = g.begin()
			continue
		}
		n, err := g.z.Read(p)
		if err == io.EOF {
			err = g.nextMember()
		}
		g.err = err
		if n > 0 {
			return n, nil
		}
	}
	return 0, g.err
}

// begin reads the header of the first member.
func (g *gzipMembers) begin() error {
	z, err := gzip.NewReader(g.src)
	if err != nil {
		return err
	}
	z.Multistream(false)
	g.z = z
	return nil
}

// nextMember starts the next member, or returns io.EOF if there is none.
func (g *gzipMembers) nextMember() error {
	for {
		head, err := g.src.Peek(2)
		switch {
		case len(head) == 2 && head[0] == 0x1F && head[1] == 0x8B:
			if err := g.z.Reset(g.src); err != nil {
				return err
			}
			g.z.Multistream(false)
			return nil
		case len(head) > 0 && head[0] == 0:
			if _, err := g.src.Discard(1); err != nil {
				return err
			}
		case len(head) > 0:
			return errors.New("gzip: bytes after the last member")
		default:
			return err
		}
	}
}
