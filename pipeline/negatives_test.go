package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/counts"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// namedCorpus configures the making of four shards, of a train and an eval split.
func namedCorpus(t *testing.T) ExamplesConfig {
	c := corpusOfNames(t, namedDocuments, 40)
	c.Examples.DupeFactor, c.Examples.Shards, c.Examples.Fraction = 1, 4, 0.3
	return c
}

const namedDocuments = 500

func (c ExamplesConfig) make(t *testing.T, r stage.Runner) (*sharding.Manifest, map[string]string) {
	t.Helper()
	m, err := Examples(t.Context(), r, c)
	if err != nil {
		t.Fatal(err)
	}
	return m, tree(t, c.Out)
}

// A named pair is the documents of an example's segments.
type namedPair struct {
	split      string
	shard      int
	first      int32
	second     int32
	randomNext bool
}

// namedPairs returns the pairs of all records. home is the split and shard of each
// document, those in which it is the first of a pair.
func namedPairs(t *testing.T, m *sharding.Manifest, folder string) (pairs []namedPair, home map[int32]string) {
	t.Helper()
	home = map[int32]string{}
	for _, f := range m.RecordFiles() {
		name, _ := sharding.ParseShardName(f.Name)
		one := t.TempDir()
		if err := os.Symlink(filepath.Join(folder, f.Name), filepath.Join(one, f.Name)); err != nil {
			t.Fatal(err)
		}
		for _, e := range examplesOf(t, one) {
			ids, second := unmasked(e), segmentStart(e)
			for _, part := range [][]int32{ids[1 : second-1], ids[second : len(ids)-1]} {
				if len(slices.Compact(slices.Clone(part))) != 1 {
					t.Fatalf("a segment of several documents: %d", part)
				}
			}
			p := namedPair{name.Split, name.Index, ids[1], ids[second], e.NextSentenceLabel == 1}
			pairs = append(pairs, p)
			at := fmt.Sprint(p.split, p.shard)
			if was, ok := home[p.first]; ok && was != at {
				t.Fatalf("document %d is in %s and %s", p.first, was, at)
			}
			home[p.first] = at
		}
	}
	return pairs, home
}

func TestNegativesComeFromTheWholeCorpus(t *testing.T) {
	c := namedCorpus(t)
	c.Out = filepath.Join(t.TempDir(), "shards")
	m, want := c.make(t, stage.Runner{Name: "direct", Workers: 1})
	pairs, home := namedPairs(t, m, c.Out)
	if n := m.Counts[counts.KeyOf("documents")]; n != namedDocuments || len(home) != namedDocuments {
		t.Errorf("%d documents are counted and %d read, want %d", n, len(home), namedDocuments)
	}
	random, foreign := map[string]float64{}, map[string]float64{}
	for _, p := range pairs {
		if p.randomNext != (p.first != p.second) {
			t.Fatalf("%+v: the label is wrong", p)
		}
		if !p.randomNext {
			continue
		}
		random[p.split]++
		at := home[p.second]
		if !strings.HasPrefix(at, p.split) {
			t.Fatalf("%+v: the second is of %s", p, at)
		}
		if at != fmt.Sprint(p.split, p.shard) {
			foreign[p.split]++
		}
	}
	for _, split := range c.Examples.Splits() { // three quarters of the documents are in other shards
		if share := foreign[split] / random[split]; share < 0.65 || share > 0.85 {
			t.Errorf("%s: %.2f of %.0f random segments are of other shards, want about 0.75", split, share, random[split])
		}
	}
	if v := verify(t, c.Out); !v.OK() {
		t.Error(v.Problems)
	}
	t.Run("same bytes for any workers", func(t *testing.T) {
		c := c
		c.Out = filepath.Join(t.TempDir(), "shards")
		_, got := c.make(t, stage.Runner{Name: "direct", Workers: 5})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("same bytes after a resumed run", func(t *testing.T) {
		for _, name := range []string{"manifest.json", "train-00001-of-00004.json", "eval-00002-of-00004.tfrecord"} {
			if err := os.Remove(filepath.Join(c.Out, name)); err != nil {
				t.Fatal(err)
			}
		}
		if _, got := c.make(t, testRunner); !cmp.Equal(want, got) {
			t.Error(cmp.Diff(want, got))
		}
	})
}
