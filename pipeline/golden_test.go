package pipeline

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/pipeline/stage"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// goldenRun is a JSON file of golden/tf: a run of the unmodified script.
type goldenRun struct {
	Name   string
	Inputs []struct{ Path string }
	Flags  struct {
		VocabFile            string  `json:"vocab_file"`
		DoLowerCase          bool    `json:"do_lower_case"`
		DoWholeWordMask      bool    `json:"do_whole_word_mask"`
		MaxSeqLength         int     `json:"max_seq_length"`
		MaxPredictionsPerSeq int     `json:"max_predictions_per_seq"`
		RandomSeed           int64   `json:"random_seed"`
		DupeFactor           int     `json:"dupe_factor"`
		MaskedLMProb         float64 `json:"masked_lm_prob"`
		ShortSeqProb         float64 `json:"short_seq_prob"`
	}
	Outputs []struct{ File string }
}

func (g goldenRun) options() sharding.ExamplesOptions {
	o := sharding.DefaultExamplesOptions()
	o.MaxSeqLength, o.MaxPredictionsPerSeq = g.Flags.MaxSeqLength, g.Flags.MaxPredictionsPerSeq
	o.MaskedLMProb, o.ShortSeqProb, o.DupeFactor = g.Flags.MaskedLMProb, g.Flags.ShortSeqProb, g.Flags.DupeFactor
	o.DoWholeWordMask, o.RandomSeed, o.DoLowerCase = g.Flags.DoWholeWordMask, g.Flags.RandomSeed, g.Flags.DoLowerCase
	o.SentenceSplitter, o.Shards = "newline", 1
	return o
}

// The stage, from text to shard, gives the bytes that the script writes.
func TestTheStageWritesWhatTheScriptWrites(t *testing.T) {
	list, err := filepath.Glob(filepath.Join(realdata.Path(t, "golden/tf"), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatal("no goldens")
	}
	for _, file := range list {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var g goldenRun
			if err := json.Unmarshal(raw, &g); err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, in := range g.Inputs {
				texts = append(texts, sharedPath(t, in.Path))
			}
			var outputs []string
			for _, o := range g.Outputs {
				outputs = append(outputs, filepath.Join(filepath.Dir(file), o.File))
			}
			g.Flags.VocabFile = sharedPath(t, g.Flags.VocabFile)
			checkGolden(t, g, texts, outputs)
		})
	}
}

func TestTheStageWritesWhatTheScriptWritesOnTheDemosText(t *testing.T) {
	const dir = "../records/pretrain/testdata/demo"
	raw, err := os.ReadFile(filepath.Join(dir, "runs.json"))
	if err != nil {
		t.Fatal(err)
	}
	var runs []goldenRun
	if err := json.Unmarshal(raw, &runs); err != nil || len(runs) < 3 {
		t.Fatalf("got %d runs, %v, want 3", len(runs), err)
	}
	for _, g := range runs {
		t.Run(g.Name, func(t *testing.T) {
			g.Flags.VocabFile = filepath.Join(dir, "vocab.txt")
			checkGolden(t, g, []string{filepath.Join(dir, "input.txt")}, []string{filepath.Join(dir, g.Name+".tfrecord.gz")})
		})
	}
}

// checkGolden runs the stage over texts and compares its one shard with the
// records that the script dealt to its output files.
func checkGolden(t *testing.T, g goldenRun, texts, outputs []string) {
	t.Helper()
	c := ExamplesConfig{Target: stage.Target{Memory: 600e6, Out: t.TempDir()}, Reading: Reading{Extract: DefaultExtractOptions()}, TokenFile: TokenFile{Vocab: g.Flags.VocabFile}, Texts: texts, Examples: g.options()}
	if _, err := Examples(context.Background(), testRunner, c); err != nil {
		t.Fatal(err)
	}
	got := readRecords(t, filepath.Join(c.Out, "train-00000-of-00001.tfrecord"))
	var dealt [][][]byte
	for _, o := range outputs {
		dealt = append(dealt, readRecords(t, o))
	}
	want := roundRobin(dealt)
	if len(got) != len(want) {
		t.Fatalf("got %d records, want %d", len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("record %d differs", i)
		}
	}
}

// sharedPath finds a path that a golden names from above the data's root.
func sharedPath(t *testing.T, path string) string {
	t.Helper()
	_, below, ok := strings.Cut(path, "data/")
	if !ok {
		t.Fatalf("path %q of a golden", path)
	}
	return realdata.Path(t, below)
}

func readRecords(t *testing.T, path string) (records [][]byte) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := tfrecord.NewReader(bytes.NewReader(raw), tfrecord.ReaderOptions{})
	for {
		payload, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records
		}
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", path, err))
		}
		records = append(records, slices.Clone(payload))
	}
}

// roundRobin undoes the script's dealing of records to its output files.
func roundRobin(outputs [][][]byte) (records [][]byte) {
	for i := 0; ; i++ {
		out := outputs[i%len(outputs)]
		if i/len(outputs) >= len(out) {
			return records
		}
		records = append(records, out[i/len(outputs)])
	}
}

func TestCompressedShardsHoldTheSameRecords(t *testing.T) {
	c := config(t, filepath.Join(t.TempDir(), "plain"))
	run(t, testRunner, c)
	plain := filepath.Join(c.Out, sharding.ShardsFolder, "train-00001-of-00003.tfrecord")
	want, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	c.Out, c.Examples.Compression = filepath.Join(t.TempDir(), "packed"), sharding.CompressionGzip
	run(t, testRunner, c)
	f, err := os.Open(filepath.Join(c.Out, sharding.ShardsFolder, filepath.Base(plain)+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	gz.Multistream(false) // TensorFlow reads the first member only
	got, err := io.ReadAll(gz)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("records differ (%v)", err)
	}
	if v := verify(t, c.Out); !v.OK() {
		t.Error(v.Problems)
	}
}
