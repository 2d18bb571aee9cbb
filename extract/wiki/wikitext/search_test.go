package wikitext

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
)

// plainIsDisambiguation is IsDisambiguation written for the reader: every run
// of braces changes the depth, every name is looked up.
func plainIsDisambiguation(src string) bool {
	depth := 0
	for i := 0; i < len(src); {
		run := 1
		switch src[i] {
		case '}':
			run = runLength([]byte(src), i)
			depth = max(0, depth-run/2)
		case '{':
			run = runLength([]byte(src), i)
			var scratch []byte
			if run == 2 && depth == 0 && namesDisambiguation([]byte(src[i+2:]), &scratch) {
				return true
			}
			depth += run / 2
		}
		i += run
	}
	return strings.Contains(src, "__DISAMBIG__")
}

func TestDisambiguationsAreFoundAsByThePlainSearch(t *testing.T) {
	mixed := pieces("{", "{{", "{{{", "}", "}}", "}}}", "{{dab}}", "{{ Dab |x", "{{\n", "Hndis}}", "HNDIS", " ", "_", "{{begriffsklärung}}", "{{Неоднозначность}}",
		"{{k", "{{K", "|", "<", "a", "é", "{{kth}}", "[[", "__DISAMBIG__")
	rapid.Check(t, func(t *rapid.T) {
		src := mixed.Draw(t, "page")
		if got, want := IsDisambiguation([]byte(src)), plainIsDisambiguation(src); got != want {
			t.Errorf("%q: got %v, want %v", src, got, want)
		}
	})
	for name := range disambiguations {
		for _, src := range []string{"{{" + name + "}}", "{{" + strings.ToUpper(name[:1]) + name[1:] + "|x}}", "{{ " + strings.ReplaceAll(name, " ", "_") + "\n|}}", "{{x|{{" + name + "}}}}"} {
			if got, want := IsDisambiguation([]byte(src)), plainIsDisambiguation(src); got != want {
				t.Errorf("%q: got %v, want %v", src, got, want)
			}
		}
	}
}

func TestSkipStopsAtTheNextByteOfAClass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOfN(rapid.SampledFrom([]byte("abcdefgh é{[<\n|")), 0, 40).Draw(t, "src")
		i := rapid.IntRange(0, len(src)).Draw(t, "i")
		classes := rapid.SampledFrom([]uint16{classInline, classLine, classBrace, classArgument, classLetter}).Draw(t, "classes")
		want := i
		for want < len(src) && class[src[want]]&classes == 0 {
			want++
		}
		if got := skip(src, i, classes); got != want {
			t.Errorf("%q from %d: got %d, want %d", src, i, got, want)
		}
	})
}

func TestSkippingByTheMapIsSkippingByTheTable(t *testing.T) {
	var s source
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOfN(rapid.SampledFrom([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaa \n{}[]<>&'_|=:-\xC2\xA0\xC3\xB2\x82")), 0, 300).Draw(t, "src")
		s.src, s.special = src, s.special.mark(src)
		i := rapid.IntRange(0, len(src)).Draw(t, "from")
		e := rapid.IntRange(i, len(src)).Draw(t, "end")
		for _, classes := range []uint16{classInline, classLine, classBrace, classLabel, classArgument} {
			if got, want := s.skip(i, e, classes), skip(src[:e], i, classes); got != want {
				t.Errorf("%q from %d to %d: got %d, want %d", src, i, e, got, want)
			}
		}
		if got, want := s.skipToBracket(i, e), skip(src[:e], i, classBrace); got != want {
			t.Errorf("bracket in %q from %d to %d: got %d, want %d", src, i, e, got, want)
		}
	})
	realdata.Instructions(t, "AVX2", "NEON")
	for c := range 256 { // one of each byte, on each place of a block
		for at := range 64 {
			src := make([]byte, 130)
			src[at] = byte(c)
			special := s.special.mark(src)
			if marked := special[0].special>>at&1 == 1; class[c]&classSpecial != 0 && !marked {
				t.Errorf("byte %#x at %d is not marked", c, at)
			}
			if got, want := special[0].bracket>>at&1 == 1, class[c]&classBrace != 0; got != want {
				t.Errorf("byte %#x at %d: got %v, want %v", c, at, got, want)
			}
			if special[1].special|special[1].bracket|special[2].special|special[2].bracket != 0 {
				t.Errorf("byte %#x at %d: others are marked", c, at)
			}
		}
	}
}
