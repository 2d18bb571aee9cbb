package pretrain

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pretext/internal/pyrandom"
	"pretext/records"
)

// firstWord is the id of the first document's only word in namedDocuments.
const firstWord = 10

// namedDocuments draws documents that are told by their ids: all of document i are
// firstWord + i. Those after the first own documents are negatives.
func namedDocuments(t *rapid.T, vocab Vocab, own, sampled int) *Corpus {
	c := NewCorpus(vocab.Size)
	for i := range own + sampled {
		if i == own {
			c.BeginNegatives()
		}
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 40), 1, 12).Draw(t, "lengths") {
			if err := c.AddSentence(slices.Repeat([]int32{int32(firstWord + i)}, n)); err != nil {
				t.Fatal(err)
			}
		}
		c.EndDocument()
		if i < own && rapid.Bool().Draw(t, "marked") {
			c.MarkNegative()
		}
	}
	return c
}

// segments returns the document of each segment of an example, before masking, and
// the label. It fails if a segment is empty or of two documents.
func segments(t *rapid.T, payload []byte) (a, b int32, label int32) {
	var e records.Example
	if err := e.Decode(payload); err != nil {
		t.Fatal(err)
	}
	ids := slices.Clone(e.InputIDs[:e.Tokens()])
	for i := range e.Predictions() {
		ids[e.MaskedLMPositions[i]] = e.MaskedLMIDs[i]
	}
	second := slices.Index(e.SegmentIDs, 1)
	parts := [][]int32{ids[1 : second-1], ids[second : len(ids)-1]}
	for _, p := range parts {
		if len(p) == 0 || len(slices.Compact(slices.Clone(p))) != 1 {
			t.Fatalf("segment %v, want one of one document", p)
		}
	}
	return parts[0][0] - firstWord, parts[1][0] - firstWord, int32(e.NextSentenceLabel)
}

func TestNegativesAreOfOtherDocumentsAndLabelsSaySo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyOptions(t)
		o.DoWholeWordMask, o.NSPNegatives = false, NegativesCorpus
		vocab := smallVocab(firstWord + 20)
		own, sampled := rapid.IntRange(1, 6).Draw(t, "own"), rapid.IntRange(0, 6).Draw(t, "sampled")
		c := namedDocuments(t, vocab, own, sampled)
		if c.Own() != own || c.Documents() != own+sampled {
			t.Fatalf("%d own documents of %d, want %d of %d", c.Own(), c.Documents(), own, own+sampled)
		}
		b := mustBuilder(t, o, vocab, Scratch{})
		got, counts := buildAll(t, b, c, 7)
		random := int64(0)
		for _, payload := range got {
			a, b, label := segments(t, payload)
			if int(a) >= own {
				t.Fatalf("document %d is not one of the corpus' own %d", a, own)
			}
			if (a != b) != (label == 1) {
				t.Fatalf("label %d for documents %d and %d", label, a, b)
			}
			random += int64(label)
		}
		if counts.RandomNext != random || own+sampled == 1 && random > 0 {
			t.Fatalf("%d labels 1, counted %d", random, counts.RandomNext)
		}
		again, _ := buildAll(t, b, c, 7)
		if !slices.EqualFunc(got, again, bytes.Equal) {
			t.Fatal("a second time the examples differ")
		}
	})
}

// Of five documents the last two are of other shards, and of the three own ones the
// second and third are marked.
func TestEachNegativeIsDrawnEquallyOften(t *testing.T) {
	c := NewCorpus(10)
	for i := range 5 {
		if i == 3 {
			c.BeginNegatives()
		}
		if err := c.AddSentence([]int32{5}); err != nil {
			t.Fatal(err)
		}
		c.EndDocument()
		if i == 1 || i == 2 {
			c.MarkNegative()
		}
	}
	for document, want := range [][5]float64{{0, .25, .25, .25, .25}, {0, 0, 1. / 3, 1. / 3, 1. / 3}, {0, 1. / 3, 0, 1. / 3, 1. / 3}} {
		const draws = 120_000
		rng, got := pyrandom.New(1), [5]int{}
		for range draws {
			other, ok := c.other(uint32(document), rng)
			if !ok {
				t.Fatal("no other document")
			}
			got[other]++
		}
		for i, share := range want {
			if n := float64(got[i]); math.Abs(n-share*draws) > 5*math.Sqrt(share*draws) {
				t.Errorf("for document %d, document %d was drawn %.0f times of %d, want a share of %.3f", document, i, n, draws, share)
			}
		}
	}
}

// A sentence that is alone in the corpus is cut in two; one of a single token gives
// no example. The original script pairs them with themselves.
func TestALoneSentenceIsCutInTwo(t *testing.T) {
	o := DefaultOptions()
	o.NSPNegatives, o.DupeFactor, o.MaskedLMProb = NegativesCorpus, 1, 0
	vocab := smallVocab(20)
	for n, want := range map[int]int{1: 0, 2: 1, 9: 1} {
		c := corpusOf(t, vocab.Size, [][][]int32{{slices.Repeat([]int32{11}, n)}})
		got, _ := buildAll(t, mustBuilder(t, o, vocab, Scratch{}), c, 3)
		if len(got) != want {
			t.Fatalf("%d tokens: %d examples, want %d", n, len(got), want)
		}
		for _, payload := range got {
			var e records.Example
			if err := e.Decode(payload); err != nil {
				t.Fatal(err)
			}
			if e.Tokens() != n+3 || e.NextSentenceLabel != 0 {
				t.Errorf("%d tokens: %d in the example, label %d", n, e.Tokens(), e.NextSentenceLabel)
			}
		}
	}
}
