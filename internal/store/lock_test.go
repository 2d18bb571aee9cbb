package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pretext/internal/store"
)

// A command that fails before it writes anything leaves no empty folder behind, and
// takes away no folder that was there before.
func TestFailedWorkLeavesNoEmptyFolder(t *testing.T) {
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		there, write string // relative to the temporary folder
		err          error
		want         []string // folders of a/b/c that are left
	}{
		"nothing was there":        {err: failed},
		"a parent was there":       {there: "a", err: failed, want: []string{"a"}},
		"the folder was there":     {there: "a/b/c", err: failed, want: []string{"a", "a/b", "a/b/c"}},
		"a file was written":       {write: "a/b/c/x", err: failed, want: []string{"a", "a/b", "a/b/c"}},
		"a neighbour was written":  {write: "a/b/x", err: failed, want: []string{"a", "a/b"}},
		"the work has nothing new": {want: []string{"a", "a/b", "a/b/c"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.MkdirAll(filepath.Join(root, c.there), 0o777); err != nil {
				t.Fatal(err)
			}
			folder, err := store.Open(filepath.Join(root, "a", "b", "c"))
			if err != nil {
				t.Fatal(err)
			}
			err = store.Hold(folder, func() error {
				if c.write != "" {
					if err := os.WriteFile(filepath.Join(root, c.write), nil, 0o666); err != nil {
						t.Fatal(err)
					}
				}
				return c.err
			})
			if !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
			var left []string
			for _, path := range []string{"a", "a/b", "a/b/c"} {
				if _, err := os.Stat(filepath.Join(root, path)); err == nil {
					left = append(left, path)
				}
			}
			if len(left) != len(c.want) {
				t.Errorf("left %q, want %q", left, c.want)
			}
		})
	}
}
