package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pretext/extract"
)

func TestJSONLinesReadTheFieldsOfOtherTools(t *testing.T) {
	id := textID([]byte("x"))
	for _, test := range []struct {
		name, line string
		want       extract.Document
	}{
		{"text alone", `{"text":"x"}`, extract.Document{ID: id, Text: "x", Source: "f.jsonl", Lang: "en"}},
		{"our own", `{"id":"enwiki:12","text":"x","source":"d.bz2","metadata":{"title":"T","lang":"de"}}`,
			extract.Document{ID: "enwiki:12", Title: "T", Text: "x", Source: "d.bz2", Lang: "de"}},
		{"dolma", `{"id":"7","text":"x","source":"wikipedia","added":"2024","created":null,"metadata":{"title":"T","length":3,"provenance":[1,{"a":[]}]}}`,
			extract.Document{ID: "7", Title: "T", Text: "x", Source: "wikipedia", Lang: "en"}},
		{"datatrove", `{"text":"x","id":"<urn:uuid:1>","media":[],"metadata":{"url":"u","language":"fr","language_score":0.93,"date":null}}`,
			extract.Document{ID: "<urn:uuid:1>", Text: "x", Source: "f.jsonl", Lang: "fr"}},
		{"outside wins", `{"metadata":{"title":"in","language":"fr"},"title":"out","lang":"pt","text":"x"}`,
			extract.Document{ID: id, Title: "out", Text: "x", Source: "f.jsonl", Lang: "pt"}},
		{"a number as ID", `{"id":-12.5e3,"text":"x"}`, extract.Document{ID: "-12.5e3", Text: "x", Source: "f.jsonl", Lang: "en"}},
		{"null fields", `{"id":null,"title":null,"text":"x","metadata":null}`, extract.Document{ID: id, Text: "x", Source: "f.jsonl", Lang: "en"}},
		{"fields of other types", `{"title":["a"],"lang":3,"source":{},"text":"x","metadata":"m"}`, extract.Document{ID: id, Text: "x", Source: "f.jsonl", Lang: "en"}},
		{"the last of equal names", `{"text":"y","title":"a","text":"x","title":"b"}`, extract.Document{ID: id, Title: "b", Text: "x", Source: "f.jsonl", Lang: "en"}},
		{"other names that look alike", `{"Text":"y","text":"x","texts":1}`, extract.Document{ID: id, Text: "x", Source: "f.jsonl", Lang: "en"}},
		{"white space", " \t{ \"text\" : \"x\" , \"a\" : [ 1 , { } ] } \r", extract.Document{ID: id, Text: "x", Source: "f.jsonl", Lang: "en"}},
		{"what Python writes for floats", `{"a":NaN,"b":[Infinity,-Infinity],"text":"x"}`, extract.Document{ID: id, Text: "x", Source: "f.jsonl", Lang: "en"}},
		{"blanks around the text", `{"text":"\n x\u3000"}`, extract.Document{ID: id, Text: "x", Source: "f.jsonl", Lang: "en"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := NewJSONLines([]Source{memory("in/f.jsonl", test.line)}, Options{Lang: "en"})
			if diff := cmp.Diff([]extract.Document{test.want}, collect(t, r)); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEscapesOfJSONText(t *testing.T) {
	for in, want := range map[string]string{
		`a\"b\\c\/d`:           `a"b\c/d`,
		`a\b\f\n\r\tb`:         "a\b\f\n\r\tb",
		`\u0041\u00e9\u20AC`:   "Aé€",
		`\ud834\udd1e`:         "𝄞",
		`a\ud834b`:             "a\ufffdb",
		`a\ud834\nb`:           "a\ufffd\nb",
		`a\ud834\ud834\udd1eb`: "a\ufffd𝄞b",
		`a\udd1e\ud834b`:       "a\ufffd\ufffdb",
		`a\ud834\u0041b`:       "a\ufffdAb",
		`a\u0000b`:             "a\x00b",
		"a\xffb\xe2\x82":       "ab",
		`é𝄞`:                   "é𝄞",
		`a\ud834`:              "a\ufffd",
		`\ud834\ud834\ud834\"`: "\ufffd\ufffd\ufffd\"",
	} {
		got := texts(collect(t, NewJSONLines([]Source{memory("f", `{"text":"`+in+`"}`)}, Options{})))
		if !cmp.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestLinesThatAreNoDocumentAreRejected(t *testing.T) {
	bad := []string{
		`[]`, `"text"`, `null`, `{`, `{}`, `{"text"}`, `{"text":}`, `{"text":null}`, `{"text":3}`, `{"text":["x"]}`, `{"text":"x"`,
		`{"text":"x",}`, `{"text":"x"}}`, `{"text":"x"} {}`, `{"text":"x}`, `{"text":"\x"}`, `{"text":"\u12g4"}`, `{"text":"\u12"}`,
		"{\"text\":\"a\tb\"}", "{\"text\":\"a\x00b\"}", `{text:"x"}`, `{'text':'x'}`, `{"a":01,"text":"x"}`, `{"a":1.,"text":"x"}`,
		`{"a":-,"text":"x"}`, `{"a":1e,"text":"x"}`, `{"a":tru,"text":"x"}`, `{"a":+1,"text":"x"}`, `{"a":.5,"text":"x"}`,
		`{"a":[1,],"text":"x"}`, `{"a":[1 2],"text":"x"}`, `{"text":"x" "a":1}`, `junk {"text":"x"}`, `{"text":"x"}` + "\x00",
		`{"text":"x","id":"` + strings.Repeat("i", 1025) + `"}`,
		`{"a":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `,"text":"x"}`,
		`{"text":"` + `\ud834`, `{"text":"x","text":null}`,
	}
	for _, line := range bad {
		r := NewJSONLines([]Source{memory("f", "{\"text\":\"before\"}\n"+line+"\n{\"text\":\"after\"}\n")}, Options{})
		got := texts(collect(t, r))
		want := Stats{Lines: 3, Kept: 2, Rejects: map[extract.Reject]int64{extract.RejectMalformed: 1}, Malformed: []Place{{"f", 2}}}
		if !cmp.Equal(got, []string{"before", "after"}) || !cmp.Equal(r.Stats(), want) {
			t.Errorf("%.100s: got %q, %+v", line, got, r.Stats())
		}
	}
}

func TestLineEndsOfJSONLines(t *testing.T) {
	r := NewJSONLines([]Source{
		memory("a", "\xef\xbb\xbf{\"text\":\"1\"}\r\n\r\n{\"text\":\"2\"}\n \n\n"),
		memory("b", ""),
		memory("c", "{\"text\":\"3\"}"),
		memory("d", "\n{\"text\":\" \"}\n\xef\xbb\xbf{\"text\":\"4\"}\n"),
	}, Options{})
	if got, want := texts(collect(t, r)), []string{"1", "2", "3"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	want := Stats{
		Lines: 9, Kept: 3, Malformed: []Place{{"d", 3}},
		Rejects: map[extract.Reject]int64{extract.RejectEmpty: 1, extract.RejectMalformed: 1},
	}
	if diff := cmp.Diff(want, r.Stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

func TestTextsTooLargeAreRejected(t *testing.T) {
	line := func(n int) string { return `{"text":"` + strings.Repeat("é", n) + `","a":1}` + "\n" }
	escaped := func(n int) string { return `{"text":"` + strings.Repeat(`\u00e9`, n) + `","a":1}` + "\n" }
	r := NewJSONLines([]Source{memory("f", line(50)+line(51)+escaped(50)+escaped(51)+line(2))}, Options{})
	r.limit = 100
	got := texts(collect(t, r))
	if want := []string{strings.Repeat("é", 50), strings.Repeat("é", 50), "éé"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := r.Stats().Rejects[extract.RejectTooLarge]; got != 2 {
		t.Errorf("got %d rejects, want 2", got)
	}
}

func TestHugeJSONLinesTakeNoMemory(t *testing.T) {
	for _, wrap := range [][2]string{{`{"text":"`, `"}`}, {`{"a":"`, `","text":"x"}`}, {`{"id":"`, `","text":"x"}`}, {``, ``}, {`{"`, `":1}`}} {
		open := func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(wrap[0]), &endless{'x', 70 << 20}, strings.NewReader(wrap[1]+"\n{\"text\":\"b\"}"))), nil
		}
		r := NewJSONLines([]Source{{"f", open}}, Options{})
		docs := texts(collect(t, r))
		if len(docs) == 0 || docs[len(docs)-1] != "b" {
			t.Errorf("%s: got %q, want b at the end", wrap[0], docs)
		}
		held := cap(r.json.text) + cap(r.json.id) + cap(r.json.key) + cap(r.json.outer.title)
		if held > 2*extract.MaxDocumentBytes {
			t.Errorf("%s: %d bytes held", wrap[0], held)
		}
	}
}

// FuzzJSONLines compares with encoding/json, line by line.
func FuzzJSONLines(f *testing.F) {
	for _, s := range []string{
		`{"text":"x"}`, `{"text":"a\ud834\udd1e\u00e9\n","id":"i","metadata":{"title":"t","lang":"de"}}`,
		"{\"text\":\"a\"}\r\n\n[1]\n{\"id\":3,\"text\":\"b\"}", `{"text":"x","a":[1.5e-3,true,null,{"b":[]}]}`, `{"text":"` + "\xff" + `"}`,
		`{"a":-0.0E+12,"text":" y "}`, `{"text":"\ud834\n\udd1e"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 || len(b) > 1 && (b[0] == 0x1F || b[1] == 0xB5 || b[1] == 0x2A) || bytes.Contains(b, []byte("\xef\xbb\xbf")) {
			return // compressed, or a byte order mark
		}
		b = bytes.ToValidUTF8(b, nil)
		if bytes.Contains(b, []byte("NaN")) || bytes.Contains(b, []byte("Infinity")) || bytes.Contains(b, []byte("[[[[[[[[")) {
			return // not in encoding/json; deeper than we go
		}
		var want []extract.Document
		var malformed, empty int64
		for line := range bytes.Lines(b) {
			doc, reject := jsonByTheBook(line)
			switch {
			case reject == extract.RejectMalformed:
				malformed++
			case reject == extract.RejectEmpty:
				empty++
			case doc != nil:
				want = append(want, *doc)
			}
		}
		r := NewJSONLines([]Source{memory("f", string(b))}, Options{})
		if diff := cmp.Diff(want, collect(t, r)); diff != "" {
			t.Fatalf("documents (-want +got):\n%s", diff)
		}
		s := r.Stats()
		if s.Rejects[extract.RejectMalformed] != malformed || s.Rejects[extract.RejectEmpty] != empty {
			t.Fatalf("stats %+v; want %d malformed, %d empty", s, malformed, empty)
		}
		again := NewJSONLines([]Source{memory("f", written(want))}, Options{})
		if diff := cmp.Diff(want, collect(t, again)); diff != "" {
			t.Fatalf("documents written and read again (-want +got):\n%s", diff)
		}
	})
}

func written(docs []extract.Document) string {
	var b []byte
	for i := range docs {
		b = docs[i].AppendJSON(b)
	}
	return string(b)
}

// jsonByTheBook reads a line with encoding/json.
func jsonByTheBook(line []byte) (*extract.Document, extract.Reject) {
	if strings.Trim(string(line), " \t\r\n") == "" {
		return nil, ""
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil || fields == nil {
		return nil, extract.RejectMalformed
	}
	var text any
	if fields["text"] == nil || json.Unmarshal(fields["text"], &text) != nil {
		return nil, extract.RejectMalformed
	}
	s, ok := text.(string)
	if !ok {
		return nil, extract.RejectMalformed
	}
	str := func(raw json.RawMessage, limit int) string {
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return ""
		}
		s, ok := v.(string)
		if !ok {
			return ""
		}
		return strings.TrimFunc(strings.ToValidUTF8(s[:min(len(s), limit)], ""), IsBlank)
	}
	doc := &extract.Document{Text: strings.TrimFunc(s, IsBlank), Source: "f"}
	doc.ID = str(fields["id"], 1<<20)
	var number json.Number
	if raw := fields["id"]; len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && json.Unmarshal(raw, &number) == nil {
		doc.ID = number.String()
	}
	if len(doc.ID) > 1<<10 {
		return nil, extract.RejectMalformed
	}
	var meta map[string]json.RawMessage
	_ = json.Unmarshal(fields["metadata"], &meta)
	pick := func(name string) string {
		if s := str(fields[name], maxFieldBytes); s != "" {
			return s
		}
		return str(meta[name], maxFieldBytes)
	}
	doc.Title = pick("title")
	if s := pick("source"); s != "" {
		doc.Source = s
	}
	doc.Lang = str(fields["lang"], maxFieldBytes)
	if fields["language"] != nil || meta["language"] != nil {
		doc.Lang = pick("language") // with both the order counts, which a map does not know
	} else if doc.Lang == "" {
		doc.Lang = str(meta["lang"], maxFieldBytes)
	}
	doc.SimilarTo = str(meta["similar_to"], maxFieldBytes)
	if doc.Text == "" {
		return nil, extract.RejectEmpty
	}
	if doc.ID == "" {
		doc.ID = textID([]byte(doc.Text))
	}
	return doc, ""
}

func BenchmarkJSONLines(b *testing.B) {
	doc := extract.Document{ID: "enwiki:12", Title: "T", Text: strings.Repeat("The quick brown fox “jumps” over the lazy dog.\n", 60) + "x", Source: "f"}
	for name, line := range map[string]string{
		"plain":   string(doc.AppendJSON(nil)),
		"escaped": fmt.Sprintf("{\"text\":%+q}\n", doc.Text),
	} {
		content := strings.Repeat(line, 1000)
		if !utf8.ValidString(content) {
			b.Fatal("BUG: invalid")
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				r := NewJSONLines([]Source{memory("f", content)}, Options{})
				for _, err := range r.Documents() {
					if err != nil {
						b.Fatal(err)
					}
				}
				if r.Stats().Kept != 1000 {
					b.Fatal(r.Stats())
				}
			}
		})
	}
}
