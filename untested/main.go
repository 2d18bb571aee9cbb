// Untested prints how many tests "go test ./..." skips on this machine, and what they
// need:
//
//	$ go run ./untested
//	not run, or only in part: 67 of 1190 tests: 66 need the real data (PRETEXT_DATA), 1 needs mandoc; README.md, "Tests"
//
// It reads the source of the tests: those that call a function of
// internal/dev/realdata whose data, program, variable or instructions are absent are skipped.
//
// Its own test writes the same line at the end of "go test ./...". Since go test hides
// the output of a passing package, the test writes to the standard error of the go
// command. It is the last package by name, is never cached, and waits for the others.
// This works on Linux only; elsewhere use go run.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"pretext/internal/dev/realdata"
)

func main() {
	c, err := takeCensus(moduleRoot())
	if err != nil {
		fmt.Fprintf(os.Stderr, "untested: %v\n", err)
		os.Exit(1)
	}
	line := c.line(here())
	if line == "" {
		line = fmt.Sprintf("all %d tests have what they need", c.tests)
	}
	fmt.Println(line)
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
