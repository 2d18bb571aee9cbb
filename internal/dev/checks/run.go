package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// A runner runs checks and records their results.
type runner struct {
	root        string
	force, list bool
	inputs      *inputs

	mu    sync.Mutex // guards the fields below
	green map[string]string
	out   io.Writer
}

// each runs checks, several at a time, and returns the errors of those that failed.
func (r *runner) each(ctx context.Context, checks []check, jobs int) (failed []error) {
	slots := make(chan struct{}, max(1, jobs))
	var wg sync.WaitGroup
	for _, c := range checks {
		hash, err := r.inputs.hash(c)
		if err != nil {
			return append(failed, err)
		}
		if r.skip(c, hash) {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := r.do(ctx, c, hash); err != nil {
				r.mu.Lock()
				failed = append(failed, err)
				r.mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed
}

// skip reports whether a check need not run, and prints why.
func (r *runner) skip(c check, hash string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	same := r.green[c.name] == hash
	switch {
	case r.list && same:
		fmt.Fprintf(r.out, "%s: green\n", c.name)
	case r.list:
		fmt.Fprintf(r.out, "%s: would run\n", c.name)
	case same && !r.force:
		fmt.Fprintf(r.out, "%s: not run: nothing that it reads has changed since it was green\n", c.name)
	}
	return r.list || same && !r.force
}

// do runs a check, and prints its output and duration. If it succeeds and its inputs
// did not change meanwhile, do records their hash.
func (r *runner) do(ctx context.Context, c check, hash string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", command(c))
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.root, &output, &output
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	start := time.Now()
	err := cmd.Run()
	after, hashErr := r.again(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Write(output.Bytes())
	if err != nil && c.chance && ctx.Err() == nil {
		fmt.Fprintf(r.out, "%s: FOUND SOMETHING: see its input above, mend it and keep it as a seed\n", c.name)
		return nil
	}
	if err != nil {
		fmt.Fprintf(r.out, "%s: FAILED\n", c.name)
		return fmt.Errorf("%s: %w", c.name, err)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Fprintf(r.out, "%s: green in %.0f s, %.0f s of CPU\n", c.name, time.Since(start).Seconds(), cpu.Seconds())
	if hashErr != nil || after != hash {
		fmt.Fprintf(r.out, "%s: what it reads changed while it ran: it will run again\n", c.name)
		return hashErr
	}
	if r.green, err = readGreen(r.root); err != nil { // another process may have written it
		return err
	}
	r.green[c.name] = hash
	return writeGreen(r.root, r.green)
}

// again computes the hash of the inputs of a check anew.
func (r *runner) again(c check) (string, error) {
	now, err := newInputs(r.root)
	if err != nil {
		return "", err
	}
	return now.hash(c)
}

// command returns the command line of a check, for bash.
func command(c check) string {
	line := "exec"
	for _, arg := range c.args {
		line += ` "` + arg + `"`
	}
	return line
}
