package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pretext/internal/dev/torture"
	"pretext/trainer/checkpoint"
)

// A stop is a signal to one process of a run of several ranks.
type stop struct {
	signal syscall.Signal
	to     int // the rank; -1: the launcher
	after  int // steps before it; 0: at any moment of the start
}

func (s stop) String() string { return fmt.Sprintf("%v to %d after %d steps", s.signal, s.to, s.after) }

// A run that is stopped while its checkpoint takes long leaves that checkpoint, and its
// last line names it; or there is none, and the last line says so.
func TestTheLastLineOfAStoppedRunIsTrue(t *testing.T) {
	t.Parallel()
	var stops []stop
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for to := -1; to < 2; to++ {
			for _, after := range []int{3, 3, 0} {
				stops = append(stops, stop{signal, to, after})
			}
		}
	}
	stops = append(stops, stop{syscall.SIGINT, -1, 9}, stop{syscall.SIGTERM, -1, 9})
	slow := 30 * time.Second // three times what a launcher waits for ranks that write nothing
	if !torture.Full() {
		stops, slow = []stop{{syscall.SIGINT, -1, 3}, {syscall.SIGTERM, 1, 0}}, 700*time.Millisecond
	}
	for _, s := range stops {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			s.check(t, slow)
		})
	}
}

func (s stop) check(t *testing.T, slow time.Duration) {
	out := filepath.Join(t.TempDir(), "out")
	args := writeRun(t, out, "--num-train-steps", "1000000000", "--save-checkpoints-steps", "0", "--nproc", "2", "--threads", "1")
	cmd := exec.Command(linkToSelf(t), args...)
	cmd.Env = append(os.Environ(), slowVariable+"="+slow.String())
	p := launch(t, cmd)
	if s.after > 0 {
		waitForLines(t, p, filepath.Join(out, "metrics.jsonl"), s.after)
	}
	target := p.Process.Pid
	p.until(t, func() bool {
		if s.to >= 0 {
			target = rankOf(p.Process.Pid, s.to)
		}
		return s.to < 0 || target != p.Process.Pid
	})
	if s.after == 0 {
		time.Sleep(300*time.Millisecond + time.Duration(rand.IntN(300))*time.Millisecond) // signals are handled by then
	}
	begin := time.Now()
	if err := syscall.Kill(target, s.signal); err != nil {
		t.Fatal(err)
	}
	<-p.done
	took := time.Since(begin)
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	last, found := lines[len(lines)-1], checkpoint.Last(out)
	want := "train-bert: interrupted: there is no checkpoint yet, so the same command starts from the beginning"
	if found != "" {
		want = "train-bert: interrupted: run the same command again to resume from " + found
	}
	if code := p.ProcessState.ExitCode(); code != 130 || last != want {
		t.Fatalf("exit code %d and %q, want 130 and %q: %s", code, last, want, &p.stderr)
	}
	if s.after == 0 {
		return
	}
	c, err := checkpoint.Newest(out)
	if err != nil || c.Dir != found || c.State.Progress.Step != lastStep(t, out) || took < slow {
		t.Fatalf("after %v: %v; want the checkpoint of step %d after %v", took, err, lastStep(t, out), slow)
	}
	again := startProcess(t, args)
	again.until(t, func() bool { return strings.Contains(again.stderr.String(), "resumed from "+found) })
	again.Process.Kill()
	<-again.done
}

// until waits until a condition holds, which must be before the process ends.
func (p *process) until(t *testing.T, holds func() bool) {
	t.Helper()
	for !holds() {
		select {
		case <-p.done:
			t.Fatalf("the process ended: %s", &p.stderr)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// rankOf returns the process of a rank that a launcher has started; the launcher itself
// if there is none.
func rankOf(launcher, rank int) int {
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return launcher
	}
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err != nil || !strings.Contains("\x00"+string(env), fmt.Sprintf("\x00RANK=%d\x00", rank)) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(path), "stat"))
		_, rest, ok := strings.Cut(string(stat), ") ")
		var state string
		var parent, pid int
		if err != nil || !ok {
			continue
		}
		if _, err := fmt.Sscan(rest, &state, &parent); err == nil && parent == launcher {
			fmt.Sscan(string(stat), &pid)
			return pid
		}
	}
	return launcher
}
