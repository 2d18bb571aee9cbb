// Package realdata finds the real data that tests use and this repository must
// not contain (size, licences): dumps, books, vocabularies, goldens, hostile
// files.
//
// The data lies in $PRETEXT_DATA, or else in shared/data beside the checkout.
// Without it a test that asks for a file skips with one line, except under
// continuous integration ($CI set), where its absence is a failure: nothing
// may be skipped there unseen. The package untested counts the tests that call
// Path, Read, Tool and Variable in vain.
package realdata

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Path returns the path of a file or folder of the test data, name being
// slash-separated and relative to its root. The test is skipped when the data
// is absent, or fails when $CI is set.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(Root(), filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		Missing(tb, "test data "+name+" not found; set PRETEXT_DATA")
	}
	return path
}

// Read returns the content of a file of the test data, as [Path] finds it.
func Read(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(Path(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Tool returns the path of a program that a test runs, or skips the test, or
// fails it when $CI is set.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(tb, name+" is not installed")
	}
	return path
}

// Variable returns an environment variable by which a person asks for a test,
// such as one that takes hours. Without it the test is skipped, under continuous
// integration too.
func Variable(tb testing.TB, name, why string) string {
	tb.Helper()
	value := os.Getenv(name)
	if value == "" {
		tb.Skip(why + "; set " + name)
	}
	return value
}

// Missing skips the test with the reason given, or fails it under continuous
// integration.
func Missing(tb testing.TB, reason string) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatal(reason + " (CI is set: nothing may be skipped)")
	}
	tb.Skip(reason)
}

// Root returns the root folder of the test data, whether it exists or not.
func Root() string {
	if dir := os.Getenv("PRETEXT_DATA"); dir != "" {
		return dir
	}
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		panic("BUG: no caller information")
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "shared", "data")
}
