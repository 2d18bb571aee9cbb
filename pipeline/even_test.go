package pipeline

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pretext/counts"
	"pretext/internal/dev/torture"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/records/pretrain"
	"pretext/sharding"
)

// A draw counts the pairs of which a document is the second segment, by label, in
// either half of all pairs.
type draw [2][2]float64

// evenness is how evenly documents are drawn for random segments.
type evenness struct {
	mean     float64 // random segments of a document
	never    float64 // fraction of the documents that are drawn never
	chi      float64 // χ² per degree of freedom of the draws, about 1 for independent ones
	chance   float64 // fraction of the pairs with the more frequent label
	measured float64 // fraction of the labels that the document of segment B tells, by the other half of the pairs
}

func evennessOf(pairs []namedPair, documents int) (e evenness) {
	draws := map[int32]*draw{}
	label := func(p namedPair) int {
		if p.randomNext {
			return 1
		}
		return 0
	}
	var labels [2]float64
	for i, p := range pairs {
		if draws[p.second] == nil {
			draws[p.second] = &draw{}
		}
		draws[p.second][i%2][label(p)]++
		labels[label(p)]++
	}
	e.mean = labels[1] / float64(documents)
	e.never = 1
	e.chi = e.mean * float64(documents) // each document that is drawn never adds (0 - mean)²/mean
	for _, d := range draws {
		n := d[0][1] + d[1][1]
		if n > 0 {
			e.never -= 1 / float64(documents)
		}
		e.chi += (n-e.mean)*(n-e.mean)/e.mean - e.mean
		for half := range d {
			other := d[1-half]
			guess := 0
			if other[1] > other[0] || other[1] == other[0] && labels[1] > labels[0] {
				guess = 1
			}
			e.measured += d[half][guess]
		}
	}
	e.chi /= float64(documents - 1)
	e.chance = max(labels[0], labels[1]) / float64(len(pairs))
	e.measured /= float64(len(pairs))
	return e
}

// Each document of a corpus is drawn for random segments equally often, so that the
// document of segment B does not tell the label. The full test has 3,000 documents of
// 12 kB, as a corpus of 36 MB.
func TestNegativesAreDrawnEvenly(t *testing.T) {
	documents, lines := torture.Cases(600, 3000), torture.Cases(25, 150)
	c := corpusOfNames(t, documents, lines)
	c.Examples.DupeFactor = torture.Cases(4, 2)
	for _, shards := range []int{1, 9, 52} {
		if shards == 1 && !torture.Full() { // all documents are its own
			continue
		}
		for _, from := range []string{pretrain.NegativesCorpus, ""}[:torture.Cases(1, 2)] {
			c := c
			c.Examples.NSPNegatives, c.Examples.Shards = from, shards
			c.Out = filepath.Join(t.TempDir(), "shards")
			m, _ := c.make(t, testRunner)
			pairs, _ := namedPairs(t, m, c.Out)
			e := evennessOf(pairs, documents)
			t.Logf("%d shards, negatives %q: %.1f draws of a document, %.2f %% never, χ²/df %.2f, label from B's document %.1f %%, chance %.1f %%",
				shards, from, e.mean, 100*e.never, e.chi, 100*e.measured, 100*e.chance)
			if from == "" {
				continue
			}
			checkGuess(t, m, c.Out, e)
			if e.mean < 10 || e.never > 0.005 || e.chi > 1.2 || e.measured > e.chance+0.01 {
				t.Errorf("%d shards: %+v, want a mean of at least 10, 0.5 %% never, χ²/df 1.2, chance + 1 %%", shards, e)
			}
		}
	}
}

// corpusOfNames configures the making of shards of documents of so many lines of 16
// words. The words of a document are all the same, so that a record shows which documents it
// was made of.
func corpusOfNames(t *testing.T, documents, lines int) ExamplesConfig {
	t.Helper()
	dir := t.TempDir()
	vocab := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
	var text strings.Builder
	for i := range documents {
		word := fmt.Sprintf("d%03x", i)
		vocab = append(vocab, word)
		for range lines {
			text.WriteString(strings.Repeat(word+" ", 16) + "\n")
		}
		text.WriteString("\n")
	}
	c := ExamplesConfig{Target: stage.Target{Memory: 900e6}, Reading: Reading{Extract: DefaultExtractOptions()}, Examples: sharding.DefaultExamplesOptions(),
		TokenFile: TokenFile{Vocab: writeFile(t, dir, "vocab.txt", []byte(strings.Join(vocab, "\n")+"\n"))},
		Texts:     []string{writeFile(t, dir, "text.txt", []byte(text.String()))}}
	c.Examples.SentenceSplitter, c.Examples.NSPNegatives = "newline", pretrain.NegativesCorpus
	return c
}

// checkGuess holds what the side-cars say of the labels against what the records show.
func checkGuess(t *testing.T, m *sharding.Manifest, out string, e evenness) {
	t.Helper()
	folder, err := store.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	g, err := sharding.ReadLabelGuess(t.Context(), folder, m)
	if err != nil {
		t.Fatal(err)
	}
	right := float64(g.Right) / float64(g.Examples)
	t.Logf("of %d documents, %d examples: the document tells %.1f %% of the labels, chance %.1f %%", g.Documents, g.Examples, 100*right, 100*g.Chance)
	if math.Abs(right-e.measured) > 0.02 || g.Never > 0 || g.Examples != m.Counts[counts.KeyOf("records")] || right > g.Chance+0.02 {
		t.Errorf("the side-cars have %+v, the records %+v", g, e)
	}
	if len(m.Warnings) > 0 {
		t.Errorf("warnings %+v", m.Warnings)
	}
}
