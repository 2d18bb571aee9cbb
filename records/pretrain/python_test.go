package pretrain

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/records"
)

// goldenCase is one case of testdata/golden.json, written by
// testdata/golden.py.
type goldenCase struct {
	Options
	Name      string
	Seed      int64
	Vocab     int
	Documents int
	Examples  []struct {
		Tokens     []int32
		Second     int
		Positions  []int32
		Labels     []int32
		RandomNext bool `json:"random_next"`
	}
}

// goldenDocument is document of golden.py.
func goldenDocument(d, vocab int) (out [][]int32) {
	for s := range 8 + 4*d {
		var sentence []int32
		for t := range 1 + (5*s+3*d)%17 {
			sentence = append(sentence, int32(4+(1009*d+101*s+7*s*t+13*t)%(vocab-4)))
		}
		out = append(out, sentence)
	}
	return out
}

func TestExamplesAreThoseOfAPythonVersion(t *testing.T) {
	raw, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, g := range cases {
		t.Run(g.Name, func(t *testing.T) {
			var documents [][][]int32
			for d := range g.Documents {
				documents = append(documents, goldenDocument(d, g.Vocab))
			}
			b := mustBuilder(t, g.Options, smallVocab(g.Vocab), Scratch{})
			got, _ := buildAll(t, b, corpusOf(t, g.Vocab, documents), g.Seed)
			if len(got) != len(g.Examples) || len(got) < 10 {
				t.Fatalf("got %d examples, want %d", len(got), len(g.Examples))
			}
			for i, want := range g.Examples {
				checkGolden(t, i, got[i], want.Tokens, want.Positions, want.Labels, want.Second, want.RandomNext)
			}
		})
	}
}

func checkGolden(t *testing.T, i int, payload []byte, tokens, positions, labels []int32, second int, random bool) {
	t.Helper()
	var e records.Example
	if err := e.Decode(payload); err != nil {
		t.Fatal(err)
	}
	n, k := e.Tokens(), e.Predictions()
	got := map[string]any{
		"tokens": e.InputIDs[:n], "positions": e.MaskedLMPositions[:k], "labels": e.MaskedLMIDs[:k],
		"segment 1 begins": e.SegmentIDs[second-1] == 0 && e.SegmentIDs[second] == 1, "random": e.NextSentenceLabel == 1,
	}
	want := map[string]any{
		"tokens": tokens, "positions": positions, "labels": labels, "segment 1 begins": true, "random": random,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("example %d (-want +got):\n%s", i, diff)
	}
}
