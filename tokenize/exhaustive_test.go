package tokenize_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pretext/internal/dev/torture"
	"pretext/tokenize"
)

// contexts puts a character where its neighbours matter: alone, inside a word,
// behind a capital letter and before a capital sigma and around one, between
// accents, between non-starters that are not accents, behind punctuation.
func contexts(r rune) string {
	c := string(r)
	return c + " x" + c + "y Z" + c + " AΣ" + c + "B ΑΣ" + c + " " + c + "Σ e\u0301" + c + "\u0323\U0001D16D" + c +
		"\U0001D165 WordWordWord" + c + "!" + c
}

// everyCodePoint yields all code points that UTF-8 can hold.
func everyCodePoint(yield func(rune) bool) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) && !yield(r) {
			return
		}
	}
}

// TestEveryCodePointGivesTheWordsOfTheReference compares every code point that is
// tested in all contexts. The test below holds its result for all of them.
func TestEveryCodePointGivesTheWordsOfTheReference(t *testing.T) {
	needOracle(t)
	for _, lower := range []bool{true, false} {
		slow, fast := newReference(nil, tokenize.Options{DoLowerCase: lower}), splitter(t, lower)
		var got []string
		for _, r := range tested() {
			text := contexts(r)
			got = fast.AppendWords(got[:0], text)
			if want := slow.words(text); !slices.Equal(got, want) {
				t.Errorf("%U, lower %v:\ngot  %+q\nwant %+q", r, lower, got, want)
			}
		}
	}
}

// tested returns the code points that tests of one character at a time take: those
// that are lowered or decomposed, the first and the last ones of each range that the
// rules of the reference treat alike, and a sample of the large ranges of characters
// that are alike. In a full run it leaves out most of these ranges alone, in a long
// run nothing.
var tested = sync.OnceValue(func() (out []rune) {
	previous, rules := rune(0), ""
	for r := range everyCodePoint {
		if u := uniform(r); u || torture.Full() {
			if !u || int(r)%torture.Cases(997, 97) == 0 || torture.Long() {
				out = append(out, r)
			}
			continue
		}
		now := rulesOf(r)
		if now != rules && len(out) > 0 && out[len(out)-1] != previous {
			out = append(out, previous)
		}
		if now != rules || unicode.ToLower(r) != r || norm.NFD.PropertiesString(string(r)).Decomposition() != nil {
			out = append(out, r)
		}
		previous, rules = r, now
	}
	return out
})

// rulesOf returns what the reference's rules decide about a character by itself.
func rulesOf(r rune) string {
	return fmt.Sprint(isWhitespace(r), isControl(r), isPunctuation(r), cased(r), caseIgnorable(r), unicode.In(r, unicode.Co, unicode.Cn), unicode.Is(unicode.Mn, r),
		len(pythonSplit(string(r))), len(reference{}.spaceIdeographs(string(r))), norm.NFD.PropertiesString(string(r)).CCC())
}

// uniform reports whether r lies in a large range of characters that are alike.
func uniform(r rune) bool {
	switch {
	case 0x3500 <= r && r < 0x4d00, 0x4e80 <= r && r < 0x9f00, // ideographs
		0xac80 <= r && r < 0xd780,    // Hangul syllables
		0xe080 <= r && r < 0xf880,    // private use
		0x13480 <= r && r < 0x16780,  // unassigned, hieroglyphs
		0x17080 <= r && r < 0x1af00,  // Tangut
		0x20080 <= r && r < 0x2f780,  // ideographs
		0x2fa80 <= r && r < 0xe0000,  // ideographs, unassigned
		0xe0200 <= r && r < 0x10ff80: // unassigned, private use
		return true
	}
	return false
}

// The words that code points give in all contexts, as one hash. They are the same
// under any Go toolchain. The others leave out most of the large ranges.
const (
	everyCodePointUncased = "c0464f42fb747eeefa78e85b78d03dbd85937c17aa121964742eb5affe16168e"
	everyCodePointCased   = "2d6aaf82f31707b572970e0612f88fa55f6258c033a06193072614d1af1d20fd"
	mostCodePointsUncased = "3e3db1ff922e494262b58dfc02f4c1095c45252268dc77de14ec68625cc066b0"
	mostCodePointsCased   = "5d233d3fa35901b025ecf0fed09b24bca85d59921e385606749247a2b134cb87"
)

func TestNoToolchainChangesTheWordsOfAnyCodePoint(t *testing.T) {
	for lower, want := range map[bool]string{true: mostCodePointsUncased, false: mostCodePointsCased} {
		if got := hashOfWords(t, lower, func(r rune) bool { return !uniform(r) || r%97 == 0 }); got != want {
			t.Errorf("lower %v: got %s, want %s", lower, got, want)
		}
	}
	if !torture.Full() {
		return
	}
	for lower, want := range map[bool]string{true: everyCodePointUncased, false: everyCodePointCased} {
		if got := hashOfWords(t, lower, func(rune) bool { return true }); got != want {
			t.Errorf("every code point, lower %v: got %s, want %s", lower, got, want)
		}
	}
}

// hashOfWords returns the hash of the words of some code points in all contexts.
func hashOfWords(t *testing.T, lower bool, want func(rune) bool) string {
	fast, sum := splitter(t, lower), sha256.New()
	for r := range everyCodePoint {
		if !want(r) {
			continue
		}
		for word := range fast.Words(contexts(r)) {
			sum.Write(word)
			writeString(sum, " ")
		}
		writeString(sum, "\n")
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func writeString(h hash.Hash, s string) { h.Write([]byte(s)) }

// TestTheEncoderGivesThePiecesOfEveryCodePoint holds encoders, with their tables
// and caches, against the words of a splitter, which the tests above check. The
// second time a text comes from the caches.
func TestTheEncoderGivesThePiecesOfEveryCodePoint(t *testing.T) {
	v := smallVocab(t)
	for _, lower := range []bool{true, false} {
		e, words, slow := newEncoder(t, v, lower), splitter(t, lower), newReference(v, tokenize.Options{DoLowerCase: lower})
		var got, want []int32
		for _, r := range tested() {
			text := contexts(r)
			want = want[:0]
			for word := range words.Words(text) {
				for _, piece := range slow.pieces(string(word)) {
					id, _ := v.ID(piece)
					want = append(want, id)
				}
			}
			for range 2 {
				if got = e.AppendIDs(got[:0], text); !slices.Equal(got, want) {
					t.Errorf("%U, lower %v:\ngot  %d\nwant %d", r, lower, got, want)
				}
			}
		}
	}
}
