package s3_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/store"
	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/sharding/verify"
)

// hashes returns the SHA-256 of every file below a location but run.json.
func hashes(t *testing.T, location string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	entries, err := store.ReadDir(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := store.Open(location)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
			for name, sum := range hashes(t, store.Join(location, e.Name())) {
				sums[e.Name()+"/"+name] = sum
			}
		case e.Name() != sharding.RunName:
			if _, sums[e.Name()], err = sharding.HashFile(t.Context(), folder, e.Name()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return sums
}

// All stages write the same bytes to an object store as to a disk, leave nothing
// else there, and a second run finds all complete.
func TestS3RunHasTheBytesOfADisk(t *testing.T) {
	out := location(t)
	disk := pipeline.DemoConfig(filepath.Join(t.TempDir(), "run"))
	if _, err := pipeline.Demo(t.Context(), stage.Runner{Workers: 2}, disk); err != nil {
		t.Fatal(err)
	}
	want := hashes(t, disk.Out)
	for range 2 {
		if _, err := pipeline.Demo(t.Context(), stage.Runner{Workers: 2}, pipeline.DemoConfig(out)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, hashes(t, out)); diff != "" || len(want) < 40 {
			t.Fatalf("%d files; -disk +S3:\n%s", len(want), diff)
		}
	}
	r, err := verify.Dataset(t.Context(), out, verify.Options{Workers: 2, Remake: verify.Remake{Shards: -1}})
	if err != nil || !r.OK() {
		t.Errorf("verify: %v, %v", r, err)
	}
}
