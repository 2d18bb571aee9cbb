package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(shared{m}, map[string]func(){"prepare-data": main})
}

// sharedDir holds what tests share.
var sharedDir string

// shared are the tests, after which what they share is removed.
type shared struct{ testscript.TestingM }

func (s shared) Run() int {
	code := s.TestingM.Run()
	if sharedDir != "" {
		os.RemoveAll(sharedDir)
	}
	return code
}

// Every script of testdata/script is a contract of the command line.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("TMPDIR", env.Getenv("WORK"))
			return nil
		},
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"truncate": truncate, "flip": flip, "exits": exits},
		RequireExplicitExec: true,
	})
}

// truncate FILE N cuts a file to N bytes.
func truncate(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(number(ts, args[1]))))
}

// flip FILE N flips a bit of byte N.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	b[number(ts, args[1])] ^= 0x10
	ts.Check(os.WriteFile(path, b, 0o666))
}
