//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"pretext/internal/dev/torture"
)

// graceful is how long a run may take to end after a signal. It is promised to
// take less than five seconds; a machine may be busy with other things.
const graceful = 30 * time.Second

// interrupted checks how a process ended that was sent a signal at a time.
func interrupted(t *testing.T, p *process, code int, sent time.Time, out string) (took time.Duration) {
	t.Helper()
	took = time.Since(sent)
	if code != 130 {
		t.Errorf("exit code %d, want 130: %s", code, p.stderr.String())
	}
	if took > graceful {
		t.Errorf("ended after %v, want less than %v", took, graceful)
	}
	p.oneLine(t, "interrupted", "run the same command again")
	noTemporary(t, "interrupted", out, p.temp)
	manifestsHold(t, out, "interrupted")
	return took
}

func TestAnInterruptedRunLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	c := demoSources(t)
	for _, test := range []struct {
		stage  string
		signal syscall.Signal
	}{
		{"documents", syscall.SIGTERM}, {"vocab", syscall.SIGINT}, {"shards", syscall.SIGINT}, {"shards", syscall.SIGTERM},
	} {
		t.Run(fmt.Sprintf("%s/%s", test.stage, test.signal), func(t *testing.T) {
			out := t.TempDir()
			args := append(c.run(out), "--dupe-factor=1000") // long enough to be met at work
			p := prepareData(t, args...)
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, filepath.Join(out, test.stage, "plan.json"))
			start := time.Now()
			if err := p.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			interrupted(t, p, p.wait(t), start, out)
		})
	}
}

// A signal while templates are collected or examples are converted ends these in good
// order too.
func TestASignalAtAnyTimeEndsAStageInGoodOrder(t *testing.T) {
	t.Parallel()
	random := torture.Random(t)
	list := works(t)
	if torture.Times(t, "PRETEXT_WORKS", 0, 1) == 0 {
		list = list[len(list)-1:] // the whole run
	}
	for _, w := range list {
		t.Run(w.name, func(t *testing.T) {
			whole, out := w.whole(t), t.TempDir()
			for range max(1, torture.Times(t, "PRETEXT_SIGNALS", 5, 200)/5) {
				signal := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[random.IntN(2)]
				p := w.process(t, out)
				var sent time.Time
				at := moment{random.IntN(len(whole.tree)), random.IntN(5), out}
				switch code := p.during(t, at, func() { sent = time.Now(); p.Process.Signal(signal) }); code {
				case -1: // before the program's first line
					manifestsHold(t, out, "killed at its start")
				case 0:
					w.finish(t, out, whole.tree, "a signal that came too late")
				default:
					interrupted(t, p, code, sent, out)
				}
			}
			w.finish(t, out, whole.tree, "after signals")
		})
	}
}

// Signals come at any time: also while the program starts, between stages, and
// when all is done. Whatever was left, the next run ends as if there had been
// none.
func TestASignalAtAnyTimeEndsARunInGoodOrder(t *testing.T) {
	t.Parallel()
	c := demoSources(t)
	random := torture.Random(t)
	var slowest time.Duration
	out := ""
	for left := torture.Times(t, "PRETEXT_SIGNALS", 5, 200); left > 0 && !t.Failed(); {
		if out == "" {
			out = t.TempDir()
		}
		signal := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[random.IntN(2)]
		p := prepareData(t, c.run(out)...)
		var sent time.Time
		at := moment{random.IntN(len(c.tree)), random.IntN(5), out}
		switch code := p.during(t, at, func() { sent = time.Now(); p.Process.Signal(signal) }); code {
		case -1: // it came before the program's first line, which is as good as not to have started
			manifestsHold(t, out, "killed at its start")
		case 0:
			c.sameTree(t, out, "a signal that came too late")
			noTemporary(t, "a signal that came too late", out, p.temp)
			os.RemoveAll(out)
			out = ""
		default:
			slowest = max(slowest, interrupted(t, p, code, sent, out))
			left--
		}
	}
	t.Logf("the slowest end took %v", slowest)
	if out != "" {
		prepareData(t, c.run(out)...).succeed(t)
		c.sameTree(t, out, "after signals")
	}
}
