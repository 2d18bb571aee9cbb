package extract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unsafe"

	"pretext/internal/utf8scan"
)

// jsonDocument is the JSON form of a document. It has the field names of the tools
// datatrove and dolma.
type jsonDocument struct {
	ID       string       `json:"id"`
	Text     string       `json:"text"`
	Source   string       `json:"source"`
	Metadata jsonMetadata `json:"metadata"`
}

type jsonMetadata struct {
	Title     string         `json:"title,omitempty"`
	Lang      string         `json:"lang,omitempty"`
	URL       optionalString `json:"url,omitempty"`
	Revision  optionalInt    `json:"revision,omitempty"`
	Timestamp optionalString `json:"timestamp,omitempty"`
	License   optionalString `json:"license,omitempty"`
	SimilarTo optionalString `json:"similar_to,omitempty"`
}

// optionalString and optionalInt ignore values of another type, because the metadata of
// third-party documents may use the same field names for other values.
type (
	optionalString string
	optionalInt    int64
)

// UnmarshalJSON implements [json.Unmarshaler].
func (s *optionalString) UnmarshalJSON(b []byte) error {
	var v string
	if json.Unmarshal(b, &v) == nil {
		*s = optionalString(v)
	}
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *optionalInt) UnmarshalJSON(b []byte) error {
	var v int64
	if json.Unmarshal(b, &v) == nil {
		*n = optionalInt(v)
	}
	return nil
}

// AppendJSON appends the document to dst as one line of JSON, including the line feed.
// Equal documents give equal bytes: the order of fields is fixed, and only the
// characters that JSON requires are escaped.
func (d *Document) AppendJSON(dst []byte) []byte {
	dst = appendString(append(dst, `{"id":`...), d.ID)
	dst = appendString(append(dst, `,"text":`...), d.Text)
	dst = appendString(append(dst, `,"source":`...), d.Source)
	dst = append(dst, `,"metadata":{`...)
	first := len(dst)
	dst = appendField(dst, first, `"title":`, d.Title)
	dst = appendField(dst, first, `"lang":`, d.Lang)
	dst = appendField(dst, first, `"url":`, d.URL)
	if d.Revision != 0 {
		dst = append(comma(dst, first), `"revision":`...)
		dst = strconv.AppendInt(dst, d.Revision, 10)
	}
	dst = appendField(dst, first, `"timestamp":`, d.Timestamp)
	dst = appendField(dst, first, `"license":`, d.License)
	dst = appendField(dst, first, `"similar_to":`, d.SimilarTo)
	return append(dst, "}}\n"...)
}

// appendField appends a field, unless its value is empty. The fields of the object
// begin at dst[first].
func appendField(dst []byte, first int, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendString(append(comma(dst, first), name...), value)
}

// comma appends a comma, unless the object has no fields yet. The fields of the object
// begin at dst[first].
func comma(dst []byte, first int) []byte {
	if len(dst) > first {
		return append(dst, ',')
	}
	return dst
}

// UnmarshalJSON parses a line written by [Document.AppendJSON], or any other
// JSON object with the same fields.
func (d *Document) UnmarshalJSON(line []byte) error {
	if parseLine(d, line) {
		return nil
	}
	var j jsonDocument
	if err := json.Unmarshal(line, &j); err != nil {
		return fmt.Errorf("parse document: %w", err)
	}
	m := j.Metadata
	*d = Document{ID: j.ID, Title: m.Title, Text: j.Text, Source: j.Source, Lang: m.Lang,
		URL: string(m.URL), Revision: int64(m.Revision), Timestamp: string(m.Timestamp), License: string(m.License), SimilarTo: string(m.SimilarTo)}
	return nil
}

// parseLine parses only the exact form that AppendJSON writes. For this form it is many
// times faster than encoding/json. It returns false for any other form.
func parseLine(d *Document, line []byte) bool {
	rest := bytes.TrimSuffix(line, []byte("\n"))
	var ok bool
	var doc Document
	if rest, ok = parseField(rest, `{"id":"`, &doc.ID); !ok {
		return false
	}
	if rest, ok = parseField(rest, `,"text":"`, &doc.Text); !ok {
		return false
	}
	if rest, ok = parseField(rest, `,"source":"`, &doc.Source); !ok {
		return false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"metadata":{`)); !ok {
		return false
	}
	if !parseMetadata(&doc, rest) {
		return false
	}
	*d = doc
	return true
}

// parseMetadata parses the fields of the metadata, which are the last part of the line.
func parseMetadata(d *Document, rest []byte) bool {
	start := len(rest)
	field := func(prefix string, to *string) {
		b := rest
		if len(rest) < start {
			var ok bool
			if b, ok = bytes.CutPrefix(rest, []byte(",")); !ok {
				return
			}
		}
		if r, ok := parseField(b, prefix, to); ok {
			rest = r
		}
	}
	field(`"title":"`, &d.Title)
	field(`"lang":"`, &d.Lang)
	field(`"url":"`, &d.URL)
	if r, ok := bytes.CutPrefix(rest, []byte(`,"revision":`)); ok {
		digits := bytes.IndexAny(r, ",}")
		if digits < 0 {
			return false
		}
		n, err := strconv.ParseInt(string(r[:digits]), 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != string(r[:digits]) || n == 0 {
			return false
		}
		d.Revision = n
		rest = r[digits:]
	}
	field(`"timestamp":"`, &d.Timestamp)
	field(`"license":"`, &d.License)
	field(`"similar_to":"`, &d.SimilarTo)
	return string(rest) == "}}"
}

// parseField parses prefix, which ends with a quote, then the rest of a JSON string. It
// stores the string in to and returns the bytes after the closing quote; ok is false
// for any other input.
func parseField(b []byte, prefix string, to *string) (rest []byte, ok bool) {
	if b, ok = bytes.CutPrefix(b, []byte(prefix)); !ok {
		return nil, false
	}
	var text []byte // unescaped
	for start, at := 0, 0; ; {
		at = nextEscape(b, at)
		if at == len(b) {
			return nil, false
		}
		switch b[at] {
		case '"':
			if text == nil {
				*to = string(b[start:at])
			} else {
				text = append(text, b[start:at]...)
				*to = unsafe.String(unsafe.SliceData(text), len(text)) // text is not changed after this
			}
			return b[at+1:], utf8scan.ValidString(*to)
		case '\\':
			if text == nil {
				text = make([]byte, 0, closingQuote(b))
			}
			text = append(text, b[start:at]...)
			var n int
			if text, n = appendEscaped(text, b[at:]); n == 0 {
				return nil, false
			}
			at += n
			start = at
		default: // a control character: JSON requires an escape
			return nil, false
		}
	}
}

// closingQuote returns the offset of the quote that ends the string at the start of b.
// If there is none, it returns len(b).
func closingQuote(b []byte) int {
	for i := 0; i < len(b); i++ {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			break
		}
		i += q
		backslashes := 0
		for i-backslashes > 0 && b[i-backslashes-1] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// appendEscaped appends to dst the character for the escape at the start of b, which is
// "\". n is the length of the escape, or 0 if it is not one that AppendJSON writes.
func appendEscaped(dst, b []byte) (extended []byte, n int) {
	if len(b) < 2 {
		return dst, 0
	}
	switch b[1] {
	case '"', '\\':
		return append(dst, b[1]), 2
	case 'n':
		return append(dst, '\n'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		if len(b) >= 6 {
			if v, err := strconv.ParseUint(string(b[2:6]), 16, 16); err == nil && v < 0x20 {
				return append(dst, byte(v)), 6
			}
		}
	}
	return dst, 0
}

// escape is true for the bytes that must be escaped in a JSON string.
var escape = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

// appendString appends s as a JSON string. Invalid UTF-8 is replaced by U+FFFD,
// as encoding/json does.
func appendString(dst []byte, s string) []byte {
	if !utf8scan.ValidString(s) {
		s = string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD")))
	}
	dst = append(dst, '"')
	start := 0
	for i := nextEscape(s, 0); i < len(s); i = nextEscape(s, i+1) {
		c := s[i]
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// nextEscape returns the offset of the first byte in s[i:] that must be escaped in
// JSON, or len(s).
//
// It tests eight bytes at a time. Subtracting n from each byte sets the byte's high bit
// if the byte is below n. To find bytes equal to c, each byte is XORed with c, which
// gives 0 for a match, and then tested for a value below 1. A borrow may also set the
// high bit of the next byte. So a set bit only means that the bytes must be tested one
// by one.
func nextEscape[text string | []byte](s text, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, backslash := w^ones*'"', w^ones*'\\'
		if ((w-ones*0x20)|(quote-ones)|(backslash-ones))&^w&high != 0 {
			break
		}
	}
	for i < len(s) && !escape[s[i]] {
		i++
	}
	return i
}
