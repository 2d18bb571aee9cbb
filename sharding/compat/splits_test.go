package compat

import (
	"os"
	"path/filepath"
	"testing"

	"pretext/records/columns/consumers"
	"pretext/sharding"
)

// Every folder that a consumer's loader needs for a split is found from two levels above,
// so that a check of a run does not pass it over.
func TestFoldersOfSplitsAreFound(t *testing.T) {
	for _, name := range consumers.Names() {
		c, err := consumers.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		for split, folder := range c.Splits {
			run := t.TempDir()
			at := filepath.Join(run, c.Name, folder)
			if err := os.MkdirAll(at, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(at, sharding.ManifestName), []byte(`{"stage": "convert"}`), 0o666); err != nil {
				t.Fatal(err)
			}
			d, err := sharding.Open(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			if stages, err := d.Stages(t.Context()); err != nil || len(stages) != 1 {
				t.Errorf("%s, split %s: the folder %s is not found: %v", name, split, folder, err)
			}
		}
	}
}
