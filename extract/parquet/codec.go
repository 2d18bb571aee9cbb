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

// A codec is a CompressionCodec of parquet.thrift.
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

// A decompressor decompresses pages.
type decompressor struct {
	zstd *zstd.Decoder
	gzip *gzip.Reader
}

func (d *decompressor) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

// unpack decompresses src into dst, whose length is the size in the page
// header. Any other size is an error.
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
		return d.gunzip(dst, src)
	case codecZstd:
		return d.unzstd(dst, src)
	case codecLZ4Raw:
		return unpackLZ4(dst, src)
	}
	panic("BUG: a codec that was not checked")
}

func (d *decompressor) gunzip(dst, src []byte) (err error) {
	if d.gzip == nil {
		d.gzip = new(gzip.Reader)
	}
	if err := d.gzip.Reset(bytes.NewReader(src)); err != nil {
		return damagef("%v", err)
	}
	if _, err := io.ReadFull(d.gzip, dst); err != nil {
		return damagef("a page that unpacks to less than %d bytes: %v", len(dst), err)
	}
	var more [1]byte
	if n, err := d.gzip.Read(more[:]); n > 0 || err != io.EOF {
		return damagef("a page that unpacks to more than %d bytes, or is damaged: %v", len(dst), err)
	}
	return nil
}

func (d *decompressor) unzstd(dst, src []byte) (err error) {
	if d.zstd == nil {
		d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxPageBytes))
		if err != nil {
			return err
		}
	}
	if err := d.zstd.Reset(bytes.NewReader(src)); err != nil {
		return damagef("%v", err)
	}
	if _, err := io.ReadFull(d.zstd, dst); err != nil {
		return damagef("a page that unpacks to less than %d bytes: %v", len(dst), err)
	}
	var more [1]byte
	if n, err := d.zstd.Read(more[:]); n > 0 || err != io.EOF {
		return damagef("a page that unpacks to more than %d bytes, or is damaged: %v", len(dst), err)
	}
	return nil
}

// unpackLZ4 decodes an LZ4 block (lz4/lz4, doc/lz4_Block_format.md): sequences
// of a token, literals, and a copy of earlier output.
func unpackLZ4(dst, src []byte) error {
	bad := damagef("an LZ4 page that is damaged")
	length := func(n int) (int, bool) {
		if n < 15 {
			return n, true
		}
		for len(src) > 0 && n <= len(dst) {
			b := src[0]
			src = src[1:]
			if n += int(b); b != 255 {
				return n, true
			}
		}
		return 0, false
	}
	at := 0
	for len(src) > 0 {
		token := src[0]
		src = src[1:]
		n, ok := length(int(token >> 4))
		if !ok || n > len(src) || n > len(dst)-at {
			return bad
		}
		at += copy(dst[at:], src[:n])
		if src = src[n:]; len(src) == 0 {
			break // the last sequence has only literals
		}
		if len(src) < 2 {
			return bad
		}
		offset := int(binary.LittleEndian.Uint16(src))
		src = src[2:]
		n, ok = length(int(token & 15))
		if n += 4; !ok || offset == 0 || offset > at || n > len(dst)-at {
			return bad
		}
		for ; n > 0; n-- { // source and destination may overlap
			dst[at] = dst[at-offset]
			at++
		}
	}
	if at != len(dst) {
		return bad
	}
	return nil
}
