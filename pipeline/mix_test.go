package pipeline

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/sharding/export"
	"pretext/tokenize/sentence"
)

// threeLanguages extracts real wikis in English, Greek and German, and returns the
// configuration of the examples stage.
func threeLanguages(t *testing.T) ExamplesConfig {
	t.Helper()
	c := ExamplesConfig{Target: stage.Target{Memory: 900e6}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1},
		TokenFile: TokenFile{Vocab: realdata.Path(t, "vocab/bert-base-multilingual-cased-vocab.txt")}, Examples: sharding.DefaultExamplesOptions()}
	c.Examples.DoLowerCase, c.Examples.DupeFactor, c.Examples.MaxSeqLength, c.Examples.Shards = false, 1, 512, 4
	for _, name := range []string{"enwiki-small-pages-articles", "elwikivoyage-medium-pages-articles", "dewiki-20170701-sample"} {
		documents := filepath.Join(t.TempDir(), name)
		sources := []Source{{KindWiki, realdata.Path(t, "wiki/"+name+".xml.bz2")}}
		if _, err := Extract(t.Context(), testRunner, ExtractConfig{Target: stage.Target{Out: documents, Memory: 600e6}, Reading: c.Reading, Sources: sources}); err != nil {
			t.Fatal(err)
		}
		c.Documents = append(c.Documents, documents)
	}
	return c
}

// A mix of real wikis in three languages.
func TestAMixOfThreeLanguages(t *testing.T) {
	c := threeLanguages(t)
	texts := c.byText(t)
	t.Run("each gets its share to a thousandth", func(t *testing.T) { c.checkShares(t, texts) })
	t.Run("same bytes for any workers and runner", c.checkBytes)
	t.Run("no held-out document is repeated", func(t *testing.T) { c.checkHeldOut(t, texts) })
}

// A textOf is what a test knows of a document by its sentences.
type textOf struct {
	id, language string
	ids          []int32
}

// byText returns all documents by their sentences, with their token ids.
func (c ExamplesConfig) byText(t *testing.T) map[string]textOf {
	t.Helper()
	raw, err := os.ReadFile(c.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := sharding.NewTokenizer(c.Vocab, raw, c.Examples)
	if err != nil {
		t.Fatal(err)
	}
	words := tok.WordPiece.NewEncoder()
	split := sentence.NewLanguageSplitter(c.Examples.SentenceSplitter)
	documents := map[string]textOf{}
	for _, location := range c.Documents {
		in, err := sharding.OpenDocumentsFolder(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		folder, err := store.Open(location)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range in.Files {
			for doc, err := range sharding.Documents(t.Context(), folder, f.Name) {
				if err != nil {
					t.Fatal(err)
				}
				var text strings.Builder
				d := textOf{id: doc.ID, language: doc.Lang}
				for line, err := range split.Sentences(doc.Text, doc.Lang) {
					if err != nil {
						t.Fatal(err)
					}
					text.Write(line)
					text.WriteByte('\n')
					d.ids = words.AppendIDsBytes(d.ids, line)
				}
				documents[text.String()] = d
			}
		}
	}
	return documents
}

// A shardText is a document in the text of a shard.
type shardText struct {
	textOf
	split string
	shard int
}

// exported returns the documents of finished shards, from their text.
func (c ExamplesConfig) exported(t *testing.T, known map[string]textOf) (list []shardText) {
	t.Helper()
	out := t.TempDir()
	files, err := export.Text(t.Context(), export.Config{Shards: c.Out, Documents: c.Documents, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, ok := sharding.ParseShardName(f.Name)
		raw, err := os.ReadFile(filepath.Join(out, f.Name))
		if err != nil || !ok {
			t.Fatal(f.Name, err)
		}
		for text := range strings.SplitSeq(strings.TrimSuffix(string(raw), "\n\n"), "\n\n") {
			d, ok := known[text+"\n"]
			if text != "" && !ok {
				t.Fatalf("%s: unknown text %.100q", f.Name, text)
			}
			if ok {
				list = append(list, shardText{d, name.Split, name.Index})
			}
		}
	}
	return list
}

// inRecords returns the tokens of the documents in records of the recipe tokens, by
// language. known are all documents by their ids.
func inRecords(t *testing.T, m *sharding.Manifest, dir string, known map[string]textOf) map[string]float64 {
	t.Helper()
	tokens := map[string]float64{}
	for _, f := range m.RecordFiles() {
		file, err := os.Open(filepath.Join(dir, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var e records.Example
		r := tfrecord.NewReader(file, tfrecord.ReaderOptions{})
		for payload, err := r.Next(); err != io.EOF; payload, err = r.Next() {
			if err == nil {
				err = e.DecodeForm(records.Tokens, payload)
			}
			if err != nil {
				t.Fatal(err)
			}
			d, ok := known[fmt.Sprint(e.InputIDs)]
			if !ok {
				t.Fatalf("%s: a record of %d tokens that no document has", f.Name, len(e.InputIDs))
			}
			tokens[d.language] += float64(len(e.InputIDs))
		}
	}
	return tokens
}

// checkShares checks that languages get the shares of the formula, in tokens. The
// tokens are those that the test finds in the records, and in the documents.
func (c ExamplesConfig) checkShares(t *testing.T, texts map[string]textOf) {
	c.Examples = sharding.RecipeOptions("tokens")
	c.Examples.DoLowerCase, c.Examples.Shards = false, 4
	known := map[string]textOf{}
	before, all := map[string]float64{}, 0.0
	for _, d := range texts {
		known[fmt.Sprint(d.ids)] = d
		before[d.language] += float64(len(d.ids))
		all += float64(len(d.ids))
	}
	alphas := []float64{0.3, 0.7, 1}
	if testing.Short() {
		alphas = alphas[:1]
	}
	for _, alpha := range alphas {
		c := c
		c.Out = filepath.Join(t.TempDir(), "shards")
		c.Examples.Mix = &sharding.Mix{LanguageAlpha: &alpha}
		m, err := Examples(t.Context(), testRunner, c)
		if err != nil {
			t.Fatal(err)
		}
		got := inRecords(t, m, c.Out, known)
		total, sum := 0.0, 0.0
		for language, n := range before {
			total += got[language]
			sum += math.Pow(n/all, alpha)
		}
		for language, n := range before {
			want := math.Pow(n/all, alpha) / sum
			if share := got[language] / total; math.Abs(share-want) > want/1000 {
				t.Errorf("alpha %g: %s has the share %.5f, want %.5f", alpha, language, share, want)
			}
		}
		if v := verify(t, c.Out); !v.OK() {
			t.Errorf("alpha %g: %v", alpha, v.Problems)
		}
	}
}

func (c ExamplesConfig) checkBytes(t *testing.T) {
	alpha := 0.5
	c.Examples.Mix = &sharding.Mix{LanguageAlpha: &alpha, Epochs: map[string]float64{"enwiki": 1.5}}
	c.Examples.Fraction, c.Examples.MaxSeqLength = 0.1, 128
	var want map[string]string
	for _, r := range []stage.Runner{{Name: "direct", Workers: 1}, {Name: "direct", Workers: 5}} {
		c.Out = filepath.Join(t.TempDir(), "shards")
		if _, err := Examples(context.Background(), r, c); err != nil {
			t.Fatal(err)
		}
		got := tree(t, c.Out)
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(r.Name, r.Workers, diff)
		}
	}
}

// checkHeldOut checks that in every pass, held-out documents are those that Split
// holds out. They are in the eval split once; other documents are in the train split,
// and their copies in other shards.
func (c ExamplesConfig) checkHeldOut(t *testing.T, known map[string]textOf) {
	c.Out = filepath.Join(t.TempDir(), "shards")
	c.Examples.Fraction = 0.3
	c.Examples.Mix = &sharding.Mix{Epochs: map[string]float64{"dewiki": 2.5, "elwikivoyage": 0.5}}
	if _, err := Examples(t.Context(), testRunner, c); err != nil {
		t.Fatal(err)
	}
	times, inShard := map[string]int{}, map[string]int{}
	for _, d := range c.exported(t, known) {
		times[d.id]++
		inShard[fmt.Sprint(d.id, d.shard)]++
		if held := c.Examples.HeldOut(d.id); held != (d.split == sharding.Eval) || held && times[d.id] > 1 {
			t.Errorf("%s is in the split %s, %d times; held out: %v", d.id, d.split, times[d.id], held)
		}
		if n := inShard[fmt.Sprint(d.id, d.shard)]; n > 1 {
			t.Errorf("%s is in shard %d %d times", d.id, d.shard, n)
		}
	}
	for _, d := range known {
		want := map[string][2]int{"de": {2, 3}, "en": {1, 1}, "el": {0, 1}}[d.language]
		if c.Examples.HeldOut(d.id) {
			want = [2]int{1, 1}
		}
		if n := times[d.id]; n < want[0] || n > want[1] {
			t.Errorf("%s is read %d times, want %d to %d", d.id, n, want[0], want[1])
		}
	}
}

// A run with a wrong name ends before its first stage.
func TestARunChecksTheNamesOfItsMixFirst(t *testing.T) {
	c := config(t, filepath.Join(t.TempDir(), "out"))
	c.Examples.Mix = &sharding.Mix{Epochs: map[string]float64{"tset": 2}}
	_, err := Run(t.Context(), testRunner, c)
	if want := "--epochs tset: there is no such source; the sources are test, book"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := os.Stat(filepath.Join(c.Out, sharding.DocumentsFolder)); !os.IsNotExist(err) {
		t.Error("documents were extracted")
	}
}
