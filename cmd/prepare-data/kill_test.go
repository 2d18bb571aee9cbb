//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"pretext/internal/dev/torture"
)

// A killer ends runs at random times.
type killer struct {
	corpus *corpus
	random *rand.Rand
	kills  int    // that are left
	files  int    // about how many an undisturbed run writes
	other  string // output of other options, to overwrite; made once
}

// start runs a process that writes to a folder, and kills it at a random moment. done
// reports whether the process ended before that.
func (k *killer) start(t *testing.T, p *process, out string) (code int, done bool) {
	t.Helper()
	code = p.during(t, moment{k.random.IntN(k.files), k.random.IntN(5), out}, func() { p.Process.Kill() })
	if code == -1 {
		k.kills--
	}
	return code, code != -1
}

func TestARunThatIsKilledAtAnyTimeEndsAsIfItHadNotBeen(t *testing.T) {
	c := demoSources(t)
	k := &killer{corpus: c, random: torture.Random(t), kills: torture.Times(t, "PRETEXT_KILLS", 5, 1000), files: len(c.tree)}
	for round := 0; k.kills > 0 || round < 3; round++ { // each of the three kinds at least once
		out := t.TempDir()
		switch round % 3 {
		case 0:
			k.untilDone(t, out)
		case 1:
			k.overwriting(t, out)
		case 2:
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

// The stages that write examples are killed too.
func TestAStageThatIsKilledAtAnyTimeEndsAsIfItHadNotBeen(t *testing.T) {
	random := torture.Random(t)
	for _, w := range works(t) {
		t.Run(w.name, func(t *testing.T) {
			whole := w.whole(t)
			k := &killer{random: random, kills: torture.Times(t, "PRETEXT_KILLS", 5, 1000) / 5, files: len(whole.tree)}
			for !t.Failed() && k.kills > 0 {
				out := t.TempDir()
				w.killedTwice(t, k, out)
				w.finish(t, out, whole.tree, "killed")
			}
		})
	}
}

// killedTwice kills the work, and then the run that resumes it, unless one of them
// ends before.
func (w work) killedTwice(t *testing.T, k *killer, out string) {
	t.Helper()
	for range 2 {
		p := w.process(t, out)
		code, done := k.start(t, p, out)
		manifestsHold(t, out, "killed")
		noTemporary(t, "killed", p.temp)
		if done && code != 0 {
			t.Fatalf("exit code %d: %s", code, p.stderr.String())
		}
		if done {
			return
		}
	}
}

// untilDone starts the same command again until a run ends without being killed.
func (k *killer) untilDone(t *testing.T, out string, more ...string) {
	t.Helper()
	for attempt := 0; ; attempt++ {
		p := prepareData(t, append(k.corpus.run(out), more...)...)
		code, done := k.start(t, p, out)
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

// demo kills the command demo, which writes its sources itself.
func (k *killer) demo(t *testing.T, out string) {
	t.Helper()
	for done := false; !done; {
		var code int
		code, done = k.start(t, prepareData(t, "demo", "--quiet", "--out", out), out)
		manifestsHold(t, out, "demo")
		if done && code != 0 {
			t.Fatalf("demo: exit code %d", code)
		}
	}
	noTemporary(t, "demo", out)
	prepareData(t, "verify", out).succeed(t)
}

// overwriting kills a run that replaces the output of other options, which has more
// files. In between, the command is run without the flag --overwrite: it may be
// refused, and must be correct if it is not.
func (k *killer) overwriting(t *testing.T, out string) {
	t.Helper()
	if k.other == "" {
		k.other = t.TempDir()
		prepareData(t, append(k.corpus.run(k.other), "--shards=9", "--vocab-size=2500", "--min-characters=200")...).succeed(t)
	}
	if err := os.CopyFS(out, os.DirFS(k.other)); err != nil {
		t.Fatal(err)
	}
	for attempt := 0; ; attempt++ {
		args := k.corpus.run(out)
		overwrite := k.random.IntN(2) == 0
		if overwrite {
			args = append(args, "--overwrite")
		}
		p := prepareData(t, args...)
		code, done := k.start(t, p, out)
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
