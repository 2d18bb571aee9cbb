package archtest

import (
	"go/ast"
	"go/parser"
	"testing"
)

// A type with more methods or fields than these is hard to hold in one's head: its
// functions are short because they share state. What is larger has a reason in crowded.
const (
	mostMethods = 60
	mostFields  = 20
)

// crowded are the types that may be larger, with the reason.
var crowded = map[string]string{
	"internal/dev/gpubench.stepResult": "a field for each figure of the report",
	"sharding/survey.DocumentStats":    "a field for each figure of the report",
	"sharding/survey.RecordStats":      "a field for each figure of the report",
}

func TestNoTypeHoldsTooMuch(t *testing.T) {
	methods, fields := map[string]int{}, map[string]int{}
	walk(t, parser.SkipObjectResolution, func(pkg string, f *ast.File) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[pkg+"."+receiver(fn)]++
			}
			general, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if named, ok := spec.(*ast.TypeSpec); ok {
					if s, ok := named.Type.(*ast.StructType); ok {
						fields[pkg+"."+named.Name.Name] = s.Fields.NumFields()
					}
				}
			}
		}
	})
	// The count of fields counts an embedded type as one.
	for name, n := range fields {
		if n > mostFields && crowded[name] == "" {
			t.Errorf("%s has %d fields, want at most %d: give some an owner of their own", name, n, mostFields)
		}
	}
	for name, n := range methods {
		if n > mostMethods && crowded[name] == "" {
			t.Errorf("%s has %d methods, want at most %d: split it into parts that own their fields", name, n, mostMethods)
		}
	}
	for name := range crowded {
		if fields[name] <= mostFields && methods[name] <= mostMethods {
			t.Errorf("%s has %d fields and %d methods: remove it from the list", name, fields[name], methods[name])
		}
	}
	if len(methods) < 100 || len(fields) < 100 {
		t.Errorf("the parser saw methods of %d types and %d structs only", len(methods), len(fields))
	}
}

// receiver returns the name of a method's type.
func receiver(fn *ast.FuncDecl) string {
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
