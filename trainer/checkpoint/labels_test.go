package checkpoint_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

func TestNamesOfClassesAreReadBack(t *testing.T) {
	h := trainer.Heads{Labels: 3}
	for _, want := range [][]string{{"no", "maybe", "yes \"é\""}, nil} {
		dir := filepath.Join(t.TempDir(), "model")
		if err := checkpoint.WriteModel(dir, tiny(), h, checkpoint.Tokenizer{Labels: want}, trainer.InitialWeights(tiny(), h, 1)); err != nil {
			t.Fatal(err)
		}
		p, err := checkpoint.OpenPretrained(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if !slices.Equal(p.Labels, want) {
			t.Errorf("got %q, want %q", p.Labels, want)
		}
	}
}

// Names that are not whole are as good as none; they are no reason to refuse a
// model.
func TestNamesOfClassesThatAreNotWholeAreNone(t *testing.T) {
	h := trainer.Heads{Labels: 2}
	dir := filepath.Join(t.TempDir(), "model")
	if err := checkpoint.WriteModel(dir, tiny(), h, checkpoint.Tokenizer{Labels: []string{"no", "yes"}}, trainer.InitialWeights(tiny(), h, 1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, labels := range []string{`{"1": "no", "2": "yes"}`, `{"0": "LABEL_0", "1": "LABEL_1"}`, `["no", "yes"]`, `{"0": 1}`, `null`} {
		changed := strings.Replace(string(b), `"id2label": {
    "0": "no",
    "1": "yes"
  }`, `"id2label": `+labels, 1)
		if changed == string(b) {
			t.Fatal("config.json has another form")
		}
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := checkpoint.OpenPretrained(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if p.Labels != nil {
			t.Errorf("%s: got %q", labels, p.Labels)
		}
	}
}
