package verify_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/extract/dedup"
	"pretext/internal/dev/torture"
	"pretext/pipeline"
	"pretext/pipeline/filter"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/sharding/verify"
)

// filteredRun makes a run with a filter of all kinds, of which every stage that reads
// documents has some that it imported: so that each kind of file that there is lies
// in it.
func filteredRun(t *testing.T) string {
	t.Helper()
	root := smallRun(t, func(c *pipeline.RunConfig) {
		c.Examples.Fraction, c.Examples.Shards = 0.3, 2
		c.Filter = filter.Options{Dedup: filter.DedupMinHash, Nearly: &dedup.Options{Containment: 0.5}}
		c.Sources = append(c.Sources, pipeline.Source{Kind: pipeline.KindBooks, Path: writeFile(t, t.TempDir(), "b.txt", []byte(strings.Repeat("A short book has a few words. It ends soon.\n\n", 40)))})
	})
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, `{"id":"%d","text":"The river number %d runs to the sea.\nIt carries %d boats.\nNobody saw them."}`+"\n", i, i%37, i%5)
	}
	foreign := writeFile(t, t.TempDir(), "f.jsonl", []byte(lines.String()))
	vocabFile := filepath.Join(root, pipeline.VocabFolder, sharding.VocabName)
	o := sharding.DefaultExamplesOptions()
	o.DupeFactor, o.MaxSeqLength, o.MaxPredictionsPerSeq = 1, 32, 5
	if _, err := pipeline.Examples(context.Background(), testRunner, pipeline.ExamplesConfig{Target: stage.Target{Memory: 600e6, Out: filepath.Join(root, "more")}, Reading: pipeline.Reading{Extract: pipeline.DefaultExtractOptions(), MaxRejects: 1}, TokenFile: pipeline.TokenFile{Vocab: vocabFile}, Documents: []string{foreign}, Examples: o}); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Vocab(context.Background(), testRunner, pipeline.VocabConfig{Target: stage.Target{Out: filepath.Join(root, "given")}, TokenFile: pipeline.TokenFile{Vocab: vocabFile}}); err != nil {
		t.Fatal(err)
	}
	return root
}

// checkedFiles returns all files below a folder but those that verify does not check: the
// logs that nothing trusts, and hidden files.
func checkedFiles(t *testing.T, root string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != sharding.RunName && !strings.HasPrefix(d.Name(), ".") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// unnamed says what a verification of a run does not say of files that are damaged.
func unnamed(root string, paths ...string) string {
	v, err := verify.Dataset(context.Background(), root, verify.Options{})
	if err != nil {
		if strings.Contains(err.Error(), filepath.Dir(paths[0])) {
			return ""
		}
		return fmt.Sprintf("could not be looked at: %v", err)
	}
	for _, path := range paths {
		if !slices.ContainsFunc(v.Problems, func(p sharding.Problem) bool {
			// What a manifest says of a file can be wrong of either.
			return p.File == path || filepath.Base(path) == sharding.ManifestName && strings.HasPrefix(p.File, filepath.Dir(path))
		}) {
			return fmt.Sprintf("%s is not named in %v", path, v.Problems)
		}
	}
	return ""
}

func TestEveryFileOfARunIsChecked(t *testing.T) {
	root := filteredRun(t)
	r := torture.Random(t)
	missed := 0
	for _, path := range checkedFiles(t, root) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(whole) == 0 { // of such there is nothing to damage
			if err := os.WriteFile(path, []byte("x"), 0o666); err != nil {
				t.Fatal(err)
			}
			if problem := unnamed(root, path); problem != "" {
				t.Errorf("%s: longer: %s", path, problem)
			}
		} else {
			for d := range damages(r, path, whole, max(1, variants(t)/250)) {
				if slices.Contains([]string{"empty", "noise", "zeros", "another file", "twice"}, d.what) {
					continue // [TestEveryDamageIsNamed] has them
				}
				if d.missing {
					os.Remove(path)
				} else if err := os.WriteFile(path, d.data, 0o666); err != nil {
					t.Fatal(err)
				}
				if problem := unnamed(root, path); problem != "" {
					if missed++; missed < 30 {
						t.Errorf("%s: %s: %s", path, d.what, problem)
					}
				}
			}
		}
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if v := check(t, root); !v.OK() {
		t.Error(v.Problems)
	}
}

// A file that no manifest lists is named, whatever its name, in every folder of a
// stage; what people put beside data is left alone, and so is all beside the stages'
// folders.
func TestAddedFilesAreNamed(t *testing.T) {
	root := filteredRun(t)
	folders := map[string]bool{}
	for _, path := range checkedFiles(t, root) {
		folders[filepath.Dir(path)] = true
	}
	for folder := range folders {
		var added []string
		for _, name := range []string{"00099.json", "00000.json.bak", "extra.bin", "documents-w-00099.jsonl.zst", "train-00000-of-00099.tfrecord", "notes.txt"} {
			added = append(added, writeFile(t, folder, name, []byte("{}")))
		}
		if problem := unnamed(root, added...); problem != "" {
			t.Error(problem)
		}
		for _, path := range added {
			os.Remove(path)
		}
		for _, name := range []string{"README.md", "report.html", ".gitattributes", "LICENSE", "LICENSE.txt"} {
			writeFile(t, folder, name, []byte("{}"))
		}
	}
	writeFile(t, root, "anything.bin", []byte("{}"))
	if v := check(t, root); !v.OK() {
		t.Error(v.Problems)
	}
}
