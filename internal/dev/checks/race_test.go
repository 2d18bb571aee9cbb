package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// startsGoroutines reports whether a file has a go statement, or calls a method Go, as
// sync.WaitGroup and errgroup.Group have it.
func startsGoroutines(t *testing.T, path string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Go" {
				found = true
			}
		}
		return !found
	})
	return found
}

// The check race runs every package with tests that starts goroutines, or whose tests do,
// and reads what it runs. One without tests is run by the tests of its importers.
func TestTheRaceDetectorSeesEveryPackageThatStartsGoroutines(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	starts, tested := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		dir = filepath.ToSlash(dir)
		tested[dir] = tested[dir] || strings.HasSuffix(path, "_test.go")
		starts[dir] = starts[dir] || startsGoroutines(t, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join("scripts", "race.sh"))
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for _, word := range strings.Fields(string(b)) {
		words[word] = true
	}
	found := 0
	for dir := range starts {
		if !starts[dir] || !tested[dir] {
			continue
		}
		if found++; !words["./"+dir] || !words["test:"+dir] {
			t.Errorf("%s starts goroutines: scripts/race.sh neither runs it nor reads it", dir)
		}
	}
	if found < 20 {
		t.Errorf("%d packages start goroutines: is the module's root right?", found)
	}
}
