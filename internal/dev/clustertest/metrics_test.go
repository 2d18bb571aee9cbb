//go:build cluster

package clustertest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The JobManager and the TaskManagers report metrics as docs/cluster.md says.
func TestFlinkReportsMetrics(t *testing.T) {
	submit(t, shared.probe, append(onFlink(2), "--out", t.TempDir())...).mustEnd(t, 0)
	for _, metric := range []string{"flink_jobmanager_numRegisteredTaskManagers", "flink_jobmanager_numRunningJobs", "flink_taskmanager_Status_JVM_Memory_Heap_Used"} {
		until(t, metric, func() bool { return strings.Contains(metrics(), "\n"+metric) })
	}
}

// metrics returns the metrics of all processes of Flink that answer.
func metrics() string {
	var text strings.Builder
	for port := range 10 {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", metricsPort+port))
		if err != nil {
			continue
		}
		io.Copy(&text, answer.Body)
		answer.Body.Close()
	}
	return text.String()
}
