package vocab_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/tokenize"
	"pretext/tokenize/vocab"
)

func TestCountsAreThoseOfAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := vocab.Options{DoLowerCase: rapid.Bool().Draw(t, "lower")}
		c, err := vocab.NewCounts(o)
		if err != nil {
			t.Fatal(err)
		}
		words, err := tokenize.NewWordSplitter(tokenize.Options{DoLowerCase: o.DoLowerCase})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int64{}
		for _, text := range rapid.SliceOfN(rapid.StringMatching(`[ -,A-Dàé界Σς]{0,300}`), 0, 40).Draw(t, "texts") {
			c.Add(text)
			for w := range words.Words(text) {
				want[string(w)]++
			}
		}
		got := map[string]int64{}
		var file bytes.Buffer
		if n, err := c.WriteTo(&file); err != nil || n != int64(file.Len()) {
			t.Fatalf("WriteTo: %d, %v; want %d, nil", n, err, file.Len())
		}
		for w, err := range vocab.Merge(&file) {
			if err != nil {
				t.Fatal(err)
			}
			got[w.Word] = w.Count
		}
		if !maps.Equal(got, want) || c.Len() != len(want) {
			t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
		}
	})
}

func TestWordsWithTheSameBeginningOrEndAreKeptApart(t *testing.T) {
	c := newCounts(t, vocab.DefaultOptions())
	const words = 30_000
	for range 2 {
		for i := range words {
			c.Add(fmt.Sprintf("abcdefgh%05d %05dxxxabcdefg", i, i))
		}
	}
	if c.Len() != 2*words {
		t.Errorf("%d words, want %d", c.Len(), 2*words)
	}
	yielded := 0
	for word, n := range c.All() {
		if n != 2 || !c.Has(word) {
			t.Fatalf("%s: counted %d times, want 2", word, n)
		}
		yielded++
	}
	if yielded != 2*words {
		t.Errorf("%d words were yielded, want %d", yielded, 2*words)
	}
	for range c.All() {
		break // it must yield no more
	}
	if c.Has([]byte("abcdefgh")) {
		t.Error("a word is there that was not counted")
	}
}

func TestResetForgetsAllCounts(t *testing.T) {
	c := newCounts(t, vocab.DefaultOptions())
	c.Add("one two two")
	c.Reset()
	c.Add("two three")
	if got, want := written(t, c), "three\t1\ntwo\t1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func written(tb testing.TB, c *vocab.Counts) string {
	tb.Helper()
	var file strings.Builder
	if _, err := c.WriteTo(&file); err != nil {
		tb.Fatal(err)
	}
	return file.String()
}

func TestWordsThatWordPieceCannotKnowAreNotCounted(t *testing.T) {
	c := newCounts(t, vocab.DefaultOptions())
	c.Add(strings.Repeat("x", 201) + " " + strings.Repeat("É", 200))
	if got, want := written(t, c), strings.Repeat("e", 200)+"\t1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestManyWordsAreKeptApartAndTakeLittleMemory(t *testing.T) {
	const n = 300_000 // enough for words with equal 32-bit hashes
	c := newCounts(t, vocab.DefaultOptions())
	empty := c.Size()
	c.Add(strings.Join(manyWords(n), " "))
	if c.Len() != n {
		t.Errorf("%d words counted, want %d", c.Len(), n)
	}
	if got := c.Size() - empty; got < 24*n || got > 60*n {
		t.Errorf("%d words take %d bytes", n, got)
	}
}

// manyWords returns different words.
func manyWords(n int) []string {
	words := make([]string, n)
	for i := range words {
		var w []byte
		for j := i; ; j /= 26 {
			w = append(w, byte('a'+j%26))
			if j < 26 {
				break
			}
		}
		words[i] = "w" + string(w)
	}
	return words
}

func TestWriteToReportsErrors(t *testing.T) {
	c := newCounts(t, vocab.DefaultOptions())
	c.Add("word")
	full := errors.New("full")
	if _, err := c.WriteTo(failingWriter{full}); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if err := vocab.Write(failingWriter{full}, []string{"a"}); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if err := vocab.Write(io.Discard, []string{"a\nb"}); err == nil {
		t.Error("a token of two lines was written")
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestMergeAddsUpFiles(t *testing.T) {
	files := []io.Reader{
		strings.NewReader("a\t1\nc\t3\n"), strings.NewReader(""),
		iotest.OneByteReader(strings.NewReader("a\t10\nb\t2\nc\t30\n")), strings.NewReader("é\t7\n"),
	}
	var got []vocab.WordCount
	for w, err := range vocab.Merge(files...) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, w)
	}
	want := []vocab.WordCount{{"a", 11}, {"b", 2}, {"c", 33}, {"é", 7}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMergeStopsWhenAsked(t *testing.T) {
	for w := range vocab.Merge(strings.NewReader("a\t1\nb\t1\nbroken")) {
		if w.Word != "a" {
			t.Errorf("got %q after the loop ended", w.Word)
		}
		break
	}
}

func TestMergeLocatesDamage(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"cut", "a\t1\nb\t", "word counts 1: line 2: no line end: the file is truncated"},
		{"cut in a count", "a\t1\nb\t1", "word counts 1: line 2: no line end: the file is truncated"},
		{"no tab", "a\n", "word counts 1: line 1: no tab"},
		{"empty line", "a\t1\n\n", "word counts 1: line 2: no tab"},
		{"empty word", "\t1\n", `word counts 1: line 1: "": empty word`},
		{"out of order", "b\t1\na\t1\n", `word counts 1: line 2: "a": not sorted after "b"`},
		{"twice", "a\t1\na\t1\n", `word counts 1: line 2: "a": not sorted after "a"`},
		{"zero", "a\t0\n", `word counts 1: line 1: "a": count "0": not a number from 1 to 17592186044416`},
		{"sign", "a\t+1\n", `word counts 1: line 1: "a": count "+1": not a number from 1 to 17592186044416`},
		{"leading zero", "a\t01\n", `word counts 1: line 1: "a": count "01": not a number from 1 to 17592186044416`},
		{"too many", "a\t17592186044417\n", `word counts 1: line 1: "a": count "17592186044417": not a number from 1 to 17592186044416`},
		{"CRLF", "a\t1\r\n", `word counts 1: line 1: "a": count "1\r": not a number from 1 to 17592186044416`},
		{"not UTF-8", "a\xff\t1\n", `word counts 1: line 1: "a\xff": invalid UTF-8`},
		{"white space", "a b\t1\n", `word counts 1: line 1: "a b": white space or control character`},
		{"long line", strings.Repeat("a", 1<<20) + "\t1\n", "word counts 1: line 1: longer than 16384 bytes"},
		{"long word", strings.Repeat("a", 4097) + "\t1\n", `word counts 1: line 1: "` + strings.Repeat("a", 4097) + `": too long`},
		{"overflow of a sum", "z\t17592186044416\n", `word counts 1: line 1: "z": counts over 17592186044416`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var last error
			for _, err := range vocab.Merge(strings.NewReader("z\t1\n"), strings.NewReader(test.file)) {
				if last != nil {
					t.Fatalf("went on after %v", last)
				}
				last = err
			}
			if last == nil || last.Error() != test.want {
				t.Errorf("got  %v\nwant %s", last, test.want)
			}
			if !errors.Is(last, vocab.ErrCorrupt) {
				t.Errorf("%v is not ErrCorrupt", last)
			}
		})
	}
}

func TestMergeReportsReadErrors(t *testing.T) {
	broken := errors.New("broken disk")
	for _, err := range vocab.Merge(io.MultiReader(strings.NewReader("a\t1\n"), iotest.ErrReader(broken))) {
		if err != nil && (!errors.Is(err, broken) || errors.Is(err, vocab.ErrCorrupt)) {
			t.Errorf("got %v, want the error of the reader", err)
		}
	}
}

// FuzzMerge reads anything as word counts. What is accepted is canonical: written
// again it is the same file.
func FuzzMerge(f *testing.F) {
	f.Add([]byte("a\t1\nb\t22\n"))
	f.Add([]byte("\xc3\xa9\t9\n"))
	f.Add([]byte("a\t1\r\n"))
	f.Add([]byte("a\t1\nb"))
	f.Fuzz(func(t *testing.T, file []byte) {
		var again bytes.Buffer
		for w, err := range vocab.Merge(bytes.NewReader(file)) {
			if err != nil {
				if !errors.Is(err, vocab.ErrCorrupt) {
					t.Errorf("%v is not ErrCorrupt", err)
				}
				return
			}
			again.WriteString(w.Word + "\t" + strconv.FormatInt(w.Count, 10) + "\n")
		}
		if !bytes.Equal(file, again.Bytes()) {
			t.Errorf("read %q, written again %q", file, again.Bytes())
		}
	})
}
