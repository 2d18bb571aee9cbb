//go:build cluster

package clustertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The costs of a cluster that docs/cluster.md states:
//
//	make cluster-test CLUSTERFLAGS='-run ^$ -bench . -benchtime 3x'
//
// CPU time is that of the submitter, Flink, job server and workers. On a busy
// machine it says more than the time on the clock.

// clusterCPU returns the CPU time of the cluster's processes, and of workers that
// have ended.
func clusterCPU() (sum time.Duration) {
	for _, cpu := range cpuByName() {
		sum += cpu
	}
	return sum
}

// cpuByName returns the CPU time of each of the cluster's processes, with that of workers
// that it started and that have ended.
func cpuByName() map[string]time.Duration {
	times := map[string]time.Duration{}
	for name, cmd := range shared.procs {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, f := range fields[11:15] { // utime stime cutime cstime, in ticks of 10 ms
			n, _ := strconv.Atoi(f)
			times[name] += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return times
}

// measure runs a program and returns its time on the clock and all CPU time that it
// caused.
func measure(b *testing.B, args ...string) (clock, cpu time.Duration) {
	b.Helper()
	begin, before := time.Now(), clusterCPU()
	cmd := exec.Command(args[0], args[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v: %s", args, err, out)
	}
	clock = time.Since(begin)
	for len(workers("")) > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	return clock, clusterCPU() - before + cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// compare measures a program on Flink and elsewhere, one after the other.
func compare(b *testing.B, elsewhere, flink []string) {
	var clock, cpu [2]time.Duration
	for range b.N {
		for i, args := range [][]string{elsewhere, flink} {
			out := filepath.Join(b.TempDir(), "out")
			t, c := measure(b, append(args, "--out", out)...)
			clock[i], cpu[i] = clock[i]+t, cpu[i]+c
			os.RemoveAll(out)
		}
	}
	for i, name := range []string{"elsewhere", "flink"} {
		b.ReportMetric(clock[i].Seconds()/float64(b.N), name+"-s")
		b.ReportMetric(cpu[i].Seconds()/float64(b.N), name+"-cpu-s")
	}
}

func BenchmarkEmptyJob(b *testing.B) {
	probe := []string{shared.probe, "--tasks", "1"}
	compare(b, probe, append(probe, onFlink(2)...))
}

// A run of four stages with nothing to do: extract, filter, vocab and examples for a text
// of two kilobytes.
func BenchmarkEmptyRun(b *testing.B) {
	books := b.TempDir()
	text := strings.Repeat("The river runs under the old bridge.\nNobody walks there in winter.\n\n", 30)
	if err := os.WriteFile(filepath.Join(books, "a.txt"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	run := []string{shared.prepareData, "run", "--books", books, "--set", "min-words=2", "--vocab-size", "80", "--shards", "1", "--quiet"}
	compare(b, run, append(run, onFlink(2)...))
}

func BenchmarkThousandTasks(b *testing.B) {
	probe := []string{shared.probe, "--tasks", "1000"}
	compare(b, probe, append(probe, onFlink(2)...))
}

// A minute of one processor, on the same two processors.
func BenchmarkStage(b *testing.B) {
	demo := filepath.Join(b.TempDir(), "demo")
	measure(b, shared.prepareData, "demo", "--out", demo, "--quiet")
	examples := []string{shared.prepareData, "examples", filepath.Join(demo, "documents"), "--vocab", filepath.Join(demo, "vocab", "vocab.txt"), "--quiet",
		"--shards", "16", "--dupe-factor", "6000", "--compression", "gzip"}
	compare(b, append(examples, "--workers", "2"), append(append(examples, "--workers", "1"), onFlink(2)...))
}
