//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Kills by default, and where a long run wants more.
const defaultKills = 20

func kills(t *testing.T) int {
	t.Helper()
	s := os.Getenv("PRETEXT_KILLS")
	if s == "" {
		return defaultKills
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("PRETEXT_KILLS: %v", err)
	}
	return n
}

// A killer ends runs at random times.
type killer struct {
	corpus *corpus
	random *rand.Rand
	kills  int           // that are left
	limit  time.Duration // about what an undisturbed run takes, of late
}

// start runs a process and kills it at a random time; done says that it came to
// its end before that.
func (k *killer) start(t *testing.T, p *process) (code int, done bool) {
	t.Helper()
	start := time.Now()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	delay := time.Duration(k.random.Int64N(int64(k.limit)))
	timer := time.AfterFunc(delay, func() { p.Process.Kill() })
	defer timer.Stop()
	code = p.wait(t)
	switch code {
	case -1:
		k.kills--
	case 0: // the machine may have become quicker or busier
		k.limit = max(time.Since(start)*5/4, k.limit*3/4)
	}
	return code, code != -1
}

func TestARunThatIsKilledAtAnyTimeEndsAsIfItHadNotBeen(t *testing.T) {
	c := demoSources(t)
	before := time.Now()
	timed := t.TempDir()
	prepareData(t, c.run(timed)...).succeed(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	k := &killer{corpus: c, random: rand.New(rand.NewPCG(seed, 0)), kills: kills(t), limit: time.Since(before) * 5 / 4}
	for round := 0; k.kills > 0; round++ {
		out := t.TempDir()
		switch round % 4 {
		case 0:
			k.untilDone(t, out)
		case 1:
			k.untilDone(t, out, "--runner=direct")
		case 2:
			k.overwriting(t, out)
		case 3:
			k.demo(t, out)
			continue
		}
		c.sameTree(t, out, fmt.Sprintf("round %d", round))
		os.RemoveAll(out)
		if t.Failed() {
			return
		}
	}
}

// untilDone starts the same command again and again until a run is not killed.
func (k *killer) untilDone(t *testing.T, out string, more ...string) {
	t.Helper()
	for attempt := 0; ; attempt++ {
		p := prepareData(t, append(k.corpus.run(out), more...)...)
		code, done := k.start(t, p)
		after := fmt.Sprintf("attempt %d %v", attempt, more)
		manifestsHold(t, out, after)
		noTemporary(t, after, p.temp)
		if done && code != 0 {
			t.Fatalf("%s: exit code %d: %s", after, code, p.stderr.String())
		}
		if done {
			return
		}
	}
}

// demo is killed over the demo, which writes its sources itself.
func (k *killer) demo(t *testing.T, out string) {
	t.Helper()
	for done := false; !done; {
		var code int
		code, done = k.start(t, prepareData(t, "demo", "--quiet", "--out", out))
		manifestsHold(t, out, "demo")
		if done && code != 0 {
			t.Fatalf("demo: exit code %d", code)
		}
	}
	noTemporary(t, "demo", out)
	prepareData(t, "verify", out).succeed(t)
}

// overwriting replaces the output of other options, which have more files, and
// is killed over it. In between the flag is forgotten: then the run may be
// refused, and must be right where it is not.
func (k *killer) overwriting(t *testing.T, out string) {
	t.Helper()
	prepareData(t, append(k.corpus.run(out), "--shards=9", "--vocab-size=2500", "--min-characters=200")...).succeed(t)
	for attempt := 0; ; attempt++ {
		args := k.corpus.run(out)
		overwrite := k.random.IntN(2) == 0
		if overwrite {
			args = append(args, "--overwrite")
		}
		p := prepareData(t, args...)
		code, done := k.start(t, p)
		after := fmt.Sprintf("attempt %d of overwriting (%v)", attempt, overwrite)
		manifestsHold(t, out, after)
		switch {
		case done && code == 0:
			return
		case done && (code != 2 || overwrite):
			t.Fatalf("%s: exit code %d: %s", after, code, p.stderr.String())
		}
	}
}

// graceful is how long a run may take to end after a signal. It is promised to
// take less than five seconds; a machine may be busy with other things.
const graceful = 30 * time.Second

func TestAnInterruptedRunLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	c := demoSources(t)
	for _, test := range []struct {
		stage  string
		signal syscall.Signal
		runner string
	}{
		{"documents", syscall.SIGINT, "prism"}, {"documents", syscall.SIGTERM, "direct"},
		{"vocab", syscall.SIGTERM, "prism"}, {"vocab", syscall.SIGINT, "direct"},
		{"shards", syscall.SIGINT, "prism"}, {"shards", syscall.SIGTERM, "direct"},
	} {
		t.Run(test.stage+"/"+test.runner, func(t *testing.T) {
			out := t.TempDir()
			args := append(c.run(out), "--runner", test.runner, "--dupe-factor=1000") // long enough to be met at work
			p := prepareData(t, args...)
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, filepath.Join(out, test.stage, "plan.json"))
			if err := p.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			code := p.wait(t)
			took := time.Since(start)
			t.Logf("ended after %v", took)
			if code != 130 {
				t.Errorf("exit code %d, want 130: %s", code, p.stderr.String())
			}
			if took > graceful {
				t.Errorf("ended after %v, want less than %v", took, graceful)
			}
			p.oneLine(t, "interrupted", "run the same command again")
			noTemporary(t, "interrupted", out, p.temp)
			manifestsHold(t, out, "interrupted")
		})
	}
}
