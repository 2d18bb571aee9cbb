package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/klauspost/compress/snappy"
)

// A TensorFlow checkpoint of version 2 ("tensor bundle") consists of
// PREFIX.index, a sorted table from variable names to descriptions, and the
// data files PREFIX.data-NNNNN-of-NNNNN. The table's layout is LevelDB's (its
// doc/table_format.md); descriptions are protocol buffers (TensorFlow's
// tensor_bundle.proto):
//
//	table: blocks, then 48 bytes: two block handles (varint offset, varint size:
//	       of the meta index and the index), zeros, and the magic number
//	block: entries, restart offsets (uint32 each), their number (uint32);
//	       then one byte of compression (0 none, 1 snappy) and a masked CRC-32C
//	entry: varint shared, varint unshared, varint value length, key rest, value

const (
	bundleFooter = 48
	bundleMagic  = 0xdb4775248b80fb57

	// maxIndex limits the size of an index file and of its decompressed blocks.
	// BERT-large has 400 variables and an index of 20 kB.
	maxIndex = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// unmask returns the CRC-32C of a stored checksum. LevelDB and TensorFlow store
// checksums masked: rotated by 15 bits, plus a constant.
func unmask(c uint32) uint32 {
	c -= 0xa282ead8
	return c>>17 | c<<15
}

// A bundleEntry describes one variable.
type bundleEntry struct {
	name         string
	dtype        uint64 // TensorFlow's DataType; 1 is float32
	shape        []int64
	shard        uint64 // number of the data file
	offset, size int64
	crc          uint32 // masked CRC-32C of the bytes
	sliced       bool   // a partitioned variable
}

// Element types: values of TensorFlow's DataType.
const (
	dtFloat = 1
	dtInt64 = 9
)

// globalStep is the name of the step counter.
const globalStep = "global_step"

// check returns an error if the shape of a float32 variable is invalid or does
// not match its size in bytes.
func (e bundleEntry) check() error {
	n := int64(4)
	for _, d := range e.shape {
		if d < 0 || d > 0 && n > math.MaxInt64/d {
			return fmt.Errorf("variable %q: shape %v", e.name, e.shape)
		}
		n *= d
	}
	if n != e.size || e.offset < 0 {
		return fmt.Errorf("variable %q: shape %v does not take %d bytes", e.name, e.shape, e.size)
	}
	return nil
}

// parseBundleIndex parses b, the content of an index file, and returns the
// entries of all variables.
func parseBundleIndex(b []byte) ([]bundleEntry, error) {
	if len(b) < bundleFooter {
		return nil, errors.New("too short")
	}
	foot := b[len(b)-bundleFooter:]
	if binary.LittleEndian.Uint64(foot[40:]) != bundleMagic {
		return nil, errors.New("not a TensorFlow checkpoint index: no magic number")
	}
	r := reader{b: foot[:40]}
	r.uvarint()
	r.uvarint()
	offset, size := r.uvarint(), r.uvarint()
	if r.bad {
		return nil, errors.New("damaged footer")
	}
	index, err := bundleBlock(b, offset, size)
	if err != nil {
		return nil, err
	}
	var entries []bundleEntry
	err = eachEntry(index, func(_, handle []byte) error {
		r := reader{b: handle}
		block, err := bundleBlock(b, r.uvarint(), r.uvarint())
		if err != nil {
			return err
		}
		return eachEntry(block, func(key, value []byte) error {
			if len(key) == 0 { // the header: number of data files, byte order
				return nil
			}
			e, err := parseBundleEntry(string(key), value)
			entries = append(entries, e)
			return err
		})
	})
	return entries, err
}

// bundleBlock verifies the checksum of the block b[offset:offset+size] and
// returns its decompressed content.
func bundleBlock(b []byte, offset, size uint64) ([]byte, error) {
	const trailer = 5
	if offset > uint64(len(b)) || size > uint64(len(b))-offset || uint64(len(b))-offset-size < trailer {
		return nil, errors.New("block outside the file")
	}
	end := offset + size
	if crc32.Checksum(b[offset:end+1], castagnoli) != unmask(binary.LittleEndian.Uint32(b[end+1:])) {
		return nil, fmt.Errorf("block at byte %d: checksum does not match", offset)
	}
	switch data := b[offset:end]; b[end] {
	case 0:
		return data, nil
	case 1:
		if n, err := snappy.DecodedLen(data); err != nil || n > maxIndex {
			return nil, fmt.Errorf("block at byte %d: damaged", offset)
		}
		return snappy.Decode(nil, data)
	default:
		return nil, fmt.Errorf("block at byte %d: compression %d is not known", offset, b[end])
	}
}

// eachEntry calls f for each entry of the decompressed block b, until f returns
// an error. The key is valid only during the call.
func eachEntry(b []byte, f func(key, value []byte) error) error {
	if len(b) < 4 {
		return errors.New("block too short")
	}
	restarts := uint64(binary.LittleEndian.Uint32(b[len(b)-4:]))
	if restarts > uint64(len(b)-4)/4 {
		return errors.New("block with more restart points than bytes")
	}
	r := reader{b: b[:uint64(len(b)-4)-4*restarts]}
	var key []byte
	for len(r.b) > 0 {
		shared, rest, length := r.uvarint(), r.uvarint(), r.uvarint()
		if shared > uint64(len(key)) {
			return errors.New("damaged entry")
		}
		key = append(key[:shared], r.bytes(rest)...)
		value := r.bytes(length)
		if r.bad {
			return errors.New("damaged entry")
		}
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

// parseBundleEntry parses b, the BundleEntryProto of the variable name. Its
// fields are 1 dtype, 2 shape, 3 shard_id, 4 offset, 5 size, 6 crc32c, 7
// slices.
func parseBundleEntry(name string, b []byte) (bundleEntry, error) {
	e := bundleEntry{name: name}
	ok := protoFields(b, func(field int, v uint64, data []byte) bool {
		switch field {
		case 1:
			e.dtype = v
		case 2:
			return parseShape(data, &e.shape)
		case 3:
			e.shard = v
		case 4:
			e.offset = int64(v)
		case 5:
			e.size = int64(v)
		case 6:
			e.crc = uint32(v)
		case 7:
			e.sliced = true
		}
		return true
	})
	if !ok {
		return e, fmt.Errorf("variable %q: damaged description", name)
	}
	return e, nil
}

// parseShape parses a TensorShapeProto and appends its dimensions to shape.
// Field 2 (dim) is repeated and has the size in field 1. The result is false if
// b is corrupt.
func parseShape(b []byte, shape *[]int64) bool {
	return protoFields(b, func(field int, _ uint64, data []byte) bool {
		if field != 2 {
			return true
		}
		size := int64(0)
		ok := protoFields(data, func(field int, v uint64, _ []byte) bool {
			if field == 1 {
				size = int64(v)
			}
			return true
		})
		*shape = append(*shape, size)
		return ok
	})
}

// protoFields calls f for each field of the protocol buffer message b, with the
// value in v if it is a number and in data if it is bytes. It returns false if
// b is corrupt or f returned false.
func protoFields(b []byte, f func(field int, v uint64, data []byte) bool) bool {
	r := reader{b: b}
	for len(r.b) > 0 {
		tag := r.uvarint()
		var v uint64
		var data []byte
		switch tag & 7 {
		case 0:
			v = r.uvarint()
		case 1:
			if d := r.bytes(8); d != nil {
				v = binary.LittleEndian.Uint64(d)
			}
		case 2:
			data = r.bytes(r.uvarint())
		case 5:
			if d := r.bytes(4); d != nil {
				v = uint64(binary.LittleEndian.Uint32(d))
			}
		default:
			return false
		}
		if r.bad || !f(int(tag>>3), v, data) {
			return false
		}
	}
	return true
}

// A reader reads values from the start of b and advances b past them. If b is
// too short or a varint is invalid, it sets bad and returns zero values.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

// findVariable returns the entry of the variable name, or false if there is
// none.
func findVariable(entries []bundleEntry, name string) (bundleEntry, bool) {
	i := slices.IndexFunc(entries, func(e bundleEntry) bool { return e.name == name })
	if i < 0 {
		return bundleEntry{}, false
	}
	return entries[i], true
}
