package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// opening are the functions of package os that open a file by its name. Code
// that calls them may wait for ever at a pipe or a device, or replace an existing file.
var opening = []string{"Open", "OpenFile", "OpenRoot", "Create", "CreateTemp", "ReadFile", "WriteFile", "Rename", "Truncate"}

// openers are the packages that may call them, and the packages below each, with the
// reason. Others read with store.ReadSmall and store.OpenRegular, and write with
// package onefile or through a folder of package store.
var openers = map[string]opener{
	"internal/store":              {"the doors themselves", nil},
	"internal/trust":              {"secrets: their mode and owner are checked first", nil},
	"extract/books":               {"the library's own reader of local files: it looks at the mode first", []string{"Open"}},
	"trainer/session":             {"files of the run's own directory to which it appends", []string{"OpenFile"}},
	"pipeline/flink":              {"new files with random names", []string{"CreateTemp"}},
	"internal/extsort":            {"new files with random names", []string{"CreateTemp"}},
	"internal/usage":              {"/proc", []string{"Open", "ReadFile"}},
	"internal/doctor":             {"/proc", []string{"Open", "ReadFile"}},
	"cmd/internal/clitest":        {"support of tests", nil},
	"internal/dev/libraryprogram": {"an example: another module has no internal package", nil},

	"cmd/internal/gencommands": {"a tool for developers", nil}, "cmd/train-bert/internal/demoshards/gen": {"a tool for developers", nil},
	"extract/wiki/wikitext/internal/genwords": {"a tool for developers", nil}, "tokenize/sentence/internal/genpunkt": {"a tool for developers", nil},
	"trainer/cpu/internal/kernel": {"a tool for developers", nil}, "internal/dev/bench": {"a tool for developers", nil}, "internal/dev/gpubench": {"a tool for developers", nil}, "internal/dev/checks": {"a tool for developers", nil},
	"internal/dev/clustertest": {"a tool for developers", nil}, "internal/dev/demogen": {"a tool for developers", nil}, "internal/dev/interop": {"a tool for developers", nil}, "internal/dev/mutants": {"a tool for developers", nil},
	"internal/dev/powerloss": {"support of tests", nil}, "internal/dev/realdata": {"support of tests", nil}, "internal/dev/stranger": {"support of tests", nil}, "internal/dev/release": {"a tool for developers", nil},
	"internal/dev/tinydata": {"support of tests", nil}, "trainer/cuda/driver/drivertest": {"support of tests", nil},
}

// An opener is a reason, and the functions that it holds for; nil: all.
type opener struct {
	why  string
	only []string
}

func TestFilesAreOpenedByTheirDoorsAlone(t *testing.T) {
	used := map[string]bool{}
	walk(t, parser.SkipObjectResolution, func(pkg string, f *ast.File) {
		door := ""
		for p := range openers {
			if below(pkg, p) && len(p) > len(door) {
				door = p
			}
		}
		for at, name := range calls(f, "os") {
			if !slices.Contains(opening, name) {
				continue
			}
			used[door] = true
			if rule := openers[door]; door == "" || rule.only != nil && !slices.Contains(rule.only, name) {
				t.Errorf("%s calls os.%s: read with store.ReadSmall or store.OpenRegular, write with package onefile or a folder of package store", sources.Position(at), name)
			}
		}
	})
	for p := range openers {
		if !used[p] {
			t.Errorf("package %s opens no file: take it from the list", p)
		}
	}
}

// calls returns the names that a file uses of a package of the standard library.
func calls(f *ast.File, pkg string) map[token.Pos]string {
	all := map[token.Pos]string{}
	if !slices.ContainsFunc(f.Imports, func(imp *ast.ImportSpec) bool { return strings.Trim(imp.Path.Value, `"`) == pkg }) {
		return all
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == pkg {
				all[sel.Pos()] = sel.Sel.Name
			}
		}
		return true
	})
	return all
}
