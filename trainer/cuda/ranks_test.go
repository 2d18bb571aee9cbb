package cuda

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/internal/ranktest"
)

// compareRanks compares the results of ranks with those of one rank: got and want
// may differ by rounding, and the ranks in nothing.
func compareRanks(t *testing.T, got []rankResult, want rankResult, limit float64) {
	t.Helper()
	for name, w := range want.weights {
		if strings.HasSuffix(name, "key.bias") { // its true gradient is 0
			continue
		}
		if d := apart(got[0].weights[name], w); !(d <= limit) {
			t.Errorf("%s is apart by %.2g, allowed %.2g", name, d, limit)
		}
		for _, k := range []trainer.Kind{trainer.FirstMoment, trainer.SecondMoment} {
			if d := apart(got[0].saved[k][name], want.saved[k][name]); !(d <= 10*limit) {
				t.Errorf("%v of %s is apart by %.2g, allowed %.2g", k, name, d, 10*limit)
			}
		}
	}
	for r, one := range got {
		for name, w := range got[0].weights {
			if !slices.Equal(one.weights[name], w) {
				t.Errorf("rank %d has other bits of %s than rank 0", r, name)
			}
		}
		if !maps.EqualFunc(one.saved[trainer.Weights], got[0].weights, slices.Equal) && r == 0 {
			t.Error("the snapshot has other weights")
		}
		for step, info := range one.infos {
			w := want.infos[step]
			if !(math.Abs(info.Sums.Loss()/w.Sums.Loss()-1) <= limit) || !(math.Abs(info.GradNorm/w.GradNorm-1) <= limit) || info.Rate != w.Rate || info.Skipped != w.Skipped || info.Sums.Tokens != w.Sums.Tokens {
				t.Errorf("rank %d, step %d: %+v, want %+v", r, step, info, w)
			}
		}
	}
}

// TestRanksGiveTheWeightsOfOneRank trains in all ways to exchange gradients; a plain go
// test takes the first five.
func TestRanksGiveTheWeightsOfOneRank(t *testing.T) {
	cases := []struct {
		ranks     int
		transport Transport
		shard     bool
		optimizer trainer.OptimizerName
		precision trainer.Precision
	}{
		{2, TransportAuto, false, trainer.AdamW, trainer.Float32},
		{3, TransportAuto, true, trainer.LAMB, trainer.Float32},
		{2, TransportHost, true, trainer.AdamW, trainer.Float32},
		{1, TransportNCCL, true, trainer.AdamW, trainer.Float32},
		{2, TransportAuto, true, trainer.AdamW, trainer.BFloat16},
		{3, TransportAuto, true, trainer.AdamW, trainer.Float32},
		{2, TransportHost, true, trainer.LAMB, trainer.Float32},
		{3, TransportAuto, false, trainer.LAMB, trainer.Float32},
		{2, TransportAuto, true, trainer.LAMB, trainer.Float32},
		{3, TransportHost, false, trainer.AdamW, trainer.Float32},
		{3, TransportAuto, false, trainer.AdamW, trainer.BFloat16},
	}
	for _, c := range cases[:share(5, len(cases))] {
		t.Run(fmt.Sprintf("%d %s, divided %v, %s %s", c.ranks, c.transport, c.shard, c.optimizer, c.precision), func(t *testing.T) {
			t.Parallel()
			got := rankRun{ranks: c.ranks, transport: c.transport, shard: c.shard, optimizer: c.optimizer, precision: c.precision}.train(t)
			limit := 1e-5
			if c.precision == trainer.BFloat16 {
				limit = 1e-4
			}
			compareRanks(t, got, alone(t, c.optimizer, c.precision), limit)
		})
	}
}

// TestAnOverflowOnOneRankIsSkippedOnAll plants gradients that are not finite on rank
// 1 alone: no rank updates anything, and all have the same loss scale afterwards.
func TestAnOverflowOnOneRankIsSkippedOnAll(t *testing.T) {
	t.Parallel()
	cases := []struct {
		precision trainer.Precision
		transport Transport
		shard     bool
		optimizer trainer.OptimizerName
	}{
		{trainer.Float16, TransportAuto, true, trainer.AdamW}, {trainer.Float32, TransportHost, false, trainer.LAMB},
		{trainer.Float16, TransportAuto, false, trainer.LAMB}, {trainer.BFloat16, TransportAuto, true, trainer.LAMB}, {trainer.Float32, TransportHost, true, trainer.AdamW},
	}
	for _, c := range cases[:share(2, len(cases))] {
		q := rankRun{ranks: 2, transport: c.transport, shard: c.shard, optimizer: c.optimizer, precision: c.precision, infinite: 1, steps: [2]int{0, 2}}
		got := q.train(t)
		for r, one := range got {
			scale := 1.0
			if c.precision == trainer.Float16 {
				scale = firstLossScale / 2
			}
			if !one.infos[0].Skipped || one.infos[1].Skipped || one.state.Step != 1 || one.state.LossScale != scale {
				t.Errorf("%+v, rank %d: %+v, state %+v", c, r, one.infos, one.state)
			}
		}
		// The skipped step left no trace but the loss scale.
		q.infinite, q.steps = 0, [2]int{1, 2}
		want := q.train(t)[0]
		for name, w := range want.weights {
			if d := apart(got[0].weights[name], w); !(d <= 1e-5) && c.precision != trainer.Float16 { // another loss scale rounds otherwise
				t.Errorf("%+v: %s is apart by %.2g after a skipped step", c, name, d)
			}
		}
	}
}

// TestACheckpointResumesOnAnotherNumberOfRanks trains two steps on two ranks that
// divide the moments, and two more on others.
func TestACheckpointResumesOnAnotherNumberOfRanks(t *testing.T) {
	t.Parallel()
	whole := rankRun{ranks: 1, optimizer: trainer.LAMB, precision: trainer.Float32, steps: [2]int{0, 4}}.train(t)[0]
	from := rankRun{ranks: 2, shard: true, optimizer: trainer.LAMB, precision: trainer.Float32}.train(t)[0]
	others := []rankRun{{ranks: 1}, {ranks: 3, shard: true}, {ranks: 2, transport: TransportHost}, {ranks: 2, shard: true}}
	for _, q := range others[:share(2, len(others))] {
		q.optimizer, q.precision, q.from, q.steps = trainer.LAMB, trainer.Float32, &from, [2]int{2, 4}
		got := q.train(t)
		if got[0].state.Step != 4 {
			t.Errorf("state %+v after four steps", got[0].state)
		}
		want := whole
		want.infos = whole.infos[2:]
		compareRanks(t, got, want, 1e-5)
	}
}

// TestRanksWithoutNCCLUseHostMemory opens devices without a network on one rank.
func TestRanksWithoutNCCLUseHostMemory(t *testing.T) {
	t.Parallel()
	for _, transport := range []Transport{TransportAuto, TransportHost, TransportNCCL} {
		network := sim.NewNetwork()
		warnings, errs, made := make([][]string, 2), make([]error, 2), make([]int, 2)
		ranktest.Run(2, func(comm trainer.Comm) {
			r := comm.Rank()
			d := newCollecting(uint64(r), network)
			if r == 1 {
				d.GPU = sim.NewGPU(sim.Options{Seed: 1})
			}
			b := onDevice(d)
			b.Transport, b.Warn = transport, func(s string) { warnings[r] = append(warnings[r], s) }
			for range 2 {
				m, err := b.Open(rankConfig(), trainer.PretrainHeads(), trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: trainer.Float32, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: comm})
				if errs[r] = err; err != nil {
					return
				}
				_, errs[r] = rankRun{}.step(m, comm, 0)
				errs[r] = errors.Join(errs[r], m.Close())
			}
			made[r] = len(d.calls)
		})
		wantWarnings := map[Transport]int{TransportAuto: 1}[transport]
		if len(warnings[0]) != wantWarnings || len(warnings[1]) != wantWarnings || made[0]+made[1] > 0 {
			t.Errorf("%q: warnings %q, %d calls", transport, warnings, made)
		}
		const said = "1 of 2 ranks have no NCCL, so gradients are exchanged through host memory, which is slow"
		if wantWarnings == 1 && (warnings[0][0] != said || warnings[1][0] != said+"; rank 1: device unavailable: the simulated GPU has no network: set sim.Options.Network") {
			t.Errorf("warnings %q", warnings)
		}
		if transport != TransportNCCL && errors.Join(errs...) != nil || transport == TransportNCCL && (errs[0] == nil || !errors.Is(errs[1], trainer.ErrUnavailable)) {
			t.Errorf("%q: %v", transport, errs)
		}
	}
}

// TestDividedMomentsTakeTheirPartOfTheMemory compares the memory of BERT-base's
// parameters on a rank of eight with that of one rank.
func TestDividedMomentsTakeTheirPartOfTheMemory(t *testing.T) {
	c, err := trainer.Preset("base", 30522)
	if err != nil {
		t.Fatal(err)
	}
	h := trainer.PretrainHeads()
	size := func(o trainer.Options) (bytes, parameters int) {
		m := newModel(c, h, o, newShape(c, o, defaultLimits))
		return m.requests().size(), m.params.layout.Size
	}
	o := trainer.Options{Tokens: 4096, Sequences: 64, Masked: 600, Precision: trainer.BFloat16, Train: true, Comm: sized(8)}
	whole, n := size(o)
	o.ShardOptimizer = true
	divided, m := size(o)
	saved, want := whole-divided, 8*n*7/8
	if n != m || math.Abs(float64(saved-want)) > stagingBytes+1e6 { // a buffer for gathering, more parts
		t.Errorf("%d of %d bytes are saved, want %d", saved, whole, want)
	}
	o.Comm = sized(1)
	if alone, _ := size(o); math.Abs(float64(whole-alone)) > 1e6 {
		t.Errorf("one rank needs %d bytes, eight that do not divide need %d each", alone, whole)
	}
}
