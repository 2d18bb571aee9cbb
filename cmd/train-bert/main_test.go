package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pretext/cmd/train-bert/internal/tinydata"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"train-bert": main})
}

// Every script of testdata/script is a contract of the command line.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"shards": shards, "flip": flip, "cut": cut, "zip": zip, "exits": exits},
		RequireExplicitExec: true,
	})
}

// shards DIR TRAIN EVAL [SEED] writes a folder of small examples with a
// vocabulary of 40 tokens.
func shards(ts *testscript.TestScript, _ bool, args []string) {
	o := tinydata.Options{Train: number(ts, args[1]), Eval: number(ts, args[2]), Vocab: 40}
	if len(args) > 3 {
		o.Seed = uint64(number(ts, args[3]))
	}
	ts.Check(tinydata.Write(ts.MkAbs(args[0]), o))
}

// flip FILE N flips a bit of byte N.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	b[number(ts, args[1])] ^= 0x10
	ts.Check(os.WriteFile(path, b, 0o666))
}

// zip FILE compresses a file.
func zip(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err = w.Write(b)
	ts.Check(err)
	ts.Check(w.Close())
	ts.Check(os.WriteFile(path, out.Bytes(), 0o666))
}

// cut FILE N leaves the first N bytes of a file.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(number(ts, args[1]))))
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

// exits CODE MESSAGE ARGS... runs train-bert, quietly, and demands its exit
// code, and one line on standard error that holds the message.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: exits CODE MESSAGE ARGS...")
	}
	self, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(self, args[2:]...)
	cmd.Args[0] = "train-bert" // testscript's binary is each command under its name
	cmd.Dir = ts.MkAbs(".")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	message := strings.TrimSuffix(stderr.String(), "\n")
	if cmd.ProcessState == nil {
		ts.Fatalf("train-bert did not run: %v", err)
	}
	if got, want := cmd.ProcessState.ExitCode(), number(ts, args[0]); got != want {
		ts.Fatalf("exit code %d, want %d: %s", got, want, message)
	}
	if strings.Contains(message, "\n") || !strings.HasPrefix(message, "train-bert: ") {
		ts.Fatalf("want one line from train-bert, got %q", message)
	}
	if !strings.Contains(message, args[1]) {
		ts.Fatalf("want %q in the message, got %q", args[1], message)
	}
}
