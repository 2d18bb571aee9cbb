package dedup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"pretext/internal/dev/torture"
)

func Example() {
	s, err := NewSketcher(Options{Threshold: 0.8, Shingle: 3})
	if err != nil {
		panic(err)
	}
	a := s.Shingles("The boats of the town go down the river to the sea.", Set{})
	b := s.Shingles("The boats of the town go down the river, to the lake!", Set{})
	fmt.Printf("%.2f\n", Jaccard(a, b))
	one, two := s.Sketch("The sea.").Digest, s.Sketch("the\nSEA").Digest
	fmt.Println(one == two)
	// Output:
	// 0.82
	// true
}

// spillFile is a spill in memory.
type spillFile struct{ b []byte }

func (s *spillFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(s.b).ReadAt(p, off)
}

func (s *spillFile) WriteAt(p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(s.b) {
		s.b = append(s.b, make([]byte, need-len(s.b))...)
	}
	return copy(s.b[off:], p), nil
}

// signatures sketches texts into files of so many documents.
func signatures(t testing.TB, o Options, texts []string, perFile int) (files []*Signatures) {
	t.Helper()
	s, err := NewSketcher(o)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range slices.Chunk(texts, perFile) {
		b := NewBuilder(o.WithDefaults().Bands)
		for _, text := range chunk {
			b.Add("id of "+text[:min(5, len(text))], s.Sketch(text))
		}
		var file bytes.Buffer
		if _, err := b.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		sig, err := OpenSignatures(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, sig)
	}
	return files
}

// cluster does what the pipeline does, in memory.
func cluster(t testing.TB, o Options, texts []string, budget int64) (c *Clusters, compared int) {
	t.Helper()
	o = o.WithDefaults()
	ctx := context.Background()
	x, err := NewIndex(signatures(t, o, texts, 700), budget)
	if err != nil {
		t.Fatal(err)
	}
	c = NewClusters(x.Len())
	if err := x.Equal(ctx, c); err != nil {
		t.Fatal(err)
	}
	s, err := NewSketcher(o)
	if err != nil {
		t.Fatal(err)
	}
	similar := NewClusters(x.Len())
	for i := range uint32(x.Len()) {
		similar.Join(i, c.First(i))
	}
	err = x.Candidates(ctx, c, new(spillFile), func(p Pair) error {
		compared++
		if Jaccard(s.Shingles(texts[p.A], Set{}), s.Shingles(texts[p.B], Set{})) >= o.Threshold {
			similar.Join(p.A, p.B)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return similar, compared
}

func TestPlantedCopiesAreFoundAndOthersAreLeft(t *testing.T) {
	n := torture.Times(t, "PRETEXT_COPIES", torture.Cases(800, 1500), 10_000)
	copies := n / 10
	c := plant(1, n, copies, copies)
	clusters, compared := cluster(t, Options{}, c.texts, 64<<20)
	found, wrong := 0, 0
	for i := range c.texts {
		first := int(clusters.First(uint32(i)))
		if first == i {
			continue
		}
		if c.copyOf[i] == first || c.copyOf[first] == i {
			found++
		} else {
			wrong++
		}
	}
	recall, precision := float64(found)/float64(copies), float64(found)/float64(found+wrong)
	t.Logf("%d documents, %d copies: recall %.4f, precision %.4f, %d pairs compared", n, copies, recall, precision, compared)
	if recall < 0.95 || precision < 0.99 {
		t.Errorf("recall %.4f, precision %.4f, want 0.95, 0.99", recall, precision)
	}
	if compared > 10*n {
		t.Errorf("%d pairs were compared", compared)
	}
}

func TestTheBudgetChangesNothing(t *testing.T) {
	c := plant(2, 600, 100, 100)
	for range 300 { // one large bucket
		c.texts = append(c.texts, c.texts[0]+fmt.Sprint(" and ", len(c.texts)))
	}
	o := Options{}.WithDefaults()
	files := signatures(t, o, c.texts, 250)
	pairs := func(budget int64, limit int) (all []Pair) {
		x, err := NewIndex(files, budget)
		if err != nil {
			t.Fatal(err)
		}
		x.budget = budget // below the least
		clusters := NewClusters(x.Len())
		if err := x.Equal(context.Background(), clusters); err != nil {
			t.Fatal(err)
		}
		sorter := pairSorter{limit: limit, spill: new(spillFile)}
		if limit > 0 { // the same by way of small runs
			err := x.Candidates(context.Background(), clusters, new(spillFile), sorter.add)
			if err != nil {
				t.Fatal(err)
			}
			err = sorter.each(context.Background(), func(p Pair) error { all = append(all, p); return nil })
			if err != nil {
				t.Fatal(err)
			}
			if limit < 100 && len(sorter.runs) < 10 {
				t.Errorf("only %d runs", len(sorter.runs))
			}
			return all
		}
		err = x.Candidates(context.Background(), clusters, new(spillFile), func(p Pair) error { all = append(all, p); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := pairs(1<<30, 0)
	if len(want) < 1000 || !slices.IsSortedFunc(want, comparePairs) || len(slices.Compact(slices.Clone(want))) != len(want) {
		t.Fatalf("%d pairs, sorted and once each?", len(want))
	}
	for _, budget := range []int64{100, 5000, minBudget} {
		for _, limit := range []int{0, 16, 500} {
			if diff := cmp.Diff(want, pairs(budget, limit)); diff != "" {
				t.Errorf("budget %d, runs of %d: %s", budget, limit, diff)
			}
		}
	}
}

// In a crowd of texts that are all alike no text is compared with all others.
func TestCrowdsAreComparedInLinearNumber(t *testing.T) {
	l := newLexicon(3)
	base := strings.Join(l.text(300), " ")
	var texts []string
	for i := range 1000 {
		texts = append(texts, fmt.Sprint(base, " variant ", i, " of ", i*i))
	}
	c, compared := cluster(t, Options{}, texts, 8<<20)
	for i := range texts {
		if c.First(uint32(i)) != 0 {
			t.Fatalf("text %d is in a cluster of its own", i)
		}
	}
	if limit := len(texts) * (neighbours + 1) * 20; compared > limit {
		t.Errorf("%d pairs, want at most %d", compared, limit)
	}
}

// slowWords splits by the definition of the package comment.
func slowWords(text string) []string {
	var b strings.Builder
	wasWord := false
	for _, r := range norm.NFKC.String(text) {
		switch {
		case unicode.IsMark(r):
			if wasWord {
				b.WriteRune(r)
			} else {
				b.WriteByte(' ')
			}
			continue
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			b.WriteString(" " + string(r))
			wasWord = true
			continue
		case unicode.IsLetter(r), unicode.IsNumber(r):
			b.WriteRune(unicode.ToLower(r))
			wasWord = true
			continue
		}
		b.WriteByte(' ')
		wasWord = false
	}
	return strings.Fields(b.String())
}

func drawText(t *rapid.T, label string) string {
	pieces := []string{"River", "river", "sea", "Straße", "ﬁsh", "e\u0301t\u00e9", "水上", "の", "เมือง", "don't", "don’t", "3.14", "x²", "ΣΑΣ", "—", "\u0301", "!", "नदी", "a", "b", "c"}
	return strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, label), rapid.SampledFrom([]string{" ", "", "\n", ", "}).Draw(t, "gap"))
}

func TestWordsAreThoseOfThePlainDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t, "text")
		var got []string
		eachWord(text, nil, func(w []byte) { got = append(got, string(w)) })
		// A letter right after a character without spaces begins a word; the
		// plain definition writes only a space before such characters.
		want := strings.Join(slowWords(text), "")
		if strings.Join(got, "") != want {
			t.Fatalf("%q: got %q, want the letters of %q", text, got, want)
		}
		if again := slowWords(strings.Join(got, " ")); !slices.Equal(again, got) {
			t.Fatalf("%q: got %q, which splits into %q", text, got, again)
		}
	})
}

func TestJaccardIsThatOfSetsOfStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		s, err := NewSketcher(Options{Shingle: n})
		if err != nil {
			t.Fatal(err)
		}
		vocabulary := []string{"a", "b", "c", "d"}
		a := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 40).Draw(t, "a")
		b := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 40).Draw(t, "b")
		got := Jaccard(s.Shingles(strings.Join(a, " "), Set{}), s.Shingles(strings.Join(b, " "), Set{}))
		if want := slowJaccard(a, b, n); math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v, %v: got %v, want %v", a, b, got, want)
		}
	})
}

func TestDigestsAreEqualForEqualWordsAlone(t *testing.T) {
	s, err := NewSketcher(Options{})
	if err != nil {
		t.Fatal(err)
	}
	digests := map[Digest]string{}
	for _, text := range []string{"a b", "ab", "a b c", "", "...", "—", "x", "水 上", "river to the sea " + strings.Repeat("long ", 10_000)} {
		d := s.Sketch(text).Digest
		if other, ok := digests[d]; ok {
			t.Errorf("%.20q and %.20q are equal", text, other)
		}
		digests[d] = text
	}
	for a, b := range map[string]string{"A b!": "a\nB", "ﬁsh": "FISH", "cafe\u0301": "Café", "水 上": "水上", "x, y": "X—Y"} {
		if s.Sketch(a).Digest != s.Sketch(b).Digest {
			t.Errorf("%q and %q differ", a, b)
		}
	}
}

func TestBandsMeetAsOftenAsTheFormulaSays(t *testing.T) {
	l := newLexicon(5)
	for _, o := range []Options{{Threshold: 0.8}, {Threshold: 0.5}, {Threshold: 0.9}} {
		o = o.WithDefaults()
		s, err := NewSketcher(o)
		if err != nil {
			t.Fatal(err)
		}
		want, met, pairs := 0.0, 0, 0
		for range 300 {
			text := l.text(150)
			from := max(0.2, o.Threshold-0.35)
			edited := l.edit(text, from, from+0.2)
			want += o.Recall(slowJaccard(text, edited, 5))
			a := slices.Clone(s.Sketch(strings.Join(text, " ")).Bands)
			for i, h := range s.Sketch(strings.Join(edited, " ")).Bands {
				if a[i] == h {
					met++
					break
				}
			}
			pairs++
		}
		if sigma := math.Sqrt(float64(pairs)) / 2; math.Abs(float64(met)-want) > 5*sigma {
			t.Errorf("%+v: %d of %d pairs met, want about %.0f", o, met, pairs, want)
		}
	}
}

// Signatures that another machine or an earlier run wrote are compared with new ones.
func TestSketchesAreTheSameOnEveryMachine(t *testing.T) {
	s, err := NewSketcher(Options{Containment: 0.8, Bands: 20, Rows: 6})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "word%d ", i*i%997)
	}
	sketch := s.Sketch(text.String())
	sum := sha256.Sum256(fmt.Append(nil, sketch.Digest, sketch.Bands, sketch.Samples))
	if got, want := fmt.Sprintf("%d bands, %d samples, %x", len(sketch.Bands), len(sketch.Samples), sum[:4]), "20 bands, 6 samples, 7b7ce932"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
