//go:build cluster

package clustertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// probeTree returns the tree of a probe on the direct runner.
func probeTree(t *testing.T, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "direct")
	submit(t, shared.probe, append([]string{"--out", out}, args...)...).mustEnd(t, 0)
	return tree(t, out)
}

// finished returns the number of finished tasks of a probe.
func finished(out string) int {
	cars, _ := filepath.Glob(filepath.Join(out, "probe-*.json"))
	return len(cars)
}

// A fault is what happens in the middle of a stage.
type fault struct {
	name   string
	args   []string // of the probe, besides the cluster's
	strike func(t *testing.T, jobs []*submitter)
	// codes are the exit codes that a run may then have, besides 0, and the text
	// that it must then print.
	codes []int
	text  string
}

// Every fault meets jobs in the middle of a stage. Each ends right, or with a clear
// message, and then the same command ends right.
func TestFaultsInTheMiddleOfAStage(t *testing.T) {
	want := probeTree(t, "--tasks", "24")
	pool := []string{"--set", "worker-pool=" + fmt.Sprintf("127.0.0.1:%d", poolPort+1)}
	for _, f := range []fault{
		{name: "worker", strike: func(t *testing.T, _ []*submitter) { killWorkers(t, "taskmanager1") }},
		{name: "worker of a pool", args: pool, strike: func(t *testing.T, _ []*submitter) { killWorkers(t, "probepool") }},
		{name: "pool", args: pool, strike: func(t *testing.T, _ []*submitter) { restart(t, "probepool") }},
		{name: "taskmanager", strike: func(t *testing.T, _ []*submitter) { restart(t, "taskmanager2") }},
		{name: "jobserver", strike: func(t *testing.T, _ []*submitter) { restart(t, "jobserver") }},
		{name: "submitter", codes: []int{-1}, strike: func(_ *testing.T, jobs []*submitter) {
			for _, s := range jobs {
				s.cmd.Process.Kill()
			}
		}},
		{name: "jobmanager", strike: func(t *testing.T, _ []*submitter) { restart(t, "jobmanager") }}, // it is highly available
	} {
		t.Run(f.name, func(t *testing.T) {
			if testing.Short() && f.name == "worker of a pool" {
				t.Skip("-short")
			}
			begin := time.Now()
			if f.args != nil {
				if err := shared.start("probepool"); err != nil {
					t.Fatal(err)
				}
				defer shared.kill("probepool")
			}
			f.meet(t, append([]string{"--tasks", "24"}, f.args...), want)
			t.Logf("%d jobs, %v", *times, time.Since(begin).Round(time.Second))
		})
	}
	noWorkers(t)
}

// Without high availability the job is lost with its JobManager, and the same command
// resumes.
func TestAJobIsLostWithItsOnlyJobManager(t *testing.T) {
	reconfigure(t, "fixed-delay", false)
	defer reconfigure(t, "fixed-delay", true)
	f := fault{codes: []int{1, 5}, text: "run the same command again", strike: func(t *testing.T, _ []*submitter) { restart(t, "jobmanager") }}
	f.meet(t, []string{"--tasks", "24"}, probeTree(t, "--tasks", "24"))
	noWorkers(t)
}

// reconfigure restarts Flink with another configuration.
func reconfigure(t *testing.T, restart string, available bool) {
	t.Helper()
	if err := shared.configure(restart, available); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"jobmanager", "taskmanager1", "taskmanager2"} {
		shared.kill(name)
		if err := shared.start(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := shared.ready(); err != nil {
		t.Fatal(err)
	}
}

// meet runs the probes and strikes once all are in the middle of their stage.
func (f fault) meet(t *testing.T, args []string, want string) {
	var outs []string
	var jobs []*submitter
	gate := filepath.Join(t.TempDir(), "gate")
	run := func(out string) *submitter {
		return submit(t, shared.probe, append(append(onFlink(2), args...), "--gate", gate, "--out", out)...)
	}
	for i := range *times {
		outs = append(outs, filepath.Join(t.TempDir(), fmt.Sprint(i)))
		jobs = append(jobs, run(outs[i]))
	}
	for i, out := range outs {
		midStage(t, jobs[i], out)
	}
	f.strike(t, jobs)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, s := range jobs {
		code := s.wait(t)
		if finished(outs[i]) < 2 {
			t.Errorf("%s: finished tasks are lost", outs[i])
		}
		if code != 0 {
			if text := s.stderr.String(); !slices.Contains(f.codes, code) || !strings.Contains(text, f.text) {
				t.Fatalf("exit code %d, want 0, or %v with %q: %s", code, f.codes, f.text, text)
			}
			again := run(outs[i])
			again.mustEnd(t, 0)
			t.Logf("run %d: exit code %d, then 0: %s", i, code, lastLine(again.stderr.String()))
		}
		mustEqual(t, outs[i], want)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// restart kills a process of the cluster and starts it again, as a supervisor does.
func restart(t *testing.T, name string) {
	t.Helper()
	shared.kill(name)
	time.Sleep(2 * time.Second)
	if err := shared.start(name); err != nil {
		t.Fatal(err)
	}
	if err := shared.ready(); err != nil {
		t.Fatal(err)
	}
}

// killWorkers kills the workers that a process started.
func killWorkers(t *testing.T, parent string) {
	t.Helper()
	list := workers(parent)
	if len(list) == 0 {
		t.Fatalf("%s has no workers", parent)
	}
	for _, w := range list {
		syscall.Kill(w.pid, syscall.SIGKILL)
	}
}

// noWorkers fails the test unless all workers end, without a trace.
func noWorkers(t *testing.T) {
	t.Helper()
	until(t, "end of all workers", func() bool { return len(workers("")) == 0 })
}

// Each error of a task ends the run on Flink as on the direct runner: with its exit
// code and its line, after one attempt if another would end the same way.
func TestEveryErrorArrivesAsItIsElsewhere(t *testing.T) {
	kinds := []string{"usage", "missing", "over-limit", "damaged", "full", "permission", "locked", "fit", "fenced", "panic", "network", "other"}
	if testing.Short() {
		kinds = []string{"usage", "damaged", "full", "panic", "network"}
	}
	type probe struct {
		kind, seen    string
		direct, flink *submitter
	}
	for len(kinds) > 0 {
		n := min(*times+1, len(kinds))
		var probes []probe
		for _, kind := range kinds[:n] {
			p := probe{kind: kind, seen: t.TempDir()}
			args := []string{"--fail", kind, "--tasks", "4"}
			p.direct = submit(t, shared.probe, append(args, "--out", filepath.Join(t.TempDir(), "a"))...)
			p.flink = submit(t, shared.probe, append(append(onFlink(2), args...), "--seen", p.seen, "--out", filepath.Join(t.TempDir(), "b"))...)
			probes = append(probes, p)
		}
		kinds = kinds[n:]
		for _, p := range probes {
			code := p.direct.wait(t)
			if got := p.flink.wait(t); got != code {
				t.Errorf("%s: exit code %d, elsewhere %d: %s", p.kind, got, code, p.flink.stderr.String())
			}
			want := strings.TrimSpace(p.direct.stderr.String())
			got := lastLine(p.flink.stderr.String())
			if p.kind == "panic" { // has its stack
				got, _, _ = strings.Cut(p.flink.stderr.String(), "\n")
				want = "prepare-data: BUG: panic in a task: probe"
			} else if !strings.Contains(got, " (worker on ") {
				t.Errorf("%s: %q does not name the worker", p.kind, got)
			}
			if !strings.HasPrefix(got, strings.TrimSuffix(want, " (see --help)")) && !strings.HasPrefix(got, firstWords(want)) {
				t.Errorf("%s: %q, elsewhere %q", p.kind, got, want)
			}
			attempts, _ := filepath.Glob(filepath.Join(p.seen, "1-*"))
			if once := p.kind != "network" && p.kind != "other"; once && len(attempts) != 1 || !once && len(attempts) != 5 {
				t.Errorf("%s: %d attempts", p.kind, len(attempts))
			}
		}
	}
	noWorkers(t)
}

// firstWords returns the part of a message before the advice that is appended to it.
func firstWords(text string) string {
	text, _, _ = strings.Cut(text, ": free some space")
	return text
}

// An error that passes does not fail the attempts after it, though a pool lives on.
func TestOneTransientErrorIsForgotten(t *testing.T) {
	if err := shared.start("probepool"); err != nil {
		t.Fatal(err)
	}
	defer shared.kill("probepool")
	want := probeTree(t)
	for _, environment := range [][]string{nil, {"--set", "worker-pool=" + fmt.Sprintf("127.0.0.1:%d", poolPort+1)}} {
		var jobs []*submitter
		var outs []string
		for i := range *times {
			dir := t.TempDir()
			outs = append(outs, filepath.Join(dir, "out"))
			kind := []string{"other", "network", "exit"}[i%3]
			jobs = append(jobs, submit(t, shared.probe, append(append(onFlink(2), environment...), "--fail", kind, "--once", filepath.Join(dir, "failed"), "--out", outs[i])...))
		}
		for i, s := range jobs {
			s.mustEnd(t, 0)
			if !strings.Contains(s.stderr.String(), "Flink repeats it") {
				t.Errorf("the failure is not noted: %q", s.stderr.String())
			}
			mustEqual(t, outs[i], want)
		}
	}
	noWorkers(t)
}

// Ctrl-C cancels the job, and nothing is written after the program has ended.
func TestInterruptCancelsTheJob(t *testing.T) {
	want := probeTree(t, "--tasks", "40")
	for range *times {
		out := filepath.Join(t.TempDir(), "out")
		gate := filepath.Join(t.TempDir(), "gate")
		args := append(onFlink(2), "--tasks", "40", "--gate", gate, "--out", out)
		s := submit(t, shared.probe, args...)
		midStage(t, s, out)
		begin := time.Now()
		s.cmd.Process.Signal(os.Interrupt)
		s.mustEnd(t, 130)
		took := time.Since(begin)
		left := tree(t, out)
		until(t, "end of the job", func() bool { return running(t) == 0 })
		time.Sleep(time.Second)
		mustEqual(t, out, left)
		t.Logf("ended after %v", took.Round(100*time.Millisecond))
		if took > 3*time.Second {
			t.Errorf("Ctrl-C took %v", took)
		}
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		submit(t, shared.probe, args...).mustEnd(t, 0)
		mustEqual(t, out, want)
	}
	noWorkers(t)
}

// running returns the number of jobs that Flink runs.
func running(t *testing.T) int {
	t.Helper()
	var overview struct {
		Running int `json:"jobs-running"`
	}
	if err := get("/overview", &overview); err != nil {
		t.Fatal(err)
	}
	return overview.Running
}
