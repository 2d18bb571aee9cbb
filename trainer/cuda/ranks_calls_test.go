package cuda

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/comm"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/internal/ranktest"
)

// TestCallsOfRanksAreThoseOfTheory checks what each rank queues: every bucket once a
// step, from the heads to the embeddings, in a stream of its own, while the backward
// pass goes on; a rank without a micro-batch makes the same calls.
func TestCallsOfRanksAreThoseOfTheory(t *testing.T) {
	t.Parallel()
	for _, shard := range []bool{false, true} {
		results := rankRun{ranks: 3, shard: shard, optimizer: trainer.LAMB, precision: trainer.Float32}.train(t)
		o := trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Train: true, Comm: sized(3), ShardOptimizer: shard}
		l := newLayout(rankConfig(), trainer.PretrainHeads(), newShape(rankConfig(), o, defaultLimits))
		parameters, padding := 0, 0
		for _, s := range l.Specs {
			parameters += s.Size()
		}
		for _, b := range l.Buckets {
			padding += b.N
		}
		if padding -= parameters; padding < 0 || padding > len(l.Specs)*64+len(l.Buckets)*64*3+64*61 || len(l.Buckets) != 4 {
			t.Errorf("%d buckets hold %d elements more than %d parameters", len(l.Buckets), padding, parameters)
		}
		parts, _ := l.parts()
		for r, one := range results {
			want := wantCalls(l, r, len(parts), 2)
			d, moments := one.device, 0
			if shard {
				moments = 2 * momentCalls(l)
			}
			if len(one.calls) != len(want) || len(d.calls) != len(want)+moments {
				t.Fatalf("rank %d made %d calls, and %d with the snapshot, want %d and %d", r, len(one.calls), len(d.calls), len(want), len(want)+moments)
			}
			for i, c := range one.calls {
				if got := kinds(c.list); got != want[i] {
					t.Errorf("rank %d, call %d: %s, want %s", r, i, got, want[i])
				}
				if c.stream != d.streams[2] {
					t.Errorf("rank %d, call %d is in stream %d, want %d", r, i, c.stream, d.streams[2])
				}
			}
			// Between the buckets of a step the backward pass queues kernels, but on
			// rank 2, which has no micro-batch in step 1, nothing.
			each := len(want) / 2
			for step := range 2 {
				for i := range len(l.Buckets) - 1 {
					between := d.calls[step*each+i+1].launches - d.calls[step*each+i].launches
					if none := r == 2 && step == 1; none != (between == 0) {
						t.Errorf("rank %d, step %d: %d kernels between the buckets %d and %d", r, step, between, i, i+1)
					}
				}
			}
		}
	}
}

// sized is a Comm that only has a size.
type sized int

func (n sized) Rank() int                                 { return 0 }
func (n sized) Size() int                                 { return int(n) }
func (n sized) AllReduce([]float64) error                 { return nil }
func (n sized) ReduceScatter(trainer.Values, []int) error { return nil }
func (n sized) AllGather(trainer.Values, []int) error     { return nil }
func (n sized) Broadcast([]byte, int) error               { return nil }

// kinds describes collectives by kind, elements, and place.
func kinds(list []device.Collective) string {
	s := ""
	for _, c := range list {
		s += fmt.Sprintf("%s of %d, %d bytes on; ", c.Kind, c.N, int64(c.Receive)-int64(c.Send))
	}
	return s
}

// momentCalls returns the number of calls that gather one moment.
func momentCalls(l layout) int {
	n := 0
	for _, b := range l.Buckets {
		n += blocks(b.N/l.ranks, l.gather)
	}
	return n
}

// wantCalls returns the calls of a rank in a number of steps with LAMB.
func wantCalls(l layout, rank, parts, steps int) []string {
	var all []string
	for range steps {
		for i := len(l.Buckets) - 1; i >= 0; i-- {
			b := l.Buckets[i]
			if l.sharded {
				each := b.N / l.ranks
				all = append(all, fmt.Sprintf("reduce-scatter of %d, %d bytes on; ", each, 4*rank*each))
			} else {
				all = append(all, fmt.Sprintf("all-reduce of %d, 0 bytes on; ", b.N))
			}
		}
		if !l.sharded {
			continue
		}
		gathered := ""
		for _, b := range l.Buckets {
			each := b.N / l.ranks
			gathered += fmt.Sprintf("all-gather of %d, %d bytes on; ", each, -4*rank*each)
		}
		all = append(all, fmt.Sprintf("all-reduce of %d, 0 bytes on; ", parts), fmt.Sprintf("all-reduce of %d, 0 bytes on; ", 2*parts), gathered)
	}
	return all
}

// TestAMissingEventOfRanksIsSeen leaves out one wait at a time: the simulator sees
// that gradients are summed before they are there, or used before they are summed.
func TestAMissingEventOfRanksIsSeen(t *testing.T) {
	t.Parallel()
	for _, skip := range []string{"ready", "done"} {
		for _, shard := range []bool{false, true} {
			network := sim.NewNetwork()
			errs := joined(t, 2, func(g *comm.Group) error {
				d := newCollecting(uint64(g.Rank()), network)
				d.skip = skip
				return rankRun{shard: shard, optimizer: trainer.AdamW, precision: trainer.Float32}.firstStep(g, d)
			})
			seen := false
			for _, err := range errs {
				// Never written: what is to be summed was not even computed once.
				seen = seen || sim.IsFault(err, sim.RaceInStreams) || sim.IsFault(err, sim.Unwritten)
			}
			if !seen || errs[0] == nil || errs[1] == nil {
				t.Errorf("without the wait %q, divided %v: %v", skip, shard, errs)
			}
		}
	}
}

// firstStep takes one step and leaves the model as it is.
func (q rankRun) firstStep(comm trainer.Comm, d *collecting) error {
	c, h := rankConfig(), trainer.PretrainHeads()
	b := onDevice(d)
	b.Transport = q.transport
	m, err := b.Open(c, h, trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: q.precision, Train: true, Optimizer: trainer.DefaultOptimizer(q.optimizer), Comm: comm, ShardOptimizer: q.shard})
	if err != nil {
		return err
	}
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 5)); err != nil {
		return err
	}
	_, err = q.step(m, comm, 0)
	return errors.Join(err, m.Close()) // which does not repeat err
}

// TestGradientsThatAreBeingSummedAreNotUsed calls methods between the last
// micro-batch of a step and Apply.
func TestGradientsThatAreBeingSummedAreNotUsed(t *testing.T) {
	t.Parallel()
	ranktest.Run(1, func(comm trainer.Comm) {
		b := onDevice(newCollecting(1, sim.NewNetwork()))
		b.Transport = TransportNCCL
		m, err := b.Open(rankConfig(), trainer.PretrainHeads(), trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: trainer.Float32, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: comm, ShardOptimizer: true})
		if err != nil {
			t.Fatal(err)
		}
		batch := microBatches(0)[0]
		if err := m.Accumulate(batch, trainer.Coef{MLM: 1}, true); err != nil {
			t.Fatal(err)
		}
		_, snapshot := m.Snapshot()
		var read error
		for _, read = range m.Tensors(trainer.Gradients) {
			break
		}
		for what, err := range map[string]error{"accumulated": m.Accumulate(batch, trainer.Coef{MLM: 1}, true), "read": read, "kept": snapshot} {
			if !errors.Is(err, errReducing) {
				t.Errorf("gradients are %s: %v", what, err)
			}
		}
		for _, err := range m.Tensors(trainer.FirstMoment) {
			if err == nil || !strings.Contains(err.Error(), "take a Snapshot") {
				t.Errorf("moments of all ranks were read on one: %v", err)
			}
		}
		if err := m.Close(); err != nil { // although its step did not end
			t.Log(err)
		}
	})
}
