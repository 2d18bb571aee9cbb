package sharding

import (
	"encoding/json"
	"testing"

	"pretext/records/pretrain"
)

// followedFacts returns the facts of 200 documents, each with 20 examples of label 0 in
// one shard; in another shard it is drawn as often as drawn says.
func followedFacts(drawn func(document int) int64) []pretrain.Followed {
	o := DefaultExamplesOptions()
	o.NSPNegatives = pretrain.NegativesCorpus
	facts := new(Facts)
	for d := range 200 {
		own := ShardBody{Split: Train, Followed: []pretrain.Followed{{ID: uint64(d), Examples: [2][2]int64{{10, 0}, {10, 0}}}}}
		n := drawn(d)
		other := ShardBody{Split: Train, Followed: []pretrain.Followed{{ID: uint64(d), Examples: [2][2]int64{{0, n / 2}, {0, n - n/2}}}}}
		facts.Add(own.Facts(o))
		facts.Add(other.Facts(o))
	}
	return facts.Followed
}

func TestDocumentsThatTellLabelsAreWarnedAbout(t *testing.T) {
	for _, test := range []struct {
		name  string
		drawn func(document int) int64
		leaks bool
	}{
		{"all equally often", func(int) int64 { return 21 }, false},
		{"around the mean", func(d int) int64 { return 16 + int64(d)%11 }, false},
		{"a quarter of them, four times as often", func(d int) int64 {
			if d%4 > 0 {
				return 0
			}
			return 84
		}, true},
	} {
		g := guessLabels(followedFacts(test.drawn))
		list := g.warnings()
		if g.Documents != 200 || (len(list) > 0) != test.leaks {
			t.Errorf("%s: %+v, warnings %+v", test.name, g, list)
		}
		if test.leaks && (g.Never != 150 || float64(g.Right) < 0.85*float64(g.Examples)) {
			t.Errorf("%s: %+v", test.name, g)
		}
		m := Manifest{Recipe: Recipe{Options: json.RawMessage("{}")}, Warnings: list}
		for _, w := range m.Describe() {
			t.Log(w.Text)
		}
	}
	if g := guessLabels(nil); g != (LabelGuess{}) || len(g.warnings()) > 0 {
		t.Errorf("without followed documents: %+v", g)
	}
}

func TestSomeOfManyDocumentsAreFollowed(t *testing.T) {
	for _, documents := range []int64{1, 4096, 100_000, 6_000_000} {
		share := float64(followBelow(documents)) / (1 << 48)
		if n := share * float64(documents); n > 4096 || n < min(4090, float64(documents)) {
			t.Errorf("of %d documents about %.0f are followed", documents, n)
		}
	}
}

// Facts about labels are those of the train split.
func TestHeldOutDocumentsAreNotFollowed(t *testing.T) {
	n := &Negatives{Follow: 10}
	for _, c := range []struct {
		split int
		hash  uint64
		want  bool
	}{{0, 0, true}, {0, 9, true}, {0, 10, false}, {1, 0, false}, {1, 10, false}} {
		if got := n.follows(c.split, c.hash); got != c.want {
			t.Errorf("split %d, hash %d: got %v", c.split, c.hash, got)
		}
	}
}
