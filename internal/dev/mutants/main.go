// Mutants measures what the tests notice. It takes functions by a seed, changes one place
// in each, and runs the tests of the package with the change. Tests that pass although a
// condition is negated or a statement is missing do not test it.
//
//	go run ./internal/dev/mutants -seed 1 -n 100
//
// A mutant that survives the tests of its own package is tried against those of the
// packages that import it. Some mutants cannot be killed, because they change only speed,
// memory, or nothing at all: what a survivor means is for a person to say.
//
// The kernels in trainer/cuda have mutants of their own, see package kernels.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	seed := flag.Uint64("seed", 1, "the seed of the sample")
	n := flag.Int("n", 100, "the number of mutants")
	below := flag.String("below", ".", "folder whose functions are taken")
	importers := flag.Bool("importers", false, "try survivors against the tests of the packages that import theirs")
	flag.Parse()
	if err := run(*seed, *n, *below, *importers); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// A function is a place to mutate.
type function struct {
	file, name string
	line       int
}

func run(seed uint64, n int, below string, importers bool) error {
	temp, err := os.MkdirTemp("", "pretext-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	all, err := functions(below)
	if err != nil {
		return err
	}
	users := map[string][]string{}
	if importers {
		if users, err = importedBy(); err != nil {
			return err
		}
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	tried, own, other := 0, 0, 0
	for _, i := range rng.Perm(len(all)) {
		if tried == n {
			break
		}
		overlay, what, err := mutate(all[i], rng, temp)
		if err != nil {
			return err
		}
		pkg := "./" + path.Dir(all[i].file)
		if goTool("build", "-overlay", overlay, "-o", os.DevNull, pkg) != nil {
			continue // the types do not fit
		}
		tried++
		verdict := "SURVIVED"
		if killed(overlay, pkg) {
			own++
			verdict = "killed"
		} else if at := slices.IndexFunc(users[pkg], func(user string) bool { return killed(overlay, user, "-short") }); at >= 0 {
			other++
			verdict = "killed by " + users[pkg][at]
		}
		fmt.Printf("%d %s: %s %s: %s\n", tried, verdict, what.at, all[i].name, what.change)
	}
	fmt.Printf("of %d mutants %d were killed by the tests of their package, %d by those of its importers\n", tried, own, other)
	return nil
}

// functions returns the functions below a folder that have something to mutate, sorted.
func functions(below string) (list []function, err error) {
	err = filepath.WalkDir(below, func(name string, d fs.DirEntry, err error) error {
		slashed := filepath.ToSlash(name)
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || slashed == "trainer/cuda" || slashed == "bin") {
			return filepath.SkipDir
		}
		if err != nil || path.Ext(name) != ".go" {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil || !isOurs(name, file) {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && len(mutations(f.Body)) > 0 {
				list = append(list, function{slashed, f.Name.Name, fset.Position(f.Pos()).Line})
			}
		}
		return nil
	})
	return list, err
}

// A change is a mutation with its place, FILE:LINE.
type change struct{ at, change string }

// mutate changes a place of f that rng chooses, and returns the path of an overlay for the
// go command with the result.
func mutate(f function, rng *rand.Rand, temp string) (overlay string, what change, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, f.file, nil, parser.SkipObjectResolution)
	if err != nil {
		return "", what, err
	}
	for _, d := range file.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && fset.Position(d.Pos()).Line == f.line {
			list := mutations(d.Body)
			m := list[rng.IntN(len(list))]
			what = change{fmt.Sprintf("%s:%d", f.file, fset.Position(m.pos).Line), m.what}
			m.apply()
		}
	}
	var source bytes.Buffer
	if err := format.Node(&source, fset, file); err != nil {
		return "", what, err
	}
	original, err := filepath.Abs(f.file)
	if err != nil {
		return "", what, err
	}
	changed, overlay := filepath.Join(temp, "mutant.go"), filepath.Join(temp, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", what, err
	}
	if err := os.WriteFile(changed, source.Bytes(), 0o666); err != nil {
		return "", what, err
	}
	return overlay, what, os.WriteFile(overlay, list, 0o666)
}

// killed reports whether the tests of a package fail with the overlay. Tests that do not
// end fail.
func killed(overlay, pkg string, flags ...string) bool {
	return goTool(append(append([]string{"test", "-vet=off", "-failfast", "-timeout=4m", "-overlay", overlay}, flags...), pkg)...) != nil
}

func goTool(args ...string) error {
	c := exec.CommandContext(context.Background(), "go", args...)
	c.Env = append(os.Environ(), "PRETEXT_TORTURE=") // the tests' usual share
	return c.Run()
}

// importedBy returns for each package those that import it, in tests too, as ./PATH.
// The kernels' tests are too dear.
func importedBy() (map[string][]string, error) {
	const form = `{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`
	out, err := exec.CommandContext(context.Background(), "go", "list", "-f", form, "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	local := func(pkg string) (string, bool) { p, ok := strings.CutPrefix(pkg, "pretext/"); return "./" + p, ok }
	users := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		user, _ := local(names[0])
		for _, name := range names[1:] {
			pkg, ok := local(name)
			if ok && pkg != user && !strings.HasPrefix(user, "./trainer/cuda") && !slices.Contains(users[pkg], user) {
				users[pkg] = append(users[pkg], user)
			}
		}
	}
	return users, nil
}
