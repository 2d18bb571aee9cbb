// Package untested is a test that ends "go test ./..." with one line: how many tests were
// skipped on this machine, and what they need:
//
//	not run, or only in part: 67 of 1190 tests: 66 need the real data (PRETEXT_DATA), 1 needs mandoc; README.md, "Tests"
//
// It reads the source of the tests: those that call a function of
// internal/dev/realdata whose data, program, variable or instructions are absent are skipped.
//
// Since go test hides the output of a passing package, the test writes to the standard
// error of the go command. It is the last package by name, is never cached, and waits for
// the others. This works on Linux only; elsewhere, use go test -v ./untested.
package untested
