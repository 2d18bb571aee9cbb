package consumers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pretext/internal/failure"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/records/pretrain"
)

func TestDescriptionsAreSound(t *testing.T) {
	names := map[string]bool{}
	for _, c := range all() {
		if err := validate(c); err != nil {
			t.Error(err)
		}
		if names[c.Name] || c.About == "" || len(c.Checked) == 0 || !strings.Contains(c.Load, "{folder}") {
			t.Errorf("%s: a name that is there twice, or a field that is empty", c.Name)
		}
		names[c.Name] = true
	}
}

func TestAnUnsoundDescriptionIsFound(t *testing.T) {
	for want, change := range map[string]func(*Consumer){
		`no format "mdx"`:                    func(c *Consumer) { c.Format = "mdx" },
		`no compression "lzma"`:              func(c *Consumer) { c.Compression = "lzma" },
		"must be in Recipes or in Misread":   func(c *Consumer) { c.Misread = nil },
		"no columns of int64":                func(c *Consumer) { c.Format, c.Int, c.Fields = "hdf5", columns.Int64, nil },
		"no column has the feature input_id": func(c *Consumer) { c.Fields = c.Fields[1:] },
		"no columns of plain bytes":          func(c *Consumer) { c.Fields[0].Plain = true },
	} {
		c := hfTrainer()
		change(&c)
		if err := validate(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestWhatALoaderWouldMisreadIsRefused(t *testing.T) {
	good := Facts{Recipe: "google", Vocabulary: 30522, Files: 2}
	few, words, pad, one := lddl(), lddl(), lddl(), nvidiaBERT()
	unmasked, unpadded := Facts{Recipe: "pieces"}, Facts{Recipe: "sentences"}
	unmasked.Specials(0, -1)
	unpadded.Specials(-1, 4)
	few.MaxVocab = 30000
	for want, c := range map[string]struct {
		Consumer
		Facts
	}{
		"the loader of megatron-bert makes no pair of a document that is one sequence, and":                                              {megatronBERT(), Facts{Recipe: "tokens"}},
		"the loader of modernbert cuts documents off at max_seq_len, and adds no [CLS] and [SEP]: make the records with --recipe pieces": {modernBERT(), Facts{Recipe: "tokens"}},
		"the loader of modernbert ignores sequence_lengths":                                                                              {modernBERT(), Facts{Recipe: "packed"}},
		"the loader of mosaicbert attends to the padding":                                                                                {mosaicBERT(), Facts{Recipe: "pieces"}},
		"the loader of streaming stacks arrays of one":                                                                                   {streamingLibrary(), Facts{Recipe: "pieces"}},
		"make the records with --recipe sentences":                                                                                       {megatronBERT(), Facts{Recipe: "google"}},
		"reads ids below 30000, and the vocabulary has 30522":                                                                            {few, good},
		"needs the words of a vocab.txt":                                                                                                 {words, Facts{Recipe: "google", Tokenizer: true}},
		"pads with 0, and [PAD] has the id 3":                                                                                            {pad, Facts{Recipe: "google", Pad: 3}},
		"masks and pads by itself, and the vocabulary has no [MASK]":                                                                     {modernBERT(), unmasked},
		"masks and pads by itself, and the vocabulary has no [PAD]":                                                                      {megatronBERT(), unpadded},
		"needs at least 2 files: make the records with --shards 2":                                                                       {one, Facts{Recipe: "google", Files: 1}},
	} {
		if err := c.Check(c.Facts); !failure.IsUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a usage error with %q", err, want)
		}
	}
	for _, c := range []Consumer{lddl(), nvidiaBERT(), tensorFlow()} {
		if err := c.Check(good); err != nil {
			t.Error(err)
		}
	}
	if err := levanter().Check(unmasked); err != nil {
		t.Errorf("a causal model needs no [MASK]: %v", err)
	}
}

// Every feature of the records comes back from the columns of every consumer.
func TestColumnsHoldTheRecords(t *testing.T) {
	e := &records.Example{InputIDs: []int32{2, 9, 4, 3, 8, 3, 0, 0}, InputMask: []int32{1, 1, 1, 1, 1, 1, 0, 0}, SegmentIDs: []int32{0, 0, 0, 0, 1, 1, 0, 0},
		MaskedLMPositions: []int32{1, 4, 0}, MaskedLMIDs: []int32{7, 8, 0}, MaskedLMWeights: []float32{1, 1, 0}, NextSentenceLabel: 1}
	for _, c := range all() {
		table := columns.NewTable(c.Spec(columns.Spec{Form: records.Pairs, Seq: 8, Predictions: 3}))
		if c.Format == "" || table.Complete() != nil {
			continue
		}
		row := table.Row(e)
		if err := columns.CheckRow(table.Schema, row); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		if got := table.Example(row).Append(nil); string(got) != string(e.Append(nil)) {
			t.Errorf("%s: another example", c.Name)
		}
	}
}

// validate returns what is wrong with a description.
func validate(c Consumer) error {
	for _, recipe := range pretrain.Recipes() {
		takes := slices.Contains(c.Recipes, recipe.Name)
		if takes == (c.Misread[recipe.Name] != "") {
			return fmt.Errorf("%s: the recipe %s must be in Recipes or in Misread", c.Name, recipe.Name)
		}
	}
	if c.Format == "" {
		return nil
	}
	format, ok := formats.Get(c.Format)
	if !ok {
		return fmt.Errorf("%s: no format %q", c.Name, c.Format)
	}
	about := format.About()
	if c.Compression != "" && !slices.Contains(about.Compressions, c.Compression) {
		return fmt.Errorf("%s: the format %s has no compression %q", c.Name, c.Format, c.Compression)
	}
	for _, recipe := range pretrain.Recipes() {
		if !slices.Contains(c.Recipes, recipe.Name) {
			continue
		}
		table := columns.NewTable(c.Spec(columns.Spec{Form: recipe.Form, Seq: recipe.Most, Predictions: 1}))
		if err := table.Complete(); err != nil {
			return fmt.Errorf("%s of %s: %w", c.Name, recipe.Name, err)
		}
		for _, column := range table.Schema {
			if t := column.Type; t != columns.Int32 && t != columns.Float32 && !slices.Contains(about.Ints, t) {
				return fmt.Errorf("%s: the format %s has no columns of %s", c.Name, c.Format, t)
			}
			if column.Plain && !about.Plain {
				return fmt.Errorf("%s: the format %s has no columns of plain bytes", c.Name, c.Format)
			}
		}
	}
	return nil
}
