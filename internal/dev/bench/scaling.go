package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scaling compares the elapsed time of prepare-data run with one worker and with
// several, in seconds by round.
type scaling struct {
	Workers int                `json:"workers"`
	Load    []string           `json:"load"` // one-minute load average before the first round and after each
	Wall    map[string]seconds `json:"wall"` // by the name of a stage, wholeRunName or registersName
	CPU     seconds            `json:"cpu"`  // of the whole run
}

// seconds are times with one worker and with several.
type seconds struct {
	One     []float64 `json:"one"`
	Several []float64 `json:"several"`
}

// speedup returns the ratio of the medians, and the spread of the ratios of each
// round.
func (s seconds) speedup() (medians float64, rounds spread) {
	var ratios []float64
	for i := range s.One {
		ratios = append(ratios, s.One[i]/s.Several[i])
	}
	return spreadOf(s.One).Median / spreadOf(s.Several).Median, spreadOf(ratios)
}

// run runs the program once and adds its times. It returns the elapsed time.
func (c *scaling) run(ctx context.Context, o options, out string, workers int) (elapsed time.Duration, err error) {
	defer os.RemoveAll(out)
	begun := time.Now()
	stages, s, err := runInto(ctx, o, out, append(slices.Clone(o.runFlags), "--workers", strconv.Itoa(workers))...)
	if err != nil {
		return 0, err
	}
	elapsed = time.Since(begun)
	add := func(to seconds, value float64) seconds {
		if workers == 1 {
			to.One = append(to.One, value)
		} else {
			to.Several = append(to.Several, value)
		}
		return to
	}
	c.CPU = add(c.CPU, s.CPU.Seconds())
	c.Wall[wholeRunName] = add(c.Wall[wholeRunName], elapsed.Seconds())
	for _, stage := range stages {
		c.Wall[stage.Stage] = add(c.Wall[stage.Stage], stage.Seconds)
	}
	return elapsed, nil
}

// writeScaling measures how long prepare-data takes with one worker and with o.scaling
// workers. It writes one row for the whole run, one for each stage and one for CPU time; or
// everything as JSON.
func writeScaling(ctx context.Context, o options, dir string, stdout, progress io.Writer) error {
	machine := describe()
	if o.scaling < 2 || o.scaling > machine.Cores {
		return fmt.Errorf("-scaling %d: want 2 to %d workers, the number of processors", o.scaling, machine.Cores)
	}
	// Runs prepare-data with one worker and with o.scaling workers in
	// turns, and after each round measures the limit of the machine. Each round begins with the other number.
	c := &scaling{Workers: o.scaling, Load: []string{load()}, Wall: map[string]seconds{}}
	turn := []int{1, o.scaling}
	for round := range o.rounds {
		for _, workers := range turn {
			fmt.Fprintf(progress, "round %d of %d: %s --workers %d: ", round+1, o.rounds, o.binary, workers)
			elapsed, err := c.run(ctx, o, filepath.Join(dir, "run"), workers)
			if err != nil {
				return err
			}
			fmt.Fprintf(progress, "%.2f s\n", elapsed.Seconds())
		}
		c.addRegisters(cmp.Or(o.registers, registersSteps))
		c.Load = append(c.Load, load())
		slices.Reverse(turn)
	}

	if o.json {
		return writeJSON(stdout, c)
	}
	fmt.Fprintf(stdout, "%s; %s; %d rounds in turns; load average before and after each round %s; input: %s; flags: %s\n\n", machine,
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), o.rounds, strings.Join(c.Load, ", "), strings.Join(inputs(o), ", "), strings.Join(o.runFlags, " "))
	rows := [][]string{{"seconds by the clock", "1 worker", fmt.Sprintf("%d workers", c.Workers), "times as fast, medians", "within a round"}}
	for _, name := range wholeFirst(c.Wall) {
		rows = append(rows, c.Wall[name].row(name))
	}
	return writeTable(stdout, append(rows, c.CPU.row("CPU seconds, whole run")))
}

func (s seconds) row(name string) []string {
	medians, rounds := s.speedup()
	return []string{name, spreadOf(s.One).String(), spreadOf(s.Several).String(), fmt.Sprintf("%.2f", medians), fmt.Sprintf("%.2f (%.2f–%.2f)", rounds.Median, rounds.Min, rounds.Max)}
}
