package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/extract"
	"pretext/internal/dev/realdata"
)

// memory makes a source of a string.
func memory(name, content string) Source {
	return Source{Name: name, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}

// collect reads all documents and fails on errors.
func collect(tb testing.TB, r *Reader) []extract.Document {
	tb.Helper()
	var docs []extract.Document
	for doc, err := range r.Documents() {
		if err != nil {
			tb.Fatal(err)
		}
		docs = append(docs, *doc)
	}
	return docs
}

func texts(docs []extract.Document) []string {
	out := []string{}
	for _, d := range docs {
		out = append(out, d.Text)
	}
	return out
}

// plainLines is the rule of the text form, word for word and in memory.
func plainLines(files ...string) (docs []string, dropped int) {
	var current []string
	end := func() {
		if len(current) > 0 {
			docs = append(docs, strings.Join(current, "\n"))
			current = nil
		}
	}
	docs = []string{}
	for _, file := range files {
		for line := range strings.Lines(file) {
			line = strings.ReplaceAll(line, "\r", "")
			valid := strings.ToValidUTF8(line, "")
			dropped += len(line) - len(valid)
			if line = strings.TrimFunc(valid, IsBlank); line == "" {
				end()
				continue
			}
			current = append(current, line)
		}
	}
	end()
	return docs, dropped
}

func TestLinesFollowTheOriginalScript(t *testing.T) {
	for _, test := range []struct {
		name  string
		files []string
		want  []string
	}{
		{"no files", nil, []string{}},
		{"an empty file", []string{""}, []string{}},
		{"blank lines only", []string{"\n \n\t\n"}, []string{}},
		{"two documents", []string{"one\ntwo\n\nthree\n"}, []string{"one\ntwo", "three"}},
		{"no line feed at the end", []string{"one\n\ntwo"}, []string{"one", "two"}},
		{"a new file begins no document", []string{"one\n", "two\n"}, []string{"one\ntwo"}},
		{"nor does it join lines", []string{"one", "two"}, []string{"one\ntwo"}},
		{"a blank line at a file's end does", []string{"one\n\n", "two\n"}, []string{"one", "two"}},
		{"CRLF", []string{"one\r\ntwo\r\n\r\nthree\r\n"}, []string{"one\ntwo", "three"}},
		{"a lone CR joins words", []string{"a\rb\n"}, []string{"ab"}},
		{"a CR inside a character goes", []string{"caf\xc3\r\xa9\n"}, []string{"café"}},
		{"only LF ends a line", []string{"a\u2028b\u0085c\vd\fe\n"}, []string{"a\u2028b\u0085c\vd\fe"}},
		{"no-break space is blank", []string{"a\n\u00a0\nb\n"}, []string{"a", "b"}},
		{"ideographic space is blank", []string{"a\n\u3000\nb\n"}, []string{"a", "b"}},
		{"separators are blank", []string{"a\n\x1c\x1d\x1e\x1f\nb\n"}, []string{"a", "b"}},
		{"form feed is blank", []string{"a\n\f\nb\n"}, []string{"a", "b"}},
		{"zero width space is not", []string{"a\n\u200b\nb\n"}, []string{"a\n\u200b\nb"}},
		{"nor is a byte order mark", []string{"\ufeffa\n", "\ufeff\nb\n"}, []string{"\ufeffa\n\ufeff\nb"}},
		{"nor NUL", []string{"a\n\x00\nb\n"}, []string{"a\n\x00\nb"}},
		{"invalid bytes go, and then a line may be blank", []string{"a\xffb\n\xff \xfe\nc\n"}, []string{"ab", "c"}},
		{"blanks inside stay", []string{"  a \u3000 b  \n"}, []string{"a \u3000 b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var sources []Source
			for i, f := range test.files {
				sources = append(sources, memory(fmt.Sprintf("file%d.txt", i), f))
			}
			if diff := cmp.Diff(test.want, texts(collect(t, NewLines(sources, Options{})))); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
			if plain, _ := plainLines(test.files...); cmp.Diff(test.want, plain) != "" {
				t.Errorf("the plain rule gives %q, want %q", plain, test.want)
			}
		})
	}
}

func TestDocumentNamesTheFileItBeginsIn(t *testing.T) {
	r := NewLines([]Source{memory("in/a.txt", "one\n\ntwo\n"), memory("in/b.txt", "three\n\nfour\n")}, Options{Lang: "en"})
	got := collect(t, r)
	want := []extract.Document{
		{ID: textID([]byte("one")), Text: "one", Source: "a.txt", Lang: "en"},
		{ID: textID([]byte("two\nthree")), Text: "two\nthree", Source: "a.txt", Lang: "en"},
		{ID: textID([]byte("four")), Text: "four", Source: "b.txt", Lang: "en"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	// echo -n one | sha256sum
	if id := "text:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"; got[0].ID != id {
		t.Errorf("ID: got %s, want %s", got[0].ID, id)
	}
}

func TestInvalidBytesAreCountedWithTheirPlace(t *testing.T) {
	r := NewLines([]Source{memory("a", "fine\n\xff\xfe bad\xc3\n"), memory("b", "x\n\nworse\x80\n")}, Options{})
	collect(t, r)
	want := Stats{
		Lines: 5, Kept: 2, Rejects: map[extract.Reject]int64{},
		InvalidBytes: 4, Invalid: []Place{{"a", 2}, {"b", 3}},
	}
	if diff := cmp.Diff(want, r.Stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

func TestTooLargeDocumentsAreRejectedAndReadingGoesOn(t *testing.T) {
	big := strings.Repeat("x", 100)
	blanks := strings.Repeat(" \u3000", 300)
	for _, test := range []struct {
		name, input string
		want        []string
		rejects     int64
	}{
		{"exactly at the limit", big[:60] + "\n" + big[:39] + "\n", []string{big[:60] + "\n" + big[:39]}, 0},
		{"one byte over, by lines", "a\n\n" + big[:60] + "\n" + big[:40] + "\nmore\n\nb\n", []string{"a", "b"}, 1},
		{"one huge line", "a\n\n" + big + big + "\n\nb\n", []string{"a", "b"}, 1},
		{"a huge line with more after it", big + big + "\nc\n\nb\n", []string{"b"}, 1},
		{"a huge line at the end", "a\n\n" + big + big, []string{"a"}, 1},
		{"two in a row", big + "x\n\n" + big + "y\n\nb", []string{"b"}, 2},
		{"blanks around do not count", "a\n" + blanks + "b" + blanks + "\nc\n", []string{"a\nb\nc"}, 0},
		{"blanks inside do", "a\n" + blanks + "b" + blanks + "b\n\nc\n", []string{"c"}, 1},
		{"a huge blank line ends a document", "a\n" + blanks + "\nb\n", []string{"a", "b"}, 0},
		{"a huge line of invalid bytes too", "a\n" + strings.Repeat("\xff", 500) + "\nb\n", []string{"a", "b"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, chunked := range []bool{false, true} {
				src := memory("f", test.input)
				if chunked {
					src = slowly(test.input)
				}
				r := NewLines([]Source{src}, Options{})
				r.limit = 100
				if diff := cmp.Diff(test.want, texts(collect(t, r))); diff != "" {
					t.Errorf("chunked %v: documents (-want +got):\n%s", chunked, diff)
				}
				if got := r.Stats().Rejects[extract.RejectTooLarge]; got != test.rejects {
					t.Errorf("chunked %v: rejects: got %d, want %d", chunked, got, test.rejects)
				}
				if got := cap(r.lines.text); got > 4*100+len(test.input) {
					t.Errorf("chunked %v: %d bytes held", chunked, got)
				}
			}
		})
	}
}

// slowly makes a source that gives a byte at a time.
func slowly(content string) Source {
	return Source{Name: "f", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(iotest.OneByteReader(strings.NewReader(content))), nil
	}}
}

// endless is one byte, repeated.
type endless struct {
	c    byte
	left int
}

func (e *endless) Read(p []byte) (int, error) {
	n := min(len(p), e.left)
	if n == 0 {
		return 0, io.EOF
	}
	for i := range p[:n] {
		p[i] = e.c
	}
	e.left -= n
	return n, nil
}

func TestHugeLinesTakeNoMemoryOfTheirOwn(t *testing.T) {
	for _, c := range []byte("x \xff\r") {
		open := func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("a\n"), &endless{c, 70 << 20}, strings.NewReader("\n\nb\n"))), nil
		}
		r := NewLines([]Source{{"f", open}}, Options{})
		docs := texts(collect(t, r))
		if want := []string{"a", "b"}; c != 'x' && !cmp.Equal(docs, want) {
			t.Errorf("a line of %q: got %q, want %q", c, docs, want)
		}
		if want := []string{"b"}; c == 'x' && !cmp.Equal(docs, want) {
			t.Errorf("a line of %q: got %q, want %q", c, docs, want)
		}
		if got := cap(r.lines.text); got > 2*extract.MaxDocumentBytes {
			t.Errorf("a line of %q: %d bytes held", c, got)
		}
	}
}

func TestLinesDoNotDependOnHowTheyAreRead(t *testing.T) {
	alphabet := []string{"\n", "\r", " ", "a", "b", "\u3000", "é", "\xe3", "\x80", "\u200b", "\xff", "\n\n", "𝄞", "\t"}
	rapid.Check(t, func(t *rapid.T) {
		var files []string
		for range rapid.IntRange(1, 3).Draw(t, "files") {
			files = append(files, strings.Join(rapid.SliceOf(rapid.SampledFrom(alphabet)).Draw(t, "file"), ""))
		}
		checkLines(t, files, rapid.IntRange(3, 40).Draw(t, "limit"))
	})
}

// checkLines compares the reader, fed at once and byte by byte, with the plain
// rule.
func checkLines(tb rapid.TB, files []string, limit int) {
	all, dropped := plainLines(files...)
	want, tooLarge := []string{}, int64(0)
	for _, doc := range all {
		if len(doc) > limit {
			tooLarge++
			continue
		}
		want = append(want, doc)
	}
	for _, open := range []func(string) Source{slowly, func(s string) Source { return memory("f", s) }} {
		var sources []Source
		for _, f := range files {
			sources = append(sources, open(f))
		}
		r := NewLines(sources, Options{})
		r.limit = limit
		got := []string{}
		for doc, err := range r.Documents() {
			if err != nil {
				tb.Fatalf("%q: %v", files, err)
			}
			if !utf8.ValidString(doc.Text) {
				tb.Fatalf("%q: invalid text %q", files, doc.Text)
			}
			got = append(got, doc.Text)
		}
		if !cmp.Equal(want, got) {
			tb.Fatalf("%q: got %q, want %q", files, got, want)
		}
		s := r.Stats()
		if s.Rejects[extract.RejectTooLarge] != tooLarge || s.InvalidBytes != int64(dropped) || s.Kept != int64(len(want)) {
			tb.Fatalf("%q: stats %+v; want %d kept, %d too large, %d bytes dropped", files, s, len(want), tooLarge, dropped)
		}
	}
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\n\nb\r\n", " \u3000x\xff\n\n", "\xe3\x80", "a\rb\n\u00a0\nc"} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if len(s) > 1<<16 || len(s) > 1 && (s[0] == 0x1F || s[1] == 0xB5 || s[1] == 0x2A) {
			return // compressed
		}
		checkLines(t, []string{s}, 1+int(uint(limit)%200))
		// What was read, written as text, reads back as itself.
		docs := texts(collect(t, NewLines([]Source{memory("f", s)}, Options{})))
		again := texts(collect(t, NewLines([]Source{memory("f", strings.Join(docs, "\n\n"))}, Options{})))
		if !cmp.Equal(docs, again) {
			t.Fatalf("got %q the second time, %q the first", again, docs)
		}
	})
}

func TestReadingStopsWhenAsked(t *testing.T) {
	for name, r := range map[string]*Reader{
		"lines":          NewLines([]Source{memory("f", "a\n\nb\n\nc\n")}, Options{}),
		"lines, the end": NewLines([]Source{memory("f", "a")}, Options{}),
		"JSON lines":     NewJSONLines([]Source{memory("f", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n")}, Options{}),
	} {
		for range r.Documents() {
			break
		}
		if got := r.Stats().Kept; got != 1 {
			t.Errorf("%s: got %d documents, want 1", name, got)
		}
	}
}

func TestErrorsOfASourceArePassedOn(t *testing.T) {
	broken := errors.New("broken disk")
	for name, src := range map[string]Source{
		"open": {"f", func() (io.ReadCloser, error) { return nil, broken }},
		"read": {"f", func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(broken)), nil }},
		"later": {"f", func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("a\n\nb"), iotest.ErrReader(broken))), nil
		}},
		"gzip": {"f", func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(gzipped("a\n\nb")[:15]), iotest.ErrReader(broken))), nil
		}},
	} {
		for form, r := range map[string]*Reader{"lines": NewLines([]Source{src}, Options{}), "JSON lines": NewJSONLines([]Source{src}, Options{})} {
			var last error
			for _, err := range r.Documents() {
				last = err
			}
			if !errors.Is(last, broken) {
				t.Errorf("%s, %s: got %v, want %v", name, form, last, broken)
			}
		}
	}
}

func TestInputsOfTheReferenceRunsReadAsTheRuleSays(t *testing.T) {
	for _, name := range []string{"golden/tf/input-a.txt", "golden/tf/input-b.txt", "golden/tf/input-edge.txt", "golden/tf/input-one-doc.txt", "golden/pretraining/input.txt"} {
		content := string(realdata.Read(t, name))
		want, _ := plainLines(content)
		got := texts(collect(t, NewLines([]Source{memory(name, content)}, Options{})))
		if !cmp.Equal(want, got) {
			t.Errorf("%s: %d documents, want %d, or other ones", name, len(got), len(want))
		}
		if len(got) == 0 {
			t.Errorf("%s: no documents", name)
		}
	}
}

func BenchmarkLines(b *testing.B) {
	ascii := strings.Repeat(strings.Repeat("The quick brown fox jumps over the lazy dog again and again.\n", 40)+"\n", 2000)
	for name, content := range map[string]string{
		"ascii":   ascii,
		"crlf":    strings.ReplaceAll(ascii, "\n", "\r\n"),
		"unicode": strings.ReplaceAll(ascii, "fox jumps", "füchse “springen”"),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range NewLines([]Source{memory("f", content)}, Options{}).Documents() {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
