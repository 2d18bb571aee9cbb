// Checks runs what is too dear for every run of go test: other projects' readers, the
// race detector, fuzzing, other platforms, a real cluster.
//
//	go run ./internal/dev/checks                # every check that anything has changed for
//	go run ./internal/dev/checks interop fuzz   # these
//	go run ./internal/dev/checks -force race    # whatever has changed
//	go run ./internal/dev/checks -list
//
// A check is a script in the directory scripts. Its comment "# reads:" names what it
// reads: packages, files, data. When a check has succeeded, the hash of all that is
// written to green.txt, which is committed. As long as the hash is the same, the check
// is not run again. Only this program writes green.txt. The seeds and earlier findings of fuzz
// targets run with the tests and fail them; what chance finds anew is shown, and fails
// nothing.
//
// The words of "# reads:" are
//
//	go:DIR       the package in DIR and all that it imports from this module;
//	             DIR/... stands for all packages below DIR
//	test:DIR     the same with its tests, their imports and testdata
//	data:NAME    a file or directory of the real data (internal/dev/realdata)
//	env:NAME     the Python packages of envs/NAME.txt
//	block:FILE#HEADING  the first code block below a heading of a Markdown file
//	code:        every file of the repository but Markdown and what checks write
//	machine:     the processor's features and the system
//	PATH         a file or directory of the repository
//
// The script itself, go.mod, go.sum and the version of Go always count.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
)

func main() {
	force := flag.Bool("force", false, "run checks for which nothing has changed too")
	list := flag.Bool("list", false, "print the checks and whether they would run, and stop")
	jobs := flag.Int("jobs", min(2, runtime.NumCPU()), "checks at a time")
	fuzztime := flag.String("fuzztime", "5s", "time of each fuzz target, for the check fuzz")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Setenv("FUZZTIME", *fuzztime)
	r := runner{root: moduleRoot(), force: *force, list: *list, out: os.Stdout}
	if err := r.run(ctx, flag.Args(), *jobs); err != nil {
		fmt.Fprintf(os.Stderr, "checks: %v\n", err)
		os.Exit(1)
	}
}

func moduleRoot() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		panic("BUG: no caller information")
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// run runs the checks with the given names, or all checks.
func (r *runner) run(ctx context.Context, names []string, jobs int) error {
	all, err := readChecks(r.root)
	if err != nil {
		return err
	}
	chosen := all
	if len(names) > 0 {
		chosen = nil
		for _, name := range names {
			named := slices.DeleteFunc(slices.Clone(all), func(c check) bool { return c.name != name && c.group != name })
			if len(named) == 0 {
				return fmt.Errorf("no check %q: see -list", name)
			}
			chosen = append(chosen, named...)
		}
	}
	if r.green, err = readGreen(r.root); err != nil {
		return err
	}
	if r.inputs, err = newInputs(r.root); err != nil {
		return err
	}
	return errors.Join(r.each(ctx, chosen, jobs)...)
}
