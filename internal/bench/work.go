package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"time"

	"pretext/internal/usage"
)

// A work is something whose CPU time is measured.
type work struct {
	name  string
	of    string // what its bytes are
	bytes int64  // 0: not known before it was done
	run   func(ctx context.Context) (sample, error)
}

// A sample is one measurement of a work.
type sample struct {
	CPU     time.Duration `json:"cpu_ns"`
	Bytes   int64         `json:"bytes"`
	Records int64         `json:"records,omitempty"`
	PeakRSS int64         `json:"peak_rss,omitempty"` // bytes, of a child process
}

// speed returns bytes a second of CPU time, in MB.
func (s sample) speed() float64 { return float64(s.Bytes) / 1e6 / s.CPU.Seconds() }

// perRecord returns µs of CPU time a record.
func (s sample) perRecord() float64 { return float64(s.CPU.Microseconds()) / float64(s.Records) }

// least is the CPU time that work inside of this process is repeated to fill:
// below it, the clock and a lone garbage collection would weigh.
const least = 300 * time.Millisecond

// inside returns a work done in this process. The garbage of other works is
// collected before, that of its own is part of it.
func inside(name, of string, bytes int64, do func() (records int64, err error)) *work {
	return &work{name: name, of: of, bytes: bytes, run: func(ctx context.Context) (sample, error) {
		runtime.GC()
		start := usage.CPU()
		for n := int64(1); ; n++ {
			records, err := do()
			if err != nil {
				return sample{}, err
			}
			if used := usage.CPU() - start; used >= least {
				return sample{CPU: used / time.Duration(n), Bytes: bytes, Records: records}, ctx.Err()
			}
		}
	}}
}

// child runs a command to its end and measures it with the processes that it
// waited for. What it writes to standard error is shown when it fails.
func child(cmd *exec.Cmd) (sample, error) {
	var stderr tail
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return sample{}, err
	}
	stop, peak := make(chan struct{}), make(chan int64)
	go func() { peak <- watchMemory(cmd.Process.Pid, stop) }()
	err := cmd.Wait()
	close(stop)
	rss := <-peak
	if err != nil {
		return sample{}, fmt.Errorf("%s: %w\n%s", cmd.Path, err, stderr.last)
	}
	state := cmd.ProcessState
	return sample{CPU: state.UserTime() + state.SystemTime(), PeakRSS: rss}, nil
}

// watchMemory returns the most memory that a process held, in bytes, 0 where
// the system does not tell. What wait4 returns is no use: there a child starts
// with the peak of the process that forked it, which holds a whole corpus.
func watchMemory(pid int, stop <-chan struct{}) (peak int64) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return peak
		case <-tick.C:
			peak = max(peak, highWater(status))
		}
	}
}

// highWater reads VmHWM, in bytes. The child's memory is the parent's until it
// has replaced the program; the peak of the new one begins at zero.
func highWater(status string) int64 {
	text, err := os.ReadFile(status)
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(text, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0
	}
	kilobytes, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}

// tail keeps the end of what is written to it.
type tail struct{ last []byte }

func (t *tail) Write(p []byte) (int, error) {
	const keep = 2000
	t.last = append(t.last, p...)
	t.last = t.last[max(0, len(t.last)-keep):]
	return len(p), nil
}

// yardstick is bzip2 -dc: the time of libbz2, and what ratios refer to.
func yardstick(dump string, bytes int64) *work {
	return decompressor("bzip2 -dc", bytes, "bzip2", "-dc", dump)
}

// decompressor is a program that writes the dump's XML to standard output.
func decompressor(name string, bytes int64, command ...string) *work {
	return &work{name: name, of: "XML", bytes: bytes, run: func(ctx context.Context) (sample, error) {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return sample{}, err
		}
		defer null.Close()
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Stdout = null
		s, err := child(cmd)
		s.Bytes = bytes
		return s, err
	}}
}

// measure does all works, round by round.
func (r *report) measure(ctx context.Context, works []*work, rounds int, progress io.Writer) error {
	for _, w := range works {
		r.Results = append(r.Results, &result{Name: w.name, Of: w.of})
	}
	r.Started = time.Now().UTC()
	r.Load = append(r.Load, load())
	for round := range rounds {
		for i, w := range works {
			fmt.Fprintf(progress, "round %d of %d: %s\n", round+1, rounds, w.name)
			s, err := w.run(ctx)
			if err == nil && s.CPU <= 0 {
				err = errors.New("no CPU time was measured")
			}
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			r.Results[i].Samples = append(r.Results[i].Samples, s)
		}
		r.Load = append(r.Load, load())
	}
	return nil
}

// A spread is what the rounds say of a figure.
type spread struct{ Median, Min, Max float64 }

func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return spread{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1]}
}
