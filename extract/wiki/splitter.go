package wiki

import (
	"bytes"
	"io"
	"math"

	"pretext/extract"
)

// lookahead is the number of bytes after a "<" that suffice to recognize every tag that
// the splitter searches for.
const lookahead = len("</mediawiki>")

// bounds are the limits of a splitter, in bytes.
type bounds struct {
	window   int // initial size of the window, which grows up to the sum of all bounds
	read     int // minimum free space for a read
	head     int // maximum size of a page before its first revision
	revision int // maximum size of the last revision
}

// defaultBounds returns the bounds for real dumps. The parts of a revision
// other than its text (contributor, comment, checksum) are far smaller than 1
// MiB.
func defaultBounds() bounds {
	return bounds{window: 512 << 10, read: 64 << 10, head: 1 << 20, revision: extract.MaxPageBytes + 1<<20}
}

// most returns the maximum size of the window, in bytes.
func (b bounds) most() int { return b.window + b.read + b.head + b.revision }

// An ending is what ended a page.
type ending int

const (
	endClosed       ending = iota // </page>
	endUnterminated               // the next <page>, or </mediawiki>
	endTruncated                  // the end of the file
)

// A rawPage is the XML of one page, without its </page>. Its slices refer to
// the splitter's window: they are valid until the next call of splitter.next.
// The caller may overwrite them.
type rawPage struct {
	head     []byte // up to its first <revision>
	revision []byte // from its last <revision> on; nil if there is none
	tooLarge bool   // head or revision exceeds its bound and is missing here
	end      ending
	offset   int64 // of the page in the file, see [Place]
}

// A splitter finds the pages of a range in the decoded bytes of a source, in
// one pass and with a window of bounded size.
//
// A page begins at every <page> and ends at the next </page>, <page> or
// </mediawiki>. Nothing else matters, so a splitter that begins anywhere in a
// dump finds the same pages as a splitter that begins at the front. A valid
// dump escapes every < of a text, so these tags do not occur inside a page.
type splitter struct {
	src    source
	bounds bounds
	buf    []byte // buf[keep:fill] is the window
	fill   int
	scan   int   // buf[:scan] has been scanned
	delta  int64 // position of buf[i] in the decoded stream, minus i, for i ≥ scan

	ownedEnd int64  // position of the first byte that the range does not own
	owned    int64  // number of owned bytes read so far
	eof      bool   // the source has ended
	err      error  // read error of the source; nil at the end of the file
	marks    []mark // offsets in the file of the bytes in the window
	footers  int64  // </mediawiki> tags that the range owns

	page pageState
}

// pageState describes the page that is being read. Indices are in buf,
// positions in the decoded stream.
type pageState struct {
	open                  bool
	start                 int // index of <page
	first, last           int // indices of the first and last <revision, or -1
	startPos, lastPos     int64
	headLen               int64 // length of the head; valid if first ≥ 0
	headLost, revisionOut bool  // head or last revision was too large and dropped from buf
	offset                int64 // file offset of the page
}

// A mark maps a position in the decoded stream to an offset in the file.
type mark struct{ pos, offset int64 }

func newSplitter(b bounds) *splitter { return &splitter{bounds: b} }

// reset prepares the splitter for another source. It reuses the window, unless large
// pages have made it grow.
func (s *splitter) reset(src source) {
	buf := s.buf
	if len(buf) != s.bounds.window {
		buf = make([]byte, s.bounds.window)
	}
	*s = splitter{src: src, bounds: s.bounds, buf: buf, marks: s.marks[:0], ownedEnd: math.MaxInt64}
}

// next returns the next page that begins in the range, or io.EOF.
func (s *splitter) next() (rawPage, error) {
	if err := s.findPage(); err != nil {
		return rawPage{}, err
	}
	for {
		if !s.findTag() {
			if s.err != nil {
				return rawPage{}, s.err
			}
			return s.closePage(endTruncated), nil
		}
		rest := s.buf[s.scan:s.fill]
		switch {
		case isTag(rest, "</page"):
			return s.closePage(endClosed), nil
		case isTag(rest, "<page"), isTag(rest, "</mediawiki"):
			return s.closePage(endUnterminated), nil
		case isTag(rest, "<revision"):
			p := &s.page
			p.last, p.lastPos, p.revisionOut = s.scan, s.delta+int64(s.scan), false
			if p.first < 0 {
				p.first, p.headLen = s.scan, p.lastPos-p.startPos
			}
		}
		s.scan++
	}
}

// findPage finds the next <page> that belongs to the range and opens the page.
// It returns io.EOF if there is none.
func (s *splitter) findPage() error {
	for {
		found := s.findTag()
		switch pos := s.delta + int64(s.scan); {
		case pos >= s.ownedEnd:
			return io.EOF
		case !found && s.err != nil:
			return s.err
		case !found:
			return io.EOF
		}
		rest := s.buf[s.scan:s.fill]
		if isTag(rest, "<page") {
			pos := s.delta + int64(s.scan)
			s.page = pageState{open: true, start: s.scan, first: -1, last: -1, startPos: pos, offset: s.fileOffset(pos)}
			s.scan++
			return nil
		}
		if isTag(rest, "</mediawiki") {
			s.footers++
		}
		s.scan++
	}
}

// findTag moves s.scan to the next < that is followed by enough bytes to recognize the
// tag: a >, lookahead bytes or the end of the file. It returns false if there is no
// further < before the end of the file or, outside of pages, before the end of the
// range.
func (s *splitter) findTag() bool {
	for {
		if i := bytes.IndexByte(s.buf[s.scan:s.fill], '<'); i >= 0 {
			s.scan += i
			if s.fill-s.scan >= lookahead || s.eof || bytes.IndexByte(s.buf[s.scan:s.fill], '>') >= 0 {
				if s.page.open && s.scan+1 < s.fill && !beginsTag[s.buf[s.scan+1]] {
					s.scan++ // not a tag that next handles
					continue
				}
				return true
			}
		} else {
			s.scan = s.fill
			if s.eof || !s.page.open && s.ownedEnd != math.MaxInt64 {
				return false
			}
		}
		s.more()
	}
}

// beginsTag marks the bytes that follow < in the tags that splitter.next handles.
var beginsTag = [256]bool{'/': true, 'p': true, 'r': true}

// isTag reports whether b begins with the tag given as "<name". A longer tag name does
// not match.
func isTag(b []byte, tag string) bool {
	n := len(tag)
	return len(b) > n && string(b[:n]) == tag && (b[n] == '>' || b[n] == '/' || isSpace(b[n]))
}

// closePage ends the page at s.scan and returns it. Whether a page is too large
// depends only on its length, not on how much of it is in the window.
func (s *splitter) closePage(end ending) rawPage {
	p := &s.page
	p.open = false
	raw := rawPage{end: end, offset: p.offset}
	pos := s.delta + int64(s.scan)
	if p.first < 0 {
		p.headLen = pos - p.startPos
	}
	switch {
	case p.headLen > int64(s.bounds.head):
		raw.tooLarge = true
	case p.first < 0:
		raw.head = s.buf[p.start:s.scan]
	default:
		raw.head = s.buf[p.start:p.first]
		if raw.tooLarge = pos-p.lastPos > int64(s.bounds.revision); !raw.tooLarge {
			raw.revision = s.buf[p.last:s.scan]
		}
	}
	return raw
}

// fileOffset returns the offset in the file for a position in the decoded
// stream. It is exact if the file is not encoded; otherwise it is the offset of
// the compressed block, or of the read, that contains the position.
func (s *splitter) fileOffset(pos int64) int64 {
	i := len(s.marks) - 1
	for i > 0 && s.marks[i].pos > pos {
		i--
	}
	m := s.marks[i]
	if s.src.plain() {
		return m.offset + pos - m.pos
	}
	return m.offset
}

// more reads the next bytes into the window. It first frees space: it drops
// finished pages and unneeded parts of the open page. A read error is stored in
// s.err and reported after all bytes before it have been used.
func (s *splitter) more() {
	if len(s.buf)-s.fill < s.bounds.read {
		s.makeRoom()
	}
	n, owned, err := s.src.read(s.buf[s.fill:])
	if err != nil {
		s.eof = true
		if err != io.EOF {
			s.err = err
		}
		return
	}
	pos := s.delta + int64(s.fill)
	s.mark(mark{pos: pos, offset: s.src.offset()})
	if owned {
		s.owned += int64(n)
	} else if s.ownedEnd == math.MaxInt64 {
		s.ownedEnd = pos
	}
	s.fill += n
}

// mark adds m to s.marks and removes the marks before the window.
func (s *splitter) mark(m mark) {
	if s.src.plain() && len(s.marks) > 0 {
		return // the first mark suffices
	}
	i := 0
	for i+1 < len(s.marks) && s.marks[i+1].pos <= s.delta+int64(s.scan) {
		i++
	}
	s.marks = append(s.marks[:copy(s.marks, s.marks[i:])], m)
}

func (s *splitter) makeRoom() {
	if p := &s.page; p.open {
		// Move the page to the front of the buffer.
		n := p.start
		s.drop(0, n)
		p.start = 0
		if p.first >= 0 {
			p.first -= n
			p.last -= n
		}
		s.trimPage()
	} else {
		s.drop(0, s.scan)
	}
	if len(s.buf)-s.fill < s.bounds.read {
		if len(s.buf) >= s.bounds.most() {
			panic("BUG: the window is full of one page")
		}
		grown := make([]byte, min(2*len(s.buf), s.bounds.most()))
		copy(grown, s.buf[:s.fill])
		s.buf = grown
	}
}

// trimPage drops the parts of the open page that are not needed: revisions
// before the last, and a head or revision that exceeds its bound.
func (s *splitter) trimPage() {
	p := &s.page
	switch pos := s.delta + int64(s.scan); {
	case p.headLost || p.first < 0 && pos-p.startPos > int64(s.bounds.head) || p.headLen > int64(s.bounds.head):
		p.headLost = true
		s.drop(p.start, s.scan)
	case p.first < 0:
	case p.revisionOut || pos-p.lastPos > int64(s.bounds.revision):
		p.revisionOut = true
		s.drop(p.first, s.scan)
		p.last = p.first
	case p.last > p.first:
		s.drop(p.first, p.last)
		p.last = p.first
	}
}

// drop removes the scanned bytes buf[from:to] and moves the following bytes.
func (s *splitter) drop(from, to int) {
	n := to - from
	copy(s.buf[from:], s.buf[to:s.fill])
	s.fill -= n
	s.scan -= n
	s.delta += int64(n)
}
