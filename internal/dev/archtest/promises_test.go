package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile("`((?:…)?(?:Test)?[A-Z][A-Za-z0-9]+(?:…)?)`")

// docs/promises.md names tests that exist. "…" stands for the rest of a name.
func TestThePageOfPromisesNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(), "docs", "promises.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := testFunctions(t)
	named := 0
	for _, m := range testName.FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(m[1], "…") && !strings.HasPrefix(m[1], "Test") {
			continue
		}
		named++
		pattern := "^" + strings.ReplaceAll(m[1], "…", ".*") + "$"
		if !regexp.MustCompile("(?m)" + pattern).MatchString(tests) {
			t.Errorf("no test is called %s", m[1])
		}
	}
	if named < 40 {
		t.Errorf("the page names %d tests: is it read right?", named)
	}
}

// testFunctions returns the names of all tests, a line each.
func testFunctions(t *testing.T) string {
	t.Helper()
	var names strings.Builder
	err := filepath.WalkDir(root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names.WriteString(f.Name.Name + "\n")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names.String()
}
