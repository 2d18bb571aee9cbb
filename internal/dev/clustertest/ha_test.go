//go:build cluster

package clustertest

import (
	"fmt"
	"os"
	"testing"
)

// zooKeeperPort is the port of ZooKeeper, on loopback.
const zooKeeperPort = 19181

// With Flink's high availability a job survives the loss of its JobManager. Flink's
// distribution contains ZooKeeper; the other service for it is Kubernetes.
func TestAJobSurvivesTheJobManager(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	quorum := fmt.Sprintf("clientPort=%d\nclientPortAddress=127.0.0.1\ndataDir=%s\nadmin.enableServer=false\n", zooKeeperPort, shared.path("zookeeper"))
	if err := os.WriteFile(shared.path("conf", "zoo.cfg"), []byte(quorum), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shared.start("zookeeper"); err != nil {
		t.Fatal(err)
	}
	defer shared.kill("zookeeper")
	until(t, "ZooKeeper answers", func() bool { return listens(zooKeeperPort) })
	reconfigure(t, fmt.Sprintf("high-availability: {type: zookeeper, storageDir: \"file://%s\", zookeeper: {quorum: \"127.0.0.1:%d\"}}\n", shared.path("ha"), zooKeeperPort))
	defer reconfigure(t, "")
	want := probeTree(t, "--tasks", "24")
	fault{strike: func(t *testing.T, _ []*submitter) { restart(t, "jobmanager") }}.meet(t, []string{"--tasks", "24"}, want)
	noWorkers(t)
}

// reconfigure restarts Flink with more lines in its configuration.
func reconfigure(t *testing.T, extra string) {
	t.Helper()
	if err := shared.configure("fixed-delay", extra); err != nil {
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
