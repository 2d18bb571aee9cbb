package records

import (
	"encoding/binary"
	"slices"
)

// headRoom is the number of bytes that entryHead.put writes. It is enough for the
// longest name and four lengths of three bytes.
const headRoom = 47

// An entryHead is the part of a map entry that precedes the values of an int64 feature. All
// of bytes is copied, whatever the size: the bytes after size are overwritten later.
type entryHead struct {
	bytes [headRoom]byte
	size  uint8
}

func (h *entryHead) put(out []byte) int {
	*(*[headRoom]byte)(out) = h.bytes
	return int(h.size)
}

// An entryTable holds the heads of a feature for each possible size of its values in bytes.
// heads[0] is for the size least.
type entryTable struct {
	least int
	heads []entryHead
}

// mostHeads limits the memory of a table to 96 KiB. Records that need larger tables are
// encoded by appendPlain.
const mostHeads = 2 << 10

// newEntryTable returns the table of a feature that has n values of up to width bytes each.
// The table is empty if it would be too large.
func newEntryTable(name string, n, width int) entryTable {
	t := entryTable{least: n}
	if n*(width-1) >= mostHeads {
		return t
	}
	for packed := n; packed <= n*width; packed++ {
		l := listLayout(name, packed)
		head := l.appendOpen(nil, tagInts)
		if len(head) > headRoom {
			return entryTable{}
		}
		t.heads = append(t.heads, entryHead{size: uint8(len(head))})
		copy(t.heads[packed-n].bytes[:], head)
	}
	return t
}

// head returns the head for values of this size, or nil if the table has none.
func (t *entryTable) head(packed int) *entryHead {
	if i := packed - t.least; uint(i) < uint(len(t.heads)) {
		return &t.heads[i]
	}
	return nil
}

// tableWidth is the maximum length, in bytes, of a varint in the tables: 3 bytes hold ids
// below 2^21.
const tableWidth = 3

// A template holds, for one [Encoder] of a form with masks, the parts that are equal in all
// payloads, and tables for the other parts.
type template struct {
	ids, positions, labels entryTable
	middle                 []byte // input_mask of ones, segment_ids of zeros
	end                    []byte // masked_lm_weights of ones, next_sentence_labels without its value
	longest                int    // result of Longest
}

func (e *Encoder) newTemplate() template {
	s, p := e.seq, e.predictions
	t := template{
		ids:       newEntryTable(InputIDs, s, max(tableWidth, e.pad)),
		positions: newEntryTable(MaskedLMPositions, p, tableWidth),
		labels:    newEntryTable(MaskedLMIDs, p, tableWidth),
		middle:    slices.Concat(e.mask, e.ones[:s], e.segments, e.ones[s:]),
		end:       slices.Concat(e.weights, e.floats[:4*p], e.label),
	}
	const id = 5 // maximum bytes of the varint of a value that is not negative
	body := len(t.middle) + len(t.end) + 1
	for _, l := range []layout{listLayout(InputIDs, max(id, e.pad)*s), listLayout(MaskedLMPositions, id*p), listLayout(MaskedLMIDs, id*p)} {
		body += nested(l.entry)
	}
	t.longest = nested(body) + headRoom
	return t
}

// Longest returns the capacity that dst must have beyond its length so that
// [Encoder.Append] does not allocate for a record of a form with masks.
func (e *Encoder) Longest() int { return e.longest }

// appendMasks does the same as appendPlain, from the template. ok is false, and dst is
// returned unchanged, if the tables do not cover the sizes in p.
func (e *Encoder) appendMasks(dst []byte, p Parts) (_ []byte, ok bool) {
	padding, unused := e.seq-p.Tokens, e.predictions-p.Predictions
	idBytes, positionBytes, labelBytes := len(p.IDs)+padding*e.pad, len(p.Positions)+unused, len(p.Labels)+unused
	ids, positions, labels := e.ids.head(idBytes), e.positions.head(positionBytes), e.labels.head(labelBytes)
	if ids == nil || positions == nil || labels == nil {
		return dst, false
	}
	body := int(ids.size) + idBytes + int(positions.size) + positionBytes + int(labels.size) + labelBytes +
		len(e.middle) + len(e.end) + min(1, len(e.label))
	dst = slices.Grow(dst, nested(body)+headRoom)
	out := dst[len(dst):cap(dst)]
	out[0] = tagFirst
	at := 1 + binary.PutUvarint(out[1:], uint64(body))
	at += ids.put(out[at:])
	at += copy(out[at:], p.IDs)
	at += copy(out[at:], e.pads[:padding*e.pad])
	mask := at + len(e.mask)
	segments := mask + e.seq + len(e.segments)
	at += copy(out[at:], e.middle)
	clear(out[mask+p.Tokens : mask+e.seq])
	copy(out[segments+p.Second:segments+p.Tokens], e.ones)
	at += positions.put(out[at:])
	at += putPadded(out[at:], p.Positions, unused)
	at += labels.put(out[at:])
	at += putPadded(out[at:], p.Labels, unused)
	weights := at + len(e.weights)
	at += copy(out[at:], e.end)
	clear(out[weights+4*p.Predictions : weights+4*e.predictions])
	if e.label != nil {
		out[at] = 0
		if p.RandomNext {
			out[at] = 1
		}
		at++
	}
	return dst[:len(dst)+at], true
}

// putPadded writes values and n zeros.
func putPadded(out, values []byte, n int) int {
	at := copy(out, values)
	clear(out[at : at+n])
	return at + n
}
