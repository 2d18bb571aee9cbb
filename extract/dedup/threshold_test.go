package dedup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDefaultsFindPairsAtTheThreshold(t *testing.T) {
	for _, threshold := range []float64{0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1} {
		o := Options{Threshold: threshold}.WithDefaults()
		if err := o.Validate(); err != nil {
			t.Error(err)
		}
		if r := o.Recall(threshold); r < 0.98 {
			t.Errorf("threshold %g: %d bands of %d find %.3f", threshold, o.Bands, o.Rows, r)
		}
	}
	if o := (Options{}).WithDefaults(); o != (Options{Threshold: 0.8, Shingle: 5, Bands: 30, Rows: 4, Similar: 0.6}) {
		t.Errorf("got %+v", o)
	}
}

func TestLargeTextsAreThinnedWithoutHarm(t *testing.T) {
	l := newLexicon(6)
	text := l.text(400_000)
	edited := slices.Clone(text)
	for i := 0; i < len(edited); i += 40 {
		edited[i] = "changed" + edited[i]
	}
	s, err := NewSketcher(Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.Shingles(strings.Join(text, " "), Set{}), s.Shingles(strings.Join(edited, " "), Set{})
	if got, want := Jaccard(a, b), slowJaccard(text, edited, 5); math.Abs(got-want) > 0.015 {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(a.hashes) > setLimit || cap(a.hashes) > 2*gatherSize {
		t.Errorf("%d hashes in %d", len(a.hashes), cap(a.hashes))
	}
	short := s.Shingles(strings.Join(text[:1000], " "), Set{})
	if got := Jaccard(a, short); got > 0.02 {
		t.Errorf("a text and its beginning: %v", got)
	}
	if n := a.Len(); n < 300_000 || n > 450_000 {
		t.Errorf("about %d shingles", n)
	}
}

func TestDamagedSignaturesAreRefused(t *testing.T) {
	b := NewBuilder(2)
	for i := range 10 {
		b.Add(fmt.Sprint("id", i), Sketch{Digest: Digest{byte(i)}, Bands: []uint64{uint64(i), 7}})
	}
	b.AddAside("aside")
	b.Add(strings.Repeat("x", 5000), Sketch{})
	var file bytes.Buffer
	if n, err := b.WriteTo(&file); err != nil || n != int64(file.Len()) {
		t.Fatal(n, err)
	}
	whole := file.Bytes()
	s, err := OpenSignatures(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{0: "id0", 9: "id9", 10: "aside", 11: strings.Repeat("x", 1024)} {
		if id, err := s.ID(i); err != nil || id != want {
			t.Errorf("ID %d: got %q, %v", i, id, err)
		}
	}
	for n := range len(whole) {
		if _, err := OpenSignatures(bytes.NewReader(whole[:n]), int64(n)); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: got %v", n, err)
		}
	}
	if _, err := OpenSignatures(bytes.NewReader(append(slices.Clone(whole), 0)), int64(len(whole)+1)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte more: got %v", err)
	}
	for _, i := range []int{-1, 12} {
		if _, err := s.ID(i); !errors.Is(err, ErrCorrupt) {
			t.Errorf("ID %d: got %v", i, err)
		}
	}
}

func TestAsideAndWordlessTakeTheirPart(t *testing.T) {
	s, err := NewSketcher(Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(20)
	for _, text := range []string{"one two three four five six", "ASIDE", "one two three four five six", "...", "...", "!!!"} {
		if text == "ASIDE" {
			b.AddAside(text)
		} else {
			b.Add(text, s.Sketch(text))
		}
	}
	b.AddAside("again")
	var file bytes.Buffer
	if _, err := b.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	sig, err := OpenSignatures(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewIndex([]*Signatures{sig, sig}, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := NewClusters(x.Len())
	if err := x.Equal(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	var firsts []uint32
	for i := range uint32(x.Len()) {
		firsts = append(firsts, c.First(i))
	}
	if diff := cmp.Diff([]uint32{0, 1, 0, 3, 3, 5, 6, 0, 8, 0, 3, 3, 5, 13}, firsts); diff != "" {
		t.Error(diff)
	}
	err = x.Candidates(context.Background(), c, new(spillFile), func(p Pair) error { return fmt.Errorf("a pair: %v", p) })
	if err != nil {
		t.Error(err)
	}
}

func TestTheFirstOfAClusterIsItsRepresentative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		c := NewClusters(n)
		groups := map[uint32]map[uint32]bool{}
		for i := range uint32(n) {
			groups[i] = map[uint32]bool{i: true}
		}
		for range rapid.IntRange(0, 40).Draw(t, "joins") {
			a, b := uint32(rapid.IntRange(0, n-1).Draw(t, "a")), uint32(rapid.IntRange(0, n-1).Draw(t, "b"))
			c.Join(a, b)
			all := maps.Clone(groups[a])
			maps.Copy(all, groups[b])
			for m := range all {
				groups[m] = all
			}
		}
		for i := range uint32(n) {
			if want := slices.Min(slices.Collect(maps.Keys(groups[i]))); c.First(i) != want {
				t.Fatalf("first of %d: got %d, want %d", i, c.First(i), want)
			}
		}
	})
}

func FuzzSketch(f *testing.F) {
	f.Add("The river runs to the sea.", "the RIVER runs, to the sea")
	f.Add("水の上", "\u0301\u0301")
	f.Fuzz(func(t *testing.T, a, b string) {
		s, err := NewSketcher(Options{Shingle: 2})
		if err != nil {
			t.Fatal(err)
		}
		x := s.Sketch(a)
		bands := slices.Clone(x.Bands)
		y := s.Sketch(b)
		same := slices.Equal(slowWords(a), slowWords(b)) && len(slowWords(a)) > 0
		if same && (x.Digest != y.Digest || !slices.Equal(bands, y.Bands)) {
			t.Fatalf("%q and %q have the same words and differ", a, b)
		}
		p, q := s.Shingles(a, Set{}), s.Shingles(b, Set{})
		j := Jaccard(p, q)
		if j != Jaccard(q, p) || j < 0 || j > 1 || len(p.hashes) > 0 && Jaccard(p, p) != 1 || same && j != 1 {
			t.Fatalf("%q and %q: %v", a, b, j)
		}
	})
}

func FuzzOpenSignatures(f *testing.F) {
	b := NewBuilder(1)
	b.Add("id", Sketch{Bands: []uint64{1}})
	var file bytes.Buffer
	b.WriteTo(&file)
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := OpenSignatures(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		x, err := NewIndex([]*Signatures{s}, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := NewClusters(x.Len())
		if err := x.Equal(context.Background(), c); err != nil {
			t.Fatalf("a whole file: %v", err)
		}
		for i := range s.Len() {
			if id, err := s.ID(i); err == nil && len(id) > maxIDBytes {
				t.Fatal("a long ID")
			}
		}
	})
}

func BenchmarkSketch(b *testing.B) {
	l := newLexicon(9)
	text := l.dress(l.text(600))
	s, err := NewSketcher(Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s.Sketch(text)
	}
}
