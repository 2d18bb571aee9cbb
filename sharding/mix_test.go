package sharding

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/extract"
)

// memoryFolder is a folder of files in memory.
type memoryFolder map[string][]byte

type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

func (m memoryFolder) Open(_ context.Context, name string) (File, error) {
	b, ok := m[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return memoryFile{bytes.NewReader(b)}, nil
}

func (m memoryFolder) Stat(context.Context, string) (fs.FileInfo, error) { return nil, fs.ErrNotExist }
func (m memoryFolder) String() string                                    { return "memory" }

// A mixed document of a test.
type mixDocument struct {
	extract.Document
	tokens int64
}

// A mixCorpus is documents in blocks of folders, and what the stage that counts
// their tokens writes.
type mixCorpus struct {
	inputs []DocumentsInput
	blocks map[blockPlace][]mixDocument
	counts memoryFolder
}

type blockPlace struct {
	folder int
	file   string
	offset int64
}

// add appends a file of documents in blocks to a folder.
func (c *mixCorpus) add(folder int, source string, blocks [][]mixDocument) {
	for len(c.inputs) <= folder {
		c.inputs = append(c.inputs, DocumentsInput{Location: fmt.Sprint("folder", len(c.inputs))})
	}
	in := &c.inputs[folder]
	f := DocumentsFile{Name: fmt.Sprintf("documents-%s-%05d%s", source, len(in.Files), DocumentsSuffix)}
	if c.blocks == nil {
		c.blocks = map[blockPlace][]mixDocument{}
	}
	for i, docs := range blocks {
		b := extract.Block{Offset: int64(i), Length: 1, Documents: int64(len(docs))}
		for _, d := range docs {
			b.TextBytes += int64(len(d.Text))
		}
		f.Blocks = append(f.Blocks, b)
		c.blocks[blockPlace{folder, f.Name, b.Offset}] = docs
	}
	in.Files = append(in.Files, f)
}

// count writes the counts of all documents.
func (c *mixCorpus) count(o ExamplesOptions) {
	c.counts = memoryFolder{}
	for task, blocks := range CountTasks(c.inputs) {
		var counts TokenCounts
		counts.Reset()
		for _, f := range blocks {
			for _, b := range f.Blocks {
				for _, d := range c.blocks[blockPlace{f.Folder, f.Name, b.Offset}] {
					counts.Add(&d.Document, d.tokens, o.HeldOut(d.ID))
				}
			}
		}
		var out bytes.Buffer
		if _, err := counts.WriteTo(&out); err != nil {
			panic(err)
		}
		c.counts[TokenCountsName(task)+TokenCountsSuffix] = out.Bytes()
	}
}

// A reading is a document in a shard.
type reading struct {
	id, source, language string
	tokens               int64
	pass, shard          int
}

// readings returns the documents of all shards.
func (c *mixCorpus) readings(t *rapid.T, a *Assignment, o ExamplesOptions) (all []reading) {
	choice := newMixChoice(o)
	for shard := range a.Shards {
		for _, r := range a.Task(shard).passes() {
			for _, f := range r.Blocks {
				for _, b := range f.Blocks {
					for _, d := range c.blocks[blockPlace{f.Folder, f.Name, b.Offset}] {
						chosen, err := choice.chosen(MixPart{f.Folder, SourceOf(f.Name)}, r.Pass, &d.Document)
						if err != nil {
							t.Fatal(err)
						}
						if chosen {
							all = append(all, reading{d.ID, SourceOf(f.Name), d.Lang, d.tokens, r.Pass, shard})
						}
					}
				}
			}
		}
	}
	return all
}

var mixLanguages = []string{"en", "el", "pt"}

// drawCorpus draws sources a, b and c, each with documents in some languages.
func drawCorpus(t *rapid.T) *mixCorpus {
	c := &mixCorpus{}
	number := 0
	for i, source := range []string{"a", "b-1", "b-2"} {
		var blocks [][]mixDocument
		for range rapid.IntRange(1, 6).Draw(t, "blocks") {
			var docs []mixDocument
			for range rapid.IntRange(1, 12).Draw(t, "documents") {
				number++
				n := rapid.Int64Range(1, 400).Draw(t, "tokens")
				docs = append(docs, mixDocument{extract.Document{ID: fmt.Sprint("d:", number), Lang: rapid.SampledFrom(mixLanguages).Draw(t, "language"),
					Text: strings.Repeat("word ", int(n))}, n})
			}
			blocks = append(blocks, docs)
		}
		c.add(i/2, source, blocks)
	}
	return c
}

func drawMix(t *rapid.T) *Mix {
	number := rapid.OneOf(rapid.Float64Range(0.05, 4), rapid.SampledFrom([]float64{0, 0.5, 1, 2, 3}))
	if rapid.Bool().Draw(t, "weights") {
		return &Mix{Weights: map[string]float64{"a": 1 + number.Draw(t, "a"), "b": number.Draw(t, "b")}}
	}
	m := &Mix{Epochs: map[string]float64{"a": 0.1 + number.Draw(t, "a"), "b-1": number.Draw(t, "b-1")}}
	if rapid.Bool().Draw(t, "alpha") {
		alpha := rapid.Float64Range(0, 1).Draw(t, "alpha value")
		m.LanguageAlpha = &alpha
	}
	return m
}

func drawOptions(t *rapid.T) ExamplesOptions {
	o := DefaultExamplesOptions()
	o.RandomSeed = rapid.Int64().Draw(t, "seed")
	o.Fraction = rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "eval")
	o.Shards = rapid.IntRange(0, 3).Draw(t, "shards")
	o.Mix = drawMix(t)
	return o
}

func TestAMixReadsEachSourceAsOftenAsAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, o := drawCorpus(t), drawOptions(t)
		c.count(o)
		a, err := ResolveMix(t.Context(), c.counts, c.inputs, &o)
		var few *TooManyShardsError
		var usage interface{ Usage() bool }
		if err != nil && strings.Contains(err.Error(), "would be read") {
			t.Skip(err) // more than maxEpochs times
		}
		if errors.Is(err, ErrNoDocuments) || errors.As(err, &few) || errors.As(err, &usage) && o.Fraction > 0 {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		all := c.readings(t, a, o)
		checkRows(t, c, o, all)
		checkPlaces(t, a, o, all)
	})
}

// checkRows compares the table with the documents that shards read, and the tokens of
// each row with the closest that whole documents come.
func checkRows(t *rapid.T, c *mixCorpus, o ExamplesOptions, all []reading) {
	for i, row := range o.Mix.Table {
		in := func(source, language, id string) bool {
			return strings.HasPrefix(source, row.Source) && (o.Mix.LanguageAlpha == nil || language == row.Language) && !o.HeldOut(id)
		}
		var documents, tokens int64
		for _, r := range all {
			if in(r.source, r.language, r.id) {
				documents, tokens = documents+1, tokens+r.tokens
			}
		}
		if documents != row.MixedDocuments || tokens != row.MixedTokens {
			t.Fatalf("%s %s: shards have %d documents and %d tokens, the table says %d and %d", row.Source, row.Language, documents, tokens, row.MixedDocuments, row.MixedTokens)
		}
		var pool []keyed
		for place, docs := range c.blocks {
			for _, d := range docs {
				if in(SourceOf(place.file), d.Lang, d.ID) {
					pool = append(pool, keyed{choiceKey(o.RandomSeed, row.Passes, idHash(d.ID)), d.tokens})
				}
			}
		}
		if row.Tokens == 0 {
			continue
		}
		miss := max(row.Wanted-row.MixedTokens, row.MixedTokens-row.Wanted)
		if best := bestMiss(pool, row.Wanted%row.Tokens); miss > best {
			t.Fatalf("row %d: %d tokens instead of %d, documents can come as close as %d", i, row.MixedTokens, row.Wanted, best)
		}
	}
	checkFormula(t, c, o)
}

// Sources of a row, and without LanguageAlpha the languages of a source, are added up.
func TestAnEstimateHasARowForEachSourceOrLanguage(t *testing.T) {
	alpha := 1.0
	sources := []MixRow{
		{Source: "b-1", Language: "en", Documents: 1, Tokens: 10}, {Source: "b-2", Language: "en", Documents: 2, Tokens: 20},
		{Source: "b-2", Language: "el", Documents: 4, Tokens: 40}, {Source: "a", Language: "el", Documents: 8, Tokens: 80},
	}
	for _, test := range []struct {
		mix  Mix
		want []MixRow
	}{
		{Mix{Epochs: map[string]float64{"b": 2}}, []MixRow{
			{Source: "b", Documents: 7, Tokens: 70, Wanted: 140, MixedTokens: 140, MixedDocuments: 14},
			{Source: "a", Documents: 8, Tokens: 80, Wanted: 80, MixedTokens: 80, MixedDocuments: 8}}},
		{Mix{Epochs: map[string]float64{"b": 1}, LanguageAlpha: &alpha}, []MixRow{
			{Source: "b", Language: "en", Documents: 3, Tokens: 30, Wanted: 30, MixedTokens: 30, MixedDocuments: 3},
			{Source: "b", Language: "el", Documents: 4, Tokens: 40, Wanted: 40, MixedTokens: 40, MixedDocuments: 4},
			{Source: "a", Language: "el", Documents: 8, Tokens: 80, Wanted: 80, MixedTokens: 80, MixedDocuments: 8}}},
	} {
		got, err := test.mix.Estimate(sources)
		if diff := gocmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%v, %s", err, diff)
		}
	}
}

// bestMiss returns how close to sum the tokens of whole documents come: of all
// subsets of a few documents, else of those that begin with the lowest key.
func bestMiss(pool []keyed, sum int64) int64 {
	slices.SortFunc(pool, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	sums := []int64{0}
	for _, d := range pool {
		if len(pool) > nearEnd {
			sums = append(sums, sums[len(sums)-1]+d.tokens)
			continue
		}
		for _, n := range sums {
			sums = append(sums, n+d.tokens)
		}
	}
	best := sum
	for _, n := range sums {
		best = min(best, max(n-sum, sum-n))
	}
	return best
}

// checkFormula computes what each source or language should get, in another way than
// the table.
func checkFormula(t *rapid.T, c *mixCorpus, o ExamplesOptions) {
	m := o.Mix
	of := map[[2]string]float64{} // tokens by source and language
	total := 0.0
	for place, docs := range c.blocks {
		source := SourceOf(place.file)
		for _, d := range docs {
			if o.HeldOut(d.ID) {
				continue
			}
			times := 1.0
			if e, ok := m.Epochs[source]; ok {
				times = e
			}
			total += times * float64(d.tokens)
			of[[2]string{source[:1], d.Lang}] += times * float64(d.tokens)
		}
	}
	want, sum := map[string]float64{}, 0.0
	switch {
	case m.LanguageAlpha != nil:
		for _, l := range mixLanguages {
			if n := of[[2]string{"a", l}] + of[[2]string{"b", l}]; n > 0 {
				want[l] = math.Pow(n/total, *m.LanguageAlpha)
				sum += want[l]
			}
		}
	case m.Weights != nil:
		want, sum = m.Weights, m.Weights["a"]+m.Weights["b"]
	default:
		return
	}
	got := map[string]float64{}
	for _, r := range m.Table {
		key := r.Source
		if m.LanguageAlpha != nil {
			key = r.Language
		}
		got[key] += float64(r.Wanted)
	}
	for key, n := range got {
		if expected := want[key] / sum * total; math.Abs(n-expected) > 3 {
			t.Fatalf("%s gets %.0f tokens, want %.1f", key, n, expected)
		}
	}
}

// checkPlaces checks that no shard reads a document twice if another could, that a
// pass reads it at most once, and that held-out documents are read once.
func checkPlaces(t *rapid.T, a *Assignment, o ExamplesOptions, all []reading) {
	type read struct {
		id          string
		pass, shard int
	}
	seen := map[read]int{}
	passes := map[string]int{}
	for _, r := range all {
		seen[read{id: r.id, pass: r.pass, shard: -1}]++
		seen[read{id: r.id, pass: -1, shard: r.shard}]++
		passes[r.id]++
		if o.HeldOut(r.id) && (r.pass != 0 || passes[r.id] > 1) {
			t.Fatalf("the held-out document %s is read in pass %d, %d times", r.id, r.pass, passes[r.id])
		}
	}
	most := map[string]int{} // units of the document's block
	for i, row := range o.Mix.Table {
		for _, p := range row.parts() {
			most[p.Source] = max(most[p.Source], o.Mix.Table[i].passes())
		}
	}
	for _, r := range all {
		if n := seen[read{id: r.id, pass: r.pass, shard: -1}]; n > 1 {
			t.Fatalf("pass %d reads %s %d times", r.pass, r.id, n)
		}
		if n := seen[read{id: r.id, pass: -1, shard: r.shard}]; n > 1 && most[r.source] <= a.Shards {
			t.Fatalf("shard %d of %d reads %s %d times, in %d passes", r.shard, a.Shards, r.id, n, most[r.source])
		}
	}
}

// The choice depends on nothing but options and documents, and more epochs keep the
// documents that fewer chose by their key.
func TestMoreEpochsKeepTheDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCorpus(t)
		epochs := rapid.Float64Range(0.05, 0.9).Draw(t, "epochs")
		more := rapid.Float64Range(epochs, 1).Draw(t, "more")
		table := func(epochs float64) MixRow {
			o := DefaultExamplesOptions()
			o.Mix = &Mix{Epochs: map[string]float64{"a": epochs}}
			c.count(o)
			again := o
			_, err1 := ResolveMix(t.Context(), c.counts, c.inputs, &o)
			_, err2 := ResolveMix(t.Context(), c.counts, c.inputs, &again)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(o.Mix, again.Mix); diff != "" {
				t.Fatal(diff)
			}
			return o.Mix.Table[0]
		}
		few, many := table(epochs), table(more)
		if many.Passes == 0 && many.Below < few.Below {
			t.Fatalf("%g epochs choose the keys below %d, %g those below %d", epochs, few.Below, more, many.Below)
		}
		if many.MixedTokens+400 < few.MixedTokens {
			t.Fatalf("%g epochs have %d tokens, %g have %d", epochs, few.MixedTokens, more, many.MixedTokens)
		}
	})
}

func TestWrongMixesNameTheCure(t *testing.T) {
	number := func(f float64) *float64 { return &f }
	for _, c := range []struct {
		name string
		mix  Mix
		want string
	}{
		{"negative weight", Mix{Weights: map[string]float64{"a": -1, "b": 2}}, "weight a=-1: must be a number of at least 0"},
		{"weight that is no number", Mix{Weights: map[string]float64{"a": math.NaN(), "b": 1}}, "weight a=NaN: must be a number of at least 0"},
		{"infinite weight", Mix{Weights: map[string]float64{"a": math.Inf(1), "b": 1}}, "weight a=+Inf: must be a number of at least 0"},
		{"no weight", Mix{Weights: map[string]float64{"a": 0, "b": 0}}, "weight: all are 0: give at least one source a weight above 0"},
		{"both", Mix{Weights: map[string]float64{"a": 1, "b": 1}, Epochs: map[string]float64{"a": 1}}, "weight and epochs of a: give one of them"},
		{"negative epochs", Mix{Epochs: map[string]float64{"a": -1}}, "epochs a=-1: must be a number from 0 to 1000"},
		{"epochs that are no number", Mix{Epochs: map[string]float64{"a": math.NaN()}}, "epochs a=NaN: must be a number from 0 to 1000"},
		{"alpha", Mix{LanguageAlpha: number(1.5)}, "language_alpha 1.5: must be a number from 0 to 1"},
		{"alpha that is no number", Mix{LanguageAlpha: number(math.NaN())}, "language_alpha NaN: must be a number from 0 to 1"},
		{"alpha and weights", Mix{LanguageAlpha: number(0.5), Weights: map[string]float64{"a": 1, "b": 1}},
			"weight and language_alpha: both set shares of tokens: give one of them, or epochs for sources and language_alpha"},
		{"unknown source", Mix{Epochs: map[string]float64{"c": 2}}, "--epochs c: there is no such source; the sources are a, b-1, b-2"},
		{"without a weight", Mix{Weights: map[string]float64{"b": 1}}, "source a has no weight: give every source a --weight or --epochs; 0 leaves a source out"},
		{"named twice", Mix{Epochs: map[string]float64{"b": 1, "b-2": 1}}, "--epochs b and --epochs b-2: both name the source b-2"},
		{"too often", Mix{Weights: map[string]float64{"a": 1e6, "b": 1}}, ""},
		{"without a language", Mix{LanguageAlpha: number(0.5)},
			"3 documents of source b-2 have no language, and --language-alpha needs one: extract them with --language CODE, or leave the source out with --epochs b-2=0"},
		{"without tokens", Mix{Weights: map[string]float64{"a": 1, "b-1": 1, "b-2": 1}}, "--weight b-1: the source has no tokens to train on: leave it out with --weight b-1=0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			corpus := &mixCorpus{}
			docs := func(lang string, tokens int64) (blocks [][]mixDocument) {
				for i := range 3 {
					blocks = append(blocks, []mixDocument{{extract.Document{ID: fmt.Sprint(lang, i), Lang: lang, Text: "x"}, tokens}})
				}
				return blocks
			}
			corpus.add(0, "a", docs("en", 7))
			corpus.add(0, "b-1", docs("el", 0))
			corpus.add(1, "b-2", docs("", 9000))
			o := DefaultExamplesOptions()
			o.Mix = &c.mix
			corpus.count(o)
			err := o.Validate()
			if err == nil {
				_, err = ResolveMix(t.Context(), corpus.counts, corpus.inputs, &o)
				var usage interface{ Usage() bool }
				if !errors.As(err, &usage) {
					t.Fatalf("got %v, want a usage error", err)
				}
			}
			if c.want != "" && err.Error() != c.want {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestASecondFolderOfTheSameSourceHasAnotherName(t *testing.T) {
	var c mixCorpus
	c.add(0, "enwiki-20200101", nil)
	c.add(1, "enwiki-20200101", nil)
	c.add(1, "books", nil)
	if diff := gocmp.Diff([]string{"enwiki-20200101", "enwiki-20200101-2", "books"}, SourceNames(c.inputs)); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string][]string{"enwiki": {"enwiki-20200101", "enwiki-20200101-2"}, "enwiki-20200101": {"enwiki-20200101"}, "en": nil, "books": {"books"}} {
		if diff := gocmp.Diff(want, NamedSources(key, SourceNames(c.inputs))); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}
