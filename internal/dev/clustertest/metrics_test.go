//go:build cluster

package clustertest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Ports of the metrics of the submitter and the pool.
const submitterMetrics, poolMetrics = 19400, 19401

// While a job runs, Flink and the pool's workers report all metrics that docs/cluster.md
// names.
func TestAllMetricsOfThePageAreReported(t *testing.T) {
	out, gate := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "gate")
	job := submit(t, shared.probe, append(onFlink(2), "--tasks", "12", "--gate", gate, "--out", out)...)
	midStage(t, job, out)
	names := named(t, "flink_(?:job|task)manager")
	var text string
	until(t, fmt.Sprint(names), func() bool {
		text = scrape(t, metricsPort, metricsPort+9)
		return !slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(text, "\n"+name+"{") })
	})
	for _, line := range []string{`flink_jobmanager_numRegisteredTaskManagers\{.*\} 2\.0`, `flink_jobmanager_numRunningJobs\{.*\} 1\.0`, `flink_jobmanager_job_numRestarts\{.*\} 0\.0`} {
		if !regexp.MustCompile(line).MatchString(text) {
			t.Errorf("no %s in %s", line, text)
		}
	}
	open(t, gate)
	job.mustEnd(t, 0)
}

// While a job runs, the submitter and the pool report what docs/cluster.md names, but for
// the lock in object storage, which only a store has.
func TestTheSubmitterAndThePoolReportWhatThePageNames(t *testing.T) {
	if err := shared.start("pool"); err != nil {
		t.Fatal(err)
	}
	defer shared.kill("pool")
	out, begun := filepath.Join(t.TempDir(), "out"), false
	names := named(t, "prepare_data")
	job := submit(t, shared.prepareData, slices.Concat([]string{"run"}, sources(t), onFlink(2), onPool(), []string{"--set", fmt.Sprintf("metrics-listen=%d", submitterMetrics), "--out", out})...)
	left := map[string]bool{}
	for _, name := range names {
		left[name] = !strings.Contains(name, "_lease_") && !strings.HasSuffix(name, "_store_requests_total")
	}
	for ended := false; !ended; {
		select {
		case <-job.done:
			ended = true
		case <-time.After(50 * time.Millisecond):
		}
		text := scrape(t, submitterMetrics, submitterMetrics) + scrape(t, poolMetrics, poolMetrics)
		for name := range left {
			if strings.Contains(text, "\n"+name+"{") || strings.Contains(text, "\n"+name+" ") {
				left[name] = false
			}
		}
		begun = begun || strings.Contains(text, `prepare_data_stage_running{stage="extract"} 1`)
	}
	job.mustEnd(t, 0)
	for name, missing := range left {
		if missing {
			t.Errorf("%s was not reported", name)
		}
	}
	if !begun {
		t.Error("the running stage was not reported")
	}
	tasks := 0
	_, rest, _ := strings.Cut(scrape(t, poolMetrics, poolMetrics), "\nprepare_data_pool_tasks_total ")
	if fmt.Sscan(rest, &tasks); tasks < 5 { // of examples alone
		t.Errorf("the pool reports %d tasks", tasks)
	}
	noWorkers(t)
}

// named returns the metrics that the page names and that begin with prefix.
func named(t *testing.T, prefix string) []string {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`"+prefix+"_[a-zA-Z_]+`").FindAllString(string(b), -1)
	if len(names) < 5 {
		t.Fatalf("the page names %d metrics", len(names))
	}
	for i := range names {
		names[i] = strings.Trim(names[i], "`")
	}
	return names
}

// scrape returns the metrics of all processes that answer on ports from first to last.
func scrape(t *testing.T, first, last int) string {
	t.Helper()
	var text strings.Builder
	for port := first; port <= last; port++ {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
		if err != nil {
			continue
		}
		_, err = io.Copy(&text, answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}
