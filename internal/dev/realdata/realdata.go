// Package realdata locates the real data of tests that is not in this
// repository because of its size and licences: dumps, books, vocabularies,
// goldens, hostile files.
//
// The data is in $PRETEXT_DATA, or else in shared/data next to the checkout. If
// it is missing, a test that needs it is skipped with one line. Under
// continuous integration ($CI set) the test fails instead, so that nothing is
// skipped unnoticed. Package untested counts the tests that are skipped by
// Path, Read, Tool, Variable and Instructions, or shortened by Vectors.
package realdata

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

// Path returns the path of a file or folder of the test data. name is
// slash-separated and relative to the root of the data. If it is missing, the
// test is skipped, or fails if $CI is set.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(Root(), filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		Missing(tb, "test data "+name+" not found; set PRETEXT_DATA")
	}
	return path
}

// Read returns the content of a file of the test data. name is as for [Path].
// If the file is missing, the test is skipped, or fails if $CI is set.
func Read(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(Path(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Tool returns the path of a program. If it is missing, the test is skipped, or
// fails if $CI is set.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(tb, name+" is not installed")
	}
	return path
}

// Variable returns an environment variable that enables a test, such as one
// that takes hours. If it is not set, the test is skipped, also under
// continuous integration.
func Variable(tb testing.TB, name, why string) string {
	tb.Helper()
	value := os.Getenv(name)
	if value == "" {
		tb.Skip(why + "; set " + name)
	}
	return value
}

// Instructions skips the test on a processor that has none of some sets of vector
// instructions, also under continuous integration: the processor is as it is. The names
// are those of [HasInstructions].
func Instructions(tb testing.TB, names ...string) {
	tb.Helper()
	if !slices.ContainsFunc(names, HasInstructions) {
		tb.Skip("this processor has no " + strings.Join(names, " or "))
	}
}

// Vectors states that a test compares vector code with plain code. If the processor has
// none of the named sets of instructions, Vectors logs that the test compares less.
func Vectors(tb testing.TB, names ...string) {
	tb.Helper()
	if !slices.ContainsFunc(names, HasInstructions) {
		tb.Log("only in part: this processor has no " + strings.Join(names, " or "))
	}
}

// HasInstructions reports whether the processor has the instructions of a flag of
// golang.org/x/sys/cpu.X86, such as "AVX2" or "AVX-512 VBMI". A program for 386 has no
// code for them, wherever it runs. "NEON" are those that every arm64 processor has, "PMULL"
// the products of polynomials there.
func HasInstructions(name string) bool {
	switch name {
	case "NEON":
		return runtime.GOARCH == "arm64"
	case "PMULL":
		return cpu.ARM64.HasPMULL
	}
	flag := reflect.ValueOf(cpu.X86).FieldByName("Has" + strings.NewReplacer("-", "", " ", "").Replace(name))
	if !flag.IsValid() {
		panic("BUG: there are no instructions " + name)
	}
	return flag.Bool() && runtime.GOARCH == "amd64"
}

// Missing skips the test with a reason, or fails it if $CI is set.
func Missing(tb testing.TB, reason string) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatal(reason + " (CI is set: nothing may be skipped)")
	}
	tb.Skip(reason)
}

// Root returns the root folder of the test data, which may not exist. It finds the
// checkout from the folder in which go test runs a package's tests, since the
// binary does not name its sources when it is built with -trimpath. Outside of a checkout
// it panics.
func Root() string {
	root, err := Find()
	if err != nil {
		panic(err)
	}
	return root
}

// Find is Root for programs, which may be started anywhere.
func Find() (string, error) {
	if dir := os.Getenv("PRETEXT_DATA"); dir != "" {
		return dir, nil
	}
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "data"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("PRETEXT_DATA is not set, and no go.mod is above %s", start)
		}
	}
}
