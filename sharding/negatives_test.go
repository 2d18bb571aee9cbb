package sharding

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/counts"
	"pretext/extract"
	"pretext/records/pretrain"
)

// drawFolder draws a folder of documents files. Each block has its number as Offset.
func drawFolder(t *rapid.T) (in DocumentsInput, blocks []extract.Block) {
	largest := rapid.SampledFrom([]int64{1000, 90_000, 700_000}).Draw(t, "largest")
	most := rapid.SampledFrom([]int64{1, 9, 2000}).Draw(t, "most")
	for i := range rapid.IntRange(1, 4).Draw(t, "files") {
		f := DocumentsFile{Name: fmt.Sprint(i)}
		for range rapid.IntRange(1, 30).Draw(t, "blocks") {
			b := extract.Block{Offset: int64(len(blocks)), TextBytes: rapid.Int64Range(1, largest).Draw(t, "text"), Documents: rapid.Int64Range(1, most).Draw(t, "documents")}
			blocks = append(blocks, b)
			f.Blocks = append(f.Blocks, b)
		}
		in.Files = append(in.Files, f)
	}
	return in, blocks
}

// A blockDocument is the number of a block and that of a document in it.
type blockDocument struct{ block, document int64 }

// negativesOf returns the documents that random segments of a shard are of, by its
// plan, each as often as it is there.
func (t ShardTask) negativesOf() map[blockDocument]int {
	found := map[blockDocument]int{}
	parts := map[int][]Range{}
	for _, p := range t.Negatives.Parts {
		parts[p.Block] = append(parts[p.Block], p.Range)
	}
	number := 0
	for _, f := range t.Negatives.Blocks {
		for _, b := range f.Blocks {
			ranges, ok := parts[number]
			if !ok {
				ranges = []Range{{0, b.Documents}}
			}
			number++
			for _, r := range ranges {
				for d := r.From; d < r.To; d++ {
					found[blockDocument{b.Offset, d}]++
				}
			}
		}
	}
	own := rangeCursor(t.Negatives.Own)
	at := int64(0)
	for _, f := range t.Blocks {
		for _, b := range f.Blocks {
			for d := range b.Documents {
				if own.has(at) {
					found[blockDocument{b.Offset, d}]++
				}
				at++
			}
		}
	}
	return found
}

func TestShardsHaveEachDocumentAsNegativeEquallyOften(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, blocks := drawFolder(t)
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
		documents := int64(0)
		for _, b := range blocks {
			documents += b.Documents
		}
		times := map[blockDocument]int{}
		for i, size := range a.Sizes() {
			task, without := a.Task(i), plain.Task(i)
			if without.Negatives != nil {
				t.Fatalf("shard %d has negatives: %+v", i, without)
			}
			if diff := cmp.Diff(without.Blocks, task.Blocks); diff != "" {
				t.Fatalf("shard %d has other blocks with negatives: %s", i, diff)
			}
			if want := task.TextBytes() + task.Negatives.Blocks.TextBytes(); size.TextBytes != want {
				t.Fatalf("shard %d: %d bytes of text, want %d", i, size.TextBytes, want)
			}
			if got, want := task.Negatives.Follow, followBelow(documents); got != want {
				t.Fatalf("shard %d follows documents with hashes below %d, want %d for %d documents", i, got, want, documents)
			}
			for d, n := range task.negativesOf() {
				if n != 1 {
					t.Fatalf("shard %d has %+v %d times", i, d, n)
				}
				times[d]++
			}
			var read ShardTask
			if err := json.Unmarshal(Compact(task), &read); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(task, read); diff != "" {
				t.Fatal(diff)
			}
		}
		want := int(min(int64(o.Shards), 1+(NegativesBytes-1)/max(1, a.TextBytes/int64(o.Shards))))
		for number, b := range blocks {
			for d := range b.Documents {
				if got := times[blockDocument{int64(number), d}]; got != want {
					t.Fatalf("document %d of block %d: in the negatives of %d shards, want %d", d, number, got, want)
				}
			}
		}
	})
}

// Long and short documents are in different blocks: 5,000 books, and 60,000 notes of
// 10 bytes in ten blocks. If their documents were in one line, the shards that have
// none of the notes would have 100 books each.
func TestNegativesOfAShardHaveAboutItsBytes(t *testing.T) {
	var in DocumentsInput
	f := DocumentsFile{Name: "0"}
	for range 5000 {
		f.Blocks = append(f.Blocks, extract.Block{Documents: 1, TextBytes: 400_000})
	}
	for range 10 {
		f.Blocks = append(f.Blocks, extract.Block{Documents: 6000, TextBytes: 60_000})
	}
	in.Files = []DocumentsFile{f}
	o := DefaultExamplesOptions()
	o.NSPNegatives = pretrain.NegativesCorpus
	a, err := Assign([]DocumentsInput{in}, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Shards {
		if n := a.Task(i).Negatives.Blocks.TextBytes(); n > 2*DefaultShardBytes {
			t.Fatalf("the negatives of shard %d of %d have %d bytes", i, a.Shards, n)
		}
	}
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
			c.BeginNegatives()
		}
		if err := e.Add(c, doc); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(Counts{counts.KeyOf("documents"): 1, counts.KeyOf("sentences"): 1, counts.KeyOf("tokens"): 2, counts.KeyOf("unknown_tokens"): 1, SpelledLetters.Key: 0}, c.Counts); diff != "" {
		t.Error(diff)
	}
	if c.WithoutPunkt["xx"] != 1 || c.Documents() != 2 || c.Own() != 1 {
		t.Errorf("%v of %d documents, %d own", c.WithoutPunkt, c.Documents(), c.Own())
	}
	c.Reset()
	if err := e.Add(c, doc); err != nil || c.Counts[counts.KeyOf("documents")] != 1 || c.HasNegatives() {
		t.Errorf("%v after Reset: %v", c.Counts, err)
	}
}
