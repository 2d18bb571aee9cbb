package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/counts"
	"pretext/extract"
	"pretext/internal/store"
	"pretext/pipeline/filter"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/sharding/survey"
)

// alike are documents in groups of which each has the words of the first, except for every
// twentieth: their similarity is 0.6 to 0.7, too low for duplicates. Groups have as many documents as sizes
// says. Documents of a group are far from each other.
func alike(sizes ...int) (docs []extract.Document, group map[string]int) {
	r := rand.New(rand.NewPCG(5, 6))
	group = map[string]int{}
	var bases [][]string
	for range sizes {
		var words []string
		for range 250 {
			words = append(words, fmt.Sprintf("w%d", r.IntN(5000)))
		}
		bases = append(bases, words)
	}
	for n := 0; len(docs) == 0 || n < maxOf(sizes); n++ {
		for g, size := range sizes {
			if n >= size {
				continue
			}
			words := append([]string(nil), bases[g]...)
			for i := 12; n > 0 && i < len(words); i += 25 {
				words[i] = fmt.Sprintf("x%d", n)
			}
			id := fmt.Sprintf("doc:%d-%d", n, g)
			group[id] = g
			docs = append(docs, extract.Document{ID: id, Text: strings.Join(words, " ") + ".", Source: "some", Lang: "en"})
		}
	}
	return docs, group
}

func maxOf(list []int) (most int) {
	for _, n := range list {
		most = max(most, n)
	}
	return most
}

// Documents of a cluster name its first document, all but that one; those of a cluster of
// more than eight do not. The bytes are the same for any number of workers.
func TestSimilarDocumentsThatStayAreTied(t *testing.T) {
	docs, _ := alike(1, 2, 4, 8, 9)
	documents := documentsFolder(t, docs)
	var want map[string]string
	for _, r := range []stage.Runner{{Name: "direct", Workers: 1}, {Name: "direct", Workers: 2}, {Name: "direct", Workers: 5}} {
		c := filterConfig(documents, t.TempDir())
		m := runFilter(t, r, c)
		if tied, untied := m.Counts[counts.KeyOf("tied")], m.Counts[counts.KeyOf("untied")]; tied != 1+3+7 || untied != 9 || m.Counts[counts.KeyOf("documents")] != int64(len(docs)) {
			t.Errorf("%d workers: %d tied, %d untied: %v", r.Workers, tied, untied, m.Counts)
		}
		for _, d := range readDocuments(t, c.Out) {
			var n, g int
			fmt.Sscanf(d.ID, "doc:%d-%d", &n, &g)
			first := fmt.Sprintf("doc:0-%d", g)
			if n == 0 || g == 4 {
				first = ""
			}
			if d.SimilarTo != first {
				t.Errorf("%s is similar to %q, want %q", d.ID, d.SimilarTo, first)
			}
		}
		if want == nil {
			want = tree(t, c.Out)
		} else if diff := cmp.Diff(want, tree(t, c.Out)); diff != "" {
			t.Error(diff)
		}
	}
	c := filterConfig(documents, t.TempDir())
	c.Filter = filter.Options{Dedup: filter.DedupExact}
	if m := runFilter(t, testRunner, c); m.Counts[counts.KeyOf("tied")] != 0 {
		t.Errorf("exact: %v", m.Counts)
	}
}

// No held-out document is similar to a training document if the clusters are known; without
// them, many are.
func TestTheSplitKeepsClustersTogether(t *testing.T) {
	var sizes []int
	for range 40 {
		sizes = append(sizes, 3)
	}
	docs, group := alike(sizes...)
	dir := t.TempDir()
	path := jsonLines(t, dir, "some.jsonl", docs)
	for _, dedup := range []string{filter.DedupNone, filter.DedupMinHash} {
		c := config(t, t.TempDir())
		c.Sources, c.Filter = []Source{{kindJSONL, path}}, filter.Options{Dedup: dedup}
		c.Examples.Fraction = 0.3
		stages := run(t, testRunner, c)
		s, err := survey.Collect(context.Background(), c.Out, survey.Options{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		h := s.HeldOut
		if h == nil || h.Documents == 0 {
			t.Fatalf("%s: nothing is held out: %+v, %v", dedup, h, stages[len(stages)-1].Counts)
		}
		if dedup == filter.DedupNone {
			if h.Similar < 10 {
				t.Errorf("without a search %d of %d are similar to training documents: the test shows nothing", h.Similar, h.Documents)
			}
			continue
		}
		if h.Similar != 0 || h.Tied != 80 {
			t.Errorf("%d of %d held-out documents are similar to training documents, %d are tied", h.Similar, h.Documents, h.Tied)
		}
		sides := map[int]map[bool]bool{}
		heldOut := 0
		for _, d := range readDocuments(t, c.Out+"/"+filteredFolder) {
			side := c.Examples.HeldOut(d.SplitID())
			if sides[group[d.ID]] == nil {
				sides[group[d.ID]] = map[bool]bool{}
			}
			sides[group[d.ID]][side] = true
			if side {
				heldOut++
			}
		}
		for g, both := range sides {
			if len(both) != 1 {
				t.Errorf("cluster %d is in both splits", g)
			}
		}
		if eval := evalDocuments(t, c.Out+"/shards"); int64(heldOut) != eval {
			t.Errorf("the eval split has %d documents, want %d", eval, heldOut)
		}
	}
}

// evalDocuments returns the number of documents in the eval shards.
func evalDocuments(t *testing.T, location string) (n int64) {
	t.Helper()
	folder, err := store.Open(location)
	if err != nil {
		t.Fatal(err)
	}
	m, err := sharding.ReadManifest(context.Background(), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.RecordFiles() {
		if name, ok := sharding.ParseShardName(f.Name); ok && name.Split == sharding.Eval {
			n += f.Counts[counts.KeyOf("documents")]
		}
	}
	return n
}
