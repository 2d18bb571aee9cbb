package main

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

// exits CODE MESSAGE ARGS... runs prepare-data and demands its exit code, and
// one line on standard error that holds the message.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: exits CODE MESSAGE ARGS...")
	}
	self, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(self, args[2:]...)
	cmd.Args[0] = "prepare-data" // testscript's binary is each command under its name
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "TMPDIR="+ts.MkAbs("."))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	message := strings.TrimSuffix(stderr.String(), "\n")
	if cmd.ProcessState == nil {
		ts.Fatalf("prepare-data did not run: %v", err)
	}
	if got, want := cmd.ProcessState.ExitCode(), number(ts, args[0]); got != want {
		ts.Fatalf("exit code %d, want %d: %s", got, want, message)
	}
	if strings.Contains(message, "\n") || !strings.HasPrefix(message, "prepare-data: ") {
		ts.Fatalf("want one line from prepare-data, got %q", message)
	}
	if !strings.Contains(message, args[1]) {
		ts.Fatalf("want %q in the message, got %q", args[1], message)
	}
}
