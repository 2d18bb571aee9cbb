package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mostLonely is how many exported names may have no user outside of their package.
const mostLonely = 60

// pagesOfTheLibrary show others how to use the library: what they name has a user.
var pagesOfTheLibrary = []string{"docs/library.md", "docs/own-stage.md"}

// Who reads an exported name looks for its users. A name is used if code or tests of
// another package, an example or a page of the library names it, or if the declaration
// of a used name shows it: who calls a function holds what it returns.
func TestExportedNamesHaveUsersElsewhere(t *testing.T) {
	e := exports{shown: map[string][]string{}, used: map[string]bool{}}
	walkFiles(t, parser.SkipObjectResolution, true, e.add)
	for _, page := range pagesOfTheLibrary {
		text, err := os.ReadFile(filepath.Join(root(), page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\b(\w+)\.([A-Z]\w*)`).FindAllStringSubmatch(string(text), -1) {
			for name := range e.shown {
				if strings.HasSuffix("/"+name, "/"+m[1]+"."+m[2]) {
					e.use(name)
				}
			}
		}
	}
	for name := range e.used {
		e.used[name] = false // so that use follows what it shows
		e.use(name)
	}
	var lonely []string
	for name := range e.shown {
		if !e.used[name] {
			lonely = append(lonely, name)
		}
	}
	slices.Sort(lonely)
	for _, name := range lonely {
		t.Log(name)
	}
	if len(lonely) > mostLonely {
		t.Errorf("%d exported names have no user outside of their package, want at most %d", len(lonely), mostLonely)
	}
	if len(e.shown) < 1000 {
		t.Errorf("the parser saw %d exported names only", len(e.shown))
	}
}

// exports are the exported names of packages, as "sharding.Open".
type exports struct {
	shown map[string][]string // the names in the declaration of each, or in those of its fields and methods
	used  map[string]bool
}

// add adds what a file declares and uses.
func (e *exports) add(pkg string, f *ast.File, test bool) {
	imported := map[string]string{} // packages of this module, by the name used in the file
	for _, imp := range f.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		own, ok := strings.CutPrefix(path, "pretext/")
		if err != nil || !ok {
			continue
		}
		name := own[strings.LastIndexByte(own, '/')+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		imported[name] = own
	}
	for _, d := range f.Decls {
		fn, _ := d.(*ast.FuncDecl)
		example := fn != nil && strings.HasPrefix(fn.Name.Name, "Example")
		ast.Inspect(d, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && imported[x.Name] != "" && (imported[x.Name] != pkg || example) {
					e.used[imported[x.Name]+"."+sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	if test || f.Name.Name == "main" {
		return
	}
	ast.FileExports(f)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d)
			}
			e.show(pkg+"."+name, pkg, imported, d.Type)
		case *ast.GenDecl:
			var group []string // the constants of one type: an enumeration is used as a whole
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					e.show(pkg+"."+s.Name.Name, pkg, imported, s.Type)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						e.show(pkg+"."+name.Name, pkg, imported, s.Type)
						if d.Tok == token.CONST && (s.Type != nil || s.Values == nil) {
							group = append(group, pkg+"."+name.Name)
						}
					}
				}
			}
			for _, name := range group {
				e.shown[name] = append(e.shown[name], group...)
			}
		}
	}
}

// show adds the names in a declaration to those that a name shows.
func (e *exports) show(name, pkg string, imported map[string]string, n ast.Node) {
	if !ast.IsExported(name[strings.LastIndexByte(name, '.')+1:]) {
		return // a type whose methods satisfy an interface
	}
	e.shown[name] = append(e.shown[name], name)
	if n == nil || n == ast.Expr(nil) {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && imported[x.Name] != "" {
				e.shown[name] = append(e.shown[name], imported[x.Name]+"."+n.Sel.Name)
			}
			return false
		case *ast.Field: // names of fields and parameters are none of types
			if n.Type != nil {
				e.show(name, pkg, imported, n.Type)
			}
			return false
		case *ast.Ident:
			e.shown[name] = append(e.shown[name], pkg+"."+n.Name)
		}
		return true
	})
}

// use marks a name and what its declaration shows as used.
func (e *exports) use(name string) {
	if e.used[name] || e.shown[name] == nil {
		return
	}
	e.used[name] = true
	for _, other := range e.shown[name] {
		e.use(other)
	}
}
