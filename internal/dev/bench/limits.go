package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"pretext/pipeline/stage"
)

// limits are the parts of a run with one worker whose time does not shrink with more
// workers, in seconds.
type limits struct {
	Records int64         `json:"records"`
	Stages  []stageLimits `json:"stages"` // without stages that ran no task
	CPU     limit         `json:"cpu"`
	Wall    limit         `json:"wall"`
}

// A stageLimits is what one stage wrote to its run.json.
type stageLimits struct {
	Stage string // name of its directory
	Times stage.TaskTimes
}

// A limit is computed from one kind of time: CPU time or elapsed time.
type limit struct {
	Whole    float64 `json:"whole"`    // of the process
	Serial   float64 `json:"serial"`   // outside of all tasks
	Infinite float64 `json:"infinite"` // Serial and the longest serial part of a task of each stage
}

// measureLimits runs prepare-data run with one worker and reads what its stages
// wrote about their tasks.
func measureLimits(ctx context.Context, o options, dir string) (*limits, error) {
	out := filepath.Join(dir, "run")
	defer os.RemoveAll(out)
	begun := time.Now()
	stages, s, err := runInto(ctx, o, out, append(o.runFlags, "--workers", "1")...)
	if err != nil {
		return nil, err
	}
	l := &limits{Records: s.Records, CPU: limit{Whole: s.CPU.Seconds()}, Wall: limit{Whole: time.Since(begun).Seconds()}}
	for _, st := range stages {
		for _, folder := range foldersOf[st.Stage] {
			times, err := taskTimes(filepath.Join(out, folder, "run.json"))
			if err != nil {
				return nil, err
			}
			if times != nil {
				l.Stages = append(l.Stages, stageLimits{path.Base(folder), *times})
			}
		}
	}
	l.compute()
	return l, nil
}

// foldersOf maps a stage to the directories, below the run's, that it and the stages
// it starts write to.
var foldersOf = map[string][]string{"extract": {"documents/templates", "documents"}, "vocab": {"vocab"}, "examples": {"shards"}}

// taskTimes reads the times of tasks from a stage's run.json. It returns nil if
// the stage did not run, or ran no task.
func taskTimes(name string) (*stage.TaskTimes, error) {
	raw, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var info struct{ Tasks *stage.TaskTimes }
	if err := json.Unmarshal(raw, &info); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return info.Tasks, nil
}

func (l *limits) compute() {
	l.CPU.Serial, l.Wall.Serial = l.CPU.Whole, l.Wall.Whole
	for _, s := range l.Stages {
		l.CPU.Serial -= s.Times.CPUSeconds
		l.Wall.Serial -= s.Times.Seconds
	}
	l.CPU.Infinite, l.Wall.Infinite = l.CPU.Serial, l.Wall.Serial
	for _, s := range l.Stages {
		l.CPU.Infinite += cmp.Or(s.Times.LongestChainCPUSeconds, s.Times.LongestCPUSeconds) // an earlier version wrote no chains
		l.Wall.Infinite += cmp.Or(s.Times.LongestChainSeconds, s.Times.LongestSeconds)
	}
}

// writeLimits measures o.rounds runs and writes a row for each.
func writeLimits(ctx context.Context, o options, dir string, stdout, progress io.Writer) error {
	var all []*limits
	t := table{w: stdout}
	if !o.json {
		fmt.Fprintf(stdout, "%s; %s; input: %s; flags: %s\n\n", describe(),
			time.Now().UTC().Format("2006-01-02 15:04 UTC"), strings.Join(inputs(o), ", "), strings.Join(o.runFlags, " "))
		t.write([]string{"seconds", "whole run", "outside tasks", "µs a record", "infinite workers", "of the whole", "longest tasks"})
	}
	for round := range o.rounds {
		fmt.Fprintf(progress, "round %d of %d: %s with one worker\n", round+1, o.rounds, o.binary)
		l, err := measureLimits(ctx, o, dir)
		if err != nil {
			return err
		}
		if all = append(all, l); o.json {
			continue
		}
		t.write(l.row("CPU", l.CPU, func(t stage.TaskTimes) (float64, float64) { return t.LongestCPUSeconds, t.LongestChainCPUSeconds }))
		if err := t.write(l.row("clock", l.Wall, func(t stage.TaskTimes) (float64, float64) { return t.LongestSeconds, t.LongestChainSeconds })); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(stdout, all)
	}
	_, err := fmt.Fprintf(stdout, "\nload average %s\n", load())
	return err
}

// row returns a row of the table. longest returns the longest task of a stage, and the
// longest serial part of one.
func (l *limits) row(name string, t limit, longest func(stage.TaskTimes) (whole, chain float64)) []string {
	var tasks []string
	for _, s := range l.Stages {
		whole, chain := longest(s.Times)
		text := fmt.Sprintf("%s %.3f (1 of %d)", s.Stage, whole, s.Times.Count)
		if chain > 0 && chain < whole*0.99 {
			text += fmt.Sprintf(", serial %.3f", chain)
		}
		tasks = append(tasks, text)
	}
	return strings.Split(fmt.Sprintf("%s\t%.2f\t%.3f\t%.3f\t%.3f\t%.1f %%\t%s", name, t.Whole, t.Serial, t.Serial*1e6/float64(l.Records), t.Infinite, 100*t.Infinite/t.Whole, strings.Join(tasks, ", ")), "\t")
}
