package pyspace_test

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pretext/internal/pyspace"
)

// What CPython says, see testdata/spaces.py.
//
//go:embed testdata/spaces.txt
var table string

func ExampleStrip() {
	fmt.Printf("%q\n", pyspace.Strip("\u3000 a b\x1f\n"))
	// Output: "a b"
}

func TestSpacesAreThoseOfCPython(t *testing.T) {
	want := map[rune]bool{}
	var chars strings.Builder
	for line := range strings.FieldsSeq(table) {
		r, err := strconv.ParseInt(line, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		want[rune(r)] = true
		chars.WriteRune(rune(r))
	}
	if len(want) != 29 || pyspace.Chars != chars.String() {
		t.Errorf("Chars: got %+q, want %+q", pyspace.Chars, chars.String())
	}
	for r := rune(-2); r <= unicode.MaxRune+1; r++ {
		if got := pyspace.IsSpace(r); got != want[r] {
			t.Errorf("IsSpace(%#x): got %v, want %v", r, got, want[r])
		}
		if r < 0 || !utf8.ValidRune(r) {
			continue
		}
		s, width := string(r), 0
		if want[r] {
			width = len(s)
		}
		if first, last := pyspace.Width(s+"a"), pyspace.LastWidth("a"+s); first != width || last != width {
			t.Errorf("widths of %U: got %d and %d, want %d", r, first, last, width)
		}
	}
}

func TestBytesThatAreNotUTF8AreNotSpace(t *testing.T) {
	for _, s := range []string{"", "\x85", "\xa0", "\xc2", "\xe2\x80", "\xe1\x9a", "\xe3\x80", "\xc0\xa0", "\xe0\x80\xa0", "\xe2\x00\x80", "\xe2\x80\x00", "\xff"} {
		if first, last := pyspace.Width(s), pyspace.LastWidth(s); first != 0 || last > 1 || last == 1 && s[len(s)-1] >= 0x80 {
			t.Errorf("widths of %+q: got %d and %d, want 0", s, first, last)
		}
	}
}

func TestStripIsTrimFunc(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := append(strings.Split(pyspace.Chars, ""), "a", "é", "\xff", "\xc2", "\xe2", "\xe2\x80", "\xe3", "\x80", "\xa0", "\u200b", "\ufeff", "𝄞", "\xed\xa0\x80")
		s := strings.Join(rapid.SliceOf(rapid.SampledFrom(parts)).Draw(t, "s"), "")
		want := strings.TrimFunc(s, pyspace.IsSpace)
		if got := pyspace.Strip(s); got != want {
			t.Fatalf("%+q: got %+q, want %+q", s, got, want)
		}
		if got := string(pyspace.Strip([]byte(s))); got != want {
			t.Fatalf("%+q as bytes: got %+q, want %+q", s, got, want)
		}
	})
}

func FuzzStrip(f *testing.F) {
	f.Add(" a\u3000")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := pyspace.Strip(s), strings.TrimFunc(s, pyspace.IsSpace); got != want {
			t.Errorf("%+q: got %+q, want %+q", s, got, want)
		}
	})
}

func BenchmarkStrip(b *testing.B) {
	const line = " \tShe had never seen the river so low, not even in the year of the fire.\u00a0\u3000\r\n"
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		pyspace.Strip(line)
	}
}
