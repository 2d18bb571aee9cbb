package wikitext

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// Runs of spaces become one space, wherever they are among words of eight bytes; the text
// before the given place stays.
func TestRunsOfSpacesBecomeOne(t *testing.T) {
	runs := regexp.MustCompile(" +")
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, 20).Draw(t, "from")
		text := rapid.StringOfN(rapid.SampledFrom([]rune{' ', ' ', 'a', '!', '\x00', '\xa0', 'é', '\n'}), from, 60, -1).Draw(t, "text")
		from = min(from, len(text))
		want := text[:from] + runs.ReplaceAllString(text[from:], " ")
		if got := string(singleSpaces([]byte(text), from)); got != want {
			t.Fatalf("%q from %d: got %q, want %q", text, from, got, want)
		}
	})
}

// A pair of spaces is found at every place.
func TestDoubleSpaceIsFoundAtEveryPlace(t *testing.T) {
	for _, fill := range []byte{'a', '!', 0xa0, 0x1f, 0} {
		for n := range 40 {
			text := make([]byte, n)
			for i := range text {
				text[i] = fill
				if i%2 == 1 {
					text[i] = ' '
				}
			}
			if got := doubleSpace(text); got != -1 {
				t.Fatalf("%q: %d", text, got)
			}
			for i := 0; i+1 < n; i++ {
				text := append([]byte(nil), text...)
				text[i], text[i+1] = ' ', ' '
				want := i
				if i > 0 && text[i-1] == ' ' {
					want = i - 1
				}
				if got := doubleSpace(text); got != want {
					t.Fatalf("%q: %d, want %d", text, got, want)
				}
			}
		}
	}
}
