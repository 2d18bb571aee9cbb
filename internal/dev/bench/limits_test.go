package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"strings"
	"testing"

	"pretext/pipeline/stage"
)

func TestInfiniteWorkersTakeTheSerialPartAndTheLongestTasks(t *testing.T) {
	l := &limits{CPU: limit{Whole: 10}, Wall: limit{Whole: 12}, Stages: []stageLimits{
		{"extract", stage.TaskTimes{Count: 4, Seconds: 4.5, LongestSeconds: 1.5, CPUSeconds: 4, LongestCPUSeconds: 1}},
		{"examples", stage.TaskTimes{Count: 9, Seconds: 6, LongestSeconds: 1, CPUSeconds: 5.5, LongestCPUSeconds: 0.75}},
	}}
	l.compute()
	l.Stages[0].Times.LongestChainSeconds, l.Stages[0].Times.LongestChainCPUSeconds = 0.75, 0.5 // an archive, which workers share
	shared := *l
	shared.compute()
	if want := (limit{10, 0.5, 1.75}); shared.CPU != want {
		t.Errorf("CPU, an archive: got %v, want %v", shared.CPU, want)
	}
	if row := strings.Join(shared.row("clock", shared.Wall, func(t stage.TaskTimes) (float64, float64) { return t.LongestSeconds, t.LongestChainSeconds }), " "); !strings.Contains(row, "extract 1.500 (1 of 4), serial 0.750, examples 1.000 (1 of 9)") || shared.Wall.Infinite != 3.25 {
		t.Errorf("clock, an archive: got %q, %v", row, shared.Wall)
	}
	if want := (limit{10, 0.5, 2.25}); l.CPU != want {
		t.Errorf("CPU: got %v, want %v", l.CPU, want)
	}
	if want := (limit{12, 1.5, 4}); l.Wall != want {
		t.Errorf("clock: got %v, want %v", l.Wall, want)
	}
}

func TestTheTimesOfTasksAreReadFromARun(t *testing.T) {
	o := options{binary: fakeProgram(t, "record"), rounds: 1}
	l, err := measureLimits(context.Background(), o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Stages) != 1 || l.Stages[0].Times.Count != 3 || l.Stages[0].Stage != "shards" || math.Abs(l.Wall.Infinite-l.Wall.Serial-0.125) > 1e-9 {
		t.Errorf("got %+v", l)
	}
	var text bytes.Buffer
	if err := writeLimits(context.Background(), o, t.TempDir(), &text, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nCPU ", "\nclock ", "shards 0.125 (1 of 3)"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in:\n%s", want, text.String())
		}
	}
}
