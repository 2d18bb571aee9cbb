package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/trainer/checkpoint"
)

// A network of two namespaces, joined by one cable, as two machines.
type network struct {
	t     *testing.T
	names [2]string
}

// newNetwork makes a network, in which the machines have the addresses 10.83.0.1 and
// 10.83.0.2. It needs root.
func newNetwork(t *testing.T) *network {
	t.Helper()
	realdata.Tool(t, "ip")
	n := &network{t: t}
	for i := range n.names {
		n.names[i] = fmt.Sprintf("pretext-%d-%d", os.Getpid(), i)
		if out, err := exec.Command("ip", "netns", "add", n.names[i]).CombinedOutput(); err != nil {
			realdata.Missing(t, fmt.Sprintf("no network namespaces, which need root: %s", out))
		}
		t.Cleanup(func() { exec.Command("ip", "netns", "del", n.names[i]).Run() })
	}
	n.ip("link", "add", "cable", "netns", n.names[0], "type", "veth", "peer", "name", "cable", "netns", n.names[1])
	for i, name := range n.names {
		n.ip("-n", name, "addr", "add", fmt.Sprintf("10.83.0.%d/24", i+1), "dev", "cable")
		n.ip("-n", name, "link", "set", "lo", "up")
		n.ip("-n", name, "link", "set", "cable", "up")
	}
	return n
}

func (n *network) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %q: %v: %s", args, err, out)
	}
}

// on makes cmd run on machine i.
func (n *network) on(i int, cmd *exec.Cmd) {
	cmd.Args = append([]string{"ip", "netns", "exec", n.names[i], cmd.Path}, cmd.Args[1:]...)
	cmd.Path = realdata.Tool(n.t, "ip")
}

// cut pulls the cable.
func (n *network) cut() { n.ip("-n", n.names[0], "link", "set", "cable", "down") }

// Ranks train on two machines. When the network between them is lost, all end with a
// line that names the rank that they cannot reach, and the checkpoint is intact.
func TestRanksOnAMachineThatIsCutOffEnd(t *testing.T) {
	t.Parallel() // it waits for the twelve seconds after which a rank is lost
	n := newNetwork(t)
	out := filepath.Join(t.TempDir(), "out")
	run := newRanksRun(t, 3, writeRun(t, out, "--num-train-steps", "1000000000", "--save-checkpoints-steps", "5"))
	run.address, run.more = "10.83.0.1", []string{"PRETEXT_BERT_SECRET=a secret of the test"}
	run.wrap = func(r int, cmd *exec.Cmd) { n.on(r/2, cmd) }
	list := run.start(t)
	waitForLines(t, list[0], filepath.Join(out, "metrics.jsonl"), 12)
	n.cut()
	for r, want := range []string{"rank 2 (", "rank 2 (", "rank 0 ("} {
		list[r].endsWith(t, 5, want)
	}
	if c, err := checkpoint.Newest(out); err != nil || c.State.Ranks != 3 {
		t.Errorf("no checkpoint of three ranks: %v", err)
	}
}
