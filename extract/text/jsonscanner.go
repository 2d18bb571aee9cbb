package text

import (
	"bufio"
	"errors"
)

// A jsonScanner parses one line of JSON field by field, without holding it in
// memory. encoding/json would need the whole line in memory, and a text of
// maximum size may take six times its length in JSON.
//
// Most methods report whether the input follows the grammar of JSON. After the
// first false the rest of the line is skipped.
type jsonScanner struct {
	in    *bufio.Reader
	limit int // maximum size of the text, in bytes
	line  *jsonLine
	text  string // name of the field that holds the text

	out  []byte // the string that is being parsed
	room int    // number of further bytes of the string to store

	empty bool  // the source ended before the first byte of the line
	ended bool  // the line feed or the end of the source has been read
	err   error // error of reading the source; io.EOF at its end
}

// maxDepth is the maximum nesting of ignored fields.
const maxDepth = 1000

// next returns the next byte of the line, or 0 at the end of the line. Valid JSON
// contains no byte 0.
func (s *jsonScanner) next() byte {
	if s.ended {
		return 0
	}
	c, err := s.in.ReadByte()
	if err != nil {
		s.ended, s.err = true, err
		return 0
	}
	if c == '\n' {
		s.ended = true
		return 0
	}
	return c
}

// back unreads the byte that next returned last.
func (s *jsonScanner) back() {
	if s.ended {
		return
	}
	if err := s.in.UnreadByte(); err != nil {
		panic("BUG: back without next")
	}
}

// nextSolid returns the next byte of the line that is not white space, or 0 at
// the end of the line.
func (s *jsonScanner) nextSolid() byte {
	for {
		if c := s.next(); c != ' ' && c != '\t' && c != '\r' {
			return c
		}
	}
}

// skipLine reads to the end of the line.
func (s *jsonScanner) skipLine() {
	for !s.ended {
		_, err := s.in.ReadSlice('\n')
		if err == nil {
			s.ended = true
		} else if !errors.Is(err, bufio.ErrBufferFull) {
			s.ended, s.err = true, err
		}
	}
}

// object parses the whole line into s.line. ok reports whether the line is a JSON
// object, blank whether it has only white space.
func (s *jsonScanner) object() (ok, blank bool) {
	c := s.next()
	s.empty = s.ended && s.err != nil
	if c == ' ' || c == '\t' || c == '\r' {
		c = s.nextSolid()
	}
	if c == 0 && s.ended {
		return false, true
	}
	if c != '{' || !s.members(0, s.field) {
		return false, false
	}
	return s.nextSolid() == 0 && s.ended, false
}

// members parses an object after its "{". For each name it calls field, which parses
// the value.
func (s *jsonScanner) members(depth int, field func(depth int, key []byte) bool) bool {
	c := s.nextSolid()
	if c == '}' {
		return true
	}
	for {
		if c != '"' || !s.stringTo(&s.line.key, maxFieldName+1) || s.nextSolid() != ':' {
			return false
		}
		if !field(depth+1, s.line.key) {
			return false
		}
		switch s.nextSolid() {
		case ',':
			c = s.nextSolid()
		case '}':
			return true
		default:
			return false
		}
	}
}

// field parses the value of the document's field key.
func (s *jsonScanner) field(depth int, key []byte) bool {
	l := s.line
	if string(key) == s.text {
		return s.textField(depth)
	}
	switch string(key) {
	case "id":
		return s.idField(depth)
	case "metadata":
		l.inner = l.inner.empty()
		c := s.nextSolid()
		if c == '{' {
			return s.members(depth, func(depth int, key []byte) bool { return s.labelField(depth, key, &l.inner) })
		}
		return s.value(depth, c)
	}
	return s.labelField(depth, key, &l.outer)
}

func (s *jsonScanner) textField(depth int) bool {
	l := s.line
	l.hasText, l.tooLong, l.text = false, false, l.text[:0]
	c := s.nextSolid()
	if c != '"' {
		return s.value(depth, c)
	}
	if !s.stringTo(&l.text, s.limit+1) {
		return false
	}
	l.hasText, l.tooLong = true, len(l.text) > s.limit
	return true
}

func (s *jsonScanner) idField(depth int) bool {
	l := s.line
	l.id, l.badID = l.id[:0], false
	c := s.nextSolid()
	switch {
	case c == '"':
		if !s.stringTo(&l.id, maxIDBytes+1) {
			return false
		}
	case c == '-' || c >= '0' && c <= '9':
		s.back()
		if !s.number(func(c byte) {
			if len(l.id) <= maxIDBytes {
				l.id = append(l.id, c)
			}
		}) {
			return false
		}
	default:
		return s.value(depth, c)
	}
	l.badID = len(l.id) > maxIDBytes
	return true
}

func (s *jsonScanner) labelField(depth int, key []byte, to *labels) bool {
	var dst *[]byte
	switch string(key) {
	case "title":
		dst = &to.title
	case "source":
		dst = &to.source
	case "lang", "language":
		dst = &to.lang
	case "similar_to":
		dst = &to.similarTo
	}
	if dst == nil {
		return s.value(depth, s.nextSolid())
	}
	*dst = (*dst)[:0]
	c := s.nextSolid()
	if c != '"' {
		return s.value(depth, c)
	}
	return s.stringTo(dst, maxFieldBytes)
}

// value skips a value whose first byte, c, has been read.
func (s *jsonScanner) value(depth int, c byte) bool {
	if depth > maxDepth {
		return false
	}
	switch c {
	case '"':
		return s.stringTo(nil, 0)
	case '{':
		return s.members(depth, func(depth int, _ []byte) bool { return s.value(depth, s.nextSolid()) })
	case '[':
		return s.elements(depth)
	case 't':
		return s.word("rue")
	case 'f':
		return s.word("alse")
	case 'n':
		return s.word("ull")
	case 'N':
		return s.word("aN")
	case 'I':
		return s.word("nfinity")
	}
	if c == '-' {
		if c = s.next(); c == 'I' {
			return s.word("nfinity")
		}
	}
	s.back()
	return s.digits(func(byte) {})
}

// elements skips an array after its "[".
func (s *jsonScanner) elements(depth int) bool {
	c := s.nextSolid()
	if c == ']' {
		return true
	}
	for s.value(depth+1, c) {
		switch s.nextSolid() {
		case ',':
			c = s.nextSolid()
		case ']':
			return true
		default:
			return false
		}
	}
	return false
}

// word reads rest, the remaining bytes of a literal such as true, and reports whether
// the input contains exactly these bytes.
func (s *jsonScanner) word(rest string) bool {
	for i := range len(rest) {
		if s.next() != rest[i] {
			return false
		}
	}
	return true
}

// number parses a number and calls keep with each of its bytes.
func (s *jsonScanner) number(keep func(byte)) bool {
	if c := s.next(); c == '-' {
		keep(c)
	} else {
		s.back()
	}
	return s.digits(keep)
}

// digits parses a number without a sign and calls keep with each of its bytes.
func (s *jsonScanner) digits(keep func(byte)) bool {
	c := s.next()
	if c == '0' {
		keep(c)
		c = s.next()
	} else if c = s.run(c, keep); c == badRun {
		return false
	}
	if c == '.' {
		keep(c)
		if c = s.run(s.next(), keep); c == badRun {
			return false
		}
	}
	if c == 'e' || c == 'E' {
		keep(c)
		if c = s.next(); c == '+' || c == '-' {
			keep(c)
			c = s.next()
		}
		if c = s.run(c, keep); c == badRun {
			return false
		}
	}
	s.back()
	return true
}

// badRun is the result of run if there is no digit. This byte does not occur in JSON
// outside of strings.
const badRun = 0xFF

// run reads a sequence of digits, of which c is the first. It calls keep for each
// digit. It returns the byte after the digits, or badRun if c is not a digit.
func (s *jsonScanner) run(c byte, keep func(byte)) byte {
	if c < '0' || c > '9' {
		return badRun
	}
	for ; c >= '0' && c <= '9'; c = s.next() {
		keep(c)
	}
	return c
}
