package wikitext

import "bytes"

// An output is the text written so far and the state of its last line.
//
// Where something was removed, a *seam* is left: the next text to be written
// is joined to what stands before so that no trace remains: no double space,
// no space before a comma, no "(; )". The repair looks only at both sides of
// the seam; a "f()" or " ," that the source itself has is never touched, and
// the cost follows the number of removals, not the length of the text.
type output struct {
	out  []byte
	base int  // out[:base] is the caller's and never touched
	line int  // where the last line begins
	bol  bool // nothing is written on the last line
	seam bool // something was removed since the last write
	soft bool // the last line is a paragraph that the next line may continue
	head bool // a heading is being rendered: it must not write headings before it
}

// removed marks the place where something was removed.
func (s *Scanner) removed() { s.seam = true }

// text writes a run of literal text.
func (s *Scanner) text(p []byte) {
	if len(p) == 0 {
		return
	}
	if s.bol || s.seam {
		if p = s.join(p); len(p) == 0 {
			return
		}
	}
	s.out = append(s.out, p...)
}

// str writes a string.
func (s *Scanner) str(t string) {
	if s.bol || s.seam {
		var buf [64]byte // strings written here are short: no allocation
		s.text(append(buf[:0], t...))
		return
	}
	s.out = append(s.out, t...)
}

// breakLine ends the output line; an empty line is never written.
func (s *Scanner) breakLine() {
	n := len(s.out)
	for n > s.line && isBlank(s.out[n-1]) {
		n--
	}
	s.out = s.out[:n]
	if n > s.line {
		s.out = append(s.out, '\n')
		s.line = len(s.out)
	}
	s.bol, s.seam, s.soft = true, false, false
}

// endLine ends the source line and the output line.
func (s *Scanner) endLine() {
	s.endQuotes()
	s.breakLine()
}

// softBreak ends the source line within a paragraph.
func (s *Scanner) softBreak() {
	s.endQuotes()
	if !s.bol {
		s.str(" ")
	}
	s.soft = false
}

// begin starts an output line: the headings that wait for text come first.
func (s *Scanner) begin() {
	if !s.head {
		s.heads.flush(s)
	}
	s.bol = false
}

// join fits text to what stands before it and returns the part still to be
// written. The seam stays open while nothing but blanks is written. The cases
// are the table of what may not stand beside what; they read best in one place.
func (s *Scanner) join(p []byte) []byte {
	if s.bol {
		return s.joinAtStart(p)
	}
	for len(p) > 0 {
		end := len(s.out)
		for end > s.line && s.out[end-1] == ' ' {
			end--
		}
		spaced := end < len(s.out)
		last, lastLen := lastMark(s.out[s.line:end])
		first, n := firstMark(p)
		switch {
		case first == markSpace:
			if spaced || last == markOpen {
				p = p[1:]
				continue
			}
			rest := bytes.TrimLeft(p, " ")
			if len(rest) == 0 {
				s.out = append(s.out, ' ')
				return nil
			}
			if closesUp(rest) {
				p = rest
				continue
			}
		case last == markOpen && first == markSeparator:
			p = p[n:]
			continue
		case last == markOpen && first == markClose && s.out[end-lastLen] != '[':
			s.out = bytes.TrimRight(s.out[:end-lastLen], " ")
			s.out = s.out[:max(len(s.out), s.line)]
			p = p[n:]
			if len(s.out) == s.line {
				return s.joinAtStart(p)
			}
			continue
		case last == markOpen && isConnector(p): // (A – B), where both were removed
			return nil
		case last == markSeparator && (first == markClose || first == markStop && standsAlone(p, n)):
			s.out = s.out[:end-lastLen]
			continue
		case last == markSeparator && first == markSeparator && standsAlone(p, n):
			p = p[n:]
			continue
		case spaced && (first == markSeparator && p[0] != ':' || first == markClose || first == markStop && standsAlone(p, n)):
			s.out = s.out[:end]
			continue
		}
		break
	}
	s.seam = len(p) == 0
	return p
}

// joinAtStart drops blanks, and after a removal also the punctuation that
// belonged to what was removed.
func (s *Scanner) joinAtStart(p []byte) []byte {
	p = trimBlankLeft(p)
	for s.seam && len(p) > 0 {
		first, n := firstMark(p)
		if first != markSeparator && !(first == markStop && len(p) == n) {
			break
		}
		p = trimBlankLeft(p[n:])
	}
	if len(p) == 0 {
		return nil
	}
	s.begin()
	s.seam = false
	return p
}

// A mark is what the repair of seams knows about a character.
type mark uint8

const (
	markOther mark = iota
	markSpace
	markOpen      // ( and its full-width form
	markClose     // )
	markSeparator // , ; : and the forms of East Asian text
	markStop      // .
)

// firstMark classifies the first character of p and gives its length.
func firstMark(p []byte) (m mark, n int) {
	switch p[0] {
	case ' ':
		return markSpace, 1
	case '(', '[':
		return markOpen, 1
	case ')', ']':
		return markClose, 1
	case ',', ';', ':':
		return markSeparator, 1
	case '.':
		return markStop, 1
	case 0xE3, 0xEF:
		if len(p) >= 3 {
			return wideMark(p[:3]), 3
		}
	}
	return markOther, 1
}

// lastMark classifies the last character of p and gives its length.
func lastMark(p []byte) (m mark, n int) {
	if len(p) == 0 {
		return markOther, 0
	}
	if c := p[len(p)-1]; c < 0x80 {
		return firstMark(p[len(p)-1:])
	}
	if len(p) >= 3 {
		return wideMark(p[len(p)-3:]), 3
	}
	return markOther, 1
}

// wideMark classifies the full-width punctuation of East Asian text.
func wideMark(p []byte) mark {
	switch string(p) {
	case "（":
		return markOpen
	case "）":
		return markClose
	case "、", "，", "；", "：":
		return markSeparator
	case "。":
		return markStop
	}
	return markOther
}

// closesUp tells whether no space may stand before p.
func closesUp(p []byte) bool {
	m, n := firstMark(p)
	return m == markSeparator && p[0] != ':' || m == markClose || m == markStop && standsAlone(p, n)
}

// isConnector tells whether p is nothing but a sign that stands between two
// things, with blanks around.
func isConnector(p []byte) bool {
	switch string(bytes.TrimRight(p, " ")) {
	case "/", "–", "—", "-", "·", "|", "&", "+", "or", "and":
		return true
	}
	return false
}

// standsAlone tells whether the mark of n bytes at the start of p ends a word:
// ".5" and ",5" do not, nor does "...".
func standsAlone(p []byte, n int) bool {
	return len(p) == n || n > 1 || p[n] == ' ' || p[n] == '\n'
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func trimBlankLeft(p []byte) []byte {
	for len(p) > 0 && isBlank(p[0]) {
		p = p[1:]
	}
	return p
}
