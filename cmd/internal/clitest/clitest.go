// Package clitest has the test helpers of both programs: a host that runs the commands of
// test scripts, and checks of help texts and of the commands in the documentation. See
// [Program].
package clitest

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// A Command is a command of a test script.
type Command = func(ts *testscript.TestScript, neg bool, args []string)

// Commands returns the commands of a program's scripts:
//
//	prepare-data ARGS...        runs the program: "exec prepare-data ARGS..."
//	exits CODE MESSAGE ARGS...  runs the program and requires its exit code, and one
//	                            line on standard error that contains MESSAGE
//	says CODE LINE ARGS...      the same, but the line must equal LINE
//	json N ARGS...              runs the program with ARGS and --json and requires N JSON
//	                            values on standard output, with any exit code
//	flip FILE N                 flips a bit of byte N
//	cut FILE N                  leaves the first N bytes
//	replace FILE OLD NEW        replaces the first OLD, which must be there
//
// Commands that run the program do so in a host (see [Program]), with the script's
// directory, HOME and TMPDIR. A script that needs other environment variables, standard
// input or signals must use exec.
func (p *Program) Commands() map[string]Command {
	list := commands(p.Name, p.inHost)
	list[p.Name] = func(ts *testscript.TestScript, neg bool, args []string) {
		r := p.inHost(ts, args)
		ts.Stdout().Write(r.Stdout)
		ts.Stderr().Write(r.Stderr)
		if (r.Code != 0) != neg {
			ts.Fatalf("exit code %d: %s", r.Code, r.Stderr)
		}
	}
	return list
}

// Output runs a command line in a host for a test script. It fails the script unless the
// exit code is code, and returns the standard output.
func (p *Program) Output(ts *testscript.TestScript, code int, args ...string) string {
	r := p.inHost(ts, args)
	if r.Code != code {
		ts.Fatalf("%q: exit code %d, want %d: %s", args, r.Code, code, r.Stderr)
	}
	return string(r.Stdout)
}

func (p *Program) inHost(ts *testscript.TestScript, args []string) result {
	r, err := p.ask(request{Args: args, Dir: ts.MkAbs("."), Env: []string{"HOME=" + ts.Getenv("HOME"), "TMPDIR=" + ts.Getenv("TMPDIR")}})
	ts.Check(err)
	return r
}

// A runner runs a program's command line for a script.
type runner func(ts *testscript.TestScript, args []string) result

func commands(program string, run runner) map[string]Command {
	return map[string]Command{
		"exits": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < 3 {
				ts.Fatalf("usage: exits CODE MESSAGE ARGS...")
			}
			if message := exits(ts, program, run, args); !strings.Contains(message, args[1]) {
				ts.Fatalf("want %q in the message, got %q", args[1], message)
			}
		},
		"says": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < 3 {
				ts.Fatalf("usage: says CODE LINE ARGS...")
			}
			if message := exits(ts, program, run, args); message != program+": "+args[1] {
				ts.Fatalf("got the line\n%s, want\n%s: %s", message, program, args[1])
			}
		},
		"json": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < 2 {
				ts.Fatalf("usage: json N ARGS...")
			}
			r := run(ts, append(args[1:], "--json")) // diff ends with 1
			ts.Stdout().Write(r.Stdout)
			ts.Stderr().Write(r.Stderr)
			dec, found := json.NewDecoder(bytes.NewReader(r.Stdout)), 0
			for {
				var value any
				err := dec.Decode(&value)
				if err == io.EOF {
					break
				}
				if err != nil {
					ts.Fatalf("%s: standard output is no JSON: %v", args[1], err)
				}
				found++
			}
			if want := Number(ts, args[0]); found != want {
				ts.Fatalf("%s: got %d JSON values, want %d", args[1], found, want)
			}
		},
		"flip": func(ts *testscript.TestScript, _ bool, args []string) {
			path := ts.MkAbs(args[0])
			b, err := os.ReadFile(path)
			ts.Check(err)
			b[Number(ts, args[1])] ^= 0x10
			ts.Check(os.WriteFile(path, b, 0o666))
		},
		"replace": replace,
		"cut": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(Number(ts, args[1]))))
		},
	}
}

// replace implements the script command "replace".
func replace(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	if !bytes.Contains(b, []byte(args[1])) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, bytes.Replace(b, []byte(args[1]), []byte(args[2]), 1), 0o666))
}

// Number parses a script command's argument as a number.
func Number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

// exits runs a program and requires an exit code and one line on standard error,
// which it returns. args are the code, a message and the program's arguments.
func exits(ts *testscript.TestScript, program string, run runner, args []string) string {
	r, code := run(ts, args[2:]), Number(ts, args[0])
	message := strings.TrimSuffix(string(r.Stderr), "\n")
	if r.Code != code {
		ts.Fatalf("exit code %d, want %d: %s", r.Code, code, message)
	}
	if strings.Contains(message, "\n") || !strings.HasPrefix(message, program+": ") {
		ts.Fatalf("want one line from %s, got %q", program, message)
	}
	return message
}
