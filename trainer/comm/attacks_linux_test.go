package comm

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pretext/internal/dev/stranger"
)

// asNobody makes ranks run as another user, in a network namespace or, for "", in this
// one.
func asNobody(t *testing.T, space string) func(*exec.Cmd) {
	t.Helper()
	program := stranger.Program(t)
	return func(c *exec.Cmd) {
		c.Args = stranger.Args(t, space, program)
		c.Path, c.Dir = c.Args[0], filepath.Dir(program)
	}
}

// A run of two ranks of one user and a third process, of another user, that has a number
// of its own choice. The seed of the two is a setting that is theirs alone.
const ownSeed, otherSeed = "COMM_TEST_SEED=8675309", "COMM_TEST_SEED=1"

// A stranger at rank 0's port, one that passes for rank 1 with what it knows of a run,
// neither joins nor ends it, and learns none of its settings.
func TestAnotherUserIsNoRank(t *testing.T) {
	nobody := asNobody(t, "")
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
	nobody := asNobody(t, "")
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

// With a secret, a stranger of another machine, who has none or another one, neither joins
// nor ends a run, and learns nothing.
func TestAnotherMachineIsNoRankWithoutTheSecret(t *testing.T) {
	space, host := stranger.Namespace(t)
	nobody := asNobody(t, space)
	port := freePort(t)
	own := []string{ownSeed, SecretVariable + "=0123456789abcdef", "COMM_TEST_STEPS=1"}
	zero := startRank(t, 0, port, false, nil, own...)
	for _, theirs := range []string{"0123456789abcdeF", "another secret, a long one"} {
		said := startRank(t, 1, port, false, nobody, otherSeed, "MASTER_ADDR="+host, SecretVariable+"="+theirs)
		if code, text := said.ended(t, 20*time.Second); code != 2 || !strings.Contains(text, "do not have the same secret") || strings.Contains(text, "8675309") {
			t.Errorf("a stranger ended with %d and %q", code, text)
		}
	}
	flooder := startRank(t, 1, port, false, nobody, otherSeed, fmt.Sprintf("COMM_TEST_FLOOD=%s:%d", host, port))
	one := startRank(t, 1, port, false, nil, own...)
	for _, c := range []*rankCommand{zero, one} {
		if code, text := c.ended(t, 20*time.Second); code != 0 {
			t.Errorf("a rank ended with %d: %s", code, text)
		}
	}
	flooder.Process.Kill()
}

// Ranks that are flooded join and run to their end, though more strangers wait at the
// door than it lets in.
func TestRanksThatAreFloodedJoin(t *testing.T) {
	nobody := asNobody(t, "")
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
