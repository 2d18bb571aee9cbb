package extract

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEveryByteThatJSONEscapesIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.SampledFrom([]byte("abc \x00\x01\x1f \x21\x23[]\"\\\n\x7f\x80\xa2\xdc\xff\xe3\x81\x82")), 0, 40).Draw(t, "text"))
		i := rapid.IntRange(0, len(s)).Draw(t, "from")
		want := i
		for want < len(s) && !escape[s[want]] {
			want++
		}
		if got := nextEscape(s, i); got != want {
			t.Errorf("%q from %d: got %d, want %d", s, i, got, want)
		}
	})
}

func TestProvenanceIsReadAndWritten(t *testing.T) {
	full := Document{ID: "w:1", Title: "A", Text: "T", Source: "s", Lang: "en", URL: "https://a/A", Revision: 7, Timestamp: "2020-01-01T00:00:00Z", License: "CC-BY-SA-4.0", SimilarTo: "w:0"}
	for _, test := range []struct {
		doc  Document
		want string
	}{
		{full, `{"id":"w:1","text":"T","source":"s","metadata":{"title":"A","lang":"en","url":"https://a/A","revision":7,"timestamp":"2020-01-01T00:00:00Z","license":"CC-BY-SA-4.0","similar_to":"w:0"}}`},
		{Document{ID: "w:1", URL: "u"}, `{"id":"w:1","text":"","source":"","metadata":{"url":"u"}}`},
		{Document{ID: "w:1", Title: "A", Revision: 7}, `{"id":"w:1","text":"","source":"","metadata":{"title":"A","revision":7}}`},
		{Document{ID: "w:1", Revision: 7, License: "L"}, `{"id":"w:1","text":"","source":"","metadata":{"revision":7,"license":"L"}}`},
	} {
		line := test.doc.AppendJSON(nil)
		if got := string(line); got != test.want+"\n" {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		var again Document
		if err := again.UnmarshalJSON(line); err != nil || again != test.doc {
			t.Errorf("%s is read as %+v, %v", line, again, err)
		}
	}
	// Fields of the same names with other types, of third-party documents, are ignored.
	var other Document
	if err := other.UnmarshalJSON([]byte(`{"id":"a","text":"T","metadata":{"url":{"x":1},"revision":"v2","timestamp":5,"license":["MIT"],"similar_to":[1]}}`)); err != nil || other != (Document{ID: "a", Text: "T"}) {
		t.Errorf("got %+v, %v", other, err)
	}
}
