package wiki

import (
	"bytes"
	"io"
	"math"

	"pretext/extract"
)

// lookahead is the length of the longest tag that the splitter must tell from
// others, with the byte behind it.
const lookahead = len("</mediawiki>")

// bounds are the sizes, in bytes, that a splitter keeps to.
type bounds struct {
	window   int // of the window at first; it grows with the pages, to the sum of all bounds
	read     int // room that a read is offered at least
	head     int // a longer head of a page (before its first revision) is too large
	revision int // a longer last revision is too large
}

// defaultBounds are those for dumps. What a revision holds beside its text
// (contributor, comment, checksum) is far below the MiB granted here.
func defaultBounds() bounds {
	return bounds{window: 512 << 10, read: 64 << 10, head: 1 << 20, revision: extract.MaxPageBytes + 1<<20}
}

// most returns the greatest size of the window.
func (b bounds) most() int { return b.window + b.read + b.head + b.revision }

// An ending says how a page came to its end.
type ending int

const (
	endClosed       ending = iota // by </page>
	endUnterminated               // by the next <page>, or </mediawiki>
	endTruncated                  // by the end of the file
)

// A rawPage is the XML of one page, without its </page>, in the window of the
// splitter: valid, and free to be changed, until the next one is asked for.
type rawPage struct {
	head     []byte // up to its first <revision>
	revision []byte // from its last <revision> on; nil without one
	tooLarge bool   // head or revision is longer than the window holds, and missing here
	end      ending
	offset   int64 // of the page in the file, see [Place]
}

// A splitter finds the pages of a range in the decoded bytes of a source, in
// one pass and with a window of bounded size.
//
// It looks at tags alone: a page begins at every <page>, wherever it stands, and
// ends at the next </page>, <page> or </mediawiki>. So a page is found by
// looking at its bytes only, and a reader that begins anywhere in a dump finds
// the same pages as one that has read it from the front. A sound dump escapes
// every < of its text, so no such tag can stand inside a page.
type splitter struct {
	src    source
	bounds bounds
	buf    []byte // buf[keep:fill] is the window
	fill   int
	scan   int   // looked at so far
	delta  int64 // position of buf[i] in the decoded stream, minus i, for i ≥ scan

	ownedEnd int64  // position of the first byte that the range does not own
	owned    int64  // bytes of the stream that the range owns, so far
	eof      bool   // nothing more can be read
	err      error  // why, nil at the end of the file
	marks    []mark // where in the file the bytes of the window came from
	footers  int64  // </mediawiki> tags that the range owns

	page pageState
}

// pageState is what the splitter knows of the page that it is inside of.
// Indices are into buf, positions into the stream.
type pageState struct {
	open                  bool
	start                 int // index of <page
	first, last           int // index of the first and the last <revision, -1 without one
	startPos, lastPos     int64
	headLen               int64 // known when first ≥ 0
	headLost, revisionOut bool  // not held any more: too large
	offset                int64
}

// A mark says that the stream at pos comes from offset of the file.
type mark struct{ pos, offset int64 }

func newSplitter(src source, b bounds) *splitter {
	return &splitter{src: src, bounds: b, buf: make([]byte, b.window), ownedEnd: math.MaxInt64}
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
			s.openRevision()
		}
		s.scan++
	}
}

// findPage moves to the next <page that the range owns and opens it.
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
			s.openPage()
			s.scan++
			return nil
		}
		if isTag(rest, "</mediawiki") {
			s.footers++
		}
		s.scan++
	}
}

// findTag moves to the next < with enough bytes behind it to know its tag, and
// reports whether there is one before the end of the file; outside a page it
// does not look beyond what the range owns.
func (s *splitter) findTag() bool {
	for {
		if i := bytes.IndexByte(s.buf[s.scan:s.fill], '<'); i >= 0 {
			s.scan += i
			if s.fill-s.scan >= lookahead || s.eof {
				if s.page.open && s.scan+1 < s.fill && !beginsTag[s.buf[s.scan+1]] {
					s.scan++ // most tags are none of those that next looks for
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

// beginsTag has the bytes behind the < of the tags that next looks for.
var beginsTag = [256]bool{'/': true, 'p': true, 'r': true}

// isTag reports whether b begins with the tag given without its end, and not
// with a longer name.
func isTag(b []byte, tag string) bool {
	n := len(tag)
	return len(b) > n && string(b[:n]) == tag && (b[n] == '>' || b[n] == '/' || isSpace(b[n]))
}

func (s *splitter) openPage() {
	pos := s.delta + int64(s.scan)
	s.page = pageState{open: true, start: s.scan, first: -1, last: -1, startPos: pos, offset: s.fileOffset(pos)}
}

func (s *splitter) openRevision() {
	p := &s.page
	p.last, p.lastPos, p.revisionOut = s.scan, s.delta+int64(s.scan), false
	if p.first < 0 {
		p.first, p.headLen = s.scan, p.lastPos-p.startPos
	}
}

// closePage ends the page at s.scan. Whether it is too large follows from its
// own length, not from what happened to be held of it.
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

// fileOffset says where in the file the byte at a position of the stream is
// from: itself where bytes stand there as they are, else the block or the read
// that it came with.
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

// more reads on, and makes room for it first: pages that are done with go, and
// of the open page what cannot be used any more. An error waits in s.err until
// what was read before it has been used.
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

// mark notes where the next bytes come from, and forgets what lies before the
// window.
func (s *splitter) mark(m mark) {
	if s.src.plain() && len(s.marks) > 0 {
		return // the first one says it all
	}
	i := 0
	for i+1 < len(s.marks) && s.marks[i+1].pos <= s.delta+int64(s.scan) {
		i++
	}
	s.marks = append(s.marks[:copy(s.marks, s.marks[i:])], m)
}

func (s *splitter) makeRoom() {
	if s.page.open {
		s.slide()
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

// trimPage drops what the open page does not need: earlier revisions, and heads
// and revisions that are too large already.
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

// slide moves the open page to the front of the buffer.
func (s *splitter) slide() {
	p := &s.page
	n := p.start
	s.drop(0, n)
	p.start = 0
	if p.first >= 0 {
		p.first -= n
		p.last -= n
	}
}

// drop removes buf[from:to], to ≤ scan, and moves what follows.
func (s *splitter) drop(from, to int) {
	n := to - from
	copy(s.buf[from:], s.buf[to:s.fill])
	s.fill -= n
	s.scan -= n
	s.delta += int64(n)
}
