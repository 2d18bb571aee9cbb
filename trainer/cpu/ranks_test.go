package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"pretext/internal/dev/torture"
	"pretext/trainer"
	"pretext/trainer/comm"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/internal/ranktest"
)

// trainRanks runs trainRank on n ranks and returns the results by rank.
func trainRanks[T kernel.Float](t *testing.T, n int, p trainer.Precision, s rankSetting) [][]T {
	got := make([][]T, n)
	run := ranktest.Run
	if s.tcp {
		run = func(n int, f func(trainer.Comm)) { overTCP(t, n, f) }
	}
	run(n, func(comm trainer.Comm) {
		s := s
		s.comm = comm
		got[comm.Rank()] = trainRank[T](t, p, s)
	})
	return got
}

// overTCP runs f on n ranks that are connected as processes are.
func overTCP(t testing.TB, n int, f func(trainer.Comm)) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	var wg sync.WaitGroup
	for r := range n {
		wg.Go(func() {
			g, err := comm.Join(context.Background(), comm.Options{Rank: r, Ranks: n, Host: "127.0.0.1", Port: port, Wait: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			defer g.Close()
			f(g)
		})
	}
	wg.Wait()
}

// checkRanks compares the weights of 2, 3 and 4 ranks, with or without ShardOptimizer
// in turns (a full run: both), and the moments of their checkpoints, with those of one
// rank.
func checkRanks[T kernel.Float](t *testing.T, p trainer.Precision, steps int, tcp bool, tolerance float64) {
	for i, opt := range []trainer.OptimizerName{trainer.AdamW, trainer.LAMB, trainer.StableAdamW} {
		s := rankSetting{opt: opt, modern: opt == trainer.StableAdamW, back: Backend{Threads: 1}, comm: trainer.Alone{}, steps: steps, overlap: true, tcp: tcp}
		want := trainRank[T](t, p, s)
		n := len(want) / 3 // parameters
		for _, ranks := range []int{2, 3, 4} {
			for k, shard := range []bool{false, true} {
				if !torture.Full() && (i+ranks+k)%2 == 0 {
					continue
				}
				s.shard = shard
				name := fmt.Sprintf("%s, %d ranks, shard %v", opt, ranks, s.shard)
				got := trainRanks[T](t, ranks, p, s)
				for k, kind := range []string{"weights", "first moments", "second moments"} {
					if d := relative(got[0][k*n:(k+1)*n], want[k*n:(k+1)*n]); !(d <= tolerance) {
						t.Errorf("%s: %s apart by %.3g", name, kind, d)
					}
				}
				for r := range ranks {
					if !slices.Equal(got[r][:n], got[0][:n]) {
						t.Errorf("%s: rank %d has other weights than rank 0", name, r)
					}
				}
			}
		}
	}
}

func TestRanksGiveTheWeightsOfOneRank(t *testing.T) {
	checkRanks[float64](t, trainer.Float64, 3, false, 1e-12)
	checkRanks[float64](t, trainer.Float64, 3, true, 1e-12)
}

func TestRanksGiveTheWeightsOfOneRankInSinglePrecision(t *testing.T) {
	checkRanks[float32](t, trainer.Float32, 20, true, otherOrder)
}

// Reductions beside the backward pass give the bits of reductions after it.
func TestOverlapDoesNotChangeABit(t *testing.T) {
	for _, shard := range []bool{false, true} {
		s := rankSetting{opt: trainer.LAMB, back: Backend{Threads: 2}, steps: 3, shard: shard}
		after := trainRanks[float32](t, 3, trainer.Float32, s)
		s.overlap = true
		beside := trainRanks[float32](t, 3, trainer.Float32, s)
		for r := range after {
			if !slices.Equal(after[r], beside[r]) {
				t.Errorf("shard %v: rank %d has other weights with overlap", shard, r)
			}
		}
	}
}

// A recorder is a Comm that notes the calls made on it.
type recorder struct {
	trainer.Comm
	mu       sync.Mutex
	calls    []string
	values   map[string]int // by operation: the number of values passed
	begun    sync.Cond      // signalled when reductions grows
	scatters int            // reduce-scatters begun
}

func newRecorder(c trainer.Comm) *recorder {
	r := &recorder{Comm: c, values: map[string]int{}}
	r.begun.L = &r.mu
	return r
}

func (r *recorder) note(operation string, n int, bounds []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprint(operation, n, bounds))
	r.values[operation] += n
	if operation == "reduce-scatter" {
		r.scatters++
		r.begun.Broadcast()
	}
}

func (r *recorder) AllReduce(x []float64) error {
	r.note("all-reduce", len(x), nil)
	return r.Comm.AllReduce(x)
}

func (r *recorder) ReduceScatter(x trainer.Values, bounds []int) error {
	r.note("reduce-scatter", bounds[len(bounds)-1], bounds)
	return r.Comm.ReduceScatter(x, bounds)
}

func (r *recorder) AllGather(x trainer.Values, bounds []int) error {
	r.note("all-gather", bounds[len(bounds)-1], bounds)
	return r.Comm.AllGather(x, bounds)
}

// await waits until n reduce-scatters have begun, and returns false if they have
// not after 20 seconds.
func (r *recorder) await(n int) bool {
	timeout := false
	defer time.AfterFunc(20*time.Second, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		timeout = true
		r.begun.Broadcast()
	}).Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.scatters < n && !timeout {
		r.begun.Wait()
	}
	return r.scatters >= n
}

// The backward pass of a layer does not continue in this test before the
// reduction of the layer above it has begun.
func TestALayerIsReducedDuringTheBackwardPassOfTheNext(t *testing.T) {
	c := smallConfig(trainer.GELUNew)
	c.Layers = 4
	b := ragged(rand.New(rand.NewPCG(3, 5)), c, 9, 17, 5)
	ranktest.Run(2, func(comm trainer.Comm) {
		calls := newRecorder(comm)
		o := limitsOf(b, trainer.Float32)
		o.Comm = calls
		m := openRandom[float32](t, c, trainer.PretrainHeads(), o, Backend{Threads: 1, ISA: "plain"})
		set, grad := *m.encoder.set, m.encoder.set.NormGrad
		set.NormGrad = func(dx, dy, xhat, gain []float32, scale float32) {
			for i := range m.encoder.p.Layers {
				if &gain[0] == &m.encoder.p.Layers[i].Norm1.gain[0] && !calls.await(c.Layers-i) { // the heads and all layers above i
					t.Errorf("rank %d: the backward pass of layer %d came before the reduction of what is above it", comm.Rank(), i)
				}
			}
			grad(dx, dy, xhat, gain, scale)
		}
		m.encoder.compute.set = &set
		if err := m.Accumulate(b, b.Counts(m.h).Coef(), true); err != nil {
			t.Error(err)
		}
		if err := m.Accumulate(b, b.Counts(m.h).Coef(), true); err == nil {
			t.Error("a micro-batch was accepted after the last one")
		}
		if _, err := m.Snapshot(); err == nil {
			t.Error("a snapshot was taken while gradients were summed")
		}
		for _, err := range m.Tensors(trainer.Gradients) {
			if err == nil {
				t.Error("gradients were read while they were summed")
			}
			break
		}
		if _, err := m.Apply(steady(1e-3)); err != nil {
			t.Error(err)
		}
		if want := c.Layers + 2; calls.scatters != want {
			t.Errorf("rank %d: %d reductions, want %d", comm.Rank(), calls.scatters, want)
		}
	})
}

// All ranks make the same calls, also one without a micro-batch, and they pass
// each gradient once to a reduce-scatter, and once to an all-gather the gradient
// or, with ShardOptimizer, the weight.
func TestRanksMakeTheSameCalls(t *testing.T) {
	tensors := len(trainer.Tensors(smallConfig(trainer.GELUNew), trainer.PretrainHeads()))
	for _, shard := range []bool{false, true} {
		for opt, norms := range map[trainer.OptimizerName]int{trainer.AdamW: 0, trainer.LAMB: 2 * tensors, trainer.StableAdamW: 2 * tensors} {
			const ranks, steps = 4, 2
			var all [ranks]*recorder
			parameters := 0
			ranktest.Run(ranks, func(comm trainer.Comm) {
				all[comm.Rank()] = newRecorder(comm)
				w := trainRank[float32](t, trainer.Float32, rankSetting{opt: opt, back: Backend{Threads: 1}, comm: all[comm.Rank()], steps: steps, shard: shard, overlap: true})
				if comm.Rank() == 0 {
					parameters = len(w) / 3
				}
			})
			for r := 1; r < ranks; r++ {
				if !slices.Equal(all[r].calls, all[0].calls) {
					t.Errorf("shard %v: rank %d made the calls %q, rank 0 %q", shard, r, all[r].calls, all[0].calls)
				}
			}
			gathers, sums := steps*parameters, 11*steps
			if shard {
				gathers += 2 * parameters // the moments, for the snapshot
				sums += steps * (1 + norms)
			}
			want := map[string]int{"reduce-scatter": steps * parameters, "all-gather": gathers, "all-reduce": sums}
			if fmt.Sprint(all[0].values) != fmt.Sprint(want) {
				t.Errorf("shard %v, %s: passed %v values, want %v", shard, opt, all[0].values, want)
			}
		}
	}
}

// With ShardOptimizer a rank has its part of the moments only; what is loaded
// comes back whole in rank 0's snapshot.
func TestMomentsAreDivided(t *testing.T) {
	c, h := smallConfig(trainer.GELUNew), trainer.PretrainHeads()
	b := ragged(rand.New(rand.NewPCG(3, 5)), c, 9, 17, 5)
	const ranks = 4
	var sizes [ranks]int
	total, buckets := 0, 0
	ranktest.Run(ranks, func(comm trainer.Comm) {
		o := limitsOf(b, trainer.Float32)
		o.Comm, o.ShardOptimizer = comm, true
		m := openRandom[float32](t, c, h, o, Backend{Threads: 1})
		want := map[string][]float32{}
		for _, kind := range []trainer.Kind{trainer.FirstMoment, trainer.SecondMoment} {
			report, err := m.Load(kind, func(yield func(trainer.Tensor, error) bool) {
				for w := range trainer.InitialWeights(c, h, 7+uint64(kind)) {
					want[kind.String()+w.Name] = slices.Clone(w.Data)
					if !yield(w, nil) {
						return
					}
				}
			})
			if err != nil || report.Complete() != nil {
				t.Error(err, report)
			}
		}
		for _, err := range m.Tensors(trainer.FirstMoment) {
			if err == nil {
				t.Error("a rank yields whole moments, of which it has a part")
			}
			break
		}
		sizes[comm.Rank()] = cap(m.params.m)
		if cap(m.params.v) != cap(m.params.m) {
			t.Errorf("%d and %d moments", cap(m.params.m), cap(m.params.v))
		}
		s, err := m.Snapshot()
		if err != nil {
			t.Error(err)
			return
		}
		if comm.Rank() != 0 {
			return
		}
		total, buckets = m.params.layout.Size, len(m.ranks.buckets)
		for _, kind := range []trainer.Kind{trainer.FirstMoment, trainer.SecondMoment} {
			for x, err := range s.Tensors(kind) {
				if err != nil || !slices.Equal(x.Data, want[kind.String()+x.Name]) {
					t.Errorf("%v of %s: other values than were loaded (%v)", kind, x.Name, err)
				}
			}
		}
	})
	sum := 0
	for r, n := range sizes {
		if sum += n; n > total/ranks+buckets {
			t.Errorf("rank %d has %d of %d moments, more than its fourth", r, n, total)
		}
	}
	if sum != total {
		t.Errorf("ranks have %d moments, want %d", sum, total)
	}
}
