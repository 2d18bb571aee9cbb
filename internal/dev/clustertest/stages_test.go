//go:build cluster

package clustertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// onPool are the flags for workers of the pool.
func onPool() []string {
	return []string{"--set", "worker-pool=" + fmt.Sprintf("127.0.0.1:%d", poolPort), "--set", "worker-secret=" + shared.path("secret")}
}

// sources returns the flags that name the demo's dump and books, and settings with
// which every stage has work.
func sources(t *testing.T) []string {
	t.Helper()
	demo := filepath.Join(t.TempDir(), "demo")
	submit(t, shared.prepareData, "demo", "--out", demo, "--quiet").mustEnd(t, 0)
	args := []string{"--quiet", "--vocab-size", "800", "--shards", "5", "--eval-fraction", "0.1", "--dedup", "minhash", "--set", "min-words=4"}
	dumps, _ := filepath.Glob(filepath.Join(demo, "sources", "*.xml*"))
	if len(dumps) != 1 {
		t.Fatalf("the demo has %d dumps", len(dumps))
	}
	return append(args, "--wiki-dump", dumps[0], "--books", filepath.Join(demo, "sources", "books"))
}

// The bytes of all stages do not depend on the runner, its parallelism and how its
// workers start. The demo's dump has a module in Lua.
//
// The memory of the TaskManagers holds bytes of earlier tests, so that a coder that reads
// too far is noticed.
func TestAllRunnersWriteTheSameBytes(t *testing.T) {
	failures := coderErrors()
	if err := shared.start("pool"); err != nil {
		t.Fatal(err)
	}
	defer shared.kill("pool")
	for _, log := range workerLogs() { // of other tests
		os.Remove(log)
	}
	args := append([]string{"run"}, sources(t)...)
	runs := map[string][]string{
		"direct":                 {"--runner", "direct"},
		"process, parallelism 1": onFlink(1),
		"process, parallelism 2": onFlink(2),
		"pool, parallelism 4":    append(onFlink(4), onPool()...),
	}
	begin := time.Now()
	jobs, outs := map[string]*submitter{}, map[string]string{}
	for name, runner := range runs {
		outs[name] = filepath.Join(t.TempDir(), "out")
		jobs[name] = submit(t, shared.prepareData, append(append(args, runner...), "--out", outs[name])...)
	}
	var want string
	for _, name := range []string{"direct", "process, parallelism 1", "process, parallelism 2", "pool, parallelism 4"} {
		jobs[name].mustEnd(t, 0)
		t.Logf("%s: after %v", name, time.Since(begin).Round(time.Second))
		if want == "" {
			want = tree(t, outs[name])
			manifest, err := os.ReadFile(filepath.Join(outs[name], "documents", "manifest.json"))
			if err != nil || !strings.Contains(string(manifest), `"module_calls"`) {
				t.Errorf("the demo calls no module in Lua: %v", err)
			}
		}
		mustEqual(t, outs[name], want)
		submit(t, shared.prepareData, "verify", outs[name]).mustEnd(t, 0)
	}
	noWorkers(t)
	noLogs(t)
	if n := coderErrors() - failures; n != 0 {
		t.Errorf("%d tasks failed in Flink by a coder and were repeated: %s", n, shared.logs())
	}
}

// coderErrors returns the number of elements in the logs of the TaskManagers that could not
// be decoded. Tasks that fail for want of time, on a busy machine, are no errors here.
func coderErrors() (n int) {
	for _, name := range []string{"taskmanager1", "taskmanager2"} {
		b, _ := os.ReadFile(shared.path("log", name))
		n += strings.Count(string(b), "java.lang.RuntimeException: java.io.EOFException")
	}
	return n
}

// workerLogs returns the log files that workers left.
func workerLogs() []string {
	logs, _ := filepath.Glob(shared.path("tmp", "pretext-worker-*.log"))
	return logs
}

// noLogs fails the test if a worker left its log, which it does after an error.
func noLogs(t *testing.T) {
	t.Helper()
	if logs := workerLogs(); len(logs) != 0 {
		b, _ := os.ReadFile(logs[0])
		t.Errorf("%d logs are left, the first holds %q", len(logs), b)
	}
}

// Workers download too.
func TestDownloadsGiveTheSameBytes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := strings.Repeat("A line of "+r.URL.Path+".\n", 10_000)
		http.ServeContent(w, r, "a.txt", time.Unix(1e9, 0), strings.NewReader(text))
	}))
	defer server.Close()
	args := []string{"download", "--quiet", "--set=allow-private", "--url", server.URL + "/a.txt", "--url", server.URL + "/b.txt", "--contact", "test@example.org"}
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	direct := submit(t, shared.prepareData, append(args, "--out", a)...)
	flink := submit(t, shared.prepareData, append(append(args, onFlink(2)...), "--out", b)...)
	direct.mustEnd(t, 0)
	flink.mustEnd(t, 0)
	mustEqual(t, b, tree(t, a))
}

// A truncated dump ends the run as it does without a cluster.
func TestDamagedDataEndsWithItsExitCode(t *testing.T) {
	args := sources(t)
	var dump string
	for i, a := range args {
		if a == "--wiki-dump" {
			dump = args[i+1]
		}
	}
	b, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), filepath.Base(dump))
	if err := os.WriteFile(short, b[:len(b)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	direct := submit(t, shared.prepareData, "extract", "--wiki-dump", short, "--out", filepath.Join(t.TempDir(), "a"), "--quiet")
	flink := submit(t, shared.prepareData, append([]string{"extract"}, append(onFlink(2), "--wiki-dump", short, "--out", filepath.Join(t.TempDir(), "b"), "--quiet")...)...)
	direct.mustEnd(t, 4)
	flink.mustEnd(t, 4)
	want := strings.TrimSuffix(strings.TrimSpace(direct.stderr.String()), ": get the file again")
	if got := flink.stderr.String(); !strings.HasPrefix(lastLine(got), want) || !strings.Contains(got, "get the file again") {
		t.Errorf("got %q, elsewhere %q", got, want)
	}
}
