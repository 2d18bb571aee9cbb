package pipeline

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/counts"
	"pretext/extract"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// novel returns a made-up text of n words that no other seed gives.
func novel(seed uint64, words int) string {
	r := rand.New(rand.NewPCG(seed, 11))
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "w%d", r.IntN(30_000))
		if b.WriteByte(' '); i%12 == 11 {
			b.WriteString(".\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// library is novels alone, in collections, and under other names. The order is
// such that what stays does not depend on who comes first.
func library() (docs []extract.Document, want map[string]rejectLine) {
	n := func(i int) string { return novel(uint64(i), 5000) }
	join := func(texts ...string) string { return strings.Join(texts, "\n") }
	add := func(id, text string) { docs = append(docs, extract.Document{ID: id, Text: text, Source: "books"}) }
	add("alone", n(1))
	add("in-two", n(2))
	add("in-two-other-name", strings.ToUpper(n(2)))
	add("in-two-other-edition", join(novel(90, 200), n(2)))
	add("two", join(n(3), n(2)))
	add("long-preface", join(novel(91, 4000), n(4)))
	add("prefaced", n(4))
	add("part", strings.Join(strings.Fields(n(5))[:3500], " "))
	add("most", strings.Join(strings.Fields(n(5))[:4500], " ")) // 0.78 of it is part: not nearly equal
	add("collection", join(n(6), n(3), novel(92, 300), n(2), n(7)))
	add("half", join(novel(93, 3000), strings.Join(strings.Fields(n(1))[:2500], " "))) // half of alone
	add("short", strings.Join(strings.Fields(n(6))[:300], " "))
	want = map[string]rejectLine{
		"in-two":               {Reason: "contained", Of: "collection"},
		"in-two-other-name":    {Reason: "contained", Of: "collection"},
		"in-two-other-edition": {Reason: "contained", Of: "collection"},
		"two":                  {Reason: "contained", Of: "collection"},
		"prefaced":             {Reason: "contained", Of: "long-preface"},
		"part":                 {Reason: "contained", Of: "most"},
	}
	return docs, want
}

func TestABookInAnotherGoesAndTheLargerStays(t *testing.T) {
	docs, want := library()
	for _, reversed := range []bool{false, true} {
		docs := slices.Clone(docs)
		if reversed {
			slices.Reverse(docs)
		}
		out := t.TempDir()
		c := filterConfig(documentsFolder(t, docs), out)
		c.Filter.Nearly.Containment = 0.9
		m := runFilter(t, testRunner, c)
		got := readRejects(t, out)
		for id, line := range got {
			if line.Reason == "contained" && (line.Share < 0.9 || line.Share > 1 || line.Similarity != 0) {
				t.Errorf("%s: got %+v, want the share that the other holds", id, line)
			}
			got[id] = rejectLine{Reason: line.Reason, Of: line.Of}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reversed %v (-want +got):\n%s", reversed, diff)
		}
		if n := m.Counts[counts.KeyOf("reject.contained")]; n != int64(len(want)) || m.Counts[counts.KeyOf("read")] != m.Counts[counts.KeyOf("documents")]+n {
			t.Errorf("counts do not add up: %v", m.Counts)
		}
		if v := verify(t, out); !v.OK() {
			t.Errorf("verification: %+v", v)
		}
	}
}

func TestWithoutContainmentABookInAnotherStays(t *testing.T) {
	docs, _ := library()
	out := t.TempDir()
	runFilter(t, testRunner, filterConfig(documentsFolder(t, docs), out))
	got := readRejects(t, out)
	if len(got) != 2 || got["in-two-other-name"].Reason != "duplicate" || got["in-two-other-edition"].Reason != "near-duplicate" {
		t.Errorf("got %+v, want the copies alone", got)
	}
	if files, _ := filepath.Glob(filepath.Join(out, sharding.SignaturesFolder, sharding.SamplesPrefix+"*")); files != nil {
		t.Errorf("got %v, which nobody asked for", files)
	}
}

func TestContainedDocumentsDoNotDependOnWorkersOrMemory(t *testing.T) {
	docs, _ := library()
	documents := documentsFolder(t, docs)
	var want map[string]string
	for _, c := range []struct {
		workers int
		memory  int64
	}{{1, 1e9}, {4, 280e6}} {
		out := t.TempDir()
		config := filterConfig(documents, out)
		config.Filter.Nearly.Containment, config.Memory = 0.9, c.memory
		runFilter(t, stage.Runner{Name: "direct", Workers: c.workers}, config)
		if want == nil {
			want = tree(t, out)
		} else if diff := cmp.Diff(want, tree(t, out)); diff != "" {
			t.Error(diff)
		}
	}
}
