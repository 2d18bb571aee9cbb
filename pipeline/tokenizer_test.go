package pipeline

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/pipeline/stage"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/tokenize/hf"
)

// byteLevelText spells tokens of byte-level BPE.
func byteLevelText(tok *hf.Tokenizer, ids []int32) string {
	var b []byte
	for _, id := range ids {
		for _, r := range tok.Token(id) {
			switch { // bytes_to_unicode of GPT-2's encoder.py, backwards
			case r <= 0xff:
				b = append(b, byte(r))
			case r <= 0x120:
				b = append(b, byte(r-0x100))
			case r <= 0x142:
				b = append(b, byte(r-0x121+0x7f))
			default:
				b = append(b, 0xad)
			}
		}
	}
	return string(b)
}

// examplesOf reads all records of a folder of shards.
func examplesOf(t *testing.T, folder string) (all []*records.Example) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.tfrecord"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no shards in %s: %v", folder, err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := tfrecord.NewReader(bytes.NewReader(raw), tfrecord.ReaderOptions{})
		for {
			payload, err := r.Next()
			if err != nil {
				break // verify has found them sound
			}
			e := new(records.Example)
			if err := e.Decode(payload); err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
	}
	return all
}

// unmasked returns the tokens of an example before masking.
func unmasked(e *records.Example) []int32 {
	ids := slices.Clone(e.InputIDs[:e.Tokens()])
	for i := range e.Predictions() {
		ids[e.MaskedLMPositions[i]] = e.MaskedLMIDs[i]
	}
	return ids
}

func TestExamplesOfRobertaSpellTheText(t *testing.T) {
	raw := realdata.Read(t, "tokenizers/roberta-base/tokenizer.json")
	tok, err := hf.Load("tokenizer.json", raw)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := "The ferry left at nine; nobody waved.\nIt's 2000, naïve 世界 😀 and we'll see.\n\nA second document has   odd  spaces.\nIt ends here, don't it?\n\n"
	c := ExamplesConfig{Target: stage.Target{Memory: 600e6}, Reading: Reading{Extract: DefaultExtractOptions()}, TokenFile: TokenFile{Tokenizer: writeFile(t, dir, "roberta.json", raw)}, Texts: []string{writeFile(t, dir, "a.txt", []byte(strings.Repeat(text, 6)))}, Examples: sharding.DefaultExamplesOptions()}
	c.Examples.MaxSeqLength, c.Examples.DupeFactor, c.Examples.SentenceSplitter, c.Examples.DoWholeWordMask = 48, 3, "newline", true
	trees := map[string]map[string]string{}
	for _, r := range []stage.Runner{{Name: "direct", Workers: 1}, {Name: "direct", Workers: 7}} {
		c.Out = filepath.Join(dir, r.Name, string(rune('0'+r.Workers)))
		if _, err := Examples(context.Background(), r, c); err != nil {
			t.Fatal(err)
		}
		if v := verify(t, c.Out); !v.OK() {
			t.Fatal(v.Problems)
		}
		trees[c.Out] = tree(t, c.Out)
		for _, other := range trees {
			if len(other) != len(trees[c.Out]) || other["manifest.json"] != trees[c.Out]["manifest.json"] {
				t.Errorf("%s: other bytes than with other workers or runners", c.Out)
			}
		}
	}
	whole := strings.Repeat(strings.ReplaceAll(text, "\n", ""), 3)
	seen := 0
	for _, e := range examplesOf(t, c.Out) {
		ids := unmasked(e)
		second := segmentStart(e)
		if ids[0] != 0 || ids[second-1] != 2 || ids[len(ids)-1] != 2 || slices.ContainsFunc(e.InputIDs[len(ids):], func(id int32) bool { return id != 1 }) {
			t.Errorf("special tokens of %d", e.InputIDs)
		}
		for _, part := range [][]int32{ids[1 : second-1], ids[second : len(ids)-1]} {
			if got := byteLevelText(tok, part); !strings.Contains(whole, got) {
				t.Errorf("segment %q is not part of the text", got)
			}
			seen++
		}
	}
	if seen < 50 {
		t.Errorf("only %d segments", seen)
	}
}

func segmentStart(e *records.Example) int { return slices.Index(e.SegmentIDs, 1) }
