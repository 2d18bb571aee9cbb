package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"pretext/internal/store"
	"pretext/sharding"
)

// If the directory of a running stage is removed, the error says so. A stage
// that had hardly begun may also finish its work.
func TestARunWhoseFolderIsRemovedSaysSo(t *testing.T) {
	base := t.TempDir()
	c := faultConfig(t, base)
	makeFaultBase(t, base, c)
	for _, row := range faultRows(t, c) {
		t.Run(row.name, func(t *testing.T) {
			fresh := func(name string) string {
				out := filepath.Join(fastDir(t), name)
				if row.before != nil {
					row.before(t, base, out)
				}
				return out
			}
			counted := fresh("counted")
			points := len(record(t, counted, func() error { return row.do(base, counted) }))
			told := 0
			for tenth := range 10 {
				out := fresh("removed")
				err := removeAt(int64(points*tenth/10), out, func() error { return row.do(base, out) })
				var removed *store.RemovedError
				switch {
				case errors.As(err, &removed):
					told++
				case err != nil:
					t.Errorf("removed after %d of 10 parts: got %v, want a RemovedError", tenth, err)
				default:
					if _, err := os.Stat(filepath.Join(out, sharding.ManifestName)); err != nil {
						t.Errorf("removed after %d of 10 parts: the run succeeded: %v", tenth, err)
					}
					manifestHolds(t, "removed", out)
				}
			}
			if told < 3 {
				t.Errorf("%d of 10 removals were told", told)
			}
		})
	}
}

// removeAt calls do and removes the folder out at the operation after step
// others.
func removeAt(step int64, out string, do func() error) error {
	var steps atomic.Int64
	defer store.Intercept(func(store.Step, string) error {
		if steps.Add(1) == step+1 {
			return os.RemoveAll(out)
		}
		return nil
	})()
	return do()
}
