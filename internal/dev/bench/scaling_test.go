package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
)

func TestTheSpeedupIsTheRatioOfTheMedians(t *testing.T) {
	s := seconds{One: []float64{20, 10, 30}, Several: []float64{10, 5, 20}}
	medians, rounds := s.speedup()
	if medians != 2 || rounds != (spread{2, 1.5, 2}) {
		t.Errorf("got %v and %v, want 2 and a spread from 1.5 to 2 with the median 2", medians, rounds)
	}
}

func TestOneWorkerAndSeveralRunInTurns(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one processor")
	}
	o := options{binary: fakeProgram(t, "record"), rounds: 2, scaling: 2, registers: 1000}
	var text, progress bytes.Buffer
	if err := writeScaling(context.Background(), o, t.TempDir(), &text, &progress); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nwhole run ", "\nexamples ", "\narithmetic in registers ", "2 workers", "\nCPU seconds"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in:\n%s", want, text.String())
		}
	}
	var order []string
	for line := range strings.Lines(progress.String()) {
		_, workers, _ := strings.Cut(line, "--workers ")
		workers, _, _ = strings.Cut(workers, ":")
		order = append(order, workers)
	}
	if got := strings.Join(order, " "); got != "1 2 2 1" {
		t.Errorf("workers of the runs: got %s, want 1 2 2 1", got)
	}
	o.json = true
	text.Reset()
	if err := writeScaling(context.Background(), o, t.TempDir(), &text, io.Discard); err != nil {
		t.Fatal(err)
	}
	var c scaling
	if err := json.Unmarshal(text.Bytes(), &c); err != nil || len(c.Wall[wholeRunName].One) != 2 || len(c.Wall["examples"].Several) != 2 || len(c.Wall[registersName].Several) != 2 || math.IsNaN(c.Wall[wholeRunName].One[0]) {
		t.Errorf("got %+v, %v", c, err)
	}
	o.scaling = 1
	if err := writeScaling(context.Background(), o, t.TempDir(), &text, io.Discard); err == nil {
		t.Error("-scaling 1 is accepted")
	}
}
