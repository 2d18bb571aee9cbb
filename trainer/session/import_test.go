package session

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// TestABareEncoderIsImported takes a BertModel, with and without pooler, through import
// and export: config.json must call it that, and its tensors stay.
func TestABareEncoderIsImported(t *testing.T) {
	run := mustTrain(t, testOptions(t)).Model
	m, err := OpenModel(run)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	bare := filepath.Join(fastDir(t), "bare")
	if err := m.Write(bare, trainer.Heads{}, checkpoint.Tokenizer{}); err != nil {
		t.Fatal(err)
	}
	if err := withoutPrefix(filepath.Join(bare, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	imported, exported := filepath.Join(fastDir(t), "a"), filepath.Join(fastDir(t), "b")
	if _, err := Import(bare, filepath.Join(run, "vocab.txt"), imported, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := Export(imported, exported, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{imported, exported} {
		var config struct {
			Architectures []string `json:"architectures"`
		}
		b, err := os.ReadFile(filepath.Join(dir, "config.json"))
		if err == nil {
			err = json.Unmarshal(b, &config)
		}
		if err != nil || !slices.Equal(config.Architectures, []string{"BertModel"}) {
			t.Errorf("%s: %v, %v", dir, config.Architectures, err)
		}
		p, err := OpenModel(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if heads, err := p.Heads(); err != nil || heads != (trainer.Heads{}) {
			t.Errorf("%s: heads %+v, %v", dir, heads, err)
		}
		var want []string
		for _, name := range m.Names() {
			if strings.HasPrefix(name, "bert.") {
				want = append(want, name)
				a, err := m.Tensor(name, nil)
				if err != nil {
					t.Fatal(err)
				}
				if b, err := p.Tensor(name, nil); err != nil || !slices.Equal(a.Data, b.Data) {
					t.Errorf("%s: %s differs, %v", dir, name, err)
				}
			}
		}
		if !slices.Equal(p.Names(), want) {
			t.Errorf("%s: tensors %q, want %q", dir, p.Names(), want)
		}
		tokenizer, err := tokenizerBeside(dir)
		if err != nil || tokenizer.Vocab == nil {
			t.Errorf("%s: no vocabulary, %v", dir, err)
		}
	}
}

// withoutPrefix renames the tensors of a file as BertModel.save_pretrained names them.
func withoutPrefix(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// The header keeps its length: blanks are allowed behind it, and between its parts.
	return os.WriteFile(path, []byte(strings.ReplaceAll(string(b), `"bert.`, `     "`)), 0o600)
}
