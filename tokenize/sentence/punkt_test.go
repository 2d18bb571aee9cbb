package sentence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/realdata"
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
	s := mustNew(t, Punkt, "en")
	lines := bufio.NewScanner(bytes.NewReader(realdata.Read(t, "cases/punkt.jsonl")))
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
	if n == 0 {
		t.Fatal("no cases")
	}
}
