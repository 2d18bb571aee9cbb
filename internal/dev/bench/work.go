package main

import (
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

// A work is a computation whose CPU time is measured.
type work struct {
	name  string
	of    string // what the bytes are
	bytes int64  // number of bytes that the work processes; 0: unknown before it is done
	run   func(ctx context.Context) (sample, error)
}

// A sample is one measurement of a work.
type sample struct {
	CPU     time.Duration `json:"cpu_ns"`
	Bytes   int64         `json:"bytes"`
	Records int64         `json:"records,omitempty"`
	PeakRSS int64         `json:"peak_rss,omitempty"` // in bytes, of a child process
}

// speed returns MB for each second of CPU time.
func (s sample) speed() float64 { return float64(s.Bytes) / 1e6 / s.CPU.Seconds() }

// perRecord returns the CPU time for a record in µs.
func (s sample) perRecord() float64 { return float64(s.CPU.Microseconds()) / float64(s.Records) }

// least is the minimum CPU time of a measurement in this process. A shorter
// work is repeated, because the clock's resolution and a single garbage
// collection would matter.
const least = 300 * time.Millisecond

// inside returns w as the work that do does in this process. Garbage of earlier
// works is collected before the measurement; collecting the garbage of do is
// part of the measurement.
func (w work) inside(do func() (records int64, err error)) *work {
	w.run = func(ctx context.Context) (sample, error) {
		runtime.GC()
		start := usage.CPU()
		for n := int64(1); ; n++ {
			records, err := do()
			if err != nil {
				return sample{}, err
			}
			if used := usage.CPU() - start; used >= least {
				return sample{CPU: used / time.Duration(n), Bytes: w.bytes, Records: records}, ctx.Err()
			}
		}
	}
	return &w
}

// child runs a command and measures it, including its child processes. If the
// command fails, the error contains its standard error.
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

// watchMemory returns the peak memory of the process pid in bytes, or 0 if it
// is unknown. It does not use the value of wait4, because a child starts with
// the peak of its parent, which holds a whole corpus. Until the child has executed its
// program, its memory is that of the parent; then the peak starts at zero.
func watchMemory(pid int, stop <-chan struct{}) (peak int64) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return peak
		case <-tick.C:
			peak = max(peak, usage.PeakOf(strconv.Itoa(pid)))
		}
	}
}

// A tail is a writer that keeps the last bytes written to it.
type tail struct{ last []byte }

func (t *tail) Write(p []byte) (int, error) {
	const keep = 2000
	t.last = append(t.last, p...)
	t.last = t.last[max(0, len(t.last)-keep):]
	return len(p), nil
}

// yardstick returns the baseline work, bzip2 -dc.
func yardstick(dump string, bytes int64) *work {
	return decompressor("bzip2 -dc", bytes, "bzip2", "-dc", dump)
}

// decompressor returns the work of running a program that writes the XML of the
// dump to standard output.
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

// measure does all works, round by round. It calls ended with the index of each work whose
// result is complete, in the last round.
func (r *report) measure(ctx context.Context, works []*work, rounds int, progress io.Writer, ended func(i int) error) error {
	for _, w := range works {
		r.Results = append(r.Results, &result{Name: w.name, Of: w.of})
	}
	r.Load = append(r.Load, load())
	for round := range rounds {
		for i, w := range works {
			fmt.Fprintf(progress, "round %d of %d: %s: ", round+1, rounds, w.name)
			s, err := w.run(ctx)
			if err == nil && s.CPU <= 0 {
				err = errors.New("no CPU time was measured")
			}
			if err != nil {
				fmt.Fprintln(progress)
				return fmt.Errorf("%s: %w", w.name, err)
			}
			fmt.Fprintf(progress, "%s MB/s a core\n", figure(s.speed()))
			r.Results[i].Samples = append(r.Results[i].Samples, s)
			if round == rounds-1 {
				if err := ended(i); err != nil {
					return err
				}
			}
		}
		r.Load = append(r.Load, load())
	}
	return nil
}

// A spread summarizes a figure over the rounds.
type spread struct{ Median, Min, Max float64 }

func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return spread{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1]}
}
