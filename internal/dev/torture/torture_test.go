package torture

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func Example() {
	for range Times(&testing.B{}, "PRETEXT_KILLS_OF_THE_EXAMPLE", 2, 2) {
		fmt.Println("kill")
	}
	// Output:
	// kill
	// kill
}

func TestTheEnvironmentDecidesHowLong(t *testing.T) {
	t.Setenv("PRETEXT_TORTURE", "")
	t.Setenv("PRETEXT_FULL", "")
	if n := Times(t, "PRETEXT_X", 3, 50); n != 3 || Long() || Full() || Cases(1, 2) != 1 {
		t.Errorf("a share: got %d", n)
	}
	t.Setenv("PRETEXT_FULL", "1")
	if n := Times(t, "PRETEXT_X", 3, 50); n != 3 || Long() || !Full() || Cases(1, 2) != 2 {
		t.Errorf("full: got %d", n)
	}
	t.Setenv("PRETEXT_FULL", "")
	t.Setenv("PRETEXT_TORTURE", "1")
	if n := Times(t, "PRETEXT_X", 3, 50); n != 50 || !Long() || !Full() {
		t.Errorf("torture: got %d", n)
	}
	t.Setenv("PRETEXT_X", "7")
	if n := Times(t, "PRETEXT_X", 3, 50); n != 7 {
		t.Errorf("a number given: got %d", n)
	}
}

// A test that leaves cases out of a plain run has them run by a check.
func TestEveryPackageWithMoreCasesIsInACheckThatRunsThem(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	scripts, err := filepath.Glob(filepath.Join(root, "internal", "dev", "checks", "scripts", "*.sh"))
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	var run []string // packages, and "…/..." for those below
	for _, script := range scripts {
		b, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		_, command, full := strings.Cut(string(b), "PRETEXT_FULL=1 go test ")
		if full {
			run = append(run, strings.Fields(command)...)
		}
	}
	found := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		if !bytes.Contains(b, []byte("torture."+"Full()")) && !bytes.Contains(b, []byte("torture."+"Cases(")) {
			return err
		}
		found++
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		dir = "./" + filepath.ToSlash(dir)
		if !slices.ContainsFunc(run, func(p string) bool {
			below, all := strings.CutSuffix(p, "...")
			return dir == p || all && strings.HasPrefix(dir+"/", below)
		}) {
			t.Errorf("%s: no script of internal/dev/checks runs %s with PRETEXT_FULL=1", path, dir)
		}
		return err
	})
	if err != nil || found < 10 {
		t.Errorf("%d files, %v: is the module's root right?", found, err)
	}
}

func TestASeedRepeats(t *testing.T) {
	t.Setenv("PRETEXT_TORTURE", "")
	if a, b := Random(t).Uint64(), Random(t).Uint64(); a != b {
		t.Errorf("a share: got %d, then %d", a, b)
	}
	t.Setenv("PRETEXT_TORTURE", "1")
	if a, b := Random(t).Uint64(), Random(t).Uint64(); a == b {
		t.Errorf("torture: got %d twice", a)
	}
	t.Setenv("PRETEXT_SEED", "42")
	if a, b := Random(t).Uint64(), Random(t).Uint64(); a != b {
		t.Errorf("got %d, then %d", a, b)
	}
}
