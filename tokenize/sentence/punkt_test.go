package sentence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
)

func mustNew(tb testing.TB, name, lang string) Splitter {
	tb.Helper()
	s, err := New(name, lang)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// sentencesOf returns the texts of the spans that s finds.
func sentencesOf(s Splitter, text string) []string {
	var out []string
	for _, span := range s.AppendSpans(nil, text) {
		out = append(out, text[span.Start:span.End])
	}
	return out
}

func TestPunktGivesTheSpansOfNLTK(t *testing.T) {
	t.Run("made text", func(t *testing.T) {
		raw, err := os.ReadFile("testdata/cases.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		checkNLTK(t, raw, 100)
	})
	t.Run("real text too", func(t *testing.T) { checkNLTK(t, realdata.Read(t, "cases/punkt.jsonl"), 150) })
}

// checkNLTK compares the spans of at least so many cases, a JSON object a line.
func checkNLTK(t *testing.T, cases []byte, atLeast int) {
	t.Helper()
	s := mustNew(t, Punkt, "en")
	lines := bufio.NewScanner(bytes.NewReader(cases))
	lines.Buffer(nil, 1<<24)
	n := 0
	for ; lines.Scan(); n++ {
		var c struct {
			Text  string   `json:"text"`
			Spans [][2]int `json:"spans_bytes"`
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		var got [][2]int
		for _, span := range s.AppendSpans(nil, c.Text) {
			got = append(got, [2]int{span.Start, span.End})
		}
		if len(got) == 0 {
			got = [][2]int{}
		}
		if diff := cmp.Diff(c.Spans, got); diff != "" {
			t.Errorf("%q: spans differ (-want +got):\n%s", c.Text, diff)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if n < atLeast {
		t.Errorf("got %d cases, want at least %d", n, atLeast)
	}
}

func TestPunktGivesTheSpansOfNLTKInEveryLanguage(t *testing.T) {
	raw, err := os.ReadFile("testdata/nltk.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var c struct {
			Lang, Text string
			Spans      [][2]int
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		var want []Span
		for _, s := range c.Spans {
			want = append(want, Span{s[0], s[1]})
		}
		got := mustNew(t, Punkt, c.Lang).AppendSpans(nil, c.Text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %q: spans differ (-want +got):\n%s", c.Lang, c.Text, diff)
		}
	}
}

func TestPunktIsTheSameOnRealBooks(t *testing.T) {
	text := string(realdata.Read(t, "books/txt/11_alices_adventures_in_wonderland.txt"))
	got := mustNew(t, Punkt, "en").AppendSpans(nil, text)
	if diff := cmp.Diff(refSpans(parametersOf("en"), text), got); diff != "" {
		t.Errorf("spans differ from the plain form (-want +got):\n%s", diff)
	}
	if err := checkSpans(text, got); err != nil {
		t.Error(err)
	}
}

func TestPunktIsItsPlainForm(t *testing.T) {
	all := []string{"en", "de", "el"}
	rapid.Check(t, func(t *rapid.T) {
		text := textGenerator().Draw(t, "text")
		for _, lang := range all {
			got := newPunkt(lang).AppendSpans(nil, text)
			if diff := cmp.Diff(refSpans(parametersOf(lang), text), got); diff != "" {
				t.Fatalf("%s %q: spans differ from the plain form (-want +got):\n%s", lang, text, diff)
			}
		}
	})
}

// FuzzPunkt compares the splitter with its plain form.
func FuzzPunkt(f *testing.F) {
	for _, seed := range []string{
		"Mr. Fox left. He ran.", "a. . . b", "x,. y", "-- A.", "(He left.) \"Why?\"--'Go!'", "ΟΔΟΣ. Σ’α", "\n.\nA", "1,000. A. b", "\xff. X",
		" . A", ".\u00a0.\u00a0.\u00a0x", "A.\n\n\"B", "etc.-etc. The", "!?!? x", "a.\u00a0.\n. X", "half-known-etc. The", "İ. i̇. Ⅷ. ٣.",
	} {
		f.Add(seed)
	}
	languages := []string{"en", "el"}
	f.Fuzz(func(t *testing.T, text string) {
		for _, lang := range languages {
			s := newPunkt(lang)
			got := s.AppendSpans(nil, text)
			if diff := cmp.Diff(refSpans(s.params, text), got); diff != "" {
				t.Errorf("%s %q: spans differ from the plain form (-want +got):\n%s", lang, text, diff)
			}
			if err := checkSpans(text, got); err != nil {
				t.Errorf("%s %q: %v", lang, text, err)
			}
		}
	})
}

// FuzzSplitters holds every splitter to the promises of AppendSpans.
func FuzzSplitters(f *testing.F) {
	f.Add("Mr. Fox left.\r\n\r\n日本。「はい！」")
	all := allSplitters(f)
	f.Fuzz(func(t *testing.T, text string) {
		for name, s := range all {
			if err := checkSpans(text, s.AppendSpans(nil, text)); err != nil {
				t.Errorf("%s: %q: %v", name, text, err)
			}
		}
	})
}

func BenchmarkPunkt(b *testing.B) {
	text := string(realdata.Read(b, "books/txt/84_frankenstein_or_the_modern_prometheus.txt"))
	benchmarkSplitter(b, mustNew(b, Punkt, "en"), text)
}

func BenchmarkPunktByLine(b *testing.B) {
	text := string(realdata.Read(b, "books/txt/84_frankenstein_or_the_modern_prometheus.txt"))
	benchmarkSplitter(b, ByLine(mustNew(b, Punkt, "en")), text)
}

func BenchmarkFullWidth(b *testing.B) {
	benchmarkSplitter(b, mustNew(b, Auto, "ja"), strings.Repeat("吾輩は猫である。名前はまだ無い。", 10000))
}

func benchmarkSplitter(b *testing.B, s Splitter, text string) {
	spans := s.AppendSpans(nil, text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		spans = s.AppendSpans(spans[:0], text)
	}
}

func BenchmarkLoadParameters(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := loadParameters("english"); err != nil {
			b.Fatal(err)
		}
	}
}
