package sentence

// Bits of byteClass.
const (
	byteSpace    uint8 = 1 << iota // ASCII white space
	bytePlainGap                   // white space of Python's string.whitespace
	byteMaybeGap                   // begins the white space outside ASCII, and other characters
	byteNonWord                    // cannot stand inside a word: )";}]*:@'({[?!
	byteNoStart                    // is a word alone if no mark of several characters begins there
	byteBreak                      // a word may end before this byte
)

// byteClass tells what a byte can do in the grammar of words.
var byteClass = makeByteClass()

func makeByteClass() (t [256]uint8) {
	mark := func(bit uint8, chars string) {
		for i := range len(chars) {
			t[chars[i]] |= bit
		}
	}
	const (
		plainGaps = " \t\n\v\f\r"
		gaps      = plainGaps + "\x1c\x1d\x1e\x1f"
		maybeGaps = "\xc2\xe1\xe2\xe3" // first bytes of U+0085 to U+3000, see isWideSpace
		nonWord   = ")\";}]*:@'({[?!"
	)
	mark(byteSpace, gaps)
	mark(bytePlainGap, plainGaps)
	mark(byteMaybeGap, maybeGaps)
	mark(byteNonWord, nonWord)
	mark(byteNoStart, "(\"`{[:;&#*@)}]-,")
	mark(byteBreak, gaps+maybeGaps+nonWord+"-.,")
	return t
}
