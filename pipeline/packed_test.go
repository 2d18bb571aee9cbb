package pipeline

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/tokenize"
)

// A script of its own, in Python alone, finds each token of each document of recipe
// tokens once in the rows of recipe packed, and in the records of recipe pieces.
func TestAnIndependentScriptFindsEveryTokenInTheRows(t *testing.T) {
	realdata.Tool(t, "python3")
	ctx := context.Background()
	c := config(t, filepath.Join(t.TempDir(), "run"))
	run(t, testRunner, c)
	vocab := filepath.Join(c.Out, VocabFolder, sharding.VocabName)
	folder := func(recipe string, seq int) string {
		o := sharding.RecipeOptions(recipe)
		o.Shards = 3
		if seq > 0 {
			o.MaxSeqLength, o.PackSlack = seq, 0.05
		}
		out := filepath.Join(t.TempDir(), recipe)
		_, err := Examples(ctx, testRunner, ExamplesConfig{Target: stage.Target{Memory: 600e6, Out: out}, Reading: Reading{Extract: DefaultExtractOptions()},
			TokenFile: TokenFile{Vocab: vocab}, Documents: []string{filepath.Join(c.Out, sharding.DocumentsFolder)}, Examples: o})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	raw, err := os.ReadFile(vocab)
	if err != nil {
		t.Fatal(err)
	}
	v, err := tokenize.ReadVocab(vocab, raw)
	if err != nil {
		t.Fatal(err)
	}
	tokens := folder("tokens", 0)
	for _, row := range []struct {
		recipe string
		seq    int
	}{{"packed", 48}, {"packed", 160}, {"packed", 1024}, {"pieces", 3}, {"pieces", 160}, {"pieces", 1024}} {
		seq := row.seq
		rows := folder(row.recipe, seq)
		check := func(sep int32) (string, error) {
			out, err := exec.Command("python3", filepath.Join("testdata", "check_packed.py"), tokens, rows,
				strconv.Itoa(int(v.CLS())), strconv.Itoa(int(sep)), "0", strconv.Itoa(seq)).CombinedOutput()
			return string(out), err
		}
		out, err := check(v.SEP())
		if err != nil || !strings.Contains(out, "padding") {
			t.Errorf("%v: %v\n%s", row, err, out)
		}
		if out, err := check(v.SEP() + 1); err == nil {
			t.Errorf("%v: the script accepts another [SEP]: %s", row, out)
		}
	}
}
