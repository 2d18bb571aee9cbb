package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// What str.isspace of CPython 3.11 holds for, all of Unicode tried:
//
//	[hex(c) for c in range(sys.maxunicode+1) if chr(c).isspace()]
const pythonBlanks = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func TestBlanksAreThoseOfPython(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if got, want := IsBlank(r), strings.ContainsRune(pythonBlanks, r) && utf8.ValidRune(r); got != want {
			t.Errorf("%U: got %v, want %v", r, got, want)
		}
	}
	if IsBlank(-1) {
		t.Error("-1 is blank")
	}
}

func TestStripIsTrimFunc(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := append(strings.Split(pythonBlanks, ""), "a", "é", "\xff", "\xe3", "\x80", "\u200b", "\ufeff")
		s := strings.Join(rapid.SliceOf(rapid.SampledFrom(parts)).Draw(t, "s"), "")
		if got, want := string(Strip([]byte(s))), strings.TrimFunc(s, IsBlank); got != want {
			t.Fatalf("%q: got %q, want %q", s, got, want)
		}
	})
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
