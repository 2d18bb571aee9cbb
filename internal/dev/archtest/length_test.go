package archtest

import (
	"go/ast"
	"go/parser"
	"testing"
)

// longest is the maximum number of lines of a function. Aim at 40; what is longer than
// longest has a reason here.
const longest = 80

// longer are the functions that may have more lines, with the reason.
var longer = map[string]string{
	"extract/bzip2.plain": "the inner loop of the decoder: its state stays in registers",
}

func TestNoFunctionIsTooLong(t *testing.T) {
	seen := map[string]bool{}
	walk(t, parser.ParseComments, func(pkg string, f *ast.File) {
		if ast.IsGenerated(f) {
			return
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := sources.Position(fn.End()).Line - sources.Position(fn.Pos()).Line + 1
			name := pkg + "." + fn.Name.Name
			if lines <= longest {
				continue
			}
			seen[name] = true
			if longer[name] == "" {
				t.Errorf("%s has %d lines, want at most %d: extract the parts that have a name", name, lines, longest)
			}
		}
	})
	for name := range longer {
		if !seen[name] {
			t.Logf("%s is not longer than %d lines: remove it from the list", name, longest)
		}
	}
}
