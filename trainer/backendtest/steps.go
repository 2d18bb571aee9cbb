package backendtest

import (
	"math"
	"sync"
	"testing"

	"pretext/trainer"
	"pretext/trainer/internal/ranktest"
)

func (s Suite) updates(t *testing.T, c setting, o trainer.OptimizerName) {
	got, want := s.model(t, c, o), c.reference(t, o)
	start := tensors(t, want, trainer.Weights)
	next := c.batch(10)
	for step := range uint64(3) {
		b := next
		next = c.batch(10 + step + 1)
		if step == 1 { // another batch than the one announced
			b = c.batch(11)
		}
		c.accumulate(t, got, b)
		c.accumulate(t, want, b)
		got.Prepare(next)
		g, w := apply(t, got, schedule()), apply(t, want, schedule())
		if g.Rate != w.Rate || g.Skipped || !near(g.GradNorm, w.GradNorm, 10*s.Tolerance.Loss) {
			t.Errorf("step %d: %+v, want %+v", step, g, w)
		}
		moved := s
		if step == 2 { // the first learning rate is 0, so the weights can differ from here on
			moved.Tolerance.Loss *= 3
		}
		moved.sameSums(t, c, g.Sums, w.Sums)
	}
	compareMovement(t, tensors(t, got, trainer.Weights), tensors(t, want, trainer.Weights), start, s.Tolerance.Movement)
	compareChanges(t, tensors(t, got, trainer.FirstMoment), tensors(t, want, trainer.FirstMoment), 2*s.Tolerance.Gradient)
	compareChanges(t, tensors(t, got, trainer.SecondMoment), tensors(t, want, trainer.SecondMoment), 4*s.Tolerance.Gradient)
	if got.State().Step != 3 {
		t.Errorf("state %+v after 3 steps", got.State())
	}
}

// overflow causes gradients that are not finite. It checks that the step is skipped,
// that the loss scale is halved in fp16, and that the next step is the same as in a
// model without an overflow.
func (s Suite) overflow(t *testing.T, c setting) {
	m, want := s.model(t, c, trainer.AdamW), c.reference(t, trainer.AdamW)
	bad, good := c.batch(20), c.batch(21)
	for range 2 { // two normal steps, so that moments and counters are not zero
		c.accumulate(t, m, good)
		c.accumulate(t, want, good)
		apply(t, m, schedule())
		apply(t, want, schedule())
	}
	coefs := []trainer.Coef{{MLM: math.Inf(1), NSP: 1}}
	if s.Precision == trainer.Float16 {
		coefs = append(coefs, trainer.Coef{MLM: 1e9, NSP: 1e9}) // gradients are finite in fp32 but not in fp16
	}
	for _, coef := range coefs {
		s.skipped(t, m, func() error { return m.Accumulate(bad, coef, true) })
	}
	start := tensors(t, m, trainer.Weights)
	c.accumulate(t, m, good)
	c.accumulate(t, want, good)
	from := tensors(t, want, trainer.Weights)
	g, w := apply(t, m, schedule()), apply(t, want, schedule())
	if g.Skipped || g.Rate != w.Rate || !near(g.GradNorm, w.GradNorm, 20*s.Tolerance.Loss) || g.Sums.MLMWeight != w.Sums.MLMWeight {
		t.Errorf("the step after an overflow: %+v, want %+v", g, w)
	}
	compareChanges(t, changes(start, tensors(t, m, trainer.Weights)), changes(from, tensors(t, want, trainer.Weights)), s.Tolerance.Movement)
}

// skipped calls accumulate, which computes gradients that are not finite, and then Apply.
// It checks that the step is skipped and changes nothing except the loss scale.
func (s Suite) skipped(t *testing.T, m trainer.Model, accumulate func() error) {
	t.Helper()
	before, was := everything(t, m), m.State()
	check(t, accumulate())
	info, is := apply(t, m, schedule()), m.State()
	if !info.Skipped || info.LossScale != was.LossScale {
		t.Errorf("an overflow: %+v, want a skipped step with loss scale %v", info, was.LossScale)
	}
	if d := different(everything(t, m), before); len(d) > 0 {
		t.Errorf("a skipped step changed %q", d)
	}
	for name, x := range tensors(t, m, trainer.Gradients) {
		if norm(x) != 0 {
			t.Errorf("a skipped step left the gradient of %s", name)
		}
	}
	scale := was.LossScale
	if s.Precision == trainer.Float16 {
		scale /= 2
	}
	if is.Step != was.Step || is.LossScale != scale {
		t.Errorf("state %+v after a skipped step, %+v before; want loss scale %v", is, was, scale)
	}
}

// equalBits checks that two models have equal bits after the same steps.
func (s Suite) equalBits(t *testing.T, c setting) {
	o := c.options(s.Precision, trainer.AdamW)
	o.Deterministic = true
	var all [2]map[string][]float32
	var infos [2][2]trainer.StepInfo
	plans := map[string]string(nil)
	for i := range all {
		m := c.open(t, s.Backend, o)
		state := m.State()
		state.Plans = plans // a resumed run loads them from its checkpoint
		m.SetState(state)
		for step := range infos[i] {
			b := c.batch(30 + uint64(step))
			coef := b.Counts(c.heads).Coef()
			for j, micro := range []*trainer.Batch{part(b, 0, 3), part(b, 3, 5)} {
				check(t, m.Accumulate(micro, coef, j == 1))
			}
			infos[i][step] = apply(t, m, schedule())
		}
		all[i], plans = everything(t, m), m.State().Plans
	}
	if d := different(all[1], all[0]); len(d) > 0 {
		t.Errorf("the same steps gave other bits: %q", d)
	}
	if infos[0] != infos[1] {
		t.Errorf("the same steps reported %+v and %+v", infos[0], infos[1])
	}
}

// snapshot checks that a snapshot does not change while the model takes two more
// steps.
func (s Suite) snapshot(t *testing.T, c setting) {
	m := s.model(t, c, trainer.AdamW)
	b := c.batch(40)
	c.accumulate(t, m, b)
	apply(t, m, schedule())
	want, state := everything(t, m), m.State()
	snapshot, err := m.Snapshot()
	check(t, err)
	var first map[string][]float32
	var wg sync.WaitGroup
	wg.Go(func() { first = everything(t, snapshot) })
	for range 2 {
		c.accumulate(t, m, b)
		apply(t, m, schedule())
	}
	wg.Wait()
	for when, got := range map[string]map[string][]float32{"beside": first, "after": everything(t, snapshot)} {
		if d := different(got, want); len(d) > 0 {
			t.Errorf("%s two steps the snapshot has other %q", when, d)
		}
	}
	if got := snapshot.State(); got.Step != state.Step || got.LossScale != state.LossScale {
		t.Errorf("state of the snapshot %+v, want %+v", got, state)
	}
	if len(different(everything(t, m), want)) == 0 {
		t.Error("two steps changed nothing")
	}
	for range 2 {
		if err := snapshot.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, err := range snapshot.Tensors(trainer.Weights) {
		if err == nil {
			t.Error("a closed snapshot was read")
		}
		break
	}
}

// twoRanks checks that two ranks get the same results as one. In the second step, one of
// the two ranks has no micro-batch.
func (s Suite) twoRanks(t *testing.T, c setting) {
	if s.OneRank {
		ranktest.Run(2, func(comm trainer.Comm) {
			o := c.options(s.Precision, trainer.AdamW)
			o.Comm = comm
			if m, err := s.Backend.Open(c.config, c.heads, o); err == nil {
				m.Close()
				t.Error("a model of two ranks was opened")
			}
		})
		return
	}
	alone := c.reference(t, trainer.LAMB)
	start := tensors(t, alone, trainer.Weights)
	var infos [2]trainer.StepInfo
	for step := range infos {
		c.accumulate(t, alone, c.batch(50+uint64(step)))
		infos[step] = apply(t, alone, schedule())
	}
	want := tensors(t, alone, trainer.Weights)
	var got [2]map[string][]float32
	var saved map[string][]float32
	ranktest.Run(2, func(comm trainer.Comm) {
		o := c.options(s.Precision, trainer.LAMB)
		o.Comm = comm
		m := c.open(t, []trainer.Backend{s.Backend, s.Second}[comm.Rank()], o)
		for step := range infos {
			s.rankStep(t, c, rank{m, comm.Rank()}, step, infos[step])
		}
		got[comm.Rank()] = tensors(t, m, trainer.Weights)
		snapshot, err := m.Snapshot()
		if err != nil {
			t.Error(err)
			return
		}
		defer snapshot.Close()
		if comm.Rank() == 0 {
			saved = everything(t, snapshot)
		}
	})
	if t.Failed() {
		return
	}
	compareMovement(t, got[0], want, start, s.Tolerance.Movement)
	if d := different(got[1], got[0]); len(d) > 0 {
		t.Errorf("the ranks have other weights: %q", d)
	}
	for _, k := range []trainer.Kind{trainer.FirstMoment, trainer.SecondMoment} {
		gathered := map[string][]float32{}
		for name := range want {
			gathered[name] = saved[k.String()+" "+name]
		}
		compareChanges(t, gathered, tensors(t, alone, k), 4*s.Tolerance.Gradient)
	}
}

// A rank is one rank of a test with two ranks, with its model.
type rank struct {
	trainer.Model
	number int
}

// rankStep takes rank r's part of a step with two micro-batches and compares the result
// with want. In the first step each rank computes one micro-batch; in the second step
// rank 0 computes both.
func (s Suite) rankStep(t *testing.T, c setting, r rank, step int, want trainer.StepInfo) {
	b := c.batch(50 + uint64(step))
	coef := b.Counts(c.heads).Coef()
	micro := [][2]int{{0, 3}, {3, 5}}
	mine := micro[r.number : r.number+1]
	if step == 1 {
		mine = [][][2]int{micro, nil}[r.number]
	}
	for i, cut := range mine {
		if err := r.Accumulate(part(b, cut[0], cut[1]), coef, i == len(mine)-1); err != nil {
			t.Error(err)
		}
	}
	info, err := r.Apply(schedule())
	if err != nil {
		t.Error(err)
	}
	s.sameSums(t, c, info.Sums, want.Sums)
	if info.Rate != want.Rate || !near(info.GradNorm, want.GradNorm, 10*s.Tolerance.Loss) {
		t.Errorf("rank %d, step %d: %+v, want %+v", r.number, step, info, want)
	}
}
