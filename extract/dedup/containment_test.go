package dedup

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samplesOf sketches texts into files of so many documents.
func samplesOf(t testing.TB, o Options, texts []string, perFile int) (files []*Samples) {
	t.Helper()
	s, err := NewSketcher(o)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range slices.Chunk(texts, perFile) {
		var b SampleBuilder
		for _, text := range chunk {
			b.Add(s.Sketch(text).Samples)
		}
		var file bytes.Buffer
		if _, err := b.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		opened, err := OpenSamples(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, opened)
	}
	return files
}

func candidates(t testing.TB, o Options, texts []string, perFile int, budget int64) (pairs []Pair) {
	t.Helper()
	c := NewContainment(samplesOf(t, o, texts, perFile), o.Containment, budget)
	err := c.Candidates(context.Background(), func(uint32) bool { return true }, new(spillFile), func(p Pair) error {
		pairs = append(pairs, p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

// library is novels, some of which stand in collections or with a preface of
// somebody else's, and the pairs of which one contains the other.
func library() (texts []string, within []Pair) {
	l := newLexicon(3)
	var novels [][]string
	for range 12 {
		novels = append(novels, l.text(6000+l.random.IntN(20_000)))
	}
	for _, n := range novels {
		texts = append(texts, l.dress(n))
	}
	add := func(of []int, words ...[]string) {
		for _, i := range of {
			within = append(within, Pair{uint32(i), uint32(len(texts))})
		}
		texts = append(texts, l.dress(slices.Concat(words...)))
	}
	add([]int{0, 1, 2, 3, 4}, l.text(500), novels[3], novels[0], novels[4], l.text(300), novels[1], novels[2])
	add([]int{5}, l.text(9000), novels[5])
	add([]int{7}, l.text(200_000), novels[7])
	add(nil, novels[8][:len(novels[8])/3], l.text(20_000)) // a third of it
	texts = append(texts, l.dress(novels[0][:300]))        // an excerpt is no book
	return texts, within
}

func TestBooksInOtherBooksAreFound(t *testing.T) {
	texts, within := library()
	o := Options{Containment: 0.8, Bands: 1, Rows: 1}
	got := candidates(t, o, texts, 5, 1<<30)
	s, err := NewSketcher(o)
	if err != nil {
		t.Fatal(err)
	}
	var contained []Pair
	for _, p := range got {
		if Contained(s.Shingles(texts[p.A], Set{}), s.Shingles(texts[p.B], Set{})) >= o.Containment {
			contained = append(contained, p)
		}
	}
	slices.SortFunc(within, comparePairs)
	if diff := cmp.Diff(within, contained); diff != "" {
		t.Errorf("contained (-want +got):\n%s", diff)
	}
	if len(got) > 2*len(within) {
		t.Errorf("got %d candidates for %d pairs", len(got), len(within))
	}
	for _, perFile := range []int{1, 100} {
		if diff := cmp.Diff(got, candidates(t, o, texts, perFile, 0)); diff != "" {
			t.Errorf("files of %d and the least budget change the candidates:\n%s", perFile, diff)
		}
	}
}

func TestContainedIsTheShareOfTheOneAlone(t *testing.T) {
	s, err := NewSketcher(Options{Shingle: 1})
	if err != nil {
		t.Fatal(err)
	}
	set := func(text string) Set { return s.Shingles(text, Set{}) }
	for _, test := range []struct {
		a, b string
		want float64
	}{{"a b c d", "a b c d e f g h", 1}, {"a b c d e f g h", "a b c d", 0.5}, {"a b", "c d", 0}, {"", "a", 0}, {"a", "", 0}} {
		if got := Contained(set(test.a), set(test.b)); got != test.want {
			t.Errorf("%q in %q: got %g, want %g", test.a, test.b, got, test.want)
		}
	}
	// What is thinned differently is compared alike.
	l := newLexicon(4)
	part := strings.Join(l.text(30_000), " ")
	if got := Contained(set2(t, part), set2(t, part+" "+strings.Join(l.text(400_000), " "))); math.Abs(got-1) > 0.02 {
		t.Errorf("in a text that is thinned: got %g, want 1", got)
	}
}

func set2(t *testing.T, text string) Set {
	t.Helper()
	s, err := NewSketcher(Options{Shingle: 5})
	if err != nil {
		t.Fatal(err)
	}
	return s.Shingles(text, Set{})
}

// Text that all documents have must not be compared with all of them.
func TestSamplesThatAllHaveAreMetInLinearNumber(t *testing.T) {
	shared := strings.Join(newLexicon(5).text(3000), " ")
	texts := make([]string, 300)
	for i := range texts {
		texts[i] = shared + strings.Repeat(" more", i)
	}
	if n := len(candidates(t, Options{Containment: 0.8, Bands: 1, Rows: 1}, texts, 300, 1<<30)); n == 0 || n > 3*len(texts) {
		t.Errorf("got %d candidates of %d documents, want some, and at most three each", n, len(texts))
	}
}

func TestSamplesOfRepeatedTextAreFew(t *testing.T) {
	s, err := NewSketcher(Options{Shingle: 1, Containment: 0.5, Bands: 1, Rows: 1})
	if err != nil {
		t.Fatal(err)
	}
	var word string // one that is a sample
	for i := range 10_000 {
		word = string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26))
		if len(s.Sketch(word).Samples) == 1 {
			break
		}
	}
	if got := s.Sketch(strings.Repeat(word+" ", 2_000_000)); len(got.Samples) != 1 || cap(s.samples) > 4*gatherSize {
		t.Errorf("got %d samples in %d places, want one, and memory that does not grow with repeats", len(got.Samples), cap(s.samples))
	}
	if s, _ := NewSketcher(Options{Shingle: 1}); len(s.Sketch(word).Samples) != 0 {
		t.Error("samples were kept that nobody asked for")
	}
}

func FuzzOpenSamples(f *testing.F) {
	var b SampleBuilder
	b.Add([]uint64{128, 256})
	b.Add(nil)
	b.Add(make([]uint64, 20))
	var file bytes.Buffer
	if _, err := b.WriteTo(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add(file.Bytes()[:file.Len()-1])
	f.Add([]byte(samplesMagic + "\xff\xff\xff\xff"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := OpenSamples(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("got %v, want damage to be called that", err)
			}
			return
		}
		var again SampleBuilder
		rows := make([][]uint64, s.Len())
		if err := s.each(func(i int, sample uint64) { rows[i] = append(rows[i], sample) }); err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			if n := s.counts[i]; n >= minSamples && len(row) != int(n) {
				t.Fatalf("document %d: got %d samples of %d", i, len(row), n)
			} else if n < minSamples {
				return // they are skipped: nothing to write again
			}
			again.Add(row)
		}
		var file bytes.Buffer
		if _, err := again.WriteTo(&file); err != nil || !bytes.Equal(file.Bytes(), raw) {
			t.Fatalf("written again it is other bytes (%v)", err)
		}
	})
}
