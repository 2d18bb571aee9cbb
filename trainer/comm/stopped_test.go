//go:build unix

package comm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soonSilent returns the variable by which a stopped rank counts as lost after two
// seconds.
func soonSilent(int) []string { return []string{"COMM_TEST_SILENCE=2s"} }

// A killed or stopped rank ends all others with one line that names it.
func TestALostRankEndsAllOthers(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("PRETEXT_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("PRETEXT_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := range rounds {
		n, signal, intervals := 2+rng.IntN(3), syscall.SIGKILL, func(int) []string { return nil }
		if round%4 == 3 {
			signal, intervals = syscall.SIGSTOP, soonSilent
		}
		victim := rng.IntN(n)
		list := startRanks(t, n, intervals)
		if round%6 != 5 { // else at any moment of the start
			for _, c := range list {
				<-c.started
			}
		}
		time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond)
		list[victim].Process.Signal(signal)
		if round%6 == 5 && victim != 0 {
			list[0].Process.Kill() // it may wait for the victim to start again
			victim = 0
		}
		for r, c := range list {
			if r == victim || round%6 == 5 {
				continue
			}
			code, text := c.ended(t, 20*time.Second)
			if code != 5 || strings.Count(text, "\n") != 1 || !strings.Contains(text, fmt.Sprintf("rank %d (%s)", victim, hostName())) {
				t.Errorf("round %d: %v of rank %d of %d: rank %d exited with %d and printed %q, want 5 and one line that names the rank and its host", round, signal, victim, n, r, code, text)
			}
		}
		for _, c := range list {
			c.Process.Kill()
			<-c.done
		}
	}
}

// A rank that is stopped and continued finds out that the run has ended.
func TestAContinuedRankEndsToo(t *testing.T) {
	list := startRanks(t, 3, soonSilent)
	for _, c := range list {
		<-c.started
	}
	list[1].Process.Signal(syscall.SIGSTOP)
	list[0].ended(t, 20*time.Second)
	list[2].ended(t, 20*time.Second)
	list[1].Process.Signal(syscall.SIGCONT)
	if code, text := list[1].ended(t, 20*time.Second); code != 5 || !strings.Contains(text, "rank ") {
		t.Errorf("the continued rank exited with %d and printed %q", code, text)
	}
}

// A pause that is shorter than the silence ends nobody.
func TestAShortStopEndsNobody(t *testing.T) {
	list := startRanks(t, 3, func(int) []string { return []string{"COMM_TEST_STEPS=100", "COMM_TEST_SILENCE=4s"} })
	for _, c := range list {
		<-c.started
	}
	list[2].Process.Signal(syscall.SIGSTOP)
	time.Sleep(time.Second)
	list[2].Process.Signal(syscall.SIGCONT)
	for r, c := range list {
		if code, text := c.ended(t, 30*time.Second); code != 0 {
			t.Errorf("rank %d exited with %d and printed %q", r, code, text)
		}
	}
}
