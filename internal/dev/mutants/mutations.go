package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// A mutation is one change of a function. apply makes it in the syntax tree.
type mutation struct {
	what  string
	pos   token.Pos
	apply func()
}

// swaps are the operators that take each other's place.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.LAND: token.LOR, token.LOR: token.LAND,
	token.SHL: token.SHR, token.SHR: token.SHL, token.AND: token.OR, token.OR: token.AND, token.REM: token.MUL,
	token.INC: token.DEC, token.DEC: token.INC,
}

// mutations returns the possible mutations of a function in the order of its source.
func mutations(body *ast.BlockStmt) (list []mutation) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if to, ok := swaps[n.Op]; ok {
				list = append(list, mutation{n.Op.String() + " -> " + to.String(), n.OpPos, func() { n.Op = to }})
			}
		case *ast.IncDecStmt:
			list = append(list, mutation{"++ <-> --", n.TokPos, func() { n.Tok = swaps[n.Tok] }})
		case *ast.IfStmt:
			list = append(list, mutation{"negated condition", n.Pos(), func() { n.Cond = &ast.UnaryExpr{Op: token.NOT, X: &ast.ParenExpr{X: n.Cond}} }})
		case *ast.BasicLit:
			if n.Kind == token.INT {
				list = append(list, mutation{n.Value + " + 1", n.Pos(), func() { n.Value = "(" + n.Value + "+1)" }})
			}
		case *ast.Ident:
			if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
				list = append(list, mutation{n.Name + " -> " + other, n.Pos(), func() { n.Name = other }})
			}
		case *ast.BlockStmt:
			for i := range n.List {
				list = append(list, ofStatement(n.List, i)...)
			}
		}
		return true
	})
	return list
}

// ofStatement returns the mutations of list[i] as a whole: it is left out, or an error is
// not returned.
func ofStatement(list []ast.Stmt, i int) []mutation {
	drop := func() { list[i] = &ast.EmptyStmt{} }
	switch s := list[i].(type) {
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok && isHelper(call) {
			return nil
		}
		return []mutation{{"statement left out", s.Pos(), drop}}
	case *ast.SendStmt, *ast.DeferStmt, *ast.BranchStmt, *ast.IncDecStmt:
		return []mutation{{"statement left out", s.Pos(), drop}}
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			return []mutation{{"assignment left out", s.Pos(), drop}}
		}
	case *ast.ReturnStmt:
		if last := len(s.Results) - 1; last >= 0 {
			if id, ok := s.Results[last].(*ast.Ident); ok && id.Name == "err" {
				return []mutation{{"nil returned for err", s.Pos(), func() { s.Results[last] = ast.NewIdent("nil") }}}
			}
		}
	}
	return nil
}

// isHelper reports whether a call is t.Helper(), which only changes a line number.
func isHelper(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Helper" && len(call.Args) == 0
}

// isOurs reports whether a file is one to mutate: hand-written, for this platform and
// without comments that the compiler needs, because comments are lost.
func isOurs(name string, file *ast.File) bool {
	if strings.HasSuffix(name, "_test.go") || ast.IsGenerated(file) {
		return false
	}
	return !slices.ContainsFunc(file.Comments, func(g *ast.CommentGroup) bool {
		return slices.ContainsFunc(g.List, func(c *ast.Comment) bool {
			directive, ok := strings.CutPrefix(c.Text, "//go:")
			return ok && !strings.HasPrefix(directive, "generate ")
		})
	})
}
