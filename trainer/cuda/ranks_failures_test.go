package cuda

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"pretext/trainer"
	"pretext/trainer/comm"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/internal/ranktest"
)

// joined runs f on ranks that are connected over TCP, as processes are. What f
// returns aborts the run, as the command does.
func joined(t *testing.T, n int, f func(g *comm.Group) error) []error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	errs := make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() {
			g, err := comm.Join(t.Context(), comm.Options{Rank: r, Ranks: n, Host: "127.0.0.1", Port: port, Local: true})
			if err == nil {
				err = f(g)
				g.Abort(err)
				err = errors.Join(err, g.Close())
			}
			errs[r] = err
		})
	}
	all.Wait()
	return errs
}

// TestAFailedRankEndsTheOthers fails rank 1 at one place after the other: rank 0 gets
// an error that names rank 1 and its reason, and nobody waits.
func TestAFailedRankEndsTheOthers(t *testing.T) {
	t.Parallel()
	broken := errors.New("the data is corrupt")
	network := sim.NewNetwork() // waits a minute for a rank
	q := rankRun{optimizer: trainer.AdamW, precision: trainer.Float32}
	for name, fail := range map[string]func(g *comm.Group) error{
		"before the devices connect": func(g *comm.Group) error { return broken },
		"instead of connecting": func(g *comm.Group) error {
			// The calls of model.connect, but for the last one.
			return errors.Join(g.AllReduce([]float64{0}), g.Broadcast(make([]byte, device.UniqueIDBytes), 0), broken)
		},
		"before its first collective": func(g *comm.Group) error {
			d := newCollecting(2, network)
			d.fail = broken
			return q.firstStep(g, d)
		},
		"before it applies": func(g *comm.Group) error {
			b := onDevice(newCollecting(2, network))
			m, err := b.Open(rankConfig(), trainer.PretrainHeads(), trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: trainer.Float32, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: g})
			if err != nil {
				return err
			}
			time.Sleep(100 * time.Millisecond) // rank 0's device waits
			return errors.Join(broken, m.Close())
		},
	} {
		begin := time.Now()
		errs := joined(t, 2, func(g *comm.Group) error {
			if g.Rank() == 1 {
				return fail(g)
			}
			return q.firstStep(g, newCollecting(1, network))
		})
		var lost *comm.RankError
		if !errors.As(errs[0], &lost) || lost.Rank != 1 || !strings.Contains(lost.Reason, broken.Error()) {
			t.Errorf("%s: rank 0 got %v", name, errs[0])
		}
		if !errors.Is(errs[1], broken) {
			t.Errorf("%s: rank 1 got %v", name, errs[1])
		}
		if text := errs[0].Error(); strings.Contains(text, "\n") {
			t.Errorf("%s: rank 0 got more than one line: %q", name, text)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

// TestAFailedCollectiveEndsTheWait has rank 0's queued collectives fail, as when a
// network card does, while rank 1 makes no calls and no rank is lost.
func TestAFailedCollectiveEndsTheWait(t *testing.T) {
	t.Parallel()
	broken, network, done := &device.Error{Call: "ncclCommGetAsyncError", Code: 6, Name: "ncclRemoteError"}, sim.NewNetwork(), make(chan struct{})
	errs := joined(t, 2, func(g *comm.Group) error {
		d := newCollecting(uint64(g.Rank()), network)
		if g.Rank() == 0 {
			defer close(done)
			d.async = broken
			return rankRun{optimizer: trainer.AdamW, precision: trainer.Float32}.firstStep(g, d)
		}
		m, err := onDevice(d).Open(rankConfig(), trainer.PretrainHeads(), trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: trainer.Float32, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: g})
		<-done
		return errors.Join(err, m.Close())
	})
	if !errors.Is(errs[0], broken) || strings.Contains(errs[0].Error(), "\n") {
		t.Errorf("rank 0 got %v", errs[0])
	}
}

// TestAModelClosesInAnUnfinishedStep closes a model whose collectives the other rank
// never makes.
func TestAModelClosesInAnUnfinishedStep(t *testing.T) {
	t.Parallel()
	network, done := sim.NewNetwork(), make(chan struct{})
	begin := time.Now()
	ranktest.Run(2, func(comm trainer.Comm) {
		m, err := onDevice(newCollecting(uint64(comm.Rank()), network)).Open(rankConfig(), trainer.PretrainHeads(), trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: trainer.Float32, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: comm})
		if err != nil {
			t.Error(err)
			return
		}
		if comm.Rank() == 1 {
			<-done
			m.Close()
			return
		}
		defer close(done)
		if err := m.Accumulate(microBatches(0)[0], trainer.Coef{MLM: 1}, true); err != nil {
			t.Error(err)
		}
		m.Close() // its error is that the collectives were aborted
	})
	if took := time.Since(begin); took > 40*time.Second { // the network waits a minute for a rank
		t.Errorf("took %v", took)
	}
}
