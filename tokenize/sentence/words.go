package sentence

import (
	"strings"
	"unicode/utf8"
)

// nextWord returns the next word of s at or after i; start is len(s) if there
// is no word. A word is the first of these that matches:
//
//   - two or more hyphens or full stops in a row, or three or more full stops
//     with one white space character between each
//   - a run of characters that ends before white space, before a mark that
//     cannot be inside a word, or before a comma that either of these follows
//   - any single character
//
// A line feed is white space that ends every word, because the reference works
// line by line.
func nextWord(s string, i int) (start, end int) {
	start = skipSpace(s, i)
	if start == len(s) {
		return start, start
	}
	if end := multiMark(s, start); end > start {
		return start, end
	}
	if byteClass[s[start]]&byteNoStart != 0 {
		return start, start + 1
	}
	_, width := utf8.DecodeRuneInString(s[start:])
	return start, wordEnd(s, start+width)
}

// wordEnd returns the end of the word that contains the bytes before s[i].
func wordEnd(s string, i int) int {
	for ; i < len(s); i++ {
		c := byteClass[s[i]]
		if c&byteBreak == 0 {
			continue
		}
		if c&byteNonWord != 0 || endsWordAt(s, i) {
			break
		}
	}
	return i
}

// endsWordAt reports whether a word ends before s[i], which is a hyphen, a full
// stop, a comma, or the first byte of a character that may be white space.
func endsWordAt(s string, i int) bool {
	switch s[i] {
	case '-', '.':
		return beginsMultiMark(s, i)
	case ',':
		next := i + 1
		return next == len(s) || byteClass[s[next]]&byteNonWord != 0 || spaceWidth(s, next) > 0 || beginsMultiMark(s, next)
	}
	return spaceWidth(s, i) > 0
}

// multiMark returns the end of a mark of several characters, such as "--" or "...", that
// begins at s[i]. If there is none, it returns i.
func multiMark(s string, i int) int {
	if !beginsMultiMark(s, i) {
		return i
	}
	mark := s[i]
	end := i + 1
	for end < len(s) && s[end] == mark {
		end++
	}
	if end > i+1 {
		return end
	}
	return spacedStops(s, i)
}

// beginsMultiMark reports whether a mark of several characters, such as "--" or
// ". . .", begins at s[i]. It reads only a few bytes, so it is cheap to call at
// every byte.
func beginsMultiMark(s string, i int) bool {
	switch s[i] {
	case '-':
		return strings.HasPrefix(s[i+1:], "-")
	case '.':
		if strings.HasPrefix(s[i+1:], ".") {
			return true
		}
		second := stopAndGap(s, i)
		if second == i {
			return false
		}
		third := stopAndGap(s, second)
		return third > second && strings.HasPrefix(s[third:], ".")
	}
	return false
}

// spacedStops returns the end of the longest run of full stops with one white
// space character between each at s[i:]. The caller has checked that there are
// at least three full stops.
func spacedStops(s string, i int) int {
	for {
		next := stopAndGap(s, i)
		if next == i || !strings.HasPrefix(s[next:], ".") {
			return i + 1
		}
		i = next
	}
}

// stopAndGap returns the position after a full stop and one white space
// character other than a line feed at s[i:], or i if they are not there.
func stopAndGap(s string, i int) int {
	if i+1 >= len(s) || s[i] != '.' || s[i+1] == '\n' {
		return i
	}
	width := spaceWidth(s, i+1)
	if width == 0 {
		return i
	}
	return i + 1 + width
}
