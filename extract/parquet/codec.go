package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// A codec is a compression codec, as numbered by CompressionCodec in
// parquet.thrift.
type codec int64

const (
	codecNone   codec = 0
	codecSnappy codec = 1
	codecGzip   codec = 2
	codecZstd   codec = 6
	codecLZ4Raw codec = 7
)

func (c codec) check() error {
	switch c {
	case codecNone, codecSnappy, codecGzip, codecZstd, codecLZ4Raw:
		return nil
	}
	names := map[codec]string{3: "LZO", 4: "BROTLI", 5: "LZ4 of Hadoop"}
	name, ok := names[c]
	if !ok {
		name = fmt.Sprint("number ", int64(c))
	}
	return &UnsupportedError{What: "compression " + name + " is not read, write it with ZSTD, SNAPPY or GZIP"}
}

// A decompressor decompresses pages. It reuses its decoders for all pages.
type decompressor struct {
	zstd *zstd.Decoder
	gzip *gzip.Reader
}

func (d *decompressor) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

// unpack decompresses src into dst. len(dst) is the size in the page header; unpack
// returns an error if the data has any other size.
func (d *decompressor) unpack(c codec, dst, src []byte) error {
	switch c {
	case codecNone:
		if len(src) != len(dst) {
			return damagef("a page of %d bytes that should have %d", len(src), len(dst))
		}
		copy(dst, src)
		return nil
	case codecSnappy:
		n, err := snappy.DecodedLen(src)
		if err != nil || n != len(dst) {
			return damagef("a page that unpacks to %d bytes, should be %d", n, len(dst))
		}
		if _, err := snappy.Decode(dst, src); err != nil {
			return damagef("%v", err)
		}
		return nil
	case codecGzip:
		if d.gzip == nil {
			d.gzip = new(gzip.Reader)
		}
		if err := d.gzip.Reset(bytes.NewReader(src)); err != nil {
			return damagef("%v", err)
		}
		return readExactly(d.gzip, dst)
	case codecZstd:
		if d.zstd == nil {
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPageBytes))
			if err != nil {
				return err
			}
			d.zstd = z
		}
		if err := d.zstd.Reset(bytes.NewReader(src)); err != nil {
			return damagef("%v", err)
		}
		return readExactly(d.zstd, dst)
	case codecLZ4Raw:
		return unpackLZ4(dst, src)
	}
	panic("BUG: a codec that was not checked")
}

// readExactly fills dst from r. It returns an error if r has fewer or more bytes.
func readExactly(r io.Reader, dst []byte) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return damagef("a page that unpacks to less than %d bytes: %v", len(dst), err)
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n > 0 || err != io.EOF {
		return damagef("a page that unpacks to more than %d bytes, or is damaged: %v", len(dst), err)
	}
	return nil
}

// unpackLZ4 decodes an LZ4 block (lz4/lz4, doc/lz4_Block_format.md): sequences
// of a token, literals, and a copy of earlier output. The last sequence has only
// literals.
func unpackLZ4(dst, src []byte) error {
	l := lz4Reader{src: src, dst: dst}
	for ok := true; len(l.src) > 0; {
		token := l.src[0]
		l.src = l.src[1:]
		if ok = l.literals(int(token >> 4)); ok && len(l.src) > 0 {
			ok = l.copy(int(token & 15))
		}
		if !ok {
			return damagef("an LZ4 page that is damaged")
		}
	}
	if l.at != len(dst) {
		return damagef("an LZ4 page that is damaged")
	}
	return nil
}

// An lz4Reader decodes an LZ4 block. Its methods return false for corrupt data.
type lz4Reader struct {
	src, dst []byte
	at       int // number of bytes of dst written
}

// length decodes a length. n is the part of the length in the token. If n is 15, the
// next bytes contain the rest.
func (l *lz4Reader) length(n int) (int, bool) {
	if n < 15 {
		return n, true
	}
	for len(l.src) > 0 && n <= len(l.dst) {
		b := l.src[0]
		l.src = l.src[1:]
		if n += int(b); b != 255 {
			return n, true
		}
	}
	return 0, false
}

func (l *lz4Reader) literals(n int) bool {
	n, ok := l.length(n)
	if !ok || n > len(l.src) || n > len(l.dst)-l.at {
		return false
	}
	l.at += copy(l.dst[l.at:], l.src[:n])
	l.src = l.src[n:]
	return true
}

// copy copies earlier output. Its distance is in the next two bytes, and n is the part
// of its length in the token. The copy may overlap its source.
func (l *lz4Reader) copy(n int) bool {
	if len(l.src) < 2 {
		return false
	}
	offset := int(binary.LittleEndian.Uint16(l.src))
	l.src = l.src[2:]
	n, ok := l.length(n)
	if n += 4; !ok || offset == 0 || offset > l.at || n > len(l.dst)-l.at {
		return false
	}
	dst, at := l.dst, l.at
	for l.at += n; at < l.at; at++ {
		dst[at] = dst[at-offset]
	}
	return true
}
