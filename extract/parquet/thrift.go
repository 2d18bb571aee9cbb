package parquet

import (
	"encoding/binary"
	"fmt"
)

// A damage is an error in a footer or page. The caller adds its offset.
type damage struct{ reason string }

func (d *damage) Error() string { return d.reason }

func damagef(format string, args ...any) error { return &damage{fmt.Sprintf(format, args...)} }

// Types of fields in Thrift's compact protocol (apache/thrift,
// doc/specs/thrift-compact-protocol.md).
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

// maxThriftDepth is the maximum nesting of structures.
const maxThriftDepth = 32

// A thriftReader parses Thrift's compact protocol. After the first error, its methods
// return zeros and structures end immediately.
type thriftReader struct {
	b   []byte
	at  int
	err error
}

func (t *thriftReader) fail(format string, args ...any) {
	if t.err == nil {
		t.err = damagef(format, args...)
	}
	t.at = len(t.b)
}

func (t *thriftReader) byte() byte {
	if t.at >= len(t.b) {
		t.fail("cut short")
		return 0
	}
	t.at++
	return t.b[t.at-1]
}

func (t *thriftReader) varint() uint64 {
	v, n := binary.Uvarint(t.b[t.at:])
	if n <= 0 {
		t.fail("a number without end")
		return 0
	}
	t.at += n
	return v
}

func (t *thriftReader) int() int64 {
	v := t.varint()
	return int64(v>>1) ^ -int64(v&1)
}

func (t *thriftReader) binary() []byte {
	n := t.varint()
	if n > uint64(len(t.b)-t.at) {
		t.fail("a string without end")
		return nil
	}
	return t.take(int(n))
}

// list parses the header of a list: the number of elements and their type.
func (t *thriftReader) list() (n int, kind byte) {
	head := t.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = t.varint()
	}
	if size > uint64(len(t.b)-t.at) { // each element has at least one byte
		t.fail("a list without end")
		return 0, 0
	}
	return int(size), head & 15
}

// structure parses a structure and calls visit for each field, with the field's id and
// type. visit returns true if it parsed the field; otherwise the field is skipped.
// depth is the nesting depth of the structure.
func (t *thriftReader) structure(depth int, visit func(id int16, kind byte) bool) {
	if depth > maxThriftDepth {
		t.fail("nested too deep")
		return
	}
	id := int16(0)
	for {
		head := t.byte()
		kind := head & 15
		if t.err != nil || kind == thriftStop {
			return
		}
		if delta := int16(head >> 4); delta != 0 {
			id += delta
		} else {
			id = int16(t.int())
		}
		if !visit(id, kind) {
			t.skip(kind, depth)
		}
	}
}

// skip skips a value of the given type.
func (t *thriftReader) skip(kind byte, depth int) {
	if t.err != nil {
		return
	}
	switch kind {
	case thriftTrue, thriftFalse:
	case thriftByte:
		t.byte()
	case thriftI16, thriftI32, thriftI64:
		t.varint()
	case thriftDouble:
		t.take(8)
	case thriftUUID:
		t.take(16)
	case thriftBinary:
		t.binary()
	case thriftList, thriftSet:
		n, of := t.list()
		for ; n > 0 && t.err == nil; n-- {
			t.element(of, depth+1)
		}
	case thriftMap:
		n := t.varint()
		if n == 0 {
			return
		}
		if n > uint64(len(t.b)-t.at) {
			t.fail("a map without end")
			return
		}
		for kinds := t.byte(); n > 0 && t.err == nil; n-- {
			t.element(kinds>>4, depth+1)
			t.element(kinds&15, depth+1)
		}
	case thriftStruct:
		t.structure(depth+1, func(int16, byte) bool { return false })
	default:
		t.fail("a field of unknown type %d", kind)
	}
}

// take returns the next n bytes.
func (t *thriftReader) take(n int) []byte {
	if n > len(t.b)-t.at {
		t.fail("cut short")
		return nil
	}
	t.at += n
	return t.b[t.at-n : t.at]
}

// element skips an element of a list, set or map. Unlike a boolean field, a boolean
// element is stored in a separate byte.
func (t *thriftReader) element(kind byte, depth int) {
	if depth > maxThriftDepth {
		t.fail("nested too deep")
		return
	}
	if kind == thriftTrue || kind == thriftFalse {
		kind = thriftByte
	}
	t.skip(kind, depth)
}
