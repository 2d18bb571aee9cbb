package sentence

import (
	"unicode/utf8"

	"pretext/internal/pyspace"
)

// Bits of the entries of byteClass.
const (
	byteSpace    uint8 = 1 << iota // ASCII white space
	bytePlainGap                   // white space of Python's string.whitespace
	byteMaybeGap                   // first byte of white space outside ASCII (and of other characters)
	byteNonWord                    // cannot be inside a word: )";}]*:@'({[?!
	byteNoStart                    // is a word by itself, unless a mark such as "--" or "..." begins there
	byteBreak                      // a word may end before this byte
)

// byteClass holds the properties of each byte for finding words.
var byteClass = makeByteClass()

func makeByteClass() (t [256]uint8) {
	mark := func(bit uint8, chars string) {
		for i := range len(chars) {
			t[chars[i]] |= bit
		}
	}
	const (
		plainGaps = " \t\n\v\f\r"
		nonWord   = ")\";}]*:@'({[?!"
	)
	for _, r := range pyspace.Chars {
		c := utf8.AppendRune(nil, r)[0]
		t[c] |= byteBreak
		if c < utf8.RuneSelf {
			t[c] |= byteSpace
		} else {
			t[c] |= byteMaybeGap
		}
	}
	mark(bytePlainGap, plainGaps)
	mark(byteNonWord, nonWord)
	mark(byteNoStart, "(\"`{[:;&#*@)}]-,")
	mark(byteBreak, nonWord+"-.,")
	return t
}
