package onefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/cmd/internal/onefile"
	"pretext/internal/dev/tinydata"
)

const card = "---\npretty_name: x\n---\n\nBERT pre-training data: no examples yet.\n"

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
	return path
}

// contents returns the content of every file below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// An output never replaces a file of a data set, whatever its name and flags.
func TestNoFileOfADataSetIsReplaced(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := tinydata.Write(data, tinydata.Options{Train: 8, Eval: 2, Vocab: 12}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(data, "plan.json"), `{"stage":"examples"}`)
	write(t, filepath.Join(data, "plan", "tasks.bin"), "tasks")
	write(t, filepath.Join(data, "notes.txt"), "of somebody")
	write(t, filepath.Join(dir, "model", "model.safetensors"), "weights")
	write(t, filepath.Join(dir, "model", "config.json"), "{}")
	before := contents(t, dir)
	for path := range before {
		o := onefile.Output{Flag: "out", Path: path, Kind: onefile.Card, Overwrite: true}
		if err := o.Write(t.Context(), []byte(card)); !isUsage(err) || !strings.HasPrefix(err.Error(), "--out "+path+": ") {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if len(before) < 10 {
		t.Errorf("only %d files were tried", len(before))
	}
	for _, name := range []string{"manifest.json", "Vocab.txt", "run.json", "a.tfrecord", "data/train-00000-of-00009.idx"} { // which are not there
		o := onefile.Output{Path: filepath.Join(dir, name), Kind: onefile.Card, Overwrite: true}
		if err := o.Write(t.Context(), []byte(card)); !isUsage(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	after := contents(t, dir)
	for path, text := range before {
		if after[path] != text {
			t.Errorf("%s was replaced", path)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files are now %d", len(before), len(after))
	}
	for range 2 { // a card beside the data, and again
		o := onefile.Output{Path: filepath.Join(data, "README.md"), Kind: onefile.Card}
		if err := o.Write(t.Context(), []byte(card)); err != nil {
			t.Error(err)
		}
	}
}

func TestAFileOfAnotherKindIsReplacedWhenAsked(t *testing.T) {
	dir := t.TempDir()
	book := write(t, filepath.Join(dir, "book.txt"), "Call me Ishmael.")
	for _, c := range []struct {
		name   string
		output onefile.Output
		want   string // of the error; "": none
	}{
		{"not asked", onefile.Output{Path: book}, "or --overwrite to replace it"},
		{"cannot be asked", onefile.Output{Path: book, Fixed: true}, "give another name, or remove it"},
		{"an input", onefile.Output{Path: book, Overwrite: true, Inputs: []string{filepath.Join(dir, ".", "x", "..", "book.txt")}}, "an input of this command"},
		{"empty", onefile.Output{Path: write(t, filepath.Join(dir, "empty"), "")}, ""},
		{"new, in a new folder", onefile.Output{Path: filepath.Join(dir, "a", "b", "c.md")}, ""},
		{"its own", onefile.Output{Path: write(t, filepath.Join(dir, "card.md"), card)}, ""},
		{"asked", onefile.Output{Path: book, Overwrite: true}, ""},
	} {
		c.output.Kind = onefile.Card
		err := c.output.Write(t.Context(), []byte(card+c.name))
		got, _ := os.ReadFile(c.output.Path)
		switch {
		case c.want == "" && (err != nil || string(got) != card+c.name):
			t.Errorf("%s: got %q, %v", c.name, got, err)
		case c.want != "" && (!isUsage(err) || !strings.Contains(err.Error(), c.want) || string(got) != "Call me Ishmael."):
			t.Errorf("%s: got %q, %v", c.name, got, err)
		}
	}
}

func isUsage(err error) bool {
	var u interface{ Usage() bool }
	return errors.As(err, &u)
}
