package checkpoint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// wholeModel writes a folder of a tiny model and returns it.
func wholeModel(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	heads := trainer.Heads{MLM: true, NSP: true}
	if err := checkpoint.WriteModel(dir, tiny(), heads, checkpoint.Tokenizer{}, trainer.InitialWeights(tiny(), heads, 1)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// split replaces model.safetensors by parts of so many tensors and their index.
func split(t *testing.T, dir string, each int) {
	t.Helper()
	path := filepath.Join(dir, "model.safetensors")
	s, err := checkpoint.OpenSafetensors(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	specs := trainer.Tensors(tiny(), trainer.Heads{MLM: true, NSP: true})
	where := map[string]string{}
	for n := 0; len(specs) > 0; n++ {
		part := specs[:min(each, len(specs))]
		specs = specs[len(part):]
		name := fmt.Sprintf("model-%05d-of-00009.safetensors", n+1)
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		err = checkpoint.WriteSafetensors(f, part, func(yield func(trainer.Tensor, error) bool) {
			for _, spec := range part {
				where[spec.Name] = name
				data, err := s.Float32s(spec.Name, nil)
				if !yield(trainer.Tensor{Name: spec.Name, Shape: spec.Shape, Data: data}, err) {
					return
				}
			}
		})
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	writeJSON(t, filepath.Join(dir, "model.safetensors.index.json"), map[string]any{"metadata": map[string]int{"total_size": 1}, "weight_map": where})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWeightsInPartsEqualThoseOfOneFile(t *testing.T) {
	a, b := wholeModel(t), wholeModel(t)
	split(t, b, 5)
	want, err := checkpoint.OpenPretrained(a)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	got, err := checkpoint.OpenPretrained(b)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if len(got.Names()) != len(want.Names()) {
		t.Fatalf("%d tensors, want %d", len(got.Names()), len(want.Names()))
	}
	for _, name := range want.Names() {
		w, err := want.Tensor(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := got.Tensor(name, nil)
		if err != nil || fmt.Sprint(g) != fmt.Sprint(w) {
			t.Errorf("%s: %v, %v, want %v", name, g, err, w)
		}
	}
}

// TestFoldersWithoutUsableWeights also says which are corrupt: the others are whole,
// and not for us.
func TestFoldersWithoutUsableWeights(t *testing.T) {
	const index, part = "model.safetensors.index.json", "model-00001-of-00009.safetensors"
	remove := func(names ...string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			split(t, dir, 5)
			for _, name := range names {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	mapped := func(weights map[string]string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			split(t, dir, 5)
			writeJSON(t, filepath.Join(dir, index), map[string]any{"weight_map": weights})
		}
	}
	instead := func(name, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "model.safetensors")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	copied := func(name string) func(t *testing.T, dir string) {
		b, err := os.ReadFile(filepath.Join("torchfile/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return instead("pytorch_model.bin", string(b))
	}
	for _, test := range []struct {
		name    string
		change  func(t *testing.T, dir string)
		want    string
		damaged bool
	}{
		{"a part is missing", remove("model-00002-of-00009.safetensors"), "model-00002-of-00009.safetensors: missing", true},
		{"the index is missing", remove(index), "lists the parts: the folder is not complete", true},
		{"an index outside of the folder", mapped(map[string]string{"a": "../model/" + part}), "must be a .safetensors file beside", true},
		{"an index of another format", mapped(map[string]string{"a": "pytorch_model.bin"}), "must be a .safetensors file beside", true},
		{"an index that promises too much", mapped(map[string]string{"a": part}), `tensor "a" is not in ` + part, true},
		{"an empty index", mapped(nil), "no weight_map", true},
		{"an index that is no JSON", instead(index, "{"), index, true},
		{"Keras", instead("tf_model.h5", "x"), "from_tf=True", false},
		{"nothing", instead("readme.txt", "x"), "no weights: neither model.safetensors nor pytorch_model.bin", false},
		{"a pickle that runs a function", copied("module.bin"), "torch.nn.modules.linear.Linear", false},
		{"PyTorch before 1.6", copied("legacy.bin"), "load it once with torch.load", false},
		{"torch's file cut", instead("pytorch_model.bin", "PK\x03\x04"), "zip", true},
		{"a pointer of Git LFS", instead("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n"), "git lfs pull", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := wholeModel(t)
			test.change(t, dir)
			_, err := checkpoint.OpenPretrained(dir)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %s", err, test.want)
			}
			if errors.Is(err, checkpoint.ErrDamaged) != test.damaged {
				t.Errorf("%v: damaged is not %v", err, test.damaged)
			}
		})
	}
}

// A matrix with its sides exchanged holds as many numbers, and other ones at each place.
func TestATransposedTensorIsDamage(t *testing.T) {
	dir := wholeModel(t)
	path := filepath.Join(dir, "model.safetensors")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := tiny()
	is, was := fmt.Sprintf("[%d,%d]", c.VocabSize, c.HiddenSize), fmt.Sprintf("[%d,%d]", c.HiddenSize, c.VocabSize)
	changed := strings.Replace(string(b), is, was, 1)
	if changed == string(b) {
		t.Fatal("no such shape")
	}
	if err := os.WriteFile(path, []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.OpenPretrained(dir); !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), "word_embeddings") {
		t.Errorf("got %v", err)
	}
}
