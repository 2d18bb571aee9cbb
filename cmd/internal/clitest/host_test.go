package clitest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var echo = &Program{Name: "echo-all", Main: func() { os.Exit(echoAll(os.Args[1:])) }, Init: func() { started++ }, Run: echoAll}

var started int // in a host

func TestMain(m *testing.M) { os.Exit(echo.RunTests(m)) }

// echoAll prints what a command line sees of its process.
func echoAll(args []string) int {
	if args[0] == "panic" {
		panic("as told")
	}
	dir, _ := os.Getwd()
	input, err := io.ReadAll(os.Stdin)
	fmt.Printf("%d %s %s %q %q %v\n", started, filepath.Base(dir), os.Getenv("TMPDIR"), os.Args, input, err)
	fmt.Fprint(os.Stderr, "echo-all: ", os.Getpid(), "\n")
	return len(args)
}

func TestAHostRunsCommandsOneAfterAnother(t *testing.T) {
	dir := t.TempDir()
	var pids []string
	for i, name := range []string{"one", "two"} {
		in := filepath.Join(dir, name)
		if err := os.Mkdir(in, 0o777); err != nil {
			t.Fatal(err)
		}
		r, err := echo.ask(request{Args: []string{"a", name}, Dir: in, Env: []string{"TMPDIR=/" + name}})
		if err != nil || r.Code != 2 {
			t.Fatalf("command %d: code %d, %v", i, r.Code, err)
		}
		if want := fmt.Sprintf("1 %[1]s /%[1]s [\"echo-all\" \"a\" %[1]q] \"\" <nil>\n", name); string(r.Stdout) != want {
			t.Errorf("got %q, want %q", r.Stdout, want)
		}
		pids = append(pids, string(r.Stderr))
	}
	if pids[0] != pids[1] || pids[0] == fmt.Sprintf("echo-all: %d\n", os.Getpid()) {
		t.Errorf("processes %q, want one, and not this one", pids)
	}
	if _, err := echo.ask(request{Args: []string{"panic"}, Dir: dir}); err == nil || !strings.Contains(err.Error(), "panic: as told") {
		t.Errorf("a panic: got %v", err)
	}
	if r, err := echo.ask(request{Args: []string{"a"}, Dir: dir}); err != nil || r.Code != 1 {
		t.Errorf("after a panic: code %d, %v", r.Code, err)
	}
}

func TestScriptsRunTheProgramInAHostAndInAProcess(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: echo.Commands()})
}
