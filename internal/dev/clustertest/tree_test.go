//go:build cluster

package clustertest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree returns a line for each file below a directory with its hash, without
// run.json, which holds times. It fails the test if a temporary file is left.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "run.json" {
			return err
		}
		if strings.HasPrefix(d.Name(), ".tmp-") {
			t.Errorf("%s is left", path)
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&text, "%x %s\n", sha256.Sum256(b), rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// mustEqual fails the test unless a directory has the content of a tree.
func mustEqual(t *testing.T, dir, want string) {
	t.Helper()
	got := tree(t, dir)
	if got == want {
		return
	}
	a, b := bytes.Split([]byte(got), []byte("\n")), bytes.Split([]byte(want), []byte("\n"))
	for i := range min(len(a), len(b)) {
		if !bytes.Equal(a[i], b[i]) {
			t.Fatalf("%s: got %s, want %s", dir, a[i], b[i])
		}
	}
	t.Fatalf("%s: %d files, want %d", dir, len(a)-1, len(b)-1)
}
