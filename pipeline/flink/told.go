//go:build cluster

package flink

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"pretext/internal/metrics"
)

// A worker of a pool tells the pool every second what it does, as a line of JSON in a pipe
// that the pool gives it. So the pool's listener is the only one, and a worker that is
// stopped is seen by its silence.

// tellInterval is the time between two reports of a worker.
const tellInterval = time.Second

// maxTold is the maximum length of a report in bytes.
const maxTold = 4 << 10

// tell writes reports until the process ends, if the pool has asked for them.
func tell(activity func() Activity) {
	n, err := strconv.Atoi(os.Getenv(tellVariable))
	if err != nil || activity == nil {
		return
	}
	e := json.NewEncoder(os.NewFile(uintptr(n), "pool"))
	for e.Encode(activity()) == nil { // the pool lives
		time.Sleep(tellInterval)
	}
}

// told is what the workers of a pool have told. The zero value is ready to use.
type told struct {
	mu      sync.Mutex
	live    map[*exec.Cmd]*teller
	past    Activity // sums of workers that have ended
	started int64
	failed  int64
}

// A teller is a running worker.
type teller struct {
	job   string
	pipe  *os.File
	last  Activity
	heard time.Time // of the last report, or of the start
	read  chan struct{}
}

// start starts a worker that reports.
func (t *told) start(cmd *exec.Cmd, job string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()                // the worker has its own
	if runtime.GOOS != "windows" { // which passes no files
		cmd.ExtraFiles = []*os.File{w}
		cmd.Env = append(cmd.Env, tellVariable+"=3") // the first of ExtraFiles
	}
	if err := cmd.Start(); err != nil {
		r.Close()
		return err
	}
	one := &teller{job: job, pipe: r, heard: time.Now(), read: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live == nil {
		t.live = map[*exec.Cmd]*teller{}
	}
	t.live[cmd] = one
	t.started++
	go t.listen(one)
	return nil
}

// listen reads the reports of a worker.
func (t *told) listen(one *teller) {
	defer close(one.read)
	lines := bufio.NewScanner(one.pipe)
	lines.Buffer(nil, maxTold)
	for lines.Scan() {
		var a Activity
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			return // not a worker of this build
		}
		t.mu.Lock()
		one.last, one.heard = a, time.Now()
		t.mu.Unlock()
	}
}

// end adds what a worker has done to the sums. err is its end.
func (t *told) end(cmd *exec.Cmd, err error) {
	t.mu.Lock()
	one := t.live[cmd]
	t.mu.Unlock()
	if one == nil {
		return
	}
	one.pipe.SetReadDeadline(time.Now().Add(tellInterval)) //nolint:errcheck // a child of the worker may hold the pipe
	<-one.read
	one.pipe.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, cmd)
	t.past.add(one.last)
	if err != nil {
		t.failed++
	}
}

// add adds the counts of another worker.
func (a *Activity) add(b Activity) {
	a.Tasks += b.Tasks
	a.Bytes += b.Bytes
	a.Retries += b.Retries
	a.Read += b.Read
	a.Written += b.Written
	a.CPU += b.CPU
}

// Metrics adds the metrics of the pool and its workers to text.
func (p *Pool) Metrics(text *metrics.Text) {
	t := &p.told
	t.mu.Lock()
	defer t.mu.Unlock()
	p.out.mu.Lock()
	refused := p.out.refusals
	p.out.mu.Unlock()
	sum := t.past
	var tasks, running, oldest, progress, retries, cpu, silent []metrics.Value
	for _, cmd := range slices.SortedFunc(maps.Keys(t.live), func(a, b *exec.Cmd) int { return cmp.Compare(a.Process.Pid, b.Process.Pid) }) {
		w := t.live[cmd]
		sum.add(w.last)
		value := func(v float64) metrics.Value {
			return metrics.Value{Labels: []string{"job", w.job, "pid", fmt.Sprint(cmd.Process.Pid)}, V: v}
		}
		tasks = append(tasks, value(float64(w.last.Tasks)))
		running = append(running, value(float64(w.last.Running)))
		oldest = append(oldest, value(w.last.Oldest))
		progress = append(progress, value(float64(w.last.Bytes)))
		retries = append(retries, value(float64(w.last.Retries)))
		cpu = append(cpu, value(w.last.CPU))
		silent = append(silent, value(time.Since(w.heard).Seconds()))
	}
	one := func(n int64) metrics.Value { return metrics.Value{V: float64(n)} }
	text.Gauge("prepare_data_pool_workers", "Workers that run.", one(int64(len(t.live))))
	text.Counter("prepare_data_pool_workers_started_total", "Workers that were started.", one(t.started))
	text.Counter("prepare_data_pool_workers_failed_total", "Workers that ended with an error or were killed.", one(t.failed))
	text.Counter("prepare_data_pool_refusals_total", "Connections and requests that were refused.", one(int64(refused)))
	text.Counter("prepare_data_pool_tasks_total", "Tasks that all workers have finished.", one(sum.Tasks))
	text.Counter("prepare_data_pool_progress_total", "Bytes, or other units, that all workers have processed.", one(sum.Bytes))
	text.Counter("prepare_data_pool_store_retries_total", "Requests of all workers to object stores that were repeated.", one(sum.Retries))
	text.Counter("prepare_data_pool_store_read_bytes_total", "Bytes that all workers have read from object stores.", one(sum.Read))
	text.Counter("prepare_data_pool_store_written_bytes_total", "Bytes that all workers have written to object stores.", one(sum.Written))
	text.Counter("prepare_data_pool_cpu_seconds_total", "CPU time of all workers.", metrics.Value{V: sum.CPU})
	text.Counter("prepare_data_worker_tasks_total", "Tasks that the worker has finished.", tasks...)
	text.Gauge("prepare_data_worker_tasks_running", "Tasks that the worker runs.", running...)
	text.Gauge("prepare_data_worker_task_age_seconds", "How long the worker has run its oldest task.", oldest...)
	text.Counter("prepare_data_worker_progress_total", "Bytes, or other units, that the worker has processed.", progress...)
	text.Counter("prepare_data_worker_store_retries_total", "Requests of the worker to object stores that were repeated.", retries...)
	text.Counter("prepare_data_worker_cpu_seconds_total", "CPU time of the worker.", cpu...)
	text.Gauge("prepare_data_worker_silence_seconds", "Time since the worker's last sign of life, which it gives every second; more than a few: it is stopped, or its machine is overloaded.", silent...)
}
