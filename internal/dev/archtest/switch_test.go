package archtest

import (
	"go/ast"
	"go/parser"
	"strings"
	"testing"
)

// GODEBUG=cpu.avx512=off must turn off all code for AVX-512, not only what asks for that
// name: golang.org/x/sys/cpu leaves the features of its parts as they are. So whoever asks
// for a part asks for the whole too, in the same condition.
func TestOneSwitchTurnsAVX512Off(t *testing.T) {
	asked := 0
	walk(t, parser.SkipObjectResolution, func(pkg string, f *ast.File) {
		var conditions []ast.Node // around the node, the outermost first
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				conditions = conditions[:len(conditions)-1]
				return true
			}
			conditions = append(conditions, n)
			name, ok := n.(*ast.SelectorExpr)
			if !ok || name.Sel.Name == "HasAVX512" || !strings.HasPrefix(name.Sel.Name, "HasAVX512") {
				return true
			}
			asked++
			if !asksForAVX512(conditions) {
				t.Errorf("%s asks for %s without HasAVX512: GODEBUG=cpu.avx512=off does not turn it off", pkg, name.Sel.Name)
			}
			return true
		})
	})
	if asked < 10 {
		t.Errorf("the parser saw %d questions for parts of AVX-512 only", asked)
	}
}

// asksForAVX512 reports whether the outermost condition of nodes, which lead to a part of
// AVX-512, asks for the whole.
func asksForAVX512(nodes []ast.Node) (found bool) {
	for _, n := range nodes {
		condition, ok := n.(*ast.BinaryExpr)
		if !ok {
			continue
		}
		ast.Inspect(condition, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && id.Name == "HasAVX512"
			return !found
		})
		return found
	}
	return false
}
