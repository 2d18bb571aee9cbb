package verify_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/sharding"
	"pretext/sharding/verify"
)

// A manifest may list a file of another stage, which lies there: someone moved it, or
// forged the folder.
func TestAFileOfAnotherStageIsAProblem(t *testing.T) {
	out := smallRun(t, nil)
	stages := []string{"documents", "vocab", "shards"}
	manifests := map[string]sharding.Manifest{}
	for _, stage := range stages {
		var m sharding.Manifest
		readInto(t, filepath.Join(out, stage, sharding.ManifestName), &m)
		manifests[stage] = m
	}
	tried := 0
	for _, from := range stages {
		for _, to := range stages {
			for _, e := range manifests[from].Files {
				path := filepath.Join(out, to, e.Name)
				if _, err := os.Stat(path); err == nil {
					continue // every stage from vocab on has its vocabulary
				}
				writeFile(t, filepath.Join(out, to), e.Name, readFile(t, filepath.Join(out, from, e.Name)))
				m := manifests[to]
				m.Files = append(slices.Clone(m.Files), e)
				slices.SortFunc(m.Files, func(a, b sharding.FileEntry) int { return strings.Compare(a.Name, b.Name) })
				whole := readFile(t, filepath.Join(out, to, sharding.ManifestName))
				writeFile(t, filepath.Join(out, to), sharding.ManifestName, sharding.Marshal(m))
				result, err := verify.Dataset(t.Context(), filepath.Join(out, to), verify.Options{})
				data := slices.ContainsFunc([]string{".tfrecord", ".zst", ".json", "counts-00000.txt"}, func(end string) bool { return strings.HasSuffix(e.Name, end) }) && e.Task != 0
				if err != nil || data && result.OK() { // lists and vocabularies, which no task claims, do no harm
					t.Errorf("%s of %s in %s: got %v without a problem, want one", e.Name, from, to, err)
				}
				if strings.HasSuffix(e.Name, ".tfrecord") && err == nil && !slices.ContainsFunc(result.Problems, func(p sharding.Problem) bool {
					return p.File == filepath.Join(out, to, e.Name) && strings.HasPrefix(p.Reason, "records in a folder of stage ")
				}) {
					t.Errorf("%s in %s: got %v, want to read that it has records", e.Name, to, result.Problems)
				}
				tried++
				os.Remove(path)
				writeFile(t, filepath.Join(out, to), sharding.ManifestName, whole)
			}
		}
	}
	if tried < 10 {
		t.Errorf("%d files tried: does the loop still find them?", tried)
	}
}
