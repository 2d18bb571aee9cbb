package books

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	wide "golang.org/x/text/encoding/unicode"

	"pretext/extract"
	"pretext/extract/text"
)

// decodeWide returns a reader of src without its byte order mark. UTF-16 is converted
// to UTF-8, and isWide is then true. For UTF-32, the error is errRejected.
func decodeWide(src io.Reader) (_ io.Reader, isWide bool, err error) {
	var head [4]byte
	n, err := io.ReadFull(src, head[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, false, err
	}
	mark := head[:n]
	rest := func(skip int) io.Reader {
		if err != nil { // the source ended
			return bytes.NewReader(mark[skip:])
		}
		return io.MultiReader(bytes.NewReader(mark[skip:]), src)
	}
	utf16 := func(order wide.Endianness) io.Reader {
		return wide.UTF16(order, wide.IgnoreBOM).NewDecoder().Reader(rest(2))
	}
	switch {
	case bytes.HasPrefix(mark, []byte("\xEF\xBB\xBF")):
		return rest(3), false, nil
	case string(mark) == "\xFF\xFE\x00\x00", string(mark) == "\x00\x00\xFE\xFF":
		return nil, false, errRejected
	case bytes.HasPrefix(mark, []byte("\xFF\xFE")):
		return utf16(wide.LittleEndian), true, nil
	case bytes.HasPrefix(mark, []byte("\xFE\xFF")):
		return utf16(wide.BigEndian), true, nil
	}
	return rest(0), false, nil
}

// A decoder reads the bytes of a text file as UTF-8.
type decoder struct {
	io.Reader
	recoded bool   // the file is in UTF-16, or in the encoding name
	name    string // name of the encoding if it is neither UTF-8 nor UTF-16
	reject  string // why the file is rejected; "" if it is not
}

// note returns the note about a file in an encoding of its own; "" if it has none.
func (d *decoder) note() string {
	if d.name == "" {
		return ""
	}
	return "not UTF-8, read as " + d.name
}

// spoilt reports whether a text has more than one character in a thousand that its encoding
// does not have, so that it is in another one.
func (d *decoder) spoilt(text []byte) bool {
	wrong := bytes.Count(text, []byte("\uFFFD"))
	return d.name != "" && wrong*1000 > utf8.RuneCount(text)
}

// open returns a reader of a text file in UTF-8. The encoding of a file without a byte order
// mark that is not UTF-8 is that of the options; otherwise it is detected from the file's
// beginning. A file that may be in Windows-1252 is left to [Reader.decode].
func (r *Reader) open(src io.Reader) (d decoder, err error) {
	src, d.recoded, err = decodeWide(src)
	if err == errRejected {
		d.reject = "UTF-32"
		return d, nil
	}
	d.Reader = src
	if err != nil || d.recoded {
		return d, err
	}
	if r.peek == nil {
		r.peek = bufio.NewReaderSize(nil, sampleSize)
	}
	r.peek.Reset(src)
	d.Reader = r.peek
	head, _ := r.peek.Peek(sampleSize) // an error comes again when the file is read
	s := survey(head)
	cut := len(head) == sampleSize && s.invalid < utf8.UTFMax
	if isUTF8 := s.invalid == 0 || cut || s.invalid <= s.runes; bytes.IndexByte(head, 0) >= 0 || isUTF8 && (r.given == nil || s.runes > 0) {
		return d, nil
	}
	if r.given != nil {
		d.Reader, d.recoded, d.name = r.given.NewDecoder().Reader(r.peek), true, r.opts.Encoding
		return d, nil
	}
	found := detect(head)
	switch {
	case found.encoding != nil:
		d.Reader, d.recoded, d.name = found.encoding.NewDecoder().Reader(r.peek), true, found.name
	case found.name != "" && !found.western:
		d.reject = "not UTF-8, perhaps " + found.name + ": set the encoding"
	}
	return d, nil
}

// decode returns the collected lines of a book in UTF-8. recoded reports whether they
// were decoded as Windows-1252. If ok is false, the book is rejected, and the reason is
// in b.
func (r *Reader) decode(b *book, lines []byte) (_ []byte, recoded, ok bool) {
	if utf8.Valid(lines) {
		return lines, false, true
	}
	s := survey(lines)
	switch {
	case s.western():
		b.note = "not UTF-8, read as Windows-1252"
		return fromWindows1252(lines), true, true
	case s.invalid*10 > s.solid || s.invalid > s.runes && s.invalid*100 > s.solid:
		b.reject, b.note = extract.RejectEncoding, "neither UTF-8 nor Windows-1252"
		return nil, false, false
	}
	valid, dropped := text.AppendValid(lines[:0], lines)
	r.stats.InvalidBytes += int64(dropped)
	b.note = "bytes that are not UTF-8 were dropped"
	return valid, false, true
}

// A high counts the kinds of non-ASCII bytes in a text.
type high struct {
	solid   int // number of bytes that are not white space
	runes   int // number of valid characters above U+007F
	invalid int // number of bytes that are not UTF-8
	letters int // invalid bytes that are Western European letters or punctuation in Windows-1252
	nothing int // invalid bytes that are undefined in Windows-1252
	inWord  int // invalid bytes between small letters that are no small letters in Windows-1252
}

func survey(b []byte) high {
	var s high
	isSmall := func(c byte) bool { return c >= 'a' && c <= 'z' }
	for before := byte(0); len(b) > 0; {
		if c := b[0]; c < utf8.RuneSelf {
			if !text.IsBlank(rune(c)) {
				s.solid++
			}
			before, b = c, b[1:]
			continue
		}
		ch, n := utf8.DecodeRune(b)
		s.solid += n
		if ch == utf8.RuneError && n == 1 {
			s.invalid++
			if r := charmap.Windows1252.DecodeByte(b[0]); isSmall(before) && len(b) > 1 && isSmall(b[1]) && r != '’' && !unicode.IsLower(r) {
				s.inWord++ // "na•ve" is MacRoman
			}
			switch r := charmap.Windows1252.DecodeByte(b[0]); {
			case r == utf8.RuneError: // one of the five bytes that Windows-1252 leaves undefined
				s.nothing++
			case 'À' <= r && r <= 'ÿ' && r != '×' && r != '÷', strings.ContainsRune(westernMarks, r):
				s.letters++
			}
		} else {
			s.runes++
		}
		before, b = 0, b[n:]
	}
	return s
}

// westernMarks are the characters of Windows-1252 below À (0xC0) that are common in
// Western European prose: punctuation and a few letters.
const westernMarks = "‘’“”‚„‹›«»•–—…·°¡¿£§\u00a0ŠŒŽšœžŸ"

// western reports whether the text is probably Windows-1252. This is so if all of these
// conditions hold for its invalid bytes:
//
//   - they outnumber the valid multi-byte characters;
//   - they are at most three tenths of the text;
//   - nearly all are letters or punctuation of prose in Windows-1252;
//   - none is undefined in Windows-1252;
//   - hardly any is a mark or a capital between small letters, as bytes of MacRoman are.
//
// Text in Cyrillic, Greek or East Asian encodings has far more bytes above 0x7F.
func (s high) western() bool {
	return s.invalid > s.runes && s.nothing == 0 && s.invalid*10 <= s.solid*3 && s.letters*10 >= s.invalid*9 && s.inWord*10 <= s.invalid
}

func fromWindows1252(b []byte) []byte {
	out := make([]byte, 0, len(b)+len(b)/16)
	for _, c := range b {
		if c < utf8.RuneSelf {
			out = append(out, c)
			continue
		}
		out = utf8.AppendRune(out, charmap.Windows1252.DecodeByte(c))
	}
	return out
}
