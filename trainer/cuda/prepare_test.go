package cuda

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
)

// A diary notes what the host does with a device: "pack" for a batch that it sends, "work"
// for kernels between two other notes, "update" for the optimizer, and "wait" when it waits
// for the device.
type diary struct {
	*sim.GPU
	notes  []string
	update device.Function // begin_update
}

func (d *diary) note(s string) {
	if n := len(d.notes); n == 0 || d.notes[n-1] != s {
		d.notes = append(d.notes, s)
	}
}

func (d *diary) Function(m device.Module, name string) (device.Function, device.Limits, error) {
	f, n, err := d.GPU.Function(m, name)
	if name == "begin_update" {
		d.update = f
	}
	return f, n, err
}

func (d *diary) Launch(s device.Stream, f device.Function, c device.Config, args []byte) error {
	switch {
	case f == d.update:
		d.note("update")
	case len(d.notes) == 0 || d.notes[len(d.notes)-1] != "update":
		d.note("work")
	}
	return d.GPU.Launch(s, f, c, args)
}

func (d *diary) ToDevice(s device.Stream, to device.Pointer, b []byte) error {
	d.note("pack")
	return d.GPU.ToDevice(s, to, b)
}

func (d *diary) Sync() error {
	d.note("wait")
	return d.GPU.Sync()
}

// pairs is a source of two micro-batches a step, the first of which is always in the same
// memory, as that of a loader is.
type pairs struct {
	c    trainer.Config
	now  trainer.Batch
	next int64 // position of the step that is to be read: each is read once
	t    *testing.T
}

func (s *pairs) of(position int64) []*trainer.Batch {
	rng := rand.New(rand.NewPCG(uint64(position), 1))
	return []*trainer.Batch{ragged(rng, s.c, 5, 11, 2), ragged(rng, s.c, 3, 9)}
}

func (s *pairs) Step(position int64, sequences int) (trainer.Share, error) {
	if position != s.next {
		s.t.Errorf("the step at %d was read, want that at %d", position, s.next)
	}
	s.next += int64(sequences)
	batches := s.of(position)
	share := trainer.Share{MicroBatches: len(batches), Batches: func(yield func(*trainer.Batch, error) bool) {
		for _, b := range batches {
			s.now = *b
			if !yield(&s.now, nil) {
				return
			}
		}
	}}
	for _, b := range batches {
		share.Counts = share.Counts.Add(b.Counts(trainer.PretrainHeads()))
	}
	return share, nil
}

// TestTheNextBatchIsPackedWhileTheDeviceComputes takes five steps of two micro-batches in the
// loop, with an evaluation in the second, and the same by hand without Prepare. The host packs
// the first batch of a step before it waits for the step before. The weights have the same
// bits.
func TestTheNextBatchIsPackedWhileTheDeviceComputes(t *testing.T) {
	t.Parallel()
	c, h := smallConfig(64, 1, trainer.GELUNew), trainer.PretrainHeads()
	o := trainer.Options{Tokens: 32, Sequences: 3, Masked: 20, Precision: trainer.BFloat16, Train: true, Seed: 9, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Deterministic: true}
	open := func(d device.Device) trainer.Model {
		m, err := onDevice(d).Open(c, h, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 5)); err != nil {
			t.Fatal(err)
		}
		return m
	}
	const stepCount = 5
	schedule := trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: stepCount}
	gpu := &diary{GPU: sim.NewGPU(sim.Options{Seed: 1})}
	loop := trainer.Loop{Model: open(gpu), Heads: h, Source: &pairs{c: c, t: t}, Schedule: schedule, Batch: 5}
	loop.Observe = func(r trainer.Report) error {
		for i := 0; i < 3 && r.Progress.Step == 2; i++ { // more batches than there are slots
			if _, err := loop.Model.Forward(ragged(rand.New(rand.NewPCG(7, 7)), c, 8, 4), nil); err != nil {
				return err
			}
		}
		gpu.note("observed")
		return nil
	}
	gpu.notes = nil
	if _, err := trainer.Train(context.Background(), loop); err != nil {
		t.Fatal(err)
	}
	plain := []string{"work", "pack", "work", "pack", "work", "update", "wait", "observed"}
	evaluated := []string{"work", "pack", "work", "pack", "work", "update", "wait", "pack", "work", "pack", "work", "pack", "work", "observed"}
	again := append([]string{"pack"}, plain...) // the evaluation needed the memory of the batch
	last := slices.Delete(slices.Clone(plain), 3, 5)
	want := slices.Concat([]string{"pack"}, plain, evaluated, again, plain, last)
	if got := strings.Join(gpu.notes, " "); got != strings.Join(want, " ") {
		t.Errorf("the host does\n%s, want\n%s", got, strings.Join(want, " "))
	}

	other := open(sim.NewGPU(sim.Options{Seed: 2}))
	source := pairs{c: c, t: t}
	for step := range int64(stepCount) {
		share, err := source.Step(5*step, 5)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range source.of(5 * step) {
			if err := other.Accumulate(b, share.Counts.Coef(), i == 1); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := other.Apply(schedule); err != nil {
			t.Fatal(err)
		}
	}
	hand := values(t, other, trainer.Weights)
	for name, w := range values(t, loop.Model, trainer.Weights) {
		if !slices.Equal(w, hand[name]) {
			t.Errorf("%s differs by %.2g from that of the same steps by hand", name, apart(w, hand[name]))
		}
	}
}
