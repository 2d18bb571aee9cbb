package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheFirstLinesTellTheFields(t *testing.T) {
	for lines, want := range map[string]Sample{
		`{"a":1,"content":"long text","id":"x"}` + "\n" + `{"title":"t","content":"x"}`: {Objects: 2, Fields: []string{"a", "content", "id", "title"}, Longest: "content"},
		"\ufeff\n{\"text\":\"x\"}\nnot json\n{\"text\": ":                               {Objects: 2, Fields: []string{"text"}, Longest: "text"},
		"[\n{\"text\":1}]":                 {Objects: 1, Fields: []string{"text"}, Array: true},
		"Call me Ishmael.":                 {},
		"":                                 {},
		strings.Repeat("x", 2*sampleBytes): {},
	} {
		got, err := SampleFields("f", strings.NewReader(lines))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%.50q: %v\n%s", lines, err, diff)
		}
	}
}

func FuzzSampleFields(f *testing.F) {
	f.Add([]byte(`{"a":"b"}` + "\n["))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := SampleFields("f", strings.NewReader(string(b)))
		if err == nil && s.Objects > sampleLines {
			t.Errorf("%d objects of %d lines", s.Objects, sampleLines)
		}
	})
}
