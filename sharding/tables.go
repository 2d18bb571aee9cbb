package sharding

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The tables of a shard's side-car have a number for each record, which encoding/json reads
// twenty times as slowly as a loop. So the parsers of this file cut the tables out and leave
// the short rest to encoding/json. They accept only what this program writes: if the rest,
// written again, is not byte for byte the rest that was read, encoding/json reads it all.

// tables are the members of a [ShardBody] with an element for each record.
type tables struct {
	tokens, pieces []uint32
	masked         []uint16
}

// noTables replaces the tables in the rest.
const noTables = `,"tokens":null,"masked":null`

// cutTables parses the first tables in raw. rest is raw with noTables in their place, at
// offset at. ok is false if there are no tables as [ShardBody.compact] writes them.
func cutTables(raw []byte) (t tables, rest []byte, at int, ok bool) {
	const first = `,"tokens":`
	at = bytes.Index(raw, []byte(first))
	if at < 0 {
		return t, nil, 0, false
	}
	after, ok := parseNumbers(raw[at+len(first):], &t.tokens)
	if ok {
		if after, ok = bytes.CutPrefix(after, []byte(`,"masked":`)); ok {
			if none, isNull := bytes.CutPrefix(after, []byte("null")); isNull {
				after = none
			} else {
				after, ok = parseNumbers(after, &t.masked)
			}
		}
	}
	if pieces, has := bytes.CutPrefix(after, []byte(`,"pieces":`)); ok && has {
		after, ok = parseNumbers(pieces, &t.pieces)
		ok = ok && len(t.pieces) > 0
	}
	if !ok {
		return t, nil, 0, false
	}
	return t, slices.Concat(raw[:at], []byte(noTables), after), at, true
}

// parseNumbers parses the JSON array at the start of raw, as [appendNumbers] writes it, and
// returns what follows it.
func parseNumbers[T uint16 | uint32](raw []byte, to *[]T) (after []byte, ok bool) {
	end := bytes.IndexByte(raw, ']')
	if end < 1 || raw[0] != '[' {
		return nil, false
	}
	list, after := raw[1:end], raw[end+1:]
	if len(list) == 0 {
		*to = []T{}
		return after, true
	}
	numbers := make([]T, 0, bytes.Count(list, []byte{','})+1)
	n, digits := uint64(0), 0
	for i := 0; i <= len(list); i++ {
		if i < len(list) && list[i] != ',' {
			d := list[i] - '0'
			if d > 9 || digits > 0 && n == 0 { // no digit, or one after a leading zero
				return nil, false
			}
			n, digits = 10*n+uint64(d), digits+1
			continue
		}
		if digits == 0 || digits > 10 || n > uint64(^T(0)) { // ten digits do not overflow n
			return nil, false
		}
		numbers = append(numbers, T(n))
		n, digits = 0, 0
	}
	*to = numbers
	return after, true
}

// parseSideCar is [json.Unmarshal] for a side-car, with the same result. It also checks the
// format version.
func parseSideCar(raw []byte, to *SideCar) error {
	if _, rest, at, ok := cutTables(raw); ok {
		var car SideCar
		if parseJSON(rest, &car) == nil && bytes.Equal(car.Compact(), rest) {
			const end = "}\n"
			if begin := len(rest) - len(end) - len(car.Body); begin < at {
				car.Body = raw[begin : len(raw)-len(end)]
				*to = car
				return nil
			}
		}
	}
	return parseJSON(raw, to)
}

// parse is [json.Unmarshal] for the body of a side-car of records, with the same result.
func (b *ShardBody) parse(raw []byte) error {
	if t, rest, _, ok := cutTables(raw); ok {
		var body ShardBody
		if json.Unmarshal(rest, &body) == nil && bytes.Equal(body.compact(), rest) {
			body.Tokens, body.Masked, body.Pieces = t.tokens, t.masked, t.pieces
			*b = body
			return nil
		}
	}
	return json.Unmarshal(raw, b)
}
