package sharding

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/extract"
	"pretext/records/pretrain"
)

// unitsOf returns the numbers of blocks, each of which has its number as Offset.
func unitsOf(list BlockList) (units []int) {
	for _, f := range list {
		for _, b := range f.Blocks {
			units = append(units, int(b.Offset))
		}
	}
	return units
}

// wantSample is the sample as docs/format.md describes it.
func wantSample(blocks []extract.Block, own []int, seed int64, shard int) []int {
	rest := map[int]bool{}
	text := int64(0)
	for i, b := range blocks {
		if !slices.Contains(own, i) {
			rest[i] = true
			text += b.TextBytes
		}
	}
	if text <= NegativesBytes {
		return slices.Sorted(maps.Keys(rest))
	}
	drawn := map[int]bool{}
	text = 0
	for i := 0; text < NegativesBytes; i++ {
		var in [24]byte
		binary.BigEndian.PutUint64(in[:], uint64(seed))
		binary.BigEndian.PutUint64(in[8:], uint64(shard))
		binary.BigEndian.PutUint64(in[16:], uint64(i))
		sum := sha256.Sum256(in[:])
		if u := int(binary.BigEndian.Uint64(sum[:]) % uint64(len(blocks))); rest[u] && !drawn[u] {
			drawn[u] = true
			text += blocks[u].TextBytes
		}
	}
	return slices.Sorted(maps.Keys(drawn))
}

func TestNegativesAreDrawnFromOtherShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in DocumentsInput
		var blocks []extract.Block
		documents := int64(0)
		largest := rapid.SampledFrom([]int64{1000, 90_000, 700_000}).Draw(t, "largest")
		for i := range rapid.IntRange(1, 4).Draw(t, "files") {
			f := DocumentsFile{Name: fmt.Sprint(i)}
			for range rapid.IntRange(1, 30).Draw(t, "blocks") {
				b := extract.Block{Offset: int64(len(blocks)), TextBytes: rapid.Int64Range(1, largest).Draw(t, "text"), Documents: rapid.Int64Range(1, 90).Draw(t, "documents")}
				blocks = append(blocks, b)
				f.Blocks = append(f.Blocks, b)
				documents += b.Documents
			}
			in.Files = append(in.Files, f)
		}
		o := DefaultExamplesOptions()
		o.Shards, o.RandomSeed = rapid.IntRange(1, min(len(blocks), 9)).Draw(t, "shards"), rapid.Int64().Draw(t, "seed")
		plain, err := Assign([]DocumentsInput{in}, o)
		if err != nil {
			t.Fatal(err)
		}
		o.NSPNegatives = pretrain.NegativesCorpus
		a, err := Assign([]DocumentsInput{in}, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, size := range a.Sizes() {
			task, without := a.Task(i), plain.Task(i)
			if without.Negatives != nil || o.Shards == 1 && task.Negatives != nil {
				t.Fatalf("shard %d has negatives: %+v, %+v", i, without, task)
			}
			if diff := cmp.Diff(without.Blocks, task.Blocks); diff != "" {
				t.Fatalf("shard %d has other blocks with negatives: %s", i, diff)
			}
			if o.Shards == 1 {
				continue
			}
			if diff := cmp.Diff(wantSample(blocks, unitsOf(task.Blocks), o.RandomSeed, i), unitsOf(task.Negatives.Blocks)); diff != "" {
				t.Fatalf("shard %d: %s", i, diff)
			}
			if want := documents - task.CountDocuments(); task.Negatives.Documents != want {
				t.Fatalf("shard %d: %d other documents, want %d", i, task.Negatives.Documents, want)
			}
			if want := task.TextBytes() + task.Negatives.Blocks.TextBytes(); size.TextBytes != want {
				t.Fatalf("shard %d: %d bytes of text, want %d", i, size.TextBytes, want)
			}
			var read ShardTask
			if err := json.Unmarshal(Compact(task), &read); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(task, read); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func TestNegativesAreNotCounted(t *testing.T) {
	o := DefaultExamplesOptions()
	o.SentenceSplitter, o.NSPNegatives = "punkt", pretrain.NegativesCorpus
	tok, err := NewTokenizer(VocabName, []byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nferry\n"), o)
	if err != nil {
		t.Fatal(err)
	}
	c, e := tok.NewCorpus(), tok.NewEncoder()
	doc := &extract.Document{Text: "ferry boat", Lang: "xx"} // Punkt has no parameters for it
	for i := range 2 {
		if i == 1 {
			c.BeginNegatives(1, 1)
		}
		if err := e.Add(c, doc); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(Counts{"documents": 1, "sentences": 1, "tokens": 2, "unknown_tokens": 1, countSpelled: 0}, c.Counts); diff != "" {
		t.Error(diff)
	}
	if c.WithoutPunkt["xx"] != 1 || c.Documents() != 2 || c.Own() != 1 {
		t.Errorf("%v of %d documents, %d own", c.WithoutPunkt, c.Documents(), c.Own())
	}
	c.Reset()
	if err := e.Add(c, doc); err != nil || c.Counts["documents"] != 1 || c.HasNegatives() {
		t.Errorf("%v after Reset: %v", c.Counts, err)
	}
}
