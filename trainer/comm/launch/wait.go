package launch

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"pretext/internal/failure"
)

// waitNotes is the time between two log lines while Run waits for a checkpoint.
const waitNotes = 30 * time.Second

// A waiting is the state of [launcher.wait].
type waiting struct {
	*launcher
	exitCode    int         // of the first rank that failed; 0: none has
	bySignal    bool        // whether a signal ended it
	failed      time.Time   // time of this failure
	ranks       []rankState // by rank
	left        int         // ranks that have not ended
	rank0Failed bool
	noted       time.Time // time of the last call of note that wrote a line
}

// A rankState is the state of a rank, from its reports and its process.
type rankState struct {
	ended, killed bool // killed by this process
	saving        bool
	save          Save
	heard         time.Time // time of its last progress
}

// wait waits until all ranks have ended and returns the exit code of the first rank that
// failed; 0 if none did.
func (l *launcher) wait(ctx context.Context) (exitCode int) {
	w := waiting{launcher: l, ranks: make([]rankState, len(l.ranks)), left: len(l.ranks)}
	defer func() { l.output.flush(w.rank0Failed) }()
	done := ctx.Done()
	tick := time.NewTicker(l.grace / 20)
	defer tick.Stop()
	for w.left > 0 {
		select {
		case e := <-l.ends:
			w.end(e)
		case s := <-l.saves:
			w.heard(s)
		case <-done:
			done = nil
			l.signal(syscall.SIGTERM)
		case <-tick.C:
			w.look()
		}
	}
	return w.exitCode
}

// end records that a rank has ended, and its exit code.
func (w *waiting) end(e end) {
	w.left--
	w.output.end(e.rank)
	r := &w.ranks[e.rank]
	r.ended = true
	w.rank0Failed = w.rank0Failed || e.rank == 0 && e.err != nil
	code, s := codeOf(e.err), signalOf(e.err)
	switch {
	case code == 0:
		return
	case w.exitCode == 0:
		w.exitCode, w.bySignal, w.failed = code, s != 0, time.Now()
	case w.exitCode == failure.ExitInterrupted && code != failure.ExitNetwork:
		w.exitCode = code // for example, the disk was full at rank 0's last checkpoint
	case w.exitCode == failure.ExitNetwork && !w.bySignal && code != failure.ExitInterrupted && s == 0:
		w.exitCode = code // the failure of this rank can be why the other lost its connection
	}
	if s != 0 {
		fmt.Fprintf(w.Stderr, "rank %d ended by signal: %v\n", e.rank, s)
	}
}

// heard records a progress report of a rank.
func (w *waiting) heard(s rankSave) {
	r := &w.ranks[s.rank]
	if r.saving != !s.Done || r.save != s.Save {
		r.heard = time.Now()
	}
	r.saving, r.save = !s.Done, s.Save
}

// look kills, once a rank has failed, all ranks that have exceeded their time limit: grace
// or, while writing a checkpoint, patience.
func (w *waiting) look() {
	if w.exitCode == 0 {
		return
	}
	for n := range w.ranks {
		r := &w.ranks[n]
		if r.ended || r.killed {
			continue
		}
		limit, since := w.grace, w.failed
		if r.heard.After(since) {
			since = r.heard
		}
		if r.saving {
			limit = w.patience
			w.note(n)
		}
		if time.Since(since) < limit {
			continue
		}
		if r.killed = true; r.saving {
			fmt.Fprintf(w.Stderr, "rank %d has written nothing of its checkpoint for %v: it is killed\n", n, limit)
		}
		w.launcher.ranks[n].Process.Kill()
	}
}

// note logs, at most once per waitNotes, that Run waits for the checkpoint of a rank.
func (w *waiting) note(rank int) {
	if time.Since(w.failed) < w.grace/10 || time.Since(w.noted) < waitNotes {
		return
	}
	w.noted = time.Now()
	s := w.ranks[rank].save
	fmt.Fprintf(w.Stderr, "waiting for rank %d, which is writing a checkpoint: %.1f of %.1f MB; another Ctrl-C ends the run without it\n", rank, float64(s.Written)/1e6, float64(s.Total)/1e6)
}
