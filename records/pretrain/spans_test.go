package pretrain

import (
	"slices"
	"testing"

	"pretext/records"
)

func TestSpansAreOfWholeWords(t *testing.T) {
	o := Options{MaxSeqLength: 128, MaxPredictionsPerSeq: 20, MaskedLMProb: 0.15, DupeFactor: 4, SpanMask: true}
	v := benchVocab()
	b, err := NewMLMBuilder(o, v, Scratch{})
	if err != nil {
		t.Fatal(err)
	}
	spans, tokens, mixed, words := 0, 0, 0, 0
	for _, e := range build(t, b, proseCorpus(t, 200), records.Rules{Form: records.Masked}) {
		positions := e.MaskedLMPositions[:e.Predictions()]
		tokens += len(positions)
		original := slices.Clone(e.InputIDs[:e.Tokens()])
		for i, at := range positions {
			original[at] = e.MaskedLMIDs[i]
		}
		for i, at := range positions {
			if !v.IsSubword(original[at]) {
				words++
			} else if at > 1 && (i == 0 || positions[i-1] != at-1) {
				t.Fatalf("position %d continues a word that is not masked", at)
			}
			if next := int(at) + 1; v.IsSubword(original[next]) && !slices.Contains(positions, int32(next)) {
				t.Fatalf("position %d is masked, the rest of its word is not", at)
			}
			if i == 0 || positions[i-1] != at-1 {
				spans++
			} else if (e.InputIDs[at] == v.Mask) != (e.InputIDs[at-1] == v.Mask) {
				mixed++ // two spans that touch, or a random [MASK]
			}
		}
	}
	// Lengths of 3.8 words on average are drawn; spans are cut at their
	// neighbours, at the ends and by the number of predictions, or touch.
	mean := float64(words) / float64(spans)
	t.Logf("a span has %.2f words on average", mean)
	if mean < 2.8 || mean > 3.6 {
		t.Errorf("a span has %.2f words on average, want about 3.2", mean)
	}
	if mixed*20 > tokens {
		t.Errorf("%d of %d tokens have another fate than their neighbour in the span", mixed, tokens)
	}
}

func TestSpanLengthsHaveTheMeanOfThePaper(t *testing.T) {
	m := newMasker(Options{MaxSeqLength: 8, MaxPredictionsPerSeq: 1, SpanMask: true}, smallVocab(30), mustBuilder(t, DefaultOptions(), smallVocab(30), Scratch{}).rng)
	sum, longest := 0, 0
	const draws = 100000
	for range draws {
		n := m.spanLength()
		sum, longest = sum+n, max(longest, n)
	}
	if mean := float64(sum) / draws; mean < 3.77 || mean > 3.83 || longest != spanWords {
		t.Errorf("got a mean of %.3f words and at most %d, want 3.8 and %d", mean, longest, spanWords)
	}
}

func TestReplacementsHaveTheirProbabilities(t *testing.T) {
	for _, r := range []Replacement{{1, 0}, {0.8, 0.1}, {0.5, 0.5}, {0, 0}, {0.6, 0.1}} {
		o := DefaultOptions()
		o.Replace, o.DupeFactor = &r, 2
		v := benchVocab()
		b, err := NewMLMBuilder(o, v, Scratch{})
		if err != nil {
			t.Fatal(err)
		}
		masked, stayed, all := 0, 0, 0
		for _, e := range build(t, b, proseCorpus(t, 200), records.Rules{Form: records.Masked}) {
			for i, at := range e.MaskedLMPositions[:e.Predictions()] {
				all++
				switch e.InputIDs[at] {
				case v.Mask:
					masked++
				case e.MaskedLMIDs[i]:
					stayed++
				}
			}
		}
		near := func(what string, n int, want float64) {
			if got := float64(n) / float64(all); got < want-0.01 || got > want+0.01 {
				t.Errorf("%+v: %s %.3f, want %.3f", r, what, got, want)
			}
		}
		near("[MASK]", masked, r.MaskTokenProb)
		near("unchanged", stayed, r.StayTokenProb())
	}
}
