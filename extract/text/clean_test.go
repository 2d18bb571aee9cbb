package text

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"pretext/internal/pyspace"
)

func TestBlanksAreThoseOfPython(t *testing.T) {
	for r := rune(-1); r <= unicode.MaxRune; r++ {
		if got, want := IsBlank(r), pyspace.IsSpace(r); got != want {
			t.Errorf("%U: got %v, want %v", r, got, want)
		}
	}
	if got, want := string(Strip([]byte(pyspace.Chars+"a b\u200b\xff"+pyspace.Chars))), "a b\u200b\xff"; got != want {
		t.Errorf("Strip: got %+q, want %+q", got, want)
	}
}

func TestAppendValidDropsWhatIsNoUTF8(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := []string{"a", "é", "\xff", "\xe3", "\x80", "\x81", "日", "\xed\xa0\x80", "𝄞", "\xf0\x9d"}
		s := strings.Join(rapid.SliceOf(rapid.SampledFrom(parts)).Draw(t, "s"), "")
		got, dropped := AppendValid([]byte("x"), []byte(s))
		if want := "x" + strings.ToValidUTF8(s, ""); string(got) != want || dropped != len(s)+1-len(want) {
			t.Fatalf("%q: got %q and %d, want %q", s, got, dropped, want)
		}
	})
}
