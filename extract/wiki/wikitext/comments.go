package wikitext

import (
	"bytes"
	"slices"
)

var (
	commentStart = []byte("<!--")
	commentEnd   = []byte("-->")
)

// maxKeptPage is the size of the copy without comments that is kept from page
// to page; a hostile page may need more.
const maxKeptPage = 4 << 20

// withoutComments returns a page without comments, as MediaWiki's preprocessor
// does, because a comment may be inside any markup. Comments in the content of
// extension tags are kept. An unclosed comment extends to the end of the page.
// If a line contains only comments and blanks, the whole line is removed.
//
// The result is src itself or in the scanner's buffer.
func (s *Scanner) withoutComments(src []byte) []byte {
	i := bytes.Index(src, commentStart)
	if i < 0 {
		return src
	}
	s.src = src
	s.finder.reset(len(src))
	if cap(s.clean) > maxKeptPage {
		s.clean = nil
	}
	out, start := slices.Grow(s.clean[:0], len(src)), 0
	for i = 0; ; {
		k := bytes.IndexByte(src[i:], '<')
		if k < 0 {
			break
		}
		i += k
		if next := s.opaqueEnd(i, len(src)); next > i {
			i = next
		} else if from, to := s.commentAt(i, start); to > from {
			out = append(out, src[start:from]...)
			if i = to; to < len(src) && src[to] == ' ' && len(out) > 0 && out[len(out)-1] == ' ' {
				to++ // one space is enough
			}
			start = to
		} else {
			i++
		}
	}
	s.work += len(src)
	s.clean = append(out, src[start:]...)
	return s.clean
}

// commentAt returns the range to remove for the comment at i: empty if there is
// none, and never before start.
func (s *Scanner) commentAt(i, start int) (from, to int) {
	to = s.commentEndAt(i)
	if to == i {
		return i, i
	}
	for from = i; from > start && isBlank(s.src[from-1]); {
		from--
	}
	if from == 0 || s.src[from-1] != '\n' {
		return i, to
	}
	end := to
	for end < len(s.src) && (isBlank(s.src[end]) || s.commentEndAt(end) > end) {
		end = max(end+1, s.commentEndAt(end))
	}
	if end < len(s.src) && s.src[end] == '\n' {
		return from, end + 1
	}
	return i, to
}

// commentEndAt returns the end of the comment at i, or i if there is none.
func (s *Scanner) commentEndAt(i int) int {
	if !bytes.HasPrefix(s.src[i:], commentStart) {
		return i
	}
	k := s.next(&s.ext.comment, i+len(commentStart), commentEnd)
	if k < 0 {
		return len(s.src)
	}
	return k + len(commentEnd)
}
