package records

import (
	"encoding/binary"
	"math"
)

// DecodeCanonical is [Example.DecodeForm]. It also reports whether payload is known to be
// what [Example.AppendForm] writes for e, so that it need not be encoded to compare or hash
// it. A false canonical says nothing.
func (e *Example) DecodeCanonical(f Form, payload []byte) (canonical bool, err error) {
	form, want := f.Lists(), f.wanted()
	ok, err := e.decodeWritten(form, &want, payload)
	if !ok {
		return false, e.decodeFields(form, want, payload)
	}
	return err == nil && shortest(payload), err
}

// shortest reports whether no varint in b is longer than needed: such a varint ends in a
// byte 0 after a byte with the highest bit. Other data with these bytes are taken for one.
func shortest(b []byte) bool {
	const low, high = 0x0101010101010101, 0x8080808080808080
	before := uint64(0) // the byte before the next word
	for ; len(b) >= 8; b = b[8:] {
		word := binary.LittleEndian.Uint64(b)
		// The difference may mark more than the bytes 0, but only bytes 1 directly after them.
		if (word-low)&^word&high&(word<<8|before) != 0 {
			return false
		}
		before = word >> 56
	}
	for _, v := range b {
		if v == 0 && before >= 0x80 {
			return false
		}
		before = uint64(v)
	}
	return true
}

// decodeWritten decodes a payload for which written is true; else ok is false.
func (e *Example) decodeWritten(form []List, want *[len(lists)]bool, payload []byte) (ok bool, err error) {
	e.clear(want)
	if !e.written(form, payload) {
		return false, nil
	}
	return true, e.consistent(want)
}

// written decodes a payload that has the lists of a form and nothing else, in the order
// and the structure in which [Example.AppendForm] writes them, without empty lists. Such a
// payload is most of what is ever read, and needs neither calls for each field nor checks
// for what comes twice. written returns false for any other payload, also a corrupt one:
// then [decoder] reads it, which knows every encoding and names the fault.
func (e *Example) written(form []List, payload []byte) bool {
	rest, ok := onlyField(payload, tagFirst)
	if !ok {
		return false
	}
	for _, l := range form {
		var entry []byte
		if entry, rest, ok = cutWritten(rest, tagFirst); !ok {
			return false
		}
		values, ok := writtenValues(entry, l)
		if !ok || len(values) == 0 || !e.set(l, values) {
			return false
		}
	}
	return len(rest) == 0
}

// set decodes the packed values of a list. It returns false if they are corrupt.
func (e *Example) set(l List, packed []byte) bool {
	switch l {
	case weights:
		n := len(packed) / 4
		if n*4 != len(packed) || n > MaxValues {
			return false
		}
		out := e.MaskedLMWeights[:0]
		for ; len(packed) > 0; packed = packed[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(packed)))
		}
		e.MaskedLMWeights = out
		return true
	case label:
		if len(packed) != 1 || packed[0] >= 0x80 {
			return false
		}
		e.NextSentenceLabel = int32(packed[0])
		return true
	}
	at := e.ints(l)
	values, reason := appendInts((*at)[:0], packed)
	*at = values
	return reason == ""
}

// writtenValues returns the packed values in an entry of the feature map, if it is an entry
// of the list l as appendOpen writes it.
func writtenValues(entry []byte, l List) ([]byte, bool) {
	name, kind := l.Name(), byte(tagInts)
	if l == weights {
		kind = tagFloats
	}
	if n := 2 + len(name); len(entry) < n || entry[0] != tagFirst || int(entry[1]) != len(name) || string(entry[2:n]) != name {
		return nil, false
	}
	feature, ok := onlyField(entry[2+len(name):], tagSecond)
	if !ok {
		return nil, false
	}
	list, ok := onlyField(feature, kind)
	if !ok {
		return nil, false
	}
	return onlyField(list, tagFirst)
}

// onlyField returns the content of a message that has the field with this tag alone.
func onlyField(message []byte, tag byte) ([]byte, bool) {
	value, rest, ok := cutWritten(message, tag)
	return value, ok && len(rest) == 0
}

// cutWritten splits the field with this tag, and a length of at most three bytes and not
// longer than needed, off a message.
func cutWritten(message []byte, tag byte) (value, rest []byte, ok bool) {
	if len(message) < 2 || message[0] != tag {
		return nil, nil, false
	}
	n, at := int(message[1]), 2
	if n >= 0x80 {
		if len(message) < 4 {
			return nil, nil, false
		}
		n, at = n&0x7f|int(message[2]&0x7f)<<7, 3
		if message[2] >= 0x80 {
			if message[3] >= 0x80 {
				return nil, nil, false
			}
			n, at = n|int(message[3])<<14, 4
		}
		if n>>(7*(at-2)) == 0 {
			return nil, nil, false
		}
	}
	if n > len(message)-at {
		return nil, nil, false
	}
	return message[at : at+n], message[at+n:], true
}
