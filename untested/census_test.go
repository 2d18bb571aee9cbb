package untested

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"pretext/internal/dev/realdata"
)

// realdataPath is the package with the functions by which a test declares its needs.
const realdataPath = "pretext/internal/dev/realdata"

// A need is something outside of the repository that a test requires.
type need struct {
	kind string // the function of realdata: Path, Read, Tool, Variable, Instructions or Vectors
	name string // its argument, "" if it is not a literal
}

// A census lists the tests of a module and their needs.
type census struct {
	tests int               // functions TestX
	needs map[string][]need // by test, "extract/bzip2.TestX"; no test without needs
}

// takeCensus reads the test files below root.
func takeCensus(root string) (census, error) {
	c := census{needs: map[string][]need{}}
	packages := map[string]*testPackage{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (name == "testdata" || name[0] == '.' || name[0] == '_') {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if packages[dir] == nil {
			packages[dir] = &testPackage{calls: map[string][]string{}, needs: map[string][]need{}}
		}
		packages[dir].add(file)
		return nil
	})
	for dir, p := range packages {
		for name := range p.calls {
			if !isTest(name) {
				continue
			}
			c.tests++
			if needs := p.reached(name); len(needs) > 0 {
				c.needs[dir+"."+name] = needs
			}
		}
	}
	return c, err
}

// isTest reports whether a function of a test file is run by go test.
func isTest(name string) bool {
	rest, ok := strings.CutPrefix(name, "Test")
	return ok && rest != "Main" && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
}

// A testPackage has the functions of a directory's test files, with the functions that
// each calls and its own needs. Methods are identified by name only, which may find too
// many calls, but not too few.
type testPackage struct {
	calls map[string][]string
	needs map[string][]need
}

func (p *testPackage) add(file *ast.File) {
	realdata := importName(file)
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		name := f.Name.Name
		p.calls[name] = append(p.calls[name], "")
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if x, ok := selector(n.Fun); ok && realdata != "" && x[0] == realdata {
					p.needs[name] = append(p.needs[name], need{x[1], stringArgument(n)})
				}
			case *ast.Ident: // functions are also passed as values
				p.calls[name] = append(p.calls[name], n.Name)
			}
			return true
		})
	}
}

// importName returns the name under which a file imports realdata, "" if it does not.
func importName(file *ast.File) string {
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); path == realdataPath {
			if i.Name != nil {
				return i.Name.Name
			}
			return "realdata"
		}
	}
	return ""
}

// selector splits x.y.
func selector(e ast.Expr) (names [2]string, ok bool) {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return names, false
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return names, false
	}
	return [2]string{x.Name, s.Sel.Name}, true
}

// stringArgument returns the second argument of a call if it is a literal.
func stringArgument(call *ast.CallExpr) string {
	if len(call.Args) < 2 {
		return ""
	}
	if l, ok := call.Args[1].(*ast.BasicLit); ok && l.Kind == token.STRING {
		s, _ := strconv.Unquote(l.Value)
		return s
	}
	return ""
}

// reached returns the needs of a function and of all functions that it calls.
func (p *testPackage) reached(name string) (needs []need) {
	seen, queue := map[string]bool{name: true}, []string{name}
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		needs = append(needs, p.needs[f]...)
		for _, callee := range p.calls[f] {
			if _, own := p.calls[callee]; own && !seen[callee] && !isTest(callee) {
				seen[callee] = true
				queue = append(queue, callee)
			}
		}
	}
	return needs
}

// A finder reports whether a need is available on this machine.
type finder struct {
	data         func(name string) bool // a file of the real data; "": any of it
	tool         func(name string) bool
	variable     func(name string) bool
	instructions func(name string) bool // of the processor
}

// missing returns the name of a need that is not available, "" if it is.
func (f finder) missing(n need) string {
	switch {
	case (n.kind == "Path" || n.kind == "Read") && !f.data(n.name):
		return "the real data (PRETEXT_DATA)"
	case n.kind == "Tool" && n.name != "" && !f.tool(n.name):
		return n.name
	case n.kind == "Variable" && !f.variable(n.name), (n.kind == "Instructions" || n.kind == "Vectors") && !f.instructions(n.name):
		return n.name
	}
	return ""
}

// line returns the last line of the test output, "" if all tests have what they need. A
// test with several needs is counted under the first.
func (c census) line(f finder) string {
	counts, total := map[string]int{}, 0
	for _, needs := range c.needs {
		for _, n := range needs {
			if what := f.missing(n); what != "" {
				counts[what]++
				total++
				break
			}
		}
	}
	if total == 0 {
		return ""
	}
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if d := counts[b] - counts[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, k := range kinds {
		verb := "need"
		if counts[k] == 1 {
			verb = "needs"
		}
		parts = append(parts, fmt.Sprintf("%d %s %s", counts[k], verb, k))
	}
	return fmt.Sprintf("not run, or only in part: %d of %d tests: %s; README.md, \"Tests\"", total, c.tests, strings.Join(parts, ", "))
}

func moduleRoot() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		panic("BUG: no caller information")
	}
	return filepath.Dir(filepath.Dir(file))
}

// here returns a finder for this machine.
func here() finder {
	return finder{
		data: func(name string) bool {
			_, err := os.Stat(filepath.Join(realdata.Root(), filepath.FromSlash(name)))
			return err == nil
		},
		tool:         func(name string) bool { _, err := exec.LookPath(name); return err == nil },
		variable:     func(name string) bool { return os.Getenv(name) != "" },
		instructions: realdata.HasInstructions,
	}
}
