package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// A stageSummary is a stage in the output of prepare-data run --json.
type stageSummary struct {
	Stage   string           `json:"stage"`
	Bytes   int64            `json:"bytes"`
	Counts  map[string]int64 `json:"counts"`
	Seconds float64          `json:"seconds"`
	CPU     float64          `json:"cpu_seconds"`
}

// wholeRun returns the works of running prepare-data run as a process: the
// whole run, and each stage by the CPU time that the run reports for it. What the
// stages lack to the whole is the start and end of the program.
func wholeRun(o options, dir string) []*work {
	if o.binary == "" {
		return nil
	}
	var stages []stageSummary
	var whole sample
	run := func(ctx context.Context) (sample, error) {
		// A run that is not measured: on a virtual machine the first run after other
		// works pays for memory that the system had given back, a fifth of its time.
		_, _, err := runOnce(ctx, o, filepath.Join(dir, "run"))
		if err != nil {
			return sample{}, err
		}
		stages, whole, err = runOnce(ctx, o, filepath.Join(dir, "run"))
		return whole, err
	}
	works := []*work{{name: "prepare-data run, CPU a record", of: "records", run: run}}
	for _, name := range []string{"extract", "vocab", "examples"} {
		works = append(works, &work{name: "… of it: stage " + name, of: "records", run: func(context.Context) (sample, error) {
			i := slices.IndexFunc(stages, func(s stageSummary) bool { return s.Stage == name })
			if i < 0 {
				return sample{}, fmt.Errorf("the run has no stage %s", name)
			}
			return sample{CPU: time.Duration(stages[i].CPU * float64(time.Second)), Bytes: whole.Bytes, Records: whole.Records}, nil
		}})
	}
	return works
}

// runOnce is runInto without the output, which it removes.
func runOnce(ctx context.Context, o options, out string) (stages []stageSummary, s sample, err error) {
	defer os.RemoveAll(out)
	return runInto(ctx, o, out)
}

// runInto measures one run of prepare-data run with the given additional flags.
func runInto(ctx context.Context, o options, out string, flags ...string) (stages []stageSummary, s sample, err error) {
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return nil, s, err
	}
	var stdout bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "run", "--wiki-dump", o.dump, "--books", o.books, "--vocab", o.vocab,
		"--dupe-factor", strconv.Itoa(dupeFactor), "--out", out, "--json", "--quiet")
	cmd.Args = append(cmd.Args, flags...)
	cmd.Stdout = &stdout
	if s, err = child(cmd); err != nil {
		return nil, s, err
	}
	var printed struct {
		Stages []stageSummary `json:"stages"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &printed); err != nil {
		return nil, s, fmt.Errorf("parse the output of the run: %w", err)
	}
	stages = printed.Stages
	if len(stages) == 0 {
		return nil, s, fmt.Errorf("the output of the run lists no stages")
	}
	last := stages[len(stages)-1]
	s.Bytes, s.Records = last.Bytes, last.Counts["records"]
	return stages, s, nil
}
