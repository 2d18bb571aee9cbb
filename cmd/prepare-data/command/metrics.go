package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pretext/internal/metrics"
	"pretext/internal/store"
	"pretext/internal/usage"
	"pretext/pipeline/stage"
)

// metricsUsage describes the flag and the setting metrics-listen.
const metricsUsage = "serve metrics to Prometheus over HTTP: a `port` on the loopback interface, or HOST:PORT; whoever reaches it may read them; default: none"

// serveMetrics serves metrics at address until the command's context ends. For "" it does
// nothing. write adds the metrics of the command; those of the process are added to them.
func serveMetrics(cmd *cobra.Command, address string, write func(*metrics.Text)) error {
	if address == "" {
		return nil
	}
	l, err := metrics.Listen(address)
	if err != nil {
		return misuse(fmt.Errorf("--metrics-listen: %w", err))
	}
	stop := metrics.Serve(l, func(t *metrics.Text) {
		write(t)
		processMetrics(t)
	})
	fmt.Fprintf(cmd.ErrOrStderr(), "prepare-data: metrics at http://%s/metrics\n", l.Addr())
	go func() {
		<-cmd.Context().Done()
		stop()
	}()
	return nil
}

// processMetrics adds the metrics of this process.
func processMetrics(t *metrics.Text) {
	t.Counter("prepare_data_cpu_seconds_total", "CPU time of this process.", metrics.Value{V: usage.CPU().Seconds()})
	t.Gauge("prepare_data_peak_memory_bytes", "Largest memory of this process so far.", metrics.Value{V: float64(usage.PeakMemory())})
	traffic := store.Traffic()
	var requests []metrics.Value
	for _, kind := range slices.Sorted(maps.Keys(traffic)) {
		if kind != "retry" && !strings.HasSuffix(kind, "_bytes") {
			requests = append(requests, metrics.Value{Labels: []string{"kind", kind}, V: float64(traffic[kind])})
		}
	}
	t.Counter("prepare_data_store_requests_total", "Requests to object stores, with those that repeat others.", requests...)
	t.Counter("prepare_data_store_retries_total", "Requests to object stores that were repeated.", metrics.Value{V: float64(traffic["retry"])})
	t.Counter("prepare_data_store_read_bytes_total", "Bytes read from object stores.", metrics.Value{V: float64(traffic["read_bytes"])})
	t.Counter("prepare_data_store_written_bytes_total", "Bytes written to object stores.", metrics.Value{V: float64(traffic["written_bytes"])})
	if age, held := store.LeaseAge(); held {
		t.Gauge("prepare_data_lease_age_seconds", "Time since the oldest lock of this process in an object store was renewed; after 60 another process may take it over.", metrics.Value{V: age.Seconds()})
	}
}

// stageMetrics are the metrics of the stages of a run.
type stageMetrics struct {
	mu     sync.Mutex
	stages []*stageRun // in the order in which they began
}

// A stageRun is a stage that runs or has ended.
type stageRun struct {
	*stage.Meter
	begun time.Time
	took  time.Duration // 0 while it runs
}

// watch returns a function for [stage.Runner].Watch, which also calls next, unless next is
// nil.
func (s *stageMetrics) watch(next func(*stage.Meter) func()) func(*stage.Meter) func() {
	return func(m *stage.Meter) func() {
		run := &stageRun{Meter: m, begun: time.Now()}
		s.mu.Lock()
		s.stages = append(s.stages, run)
		s.mu.Unlock()
		stop := func() {}
		if next != nil {
			stop = next(m)
		}
		return func() {
			stop()
			s.mu.Lock()
			defer s.mu.Unlock()
			run.took = time.Since(run.begun)
		}
	}
}

// write adds the metrics.
func (s *stageMetrics) write(t *metrics.Text) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var running, tasks, done, kept, units, end, seconds []metrics.Value
	for _, r := range s.stages {
		value := func(v float64, more ...string) metrics.Value {
			return metrics.Value{Labels: append([]string{"stage", r.Stage}, more...), V: v}
		}
		unit, took, live := r.Unit, r.took, 0.0
		if unit == "" {
			unit = "bytes"
		}
		if took == 0 {
			took, live = time.Since(r.begun), 1
		}
		running = append(running, value(live))
		tasks = append(tasks, value(float64(r.Tasks)))
		done = append(done, value(float64(r.Finished())))
		kept = append(kept, value(float64(r.Kept())))
		units = append(units, value(float64(r.Done()), "unit", unit))
		end = append(end, value(float64(r.Total), "unit", unit))
		seconds = append(seconds, value(took.Seconds()))
	}
	t.Gauge("prepare_data_stage_running", "1 while the stage runs, then 0.", running...)
	t.Gauge("prepare_data_stage_tasks", "Tasks of the stage.", tasks...)
	t.Gauge("prepare_data_stage_tasks_done", "Finished tasks of the stage, with those of earlier runs.", done...)
	t.Gauge("prepare_data_stage_tasks_kept", "Tasks of the stage that an earlier run had finished.", kept...)
	t.Gauge("prepare_data_stage_progress", "Bytes, or other units, that the stage has processed.", units...)
	t.Gauge("prepare_data_stage_progress_end", "What prepare_data_stage_progress is at the end of the stage; 0 if unknown.", end...)
	t.Gauge("prepare_data_stage_seconds", "Time since the stage began, or that it took.", seconds...)
}
