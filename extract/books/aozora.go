package books

import (
	"bytes"
)

// Marks of Aozora Bunko's text files (Aozora Bunko, "注記一覧"). All are in the UTF-8 form
// that the files have after decoding.
var (
	aozoraSource  = []byte("底本：")         // begins the frame at the end: the printed source
	aozoraSymbols = []byte("テキスト中に現れる記号") // in the frame at the start: the list of marks
	rubyBase      = []byte("｜")           // begins the text that a reading belongs to
	rubyOpen      = []byte("《")           // begins a reading
	rubyClose     = []byte("》")
	noteOpen      = []byte("［＃") // begins a note of the transcribers
	noteClose     = []byte("］")
)

// isAozora reports whether collected lines are a book of Aozora Bunko.
func isAozora(lines []byte) bool {
	return bytes.Contains(lines, aozoraSource) && (bytes.Contains(lines, noteOpen) || bytes.Contains(lines, rubyOpen))
}

// dropAozora removes the frame, readings and notes of a book of Aozora Bunko from
// collected lines, and returns how many lines it removed as a whole. It overwrites lines.
func dropAozora(lines []byte) (_ []byte, removed int64) {
	lines, removed = dropSymbols(lines)
	out := lines[:0]
	for at := 0; at < len(lines); {
		v, rest := nextView(lines[at:])
		if bytes.HasPrefix(v.bytes, aozoraSource) {
			removed += int64(bytes.Count(lines[at:], []byte("\n")))
			break
		}
		indent := lines[at]
		at = len(lines) - len(rest)
		if len(v.bytes) == 0 {
			out = append(out, '\n')
			continue
		}
		begin := len(out)
		out = append(out, indent)
		if out = appendWithoutMarks(out, v.bytes); len(out) == begin+1 {
			out = out[:begin]
			removed++
			continue
		}
		out = append(out, '\n')
	}
	return out, removed
}

// dropSymbols removes the list of marks at the start: the lines between two lines of
// dashes, of which one in between names the marks.
func dropSymbols(lines []byte) (_ []byte, removed int64) {
	at := bytes.Index(lines[:min(len(lines), headerBytes)], aozoraSymbols)
	if at < 0 {
		return lines, 0
	}
	dashes := []byte("-----")
	begin := bytes.LastIndex(lines[:at], dashes)
	length := bytes.Index(lines[at:], dashes)
	if begin < 0 || length < 0 {
		return lines, 0
	}
	begin = bytes.LastIndexByte(lines[:begin], '\n') + 1
	end := indexFrom(lines, at+length, '\n')
	removed = int64(bytes.Count(lines[begin:end], []byte("\n"))) + 1
	return append(lines[:begin], lines[min(end+1, len(lines)):]...), removed
}

// appendWithoutMarks appends a line without readings, notes and the marks before the
// texts that have readings.
func appendWithoutMarks(dst, line []byte) []byte {
	for len(line) > 0 {
		var open, closing []byte
		switch {
		case bytes.HasPrefix(line, rubyOpen):
			open, closing = rubyOpen, rubyClose
		case bytes.HasPrefix(line, noteOpen):
			open, closing = noteOpen, noteClose
		case bytes.HasPrefix(line, rubyBase):
			line = line[len(rubyBase):]
			continue
		}
		if end := bytes.Index(line, closing); open != nil && end >= 0 {
			line = line[end+len(closing):]
			continue
		}
		dst = append(dst, line[0])
		line = line[1:]
	}
	return dst
}
