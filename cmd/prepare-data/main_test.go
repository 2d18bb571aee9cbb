package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pretext/cmd/internal/clitest"
	"pretext/pipeline/flink"
)

var program = &clitest.Program{Name: "prepare-data", Main: main, Init: start,
	Run: func(args []string) int { return run(context.Background(), args) }}

func TestMain(m *testing.M) { os.Exit(program.RunTests(shared{m})) }

// sharedDir is a folder for data that several tests use: a corpus and its undisturbed
// run.
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

// condition implements the condition "cluster" of scripts: this program can use
// clusters.
func condition(name string) (bool, error) {
	if name != "cluster" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	return flink.Supported() == nil, nil
}

// Every script of testdata/script passes; together they are the contract of the
// command line.
func TestScripts(t *testing.T) {
	commands := program.Commands()
	commands["alike"], commands["holdsrecipe"] = alike, holdsRecipe
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("TMPDIR", env.Getenv("WORK"))
			env.Setenv("GOGC", "400") // a third of what a short process takes is collecting
			return nil
		},
		Cmds:      commands,
		Condition: condition,
	})
}
