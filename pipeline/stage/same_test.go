package stage_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// The workers of a cluster write the bytes that the direct runner writes. They have
// what their job's message tells: the DoFns, the options of the stage, its tasks.
func TestWorkersWriteTheBytesOfTheDirectRunner(t *testing.T) {
	run := func(r stage.Runner) map[string]string {
		out := filepath.Join(t.TempDir(), "out")
		c := pipeline.DemoConfig(out)
		c.Filter.Dedup = "minhash"
		c.Filter.Limits = map[string]float64{"min-words": 4}
		if _, err := pipeline.Demo(t.Context(), r, c); err != nil {
			t.Fatal(err)
		}
		return files(t, out)
	}
	want := run(stage.Runner{Workers: 2})
	stage.AsWorker(t)
	if diff := cmp.Diff(want, run(stage.Runner{Name: stage.Portable, Workers: 2})); diff != "" {
		t.Error(diff)
	}
}

// files returns the content of all files below root, except what a run writes about
// itself.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	content := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == sharding.RunName {
			return err
		}
		b, err := os.ReadFile(filepath.Join(root, path))
		content[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(content) < 20 {
		t.Fatalf("%d files only", len(content))
	}
	return content
}
