package comm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pretext/internal/realdata"
)

// asNobody makes ranks run as another user, from a copy of this program that every user
// may start.
func asNobody(t *testing.T) func(*exec.Cmd) {
	t.Helper()
	if os.Getuid() != 0 {
		realdata.Missing(t, "to attack as another user needs root")
	}
	setpriv := realdata.Tool(t, "setpriv")
	dir, err := os.MkdirTemp("", "pretext-stranger-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "stranger"), program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(c *exec.Cmd) {
		c.Args = []string{setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", filepath.Join(dir, "stranger")}
		c.Path, c.Dir = setpriv, dir
	}
}

// A run of two ranks of one user and a third process, of another user, that has a number
// of its own choice. The seed of the two is a setting that is theirs alone.
const ownSeed, otherSeed = "COMM_TEST_SEED=8675309", "COMM_TEST_SEED=1"

// A stranger at rank 0's port, one that passes for rank 1 with what it knows of a run,
// neither joins nor ends it, and learns none of its settings.
func TestAnotherUserIsNoRank(t *testing.T) {
	nobody := asNobody(t)
	for name, open := range map[string]bool{"guarded": false, "unguarded": true} {
		t.Run(name, func(t *testing.T) {
			port := freePort(t)
			zero := startRank(t, 0, port, open, nil, ownSeed)
			stranger := startRank(t, 1, port, open, nobody, otherSeed)
			if open {
				if code, text := stranger.ended(t, 20*time.Second); code != 2 || !strings.Contains(text, "8675309") {
					t.Errorf("without the check the stranger learns nothing: %d %q", code, text)
				}
				if code, _ := zero.ended(t, 20*time.Second); code != 2 {
					t.Errorf("without the check rank 0 ends with %d", code)
				}
				return
			}
			until(t, "refused a connection", zero)
			one := startRank(t, 1, port, open, nil, ownSeed)
			<-zero.started
			<-one.started
			stranger.Process.Kill()
			<-stranger.done
			if text := stranger.stderr.String(); strings.Contains(text, "8675309") || stranger.ProcessState.ExitCode() >= 0 && stranger.ProcessState.ExitCode() != 5 {
				t.Errorf("the stranger ended with %d and %q", stranger.ProcessState.ExitCode(), text)
			}
			if text := zero.stderr.String(); !strings.Contains(text, "is a process of another user (65534)") {
				t.Errorf("rank 0 says %q", text)
			}
		})
	}
}

// A stranger that took the port of rank 0 learns no setting of a rank.
func TestAnotherUserIsNotRankZero(t *testing.T) {
	nobody := asNobody(t)
	for name, open := range map[string]bool{"guarded": false, "unguarded": true} {
		t.Run(name, func(t *testing.T) {
			port := freePort(t)
			stranger := startRank(t, 0, port, open, nobody, otherSeed)
			one := startRank(t, 1, port, open, nil, ownSeed)
			code, text := one.ended(t, 20*time.Second)
			if open {
				if _, text := stranger.ended(t, 20*time.Second); !strings.Contains(text, "8675309") {
					t.Errorf("without the check the stranger learns nothing: %q", text)
				}
				return
			}
			if code != 2 || !strings.Contains(text, "is a process of another user (65534): choose another MASTER_PORT") {
				t.Errorf("rank 1 ended with %d and %q", code, text)
			}
			stranger.Process.Kill()
			<-stranger.done
			if text := stranger.stderr.String(); strings.Contains(text, "8675309") {
				t.Errorf("the stranger learnt %q", text)
			}
		})
	}
}

// Ranks that are flooded join and run to their end, though more strangers wait at the
// door than it lets in.
func TestRanksThatAreFloodedJoin(t *testing.T) {
	nobody := asNobody(t)
	for name, more := range map[string][]string{"without a secret": nil, "with a secret": {SecretVariable + "=0123456789abcdef"}} {
		t.Run(name, func(t *testing.T) {
			join := func(flooded bool) time.Duration {
				port := freePort(t)
				own := append([]string{ownSeed, "COMM_TEST_STEPS=20"}, more...)
				zero := startRank(t, 0, port, false, nil, own...)
				if flooded {
					startRank(t, 1, port, false, nobody, otherSeed, fmt.Sprint("COMM_TEST_FLOOD=127.0.0.1:", port))
					until(t, "refused a connection", zero)
				}
				begin := time.Now()
				one := startRank(t, 1, port, false, nil, own...)
				for _, c := range []*rankCommand{zero, one} {
					if code, text := c.ended(t, 30*time.Second); code != 0 {
						t.Errorf("a rank ended with %d: %s", code, text)
					}
				}
				if text := zero.stderr.String(); strings.Count(text, "\n") > 8 {
					t.Errorf("rank 0 says %q", text)
				}
				return time.Since(begin)
			}
			alone, flooded := join(false), join(true)
			t.Logf("twenty steps in %v, flooded in %v", alone, flooded)
			if flooded > calm.handshake { // as when those who are silent keep ranks out
				t.Errorf("a flood delayed the ranks by %v", flooded)
			}
		})
	}
}

// until waits for a text in a process's messages.
func until(t *testing.T, text string, c *rankCommand) {
	t.Helper()
	for range 1000 {
		if strings.Contains(c.stderr.String(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %q in %q", text, c.stderr.String())
}

// startRank starts one process of a run of two.
func startRank(t *testing.T, rank, port int, open bool, change func(*exec.Cmd), more ...string) *rankCommand {
	t.Helper()
	env := append([]string{fmt.Sprint("MASTER_PORT=", port), fmt.Sprint("RANK=", rank)}, more...)
	if open {
		env = append(env, "COMM_TEST_OPEN=1")
	}
	c := newRank(2, env)
	if change != nil {
		change(c.Cmd)
	}
	c.start(t)
	return c
}
