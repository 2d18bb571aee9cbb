package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/pipeline/stage"
	"pretext/sharding"
)

// Plans are JSON, which would change a path that is not UTF-8.
func TestPathsThatAreNotUTF8AreRefused(t *testing.T) {
	const bad = "bad\xff"
	dir := t.TempDir()
	book := writeFile(t, dir, "book.txt", []byte("A short book."))
	for _, c := range []struct{ source, out string }{{book, filepath.Join(dir, bad)}, {writeFile(t, dir, bad+".txt", []byte("A book.")), filepath.Join(dir, "out")}} {
		_, err := Extract(t.Context(), oneWorker, ExtractConfig{Target: stage.Target{Out: c.out}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: []Source{{KindBooks, c.source}}})
		var config interface{ Usage() bool }
		if !errors.As(err, &config) || !strings.Contains(err.Error(), "not UTF-8") {
			t.Errorf("%q to %q: got %v, want to hear what is wrong with the path", c.source, c.out, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "\ufffd") {
			t.Errorf("%q was made", e.Name())
		}
	}
}

func TestAPlanWhoseTasksWereRemovedOrChangedIsMended(t *testing.T) {
	dir := t.TempDir()
	c := ExtractConfig{Target: stage.Target{Out: filepath.Join(dir, "out")}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: []Source{{KindBooks, writeFile(t, dir, "book.txt", []byte("A short book."))}}}
	extract := func() map[string]string {
		if _, err := Extract(t.Context(), oneWorker, c); err != nil {
			t.Fatal(err)
		}
		return tree(t, c.Out)
	}
	want := extract()
	task := filepath.Join(c.Out, sharding.PlanFolder, sharding.TasksName)
	for _, damage := range []func() error{
		func() error { return os.Remove(task) },
		func() error { return os.RemoveAll(filepath.Dir(task)) },
		func() error { return os.WriteFile(task, []byte("{}"), 0o666) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, extract()); diff != "" {
			t.Error(diff)
		}
	}
}
