//go:build cluster

package flink

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"

	"pretext/internal/metrics"
)

// A pool reports what its workers tell, notices one that is stopped, and keeps the counts
// of those that have ended.
func TestAPoolReportsWhatItsWorkersDo(t *testing.T) {
	p, err := NewPool(PoolOptions{Logs: t.TempDir(), Workers: 9}, new(lines))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	m := newTaskManager(t)
	for _, id := range []string{"1-1", "1-2"} {
		r, err := p.StartWorker(t.Context(), &fnpb.StartWorkerRequest{WorkerId: id, ProvisionEndpoint: m.url(), Params: map[string]string{jobVariable: "job1"}})
		if err != nil || r.GetError() != "" {
			t.Fatal(err, r.GetError())
		}
		<-m.joined
	}
	p.mu.Lock()
	stopped := p.workers["1-1"][0].Process
	p.mu.Unlock()
	text := func() string {
		var t metrics.Text
		p.Metrics(&t)
		return t.String()
	}
	await := func(what string, has func(string) bool) {
		t.Helper()
		for begin := time.Now(); !has(text()); time.Sleep(20 * time.Millisecond) {
			if time.Since(begin) > 20*time.Second {
				t.Fatalf("not in 20 s: %s: %s", what, text())
			}
		}
	}
	line := func(line string) {
		t.Helper()
		await(line, func(text string) bool { return strings.Contains(text, "\n"+line+"\n") })
	}
	line("prepare_data_pool_workers 2")
	line(fmt.Sprintf(`prepare_data_worker_tasks_total{job="job1",pid="%d"} 7`, stopped.Pid))
	line(fmt.Sprintf(`prepare_data_worker_tasks_running{job="job1",pid="%d"} 1`, stopped.Pid))
	line("prepare_data_pool_tasks_total 14")
	stopped.Signal(syscall.SIGSTOP)
	await("silence", func(text string) bool {
		var seconds float64
		_, rest, _ := strings.Cut(text, fmt.Sprintf(`prepare_data_worker_silence_seconds{job="job1",pid="%d"} `, stopped.Pid))
		fmt.Sscan(rest, &seconds)
		return seconds > 2.5*tellInterval.Seconds()
	})
	stopped.Kill()
	line("prepare_data_pool_workers 1")
	line("prepare_data_pool_workers_failed_total 1")
	line("prepare_data_pool_workers_started_total 2")
	line("prepare_data_pool_tasks_total 14")
}
