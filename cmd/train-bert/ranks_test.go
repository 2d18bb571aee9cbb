//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pretext/internal/dev/torture"
	"pretext/trainer/checkpoint"
)

// patienceWithRanks is how long ranks may take to end after a failure.
const patienceWithRanks = 30 * time.Second

// A ranksRun starts the ranks of a run by hand, as an operator does.
type ranksRun struct {
	ranks   int
	address string // MASTER_ADDR
	port    int
	more    []string                      // further variables
	wrap    func(rank int, cmd *exec.Cmd) // changes how a rank is started; may be nil
	args    func(rank int) (arguments []string)
}

// newRanksRun returns a run of n ranks on this machine, all with the same
// arguments, on one thread each.
func newRanksRun(t *testing.T, n int, args []string) *ranksRun {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return &ranksRun{ranks: n, address: "127.0.0.1", port: ln.Addr().(*net.TCPAddr).Port,
		args: func(int) []string { return append(slices.Clip(args), "--threads", "1") }}
}

func (run *ranksRun) start(t *testing.T) (list []*process) {
	t.Helper()
	for r := range run.ranks {
		list = append(list, run.startRank(t, r))
	}
	return list
}

func (run *ranksRun) startRank(t *testing.T, r int) *process {
	t.Helper()
	cmd := exec.Command(linkToSelf(t), run.args(r)...)
	cmd.Env = append(os.Environ(), "RANK="+strconv.Itoa(r), "WORLD_SIZE="+strconv.Itoa(run.ranks), "LOCAL_RANK="+strconv.Itoa(r),
		"MASTER_ADDR="+run.address, "MASTER_PORT="+strconv.Itoa(run.port))
	cmd.Env = append(cmd.Env, run.more...)
	if run.wrap != nil {
		run.wrap(r, cmd)
	}
	p := &process{Cmd: cmd, done: make(chan struct{})}
	p.Stderr = &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill()
		<-p.done
	})
	go func() {
		p.Wait()
		close(p.done)
	}()
	return p
}

// linkToSelf returns a path of this test binary by which it is train-bert.
func linkToSelf(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "train-bert")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// endsWith waits for a rank to end. It requires the exit code, and that the last
// line on standard error, the only one of an error, contains want.
func (p *process) endsWith(t *testing.T, code int, want string) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patienceWithRanks):
		t.Errorf("%v still runs after %v; it printed %q", p.Args, patienceWithRanks, &p.stderr)
		return
	}
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	last := lines[len(lines)-1]
	if got := p.ProcessState.ExitCode(); got != code || !strings.Contains(last, want) || !strings.HasPrefix(last, "train-bert: ") {
		t.Errorf("exit code %d and %q, want %d and a last line with %q", got, &p.stderr, code, want)
	}
}

func finishAll(t *testing.T, list []*process) {
	t.Helper()
	for _, p := range list {
		finish(t, p)
	}
}

// One of two ranks is killed again and again, anywhere; the other one ends with a
// line that names it, checkpoints stay valid, and the weights of the end are those
// of a run without kills.
func TestRanksThatAreKilledAgainAndAgainEndAsThoseThatWereNot(t *testing.T) {
	kills := torture.Times(t, "PRETEXT_RANK_KILLS", 2, 50)
	random := torture.Random(t)
	dir := t.TempDir()
	want, out := filepath.Join(dir, "want"), filepath.Join(dir, "out")
	steps := 40 + 5*kills
	args := writeRun(t, want, "--num-train-steps", strconv.Itoa(steps), "--save-checkpoints-steps", "6", "--keep", "2", "--set=zero1", "--train-batch-size", "7")
	finishAll(t, newRanksRun(t, 2, args).start(t))
	args[slices.Index(args, want)] = out
	var reached int64
	for kill := range kills {
		list := newRanksRun(t, 2, args).start(t)
		if kill%2 == 0 { // else while they start
			list[0].waitForCheckpoint(t, out)
		}
		time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
		killOne(t, list, random)
		c, err := checkpoint.Newest(out)
		switch {
		case err == nil && c.State.Progress.Step >= reached:
			reached = c.State.Progress.Step
		case reached > 0:
			t.Errorf("kill %d: the newest checkpoint was of step %d, now: %v, %v", kill, reached, c, err)
		}
	}
	if reached == 0 {
		t.Error("no kill came after a checkpoint")
	}
	t.Logf("%d kills, the last checkpoint is of step %d of %d", kills, reached, steps)
	finishAll(t, newRanksRun(t, 2, args).start(t))
	last := fmt.Sprintf("step-%08d", steps)
	for _, name := range []string{"model.safetensors", "optimizer.safetensors", "trainer.json", "manifest.json"} {
		a, errA := os.ReadFile(filepath.Join(want, last, name))
		b, errB := os.ReadFile(filepath.Join(out, last, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs from that of an undisturbed run (%v, %v)", name, errA, errB)
		}
	}
}

// killOne kills a rank and requires that the other one ends: with exit code 5 and
// the name of the killed rank or, if the run had just ended, with 0.
func killOne(t *testing.T, list []*process, random *rand.Rand) {
	t.Helper()
	victim := random.IntN(len(list))
	list[victim].Process.Kill()
	<-list[victim].done
	other := list[1-victim]
	if !strings.Contains(list[0].stderr.String(), "step ") { // they may not have found each other: the other one waits for minutes
		select {
		case <-other.done:
		case <-time.After(2 * time.Second):
			other.Process.Kill()
			<-other.done
		}
		return
	}
	select {
	case <-other.done:
	case <-time.After(patienceWithRanks):
	}
	if other.ProcessState == nil || other.ProcessState.ExitCode() != 0 {
		other.endsWith(t, 5, fmt.Sprintf("rank %d (", victim))
	}
}

// A rank of another version of the program ends all, with a line that says so.
func TestARankOfAnotherProgramEndsAll(t *testing.T) {
	args := writeRun(t, filepath.Join(t.TempDir(), "out"), "--num-train-steps", "5")
	run := newRanksRun(t, 3, args)
	other := filepath.Join(t.TempDir(), "train-bert")
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		b, err = os.ReadFile(os.Args[0])
	}
	if err == nil {
		err = os.WriteFile(other, append(b, 0), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	run.wrap = func(r int, cmd *exec.Cmd) {
		if r == 1 {
			cmd.Path, cmd.Args[0] = other, other
		}
	}
	for _, p := range run.start(t) {
		p.endsWith(t, 2, "rank 1 (")
		if !strings.Contains(p.stderr.String(), "program is ") {
			t.Errorf("printed %q", &p.stderr)
		}
	}
}
