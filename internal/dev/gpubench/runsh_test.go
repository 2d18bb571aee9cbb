package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A borrowed machine gives ten minutes a call and thirty in all.
func TestCallsFitABorrowedMachine(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	out, err := exec.Command("bash", "pack/run.sh", "-l").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	total, called := 0, []string{}
	for text := range strings.Lines(string(out)) {
		var number, seconds int
		if _, err := fmt.Sscanf(text, "call %d %d s", &number, &seconds); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if seconds > 9*60 {
			t.Errorf("%q takes more than 9 minutes", text)
		}
		total += seconds
		called = append(called, strings.Fields(text)[4:]...)
	}
	if total > 28*60 {
		t.Errorf("%d seconds in all, want at most 28 minutes", total)
	}
	if first := called[:3]; !slices.Equal(first, []string{"look", "check", "truth"}) {
		t.Errorf("the first parts are %v: what is right comes before what is fast", first)
	}
	for _, part := range regexp.MustCompile(`(?m)^#   ([a-z]+)  `).FindAllStringSubmatch(script(t), -1) {
		if !slices.Contains(called, part[1]) {
			t.Errorf("no call has the part %s", part[1])
		}
	}
	if out, err := exec.Command("bash", "pack/run.sh", "-o", t.TempDir(), "call", "9").CombinedOutput(); err == nil || !strings.Contains(string(out), "no call 9") {
		t.Errorf("call 9: %v, %s", err, out)
	}
}

func script(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("pack/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every test of a kernel runs on the GPU: run.sh names those that it leaves out, and
// they must not check kernels.
func TestNoTestOfAKernelIsLeftOut(t *testing.T) {
	all := testsOf(t, "../../../trainer/cuda/kernels")
	skip := regexp.MustCompile(regexp.MustCompile(`about_simulator='(.*)'`).FindStringSubmatch(script(t))[1])
	skipped := 0
	for name, body := range all {
		if !skip.MatchString(name) {
			continue
		}
		skipped++
		if strings.Contains(body, "eachType(") {
			t.Errorf("run.sh leaves out %s, which checks a kernel", name)
		}
	}
	if names := strings.Count(skip.String(), "|") + 1; skipped != names {
		t.Errorf("run.sh leaves out %d tests, of which %d exist", names, skipped)
	}
}

// Every test of the driver on a GPU is run by one of run.sh's steps.
func TestEveryTestOfTheGPURuns(t *testing.T) {
	text := script(t)
	patterns := []string{`^TestGPU(` + strings.ReplaceAll(regexp.MustCompile(`for type in ([A-Za-z0-9 ]+);`).FindStringSubmatch(text)[1], " ", "|") + `)$`}
	for _, run := range regexp.MustCompile(`driver\.test" -test\.v -test\.run '([^']*)'(?: -test\.skip '([^']*)')?`).FindAllStringSubmatch(text, -1) {
		if run[2] == "" {
			patterns = append(patterns, run[1])
		}
	}
	rest := regexp.MustCompile(regexp.MustCompile(`'\^TestGPU' -test\.skip '(.*)'`).FindStringSubmatch(text)[1])
	for name := range testsOf(t, "../../../trainer/cuda/driver") {
		if !strings.HasPrefix(name, "TestGPU") || !rest.MatchString(name) {
			continue // not of a GPU, or in the step products-checked
		}
		if !regexp.MustCompile(strings.Join(patterns, "|")).MatchString(name) {
			t.Errorf("no step runs %s: those are %q", name, patterns)
		}
	}
}

// testsOf returns the text of every test function of a package, by name.
func testsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain" {
				all[fn.Name.Name] = string(text[set.Position(fn.Pos()).Offset:set.Position(fn.End()).Offset])
			}
		}
	}
	return all
}
