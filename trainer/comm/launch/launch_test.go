//go:build unix

package launch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pretext/trainer/comm"
)

// TestMain runs the test binary as a rank where it was launched as one.
func TestMain(m *testing.M) {
	if what := os.Getenv("LAUNCH_TEST"); what != "" && os.Getenv("RANK") != "" {
		os.Exit(rank(what, os.Getenv("RANK")))
	}
	os.Exit(m.Run())
}

// rank is what a process of a test does; the result is its exit code.
func rank(what, number string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	switch what {
	case "sum":
		o, err := comm.FromEnv(os.Getenv)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		g, err := comm.Join(context.Background(), o)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer g.Close()
		x := []float64{1}
		err = g.AllReduce(x)
		fmt.Println("sum", x[0], err, os.Args[1:])
		fmt.Fprintln(os.Stderr, "only", number)
		fmt.Fprintln(os.Stderr, "the same line")
		fmt.Fprintln(os.Stderr, "prog: rank 2 (host): is lost")
		if number == "1" {
			fmt.Fprintln(os.Stderr, "prog: own error")
		} else {
			fmt.Fprintln(os.Stderr, "prog: rank 1 (host): own error")
		}
		fmt.Fprint(os.Stderr, "no newline ", number)
		return 0
	case "fail":
		if number == "1" {
			begun()
			return 4
		}
		await()
		return 7
	case "lost":
		if number == "1" {
			await()
			return 4
		}
		begun()
		return 5
	case "killed":
		if number == "1" {
			begun()
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		await()
		return 1
	case "stuck":
		if number == "1" {
			return 3
		}
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Minute)
		return 0
	case "saves", "hangs":
		if number != "0" {
			return 130
		}
		signal.Ignore(syscall.SIGTERM)
		report := Reporter(os.Getenv)
		for i := range int64(30) {
			report(Save{Written: i, Total: 30})
			time.Sleep(100 * time.Millisecond)
			if what == "hangs" && i == 2 {
				time.Sleep(time.Minute)
			}
		}
		report(Save{Written: 30, Total: 30, Done: true})
		fmt.Fprintln(os.Stderr, "saved")
		return 130
	case "full":
		if number == "0" {
			time.Sleep(300 * time.Millisecond)
			return 6
		}
		return 130
	case "wait":
		fmt.Fprintln(os.Stderr, "waits")
		<-stop
		select {
		case <-stop:
			return 9 // a second signal
		case <-time.After(200 * time.Millisecond):
			return 130
		}
	}
	return 99
}

// begun tells the ranks in await that this one is about to end.
func begun() { os.WriteFile(os.Getenv("LAUNCH_TEST_FILE"), nil, 0o600) }

// await waits until a rank has called begun, and for as long as that rank needs to end.
func await() {
	for {
		if _, err := os.Stat(os.Getenv("LAUNCH_TEST_FILE")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
}

// text is a writer for several goroutines.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

func run(t *testing.T, ctx context.Context, what string, stderr *text) (code int, stdout string) {
	t.Helper()
	t.Setenv("LAUNCH_TEST", what)
	t.Setenv("LAUNCH_TEST_FILE", filepath.Join(t.TempDir(), "begun"))
	var out text
	code, err := Run(ctx, Options{Ranks: 3, Args: []string{"-a", "b"}, Stdout: &out, Stderr: stderr, grace: time.Second, patience: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return code, out.String()
}

func TestRanksGetTheirEnvironmentAndOutputIsMerged(t *testing.T) {
	t.Setenv("RANK", "") // not a rank ourselves
	var stderr text
	code, stdout := run(t, context.Background(), "sum", &stderr)
	if code != 0 || stdout != "sum 3 <nil> [-a b]\n" {
		t.Errorf("exit code %d, stdout %q; stderr %q", code, stdout, stderr.String())
	}
	lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
	same := 0
	for _, line := range lines {
		if strings.HasSuffix(line, "the same line") {
			same++
		}
	}
	for _, want := range []string{"only 0", "rank 1: only 1", "rank 2: only 2", "rank 1: no newline 1", "prog: rank 2 (host): is lost", "rank 1: prog: own error"} {
		if !strings.Contains("\n"+stderr.String(), "\n"+want+"\n") {
			t.Errorf("stderr %q lacks the line %q", stderr.String(), want)
		}
	}
	if same != 1 || len(lines) != 9 {
		t.Errorf("stderr has %q: a line that all ranks write %d times, want once", lines, same)
	}
}

func TestTheExitCodeIsThatOfTheFirstFailure(t *testing.T) {
	for what, want := range map[string]int{"fail": 4, "lost": 4, "killed": 5, "stuck": 3} {
		var stderr text
		begin := time.Now()
		code, _ := run(t, context.Background(), what, &stderr)
		if code != want {
			t.Errorf("%s: exit code %d, want %d; stderr %q", what, code, want, stderr.String())
		}
		if took := time.Since(begin); what == "stuck" && took > 20*time.Second {
			t.Errorf("ranks that do not end were killed after %v", took)
		}
		if what == "killed" && !strings.Contains(stderr.String(), "rank 1 ended by signal: killed") {
			t.Errorf("stderr %q does not say that rank 1 was killed", stderr.String())
		}
	}
}

// A rank that writes a checkpoint for longer than the others are given is waited for, and
// the user is told; one that writes nothing is killed.
func TestARankThatWritesACheckpointIsWaitedFor(t *testing.T) {
	for what, want := range map[string]struct {
		code int
		line string
	}{
		"saves": {130, "saved"},
		"hangs": {130, "rank 0 has written nothing of its checkpoint for 2s: it is killed"},
		"full":  {6, ""},
	} {
		var stderr text
		begin := time.Now()
		code, _ := run(t, context.Background(), what, &stderr)
		if code != want.code || !strings.Contains("\n"+stderr.String(), "\n"+want.line) || time.Since(begin) > 30*time.Second {
			t.Errorf("%s: exit code %d after %v, stderr %q; want %d and %q", what, code, time.Since(begin), stderr.String(), want.code, want.line)
		}
		if what == "saves" && strings.Count(stderr.String(), "waiting for rank 0, which is writing a checkpoint") != 1 {
			t.Errorf("stderr %q does not say once for what it waits", stderr.String())
		}
	}
}

func TestASignalReachesEachRankOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var stderr text
	go func() {
		for strings.Count(stderr.String(), "waits") < 1 {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond) // the others write the same line
		cancel()
	}()
	if code, _ := run(t, ctx, "wait", &stderr); code != 130 {
		t.Errorf("exit code %d, want 130; stderr %q", code, stderr.String())
	}
}

func TestAProgramThatDoesNotStartIsAnError(t *testing.T) {
	_, err := Run(context.Background(), Options{Ranks: 2, Stdout: &text{}, Stderr: &text{}, program: "/nonexistent"})
	if err == nil || !strings.Contains(err.Error(), "start rank 0") {
		t.Errorf("got %v, want that rank 0 does not start", err)
	}
}
