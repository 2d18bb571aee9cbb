package books

import (
	"bytes"
)

// headerBytes is the number of bytes at the start of a text that are searched for the
// end of Project Gutenberg's header. Headers are about 1 kB long, or about 20 kB if
// written before 2003.
const headerBytes = 64 << 10

// trimGutenberg returns the collected lines between Project Gutenberg's header and
// licence. trimmed reports whether a header or licence was removed.
func trimGutenberg(lines []byte) (_ []byte, trimmed bool) {
	start, end := frameStart(lines), len(lines)
	found := false
	for at := 0; at < len(lines); {
		v, rest := nextView(lines[at:])
		after := len(lines) - len(rest)
		if !found && at >= start && at < headerBytes && isStart(v.bytes) {
			after = endOfMarker(lines, at, after)
			start, found = after, true
		} else if at >= start && isEnd(v.bytes) {
			end = at
			break
		}
		at = after
	}
	return lines[start:end], end-start < len(lines)
}

// frameStart returns the offset after the header of a book of Project Gutenberg Australia
// or Distributed Proofreaders Canada, whose headers have no marker at their end; 0 if
// there is none. The header ends with the paragraph that says where to find the project.
func frameStart(lines []byte) int {
	const longest = 80 // lines of the longest header
	isFrame, inLast := false, false
	for n, at := 0, 0; n < longest && at < len(lines); n++ {
		v, rest := nextView(lines[at:])
		at = len(lines) - len(rest)
		line := bytes.ToUpper(v.bytes[:min(len(v.bytes), 200)])
		isFrame = isFrame || bytes.Contains(line, []byte("PROJECT GUTENBERG AUSTRALIA")) || bytes.Contains(line, []byte("PROJECT GUTENBERG OF AUSTRALIA")) || bytes.Contains(line, []byte("DISTRIBUTED PROOFREADERS CANADA"))
		inLast = inLast || isFrame && (bytes.Contains(line, []byte("GUTENBERG.NET.AU")) || bytes.Contains(line, []byte("PGDPCANADA.NET")))
		if inLast && len(v.bytes) == 0 {
			return at
		}
	}
	return 0
}

// isStart reports whether a line is the last line of Project Gutenberg's
// header, such as
//
//	*** START OF THE PROJECT GUTENBERG EBOOK THE TITLE ***
//	*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*   (before 2003)
func isStart(line []byte) bool {
	if len(line) == 0 || line[0] != '*' {
		return false
	}
	line = bytes.ToUpper(line[:min(len(line), 100)])
	stars := bytes.TrimLeft(line, "* ")
	return bytes.HasPrefix(stars, []byte("START OF TH")) && bytes.Contains(stars, []byte("PROJECT GUTENBERG")) ||
		bytes.HasPrefix(stars, []byte("END*THE SMALL PRINT!")) ||
		bytes.HasPrefix(stars, []byte("END THE SMALL PRINT!"))
}

// isEnd reports whether a line is the first line of Project Gutenberg's
// licence.
func isEnd(line []byte) bool {
	if len(line) == 0 || bytes.IndexByte([]byte("*EeFf["), line[0]) < 0 {
		return false
	}
	line = bytes.ToUpper(line[:min(len(line), 100)])
	if line[0] == '*' {
		stars := bytes.TrimLeft(line, "* ")
		return bytes.HasPrefix(stars, []byte("END OF TH")) && bytes.Contains(stars, []byte("PROJECT GUTENBERG"))
	}
	if line[0] == '[' { // Distributed Proofreaders Canada
		return bytes.HasPrefix(line, []byte("[END OF ")) && bytes.HasSuffix(line, []byte("]"))
	}
	if bytes.HasPrefix(line, []byte("FIN D")) || bytes.HasPrefix(line, []byte("ENDE DIESES PRO")) || bytes.HasPrefix(line, []byte("ENDE DES PRO")) {
		return bytes.Contains(line, []byte("PROJECT GUTENBERG")) || bytes.Contains(line, []byte("PROJET GUTENBERG")) ||
			bytes.Contains(line, []byte("PROJEKT GUTENBERG")) || bytes.Contains(line, []byte("PROYECTO GUTENBERG"))
	}
	return bytes.HasPrefix(line, []byte("END OF PROJECT GUTENBERG")) ||
		bytes.HasPrefix(line, []byte("END OF THE PROJECT GUTENBERG")) ||
		bytes.HasPrefix(line, []byte("END OF THIS PROJECT GUTENBERG"))
}

// endOfMarker returns the offset after the marker that begins at lines[at:]. after is
// the end of the marker's first line. A marker with a long title has several lines; the
// last one ends in a star.
func endOfMarker(lines []byte, at, after int) int {
	v, _ := nextView(lines[at:])
	pos := after
	for range 3 {
		if bytes.HasSuffix(v.bytes, []byte("*")) {
			return pos
		}
		var rest []byte
		v, rest = nextView(lines[pos:])
		if len(v.bytes) == 0 {
			break
		}
		pos = len(lines) - len(rest)
	}
	return after
}
