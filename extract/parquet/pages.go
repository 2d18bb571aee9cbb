package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
)

// Values of PageType and Encoding in parquet.thrift.
const (
	pageData       = 0
	pageIndex      = 1
	pageDictionary = 2
	pageDataV2     = 3

	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDeltaLength     = 6
	encodingDeltaBytes      = 7
	encodingRLEDictionary   = 8
)

// A pageHeader holds the parts of a PageHeader structure that this package uses.
type pageHeader struct {
	kind               int64
	unpacked, packed   int64 // decompressed and compressed size in bytes
	values             int64
	encoding           int64
	levels             int64 // encoding of the definition levels
	v2Levels, v2Repeat int64 // sizes in bytes of the levels before the values
	v2Plain            bool  // the values are not compressed
	crc                int64 // checksum of the compressed page
	hasCRC             bool
}

// maxHeaderBytes is the maximum size of a page header in bytes. A header contains
// statistics, which may include whole values; most writers truncate these.
const maxHeaderBytes = 1 << 20

// parseHeader parses a page header and returns its length in bytes.
func parseHeader(b []byte) (h pageHeader, n int, err error) {
	t := &thriftReader{b: b}
	h = pageHeader{kind: -1, levels: encodingRLE}
	t.structure(0, func(id int16, kind byte) bool { return h.field(t, id, kind) })
	if t.err != nil {
		return h, 0, t.err
	}
	return h, t.at, h.check()
}

// field parses the field of a PageHeader structure with the given id and type.
// It returns false if the caller must skip the field.
func (h *pageHeader) field(t *thriftReader, id int16, kind byte) bool {
	ints := map[int16]*int64{1: &h.kind, 2: &h.unpacked, 3: &h.packed, 4: &h.crc}
	if to := ints[id]; to != nil && kind == thriftI32 {
		*to = t.int()
		h.hasCRC = h.hasCRC || id == 4
		return true
	}
	switch {
	case kind != thriftStruct:
		return false
	case id == 5: // DataPageHeader
		h.fields(t, map[int16]*int64{1: &h.values, 2: &h.encoding, 3: &h.levels})
	case id == 7: // DictionaryPageHeader
		h.fields(t, map[int16]*int64{1: &h.values, 2: &h.encoding})
	case id == 8: // DataPageHeaderV2
		h.fieldsV2(t)
	default:
		return false
	}
	return true
}

// fields parses a structure and stores its integer fields. ints maps field ids to the
// variables.
func (h *pageHeader) fields(t *thriftReader, ints map[int16]*int64) {
	t.structure(1, func(id int16, kind byte) bool {
		to := ints[id]
		if to == nil || kind != thriftI32 {
			return false
		}
		*to = t.int()
		return true
	})
}

// fieldsV2 parses a DataPageHeaderV2 structure. Its field 7, is_compressed, defaults to
// true.
func (h *pageHeader) fieldsV2(t *thriftReader) {
	ints := map[int16]*int64{1: &h.values, 4: &h.encoding, 5: &h.v2Levels, 6: &h.v2Repeat}
	t.structure(1, func(id int16, kind byte) bool {
		if id == 7 && kind == thriftFalse {
			h.v2Plain = true
			return false
		}
		to := ints[id]
		if to == nil || kind != thriftI32 {
			return false
		}
		*to = t.int()
		return true
	})
}

// check returns an error if the header has sizes that no valid page can have.
func (h *pageHeader) check() error {
	switch {
	case h.unpacked < 0 || h.packed < 0 || h.values < 0 || h.v2Levels < 0 || h.v2Repeat < 0:
		return damagef("negative sizes")
	case h.unpacked > maxPageBytes || h.packed > maxPageBytes:
		return damagef("a page of %d bytes, more than %d", max(h.unpacked, h.packed), maxPageBytes)
	case h.values > maxPageValues:
		return damagef("a page of %d values, more than %d", h.values, maxPageValues)
	}
	return nil
}

// Limits against decompression bombs. A page has at most maxPageValues values. A column
// chunk of n bytes may expand to maxRatio × n bytes, in addition to freeBytes, and
// contain maxRatio × n values, in addition to freeValues.
const (
	maxPageValues = 1 << 24
	maxRatio      = 1000
	freeBytes     = maxPageBytes // allowed for any column chunk
	freeValues    = 1 << 20
)

// Values yields the values of a row group in order; a null is nil. If reading fails, it
// yields the error last. A value is valid until the next iteration.
func (f *File) Values(group int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		p := &pageReader{f: f, chunk: f.chunks[group], at: f.chunks[group].offset}
		defer p.unpack.close()
		if err := p.run(yield); err != nil && err != errStopped {
			if bad := (*damage)(nil); errors.As(err, &bad) {
				err = &CorruptError{p.page, bad.reason}
			}
			yield(nil, err)
		}
	}
}

// errStopped is returned inside the package when the consumer of Values has
// stopped the iteration.
var errStopped = errors.New("stopped")

// A pageReader reads the pages of a column chunk.
type pageReader struct {
	f          *File
	chunk      chunk
	at         int64 // offset of the next page
	page       int64 // offset of the current page
	unpack     decompressor
	head       []byte
	packed     []byte
	plain      []byte
	dictionary []uint32 // for each value, its offset in entries, where its length is stored
	entries    []byte
	values     int64 // number of values read so far
	bytes      int64 // bytes of values read so far
	prefix     []byte
}

// run reads all pages of the chunk and yields their values.
func (p *pageReader) run(yield func([]byte, error) bool) error {
	end := p.chunk.offset + p.chunk.bytes
	for p.values < p.chunk.values {
		p.page = p.at
		if p.at >= end {
			return damagef("%d values, the footer says %d", p.values, p.chunk.values)
		}
		h, err := p.header(end)
		if err != nil {
			return err
		}
		body := p.at
		if p.at += h.packed; p.at > end {
			return damagef("a page beyond its column")
		}
		if h.kind == pageIndex {
			continue
		}
		p.packed = resize(p.packed, int(h.packed))
		if err := readAt(p.f.r, p.packed, body); err != nil {
			return err
		}
		if h.hasCRC && crc32.ChecksumIEEE(p.packed) != uint32(h.crc) {
			return damagef("checksum mismatch")
		}
		switch h.kind {
		case pageDictionary:
			err = p.readDictionary(h)
		case pageData, pageDataV2:
			err = p.data(h, yield)
		default:
			err = damagef("a page of unknown type %d", h.kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// header parses the page header at p.at and moves p.at after it. The header must end
// before end. Most headers have about 50 bytes.
func (p *pageReader) header(end int64) (pageHeader, error) {
	for size := int64(512); ; size *= 8 {
		n := min(size, end-p.at, maxHeaderBytes)
		p.head = resize(p.head, int(n))
		if err := readAt(p.f.r, p.head, p.at); err != nil {
			return pageHeader{}, err
		}
		h, length, err := parseHeader(p.head)
		if err == nil {
			p.at += int64(length)
			return h, nil
		}
		if n < size { // the file ended
			return h, err
		}
	}
}

// resize returns b with length n, or a new buffer if b is too small or far too
// large.
func resize(b []byte, n int) []byte {
	if cap(b) < n || cap(b) > 8<<20 && n < 1<<20 {
		return make([]byte, n)
	}
	return b[:n]
}

func (p *pageReader) readDictionary(h pageHeader) error {
	if p.dictionary != nil || p.values > 0 {
		return damagef("a second dictionary")
	}
	if h.encoding != encodingPlain && h.encoding != encodingPlainDictionary {
		return damagef("a dictionary of encoding %d", h.encoding)
	}
	p.entries = make([]byte, h.unpacked)
	if err := p.unpack.unpack(p.chunk.codec, p.entries, p.packed); err != nil {
		return err
	}
	if h.values > h.unpacked/4 { // each value has a 4-byte length
		return damagef("a dictionary of %d values in %d bytes", h.values, h.unpacked)
	}
	p.dictionary = make([]uint32, 0, h.values)
	rest := p.entries
	for range h.values {
		p.dictionary = append(p.dictionary, uint32(len(p.entries)-len(rest)))
		var err error
		if _, rest, err = plainValue(rest); err != nil {
			return err
		}
	}
	return nil
}

func plainValue(b []byte) (value, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, damagef("fewer values than the page says")
	}
	n := binary.LittleEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, nil, damagef("a value of %d bytes in a page with %d left", n, len(b)-4)
	}
	return b[4 : 4+n], b[4+n:], nil
}

// data decodes a data page of version 1 or 2, and yields its values.
func (p *pageReader) data(h pageHeader, yield func([]byte, error) bool) error {
	if h.values > p.chunk.values-p.values {
		return damagef("more values than the footer says")
	}
	levels, values, err := p.split(h)
	if err != nil {
		return err
	}
	next, err := p.decoder(h, values)
	if err != nil {
		return err
	}
	for range h.values {
		p.values++
		if levels != nil {
			level, err := levels.next()
			if err != nil {
				return err
			}
			if level == 0 {
				if !yield(nil, nil) {
					return errStopped
				}
				continue
			}
		}
		value, err := next()
		if err != nil {
			return err
		}
		if p.bytes += int64(len(value)); p.bytes > p.chunk.bytes*maxRatio+freeBytes {
			return damagef("%d bytes of values in %d: a bomb?", p.bytes, p.chunk.bytes)
		}
		if !yield(value, nil) {
			return errStopped
		}
	}
	return nil
}

// split decompresses a data page and splits it into the definition levels, which show
// where nulls are, and the values. levels is nil if the column is required.
func (p *pageReader) split(h pageHeader) (levels *hybrid, values []byte, err error) {
	p.plain = resize(p.plain, int(h.unpacked))
	if h.kind == pageDataV2 {
		n := h.v2Levels + h.v2Repeat
		if n > h.packed || n > h.unpacked || h.v2Repeat != 0 {
			return nil, nil, damagef("levels that do not fit their page")
		}
		levelBytes := bytes.Clone(p.packed[:n])
		codec := p.chunk.codec
		if h.v2Plain {
			codec = codecNone
		}
		values = p.plain[:h.unpacked-n]
		if len(values) > 0 || h.packed > n {
			err = p.unpack.unpack(codec, values, p.packed[n:])
		}
		if p.f.optional {
			levels = &hybrid{b: levelBytes, width: 1}
		}
		return levels, values, err
	}
	if err := p.unpack.unpack(p.chunk.codec, p.plain, p.packed); err != nil {
		return nil, nil, err
	}
	if !p.f.optional {
		return nil, p.plain, nil
	}
	if h.levels != encodingRLE {
		return nil, nil, &UnsupportedError{What: fmt.Sprintf("levels of encoding %d", h.levels)}
	}
	levelBytes, values, err := plainValue(p.plain) // stored as length and bytes, like a value
	if err != nil {
		return nil, nil, err
	}
	return &hybrid{b: levelBytes, width: 1}, values, nil
}

// decoder returns a function that decodes the values in b, one per call. b is a page
// without its levels.
func (p *pageReader) decoder(h pageHeader, b []byte) (next func() ([]byte, error), err error) {
	switch h.encoding {
	case encodingPlain:
		return func() (value []byte, err error) {
			value, b, err = plainValue(b)
			return value, err
		}, nil
	case encodingPlainDictionary, encodingRLEDictionary:
		return p.indices(b)
	case encodingDeltaLength:
		lengths, rest, err := deltas(b, int(h.values))
		if err != nil {
			return nil, err
		}
		return lengthened(lengths, rest), nil
	case encodingDeltaBytes:
		return p.prefixed(b, int(h.values))
	}
	return nil, &UnsupportedError{What: fmt.Sprintf("values of encoding %d", h.encoding)}
}

func (p *pageReader) indices(b []byte) (func() ([]byte, error), error) {
	if len(b) == 0 {
		return func() ([]byte, error) { return nil, damagef("fewer values than the page says") }, nil
	}
	if b[0] > 32 {
		return nil, damagef("indices of %d bits", b[0])
	}
	indices := hybrid{b: b[1:], width: uint(b[0])}
	return func() ([]byte, error) {
		i, err := indices.next()
		if err != nil {
			return nil, err
		}
		if uint64(i) >= uint64(len(p.dictionary)) {
			return nil, damagef("value %d of a dictionary of %d", i, len(p.dictionary))
		}
		value, _, err := plainValue(p.entries[p.dictionary[i]:])
		return value, err
	}, nil
}

// lengthened returns a function that returns the values in b, one per call. The values
// are concatenated in b, and lengths holds their lengths.
func lengthened(lengths []int32, b []byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		if len(lengths) == 0 || int(lengths[0]) > len(b) {
			return nil, damagef("fewer values than the page says")
		}
		n := lengths[0]
		value := b[:n]
		lengths, b = lengths[1:], b[n:]
		return value, nil
	}
}

// prefixed returns a function that decodes the values in b, one per call. Each value is
// stored as the length of the prefix that it shares with the previous value, and the
// rest.
func (p *pageReader) prefixed(b []byte, values int) (func() ([]byte, error), error) {
	prefixes, rest, err := deltas(b, values)
	if err != nil {
		return nil, err
	}
	lengths, rest, err := deltas(rest, values)
	if err != nil {
		return nil, err
	}
	suffix := lengthened(lengths, rest)
	p.prefix = p.prefix[:0]
	return func() ([]byte, error) {
		if len(prefixes) == 0 || int(prefixes[0]) > len(p.prefix) {
			return nil, damagef("a value that shares more than the one before has")
		}
		end, err := suffix()
		if err != nil {
			return nil, err
		}
		if int(prefixes[0])+len(end) > maxPageBytes {
			return nil, damagef("a value of more than %d bytes", maxPageBytes)
		}
		p.prefix = append(p.prefix[:prefixes[0]], end...)
		prefixes = prefixes[1:]
		return p.prefix, nil
	}, nil
}
