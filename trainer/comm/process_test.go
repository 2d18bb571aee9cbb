package comm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain runs the test binary as a rank where the environment says so.
func TestMain(m *testing.M) {
	if os.Getenv("COMM_TEST_RANK") == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("COMM_TEST_OPEN") != "" {
		sameUser = func(net.Conn) error { return nil }
	}
	if address := os.Getenv("COMM_TEST_FLOOD"); address != "" {
		flood(address)
	}
	if err := rankProcess(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitCode(err))
	}
	os.Exit(0)
}

// rankProcess is a rank that takes steps until it is ended: it sums, gathers and
// computes a little, and says so after the first one.
func rankProcess() error {
	o, err := FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	o.Log = os.Stderr
	o.Fingerprints = map[string]string{"seed": os.Getenv("COMM_TEST_SEED"), "data": "sha256:1234"}
	intervals := calm
	if intervals.silence, err = time.ParseDuration(os.Getenv("COMM_TEST_SILENCE")); err != nil {
		return err
	}
	g, err := join(context.Background(), o, intervals)
	if err != nil {
		return err
	}
	defer g.Close()
	steps, _ := strconv.Atoi(os.Getenv("COMM_TEST_STEPS"))
	x := make([]float64, 3*chunkBytes/8)
	for step := 0; step < steps; step++ {
		for i := range x {
			x[i] = float64(o.Rank + i)
		}
		if err := g.AllReduce(x); err != nil {
			return err
		}
		for i, v := range x {
			if want := float64(o.Ranks*i + o.Ranks*(o.Ranks-1)/2); v != want {
				return fmt.Errorf("step %d: value %d is %v, want %v", step, i, v, want)
			}
		}
		if step == 0 {
			fmt.Println("step 0")
		}
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
	}
	return nil
}

// exitCode is what cmd/internal/cli makes of an error.
func exitCode(err error) int {
	var usage interface{ Usage() bool }
	var network interface{ Network() bool }
	switch {
	case errors.As(err, &usage):
		return 2
	case errors.As(err, &network):
		return 5
	}
	return 1
}

// flood opens connections until it is killed: some with garbage, and more than may wait
// at a door in silence.
func flood(address string) {
	for range 2 * maxPending {
		go func() {
			for {
				if conn, err := net.Dial("tcp", address); err == nil {
					io.Copy(io.Discard, conn)
					conn.Close()
				}
			}
		}()
	}
	for i := 0; ; i++ {
		if conn, err := net.Dial("tcp", address); err == nil {
			io.WriteString(conn, []string{"", greeting, strings.Repeat("\xff", 1<<16), "GET / HTTP/1.1\r\n\r\n", greeting + strings.Repeat("x", 64)}[i%5])
			conn.SetReadDeadline(time.Now().Add(time.Millisecond))
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	}
}

// A rankCommand is a rank in a process of its own.
type rankCommand struct {
	*exec.Cmd
	stderr  lines
	started chan struct{} // its first step is done, or it has ended
	done    chan struct{}
}

// startRanks starts n processes with more variables for each rank.
func startRanks(t *testing.T, n int, more func(rank int) []string) []*rankCommand {
	t.Helper()
	port := freePort(t)
	list := make([]*rankCommand, n)
	for r := range list {
		list[r] = newRank(n, append([]string{fmt.Sprint("RANK=", r), fmt.Sprint("MASTER_PORT=", port)}, more(r)...))
		list[r].start(t)
	}
	return list
}

// newRank returns a process of a run of n ranks that is not started.
func newRank(n int, env []string) *rankCommand {
	c := &rankCommand{Cmd: exec.Command(os.Args[0]), started: make(chan struct{}), done: make(chan struct{})}
	c.Env = append(os.Environ(), "COMM_TEST_RANK=1", "COMM_TEST_STEPS=1000000", "COMM_TEST_SILENCE=1m", fmt.Sprint("WORLD_SIZE=", n), "MASTER_ADDR=127.0.0.1")
	c.Env = append(c.Env, env...)
	c.Stderr = &c.stderr
	return c
}

// start starts the process, which ends with the test.
func (c *rankCommand) start(t *testing.T) {
	t.Helper()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		bufio.NewReader(out).ReadString('\n')
		close(c.started)
		io.Copy(io.Discard, out)
		c.Wait()
		close(c.done)
	}()
	t.Cleanup(func() {
		c.Process.Kill()
		<-c.done
	})
}

// ended waits for a process and returns its exit code and what it printed.
func (c *rankCommand) ended(t *testing.T, limit time.Duration) (int, string) {
	t.Helper()
	select {
	case <-c.done:
	case <-time.After(limit):
		c.Process.Kill()
		<-c.done
		t.Fatalf("process %v still runs after %v; it printed %q", c.Args, limit, c.stderr.String())
	}
	return c.ProcessState.ExitCode(), c.stderr.String()
}

// Ranks that were started differently end with the field and both values.
func TestRanksThatDoNotFitEnd(t *testing.T) {
	for name, test := range map[string]struct {
		more func(rank int) []string
		want string
	}{
		"another seed": {func(r int) []string { return []string{fmt.Sprint("COMM_TEST_SEED=", 7+r/2)} }, "rank 2 (HOST): seed is 8, and 7 on rank 0 (HOST)"},
		"another size": {func(r int) []string { return []string{fmt.Sprint("WORLD_SIZE=", 3+r/2)} }, "rank 2 (HOST): WORLD_SIZE is 4, and 3 on rank 0 (HOST)"},
		"a rank twice": {func(r int) []string { return []string{fmt.Sprint("RANK=", (r+1)/2)} }, "rank 1 (HOST): was started twice: at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for r, c := range startRanks(t, 3, test.more) {
				code, text := c.ended(t, 20*time.Second)
				if want := strings.ReplaceAll(test.want, "HOST", hostName()); code != 2 || !strings.Contains(text, want) {
					t.Errorf("process %d exited with %d and printed %q, want 2 and %q", r, code, text, want)
				}
			}
		})
	}
}
