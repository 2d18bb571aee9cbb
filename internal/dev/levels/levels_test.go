package main

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
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
)

// childVariable has the flags that this program prints instead of running tests.
const childVariable = "PRETEXT_LEVELS_FLAGS"

func TestMain(m *testing.M) {
	flags := os.Getenv(childVariable)
	if flags == "" {
		os.Exit(m.Run())
	}
	var on []string
	for name := range strings.SplitSeq(flags, " ") {
		if realdata.HasInstructions(name) {
			on = append(on, name)
		}
	}
	fmt.Println(strings.Join(on, " "))
	if os.Args[len(os.Args)-1] == "fail" {
		os.Exit(3)
	}
}

// An askedFlag is a flag of the processor that the module's code asks for.
type askedFlag struct {
	packages []string
	alone    bool // somewhere without AVX-512, which the level AVX2 does not have
}

func moduleRoot() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// asked returns the flags that the code asks for, by their names in x/sys/cpu without Has.
func asked(t *testing.T) map[string]askedFlag {
	t.Helper()
	root := moduleRoot()
	flags := map[string]askedFlag{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name()[0] == '.' || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), "golang.org/x/sys/cpu") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, b, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			found := flagsOf(e)
			for _, name := range found {
				flag := flags[name]
				flag.packages = append(flag.packages, filepath.ToSlash(dir))
				flag.alone = flag.alone || !slices.ContainsFunc(found, avx512)
				flags[name] = flag
			}
			return len(found) == 0
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(flags) < 10 {
		t.Fatalf("found %d flags only: is the module's root right?", len(flags))
	}
	return flags
}

// flagsOf returns all X of an expression cpu.X86.HasX && cpu.X86.HasY && …
func flagsOf(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.LAND {
			return append(flagsOf(e.X), flagsOf(e.Y)...)
		}
	case *ast.SelectorExpr:
		if x86, ok := e.X.(*ast.SelectorExpr); ok && x86.Sel.Name == "X86" {
			return []string{strings.TrimPrefix(e.Sel.Name, "Has")}
		}
	}
	return nil
}

func avx512(flag string) bool { return strings.HasPrefix(flag, "AVX512") }

func TestTheLevelsNameEveryFlagThatTheCodeAsksFor(t *testing.T) {
	options := optionsOf(levels[0])
	if options["cpu.all"] != "off" || levels[1].godebug != "cpu.all=off" {
		t.Error("a level does not begin with everything off")
	}
	for name, flag := range asked(t) {
		option := "cpu." + strings.ToLower(name)
		switch value := options[option]; {
		case avx512(name) && value != "":
			t.Errorf("%s=%s at the level AVX2, which does not have it", option, value)
		case !avx512(name) && flag.alone && value != "on":
			t.Errorf("%v: asks for %s, which the level AVX2 does not name: add %s=on", flag.packages, name, option)
		}
	}
}

// optionsOf splits the options of a level into names and values.
func optionsOf(l level) map[string]string {
	options := map[string]string{}
	for option := range strings.SplitSeq(l.godebug, ",") {
		name, value, _ := strings.Cut(option, "=")
		options[name] = value
	}
	return options
}

func TestPackagesWithVectorCodeRunAtEachLevel(t *testing.T) {
	for name, flag := range asked(t) {
		for _, p := range flag.packages {
			if p != "internal/doctor" && p != "internal/dev/realdata" && !slices.Contains(packages, p) { // which only show flags
				t.Errorf("package %s asks for %s and is not in the list", p, name)
			}
		}
	}
}

// The check levels runs again when one of them has changed.
func TestTheCheckReadsThePackages(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(moduleRoot(), "internal", "dev", "checks", "scripts", "levels.sh"))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(script))
	for _, p := range packages {
		if !slices.Contains(words, "test:"+p) {
			t.Errorf("levels.sh does not read %s", p)
		}
	}
}

// What the strings say is what processes see.
func TestAProcessSeesTheFlagsOfItsLevel(t *testing.T) {
	flags := slices.Sorted(maps.Keys(asked(t)))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// This process may run at a level itself.
	whole := exec.Command(self)
	whole.Env = append(os.Environ(), childVariable+"="+strings.Join(flags, " "), "GODEBUG=")
	all, err := whole.Output()
	if err != nil {
		t.Fatal(err)
	}
	has := strings.Fields(string(all))
	for _, l := range levels {
		options := optionsOf(l)
		var want []string
		for _, name := range flags {
			if options["cpu."+strings.ToLower(name)] == "on" && slices.Contains(has, name) {
				want = append(want, name)
			}
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childVariable+"="+strings.Join(flags, " "), "GODEBUG="+l.godebug)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if got := strings.TrimSpace(string(out)); got != strings.Join(want, " ") || err != nil {
			t.Errorf("%s: got %q, %v, want %q", l.name, got, err, want)
		}
		if runtime.GOARCH == "amd64" && strings.Contains(stderr.String(), "unknown") {
			t.Errorf("%s: each process writes %s", l.name, &stderr)
		}
	}
}

func TestAFailureEndsTheRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(childVariable, "AVX2")
	if err := runAtEach([]string{self}); err != nil {
		t.Error(err)
	}
	if err := runAtEach([]string{self, "fail"}); err == nil {
		t.Error("got no error of a program that fails")
	}
}

func TestALesserProcessorSaysSo(t *testing.T) {
	avx2 := func(name string) bool { return name == "AVX2" }
	if got, want := missing(avx2), "this processor has no AVX-512 BW, AVX-512 VBMI2, AVX-512 VPCLMULQDQ: code that needs it is not run here"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := missing(func(string) bool { return true }); got != "" {
		t.Errorf("got %q where nothing is missing", got)
	}
}
