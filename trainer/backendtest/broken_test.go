package backendtest_test

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/backendtest"
	"pretext/trainer/cpu"
)

// A broken backend is the CPU backend with one planted fault.
type broken struct {
	cpu.Backend
	config  func(*trainer.Config)
	options func(*trainer.Options)
	model   func(trainer.Model) trainer.Model
}

func (b broken) Open(c trainer.Config, h trainer.Heads, o trainer.Options) (trainer.Model, error) {
	if b.config != nil {
		b.config(&c)
	}
	if b.options != nil {
		b.options(&o)
	}
	m, err := b.Backend.Open(c, h, o)
	if err == nil && b.model != nil {
		m = b.model(m)
	}
	return m, err
}

// wrapped is a model in which functions in the fields replace some methods.
type wrapped struct {
	trainer.Model
	batch      func(*trainer.Batch)
	accumulate func(b *trainer.Batch, coef trainer.Coef, last bool) error
	apply      func(trainer.Schedule) (trainer.StepInfo, error)
	forward    func(*trainer.Outputs)
	snapshot   func() (trainer.Snapshot, error)
	setState   func(*trainer.State)
}

func (w wrapped) changed(b *trainer.Batch) *trainer.Batch {
	c := *b
	if w.batch != nil && b.Sequences() > 0 {
		w.batch(&c)
	}
	return &c
}

func (w wrapped) Forward(b *trainer.Batch, out *trainer.Outputs) (trainer.Sums, error) {
	s, err := w.Model.Forward(w.changed(b), out)
	if w.forward != nil && out != nil {
		w.forward(out)
	}
	return s, err
}

func (w wrapped) Accumulate(b *trainer.Batch, coef trainer.Coef, last bool) error {
	if w.accumulate != nil {
		return w.accumulate(b, coef, last)
	}
	return w.Model.Accumulate(w.changed(b), coef, last)
}

func (w wrapped) Apply(s trainer.Schedule) (trainer.StepInfo, error) {
	if w.apply != nil {
		return w.apply(s)
	}
	return w.Model.Apply(s)
}

func (w wrapped) Snapshot() (trainer.Snapshot, error) {
	if w.snapshot != nil {
		return w.snapshot()
	}
	return w.Model.Snapshot()
}

func (w wrapped) SetState(s trainer.State) {
	if w.setState != nil {
		w.setState(&s)
	}
	w.Model.SetState(s)
}

// live is a wrong snapshot: it shows the current weights of the model, which change.
type live struct{ trainer.Model }

func (live) Close() error { return nil }

// faults returns backends with a planted fault by name, each with the subtest that
// must find the fault.
func faults() map[string]struct {
	backend broken
	fails   string
} {
	type fault = struct {
		backend broken
		fails   string
	}
	onBatch := func(f func(*trainer.Batch)) broken {
		return broken{model: func(m trainer.Model) trainer.Model { return wrapped{Model: m, batch: f} }}
	}
	return map[string]fault{
		"forgets VisibleKeys": {onBatch(func(b *trainer.Batch) { b.VisibleKeys = nil }), "span_with_limited_attention/gradients"},
		"attends to 128 keys at most": {onBatch(func(b *trainer.Batch) {
			b.VisibleKeys = slices.Clone(b.VisibleKeys)
			for i := range b.Sequences() {
				n := b.CuSeqlens[i+1] - b.CuSeqlens[i]
				if len(b.VisibleKeys) <= i {
					b.VisibleKeys = append(b.VisibleKeys, n)
				}
				b.VisibleKeys[i] = min(b.VisibleKeys[i], 128)
			}
		}), "long_sequences/outputs"},
		"dropout by place in the batch": {onBatch(func(b *trainer.Batch) {
			b.Sequence = slices.Clone(b.Sequence)
			for i := range b.Sequence {
				b.Sequence[i] = int64(i)
			}
		}), "pretraining_with_dropout/gradients"},
		"all masked weights are 1.001": {onBatch(func(b *trainer.Batch) {
			b.MaskedWeights = slices.Repeat([]float32{1.001}, len(b.MaskedWeights))
		}), "pretraining_with_dropout/outputs"},
		"another GELU":       {broken{config: func(c *trainer.Config) { c.Activation = trainer.GELU }}, "pretraining_with_dropout/outputs"},
		"another keep rate":  {broken{config: func(c *trainer.Config) { c.HiddenDropout = 0.11 }}, "pretraining_with_dropout/gradients"},
		"does not clip":      {broken{options: func(o *trainer.Options) { o.Optimizer.ClipNorm = 0 }}, "updates_by_adamw"},
		"no bias correction": {broken{options: func(o *trainer.Options) { o.Optimizer.BiasCorrection = false }}, "updates_by_lamb"},
		"every rank alone":   {broken{options: func(o *trainer.Options) { o.Comm = nil }}, "two_ranks"},
		"only the last micro-batch": {broken{model: func(m trainer.Model) trainer.Model {
			return wrapped{Model: m, accumulate: func(b *trainer.Batch, coef trainer.Coef, last bool) error {
				if !last {
					return nil
				}
				return m.Accumulate(b, coef, last)
			}}
		}}, "micro-batches"},
		"sums of the step before": {broken{model: func(m trainer.Model) trainer.Model {
			var before trainer.Sums
			return wrapped{Model: m, apply: func(s trainer.Schedule) (trainer.StepInfo, error) {
				info, err := m.Apply(s)
				info.Sums, before = before, info.Sums
				return info, err
			}}
		}}, "updates_by_adamw"},
		"gradients stay after a step": {broken{model: func(m trainer.Model) trainer.Model {
			var kept trainer.Batch
			return wrapped{Model: m, accumulate: func(b *trainer.Batch, coef trainer.Coef, last bool) error {
				err := m.Accumulate(b, coef, last)
				kept = *b
				return err
			}, apply: func(s trainer.Schedule) (trainer.StepInfo, error) {
				info, err := m.Apply(s)
				if kept.Sequences() > 0 {
					m.Accumulate(&kept, trainer.Coef{MLM: 0.01}, true)
				}
				return info, err
			}}
		}}, "updates_by_adamw"},
		"no skip": {broken{model: func(m trainer.Model) trainer.Model {
			return wrapped{Model: m, apply: func(s trainer.Schedule) (trainer.StepInfo, error) {
				info, err := m.Apply(s)
				if info.Skipped {
					info.Skipped = false
					state := m.State()
					state.Step++
					m.SetState(state)
				}
				return info, err
			}}
		}}, "overflow"},
		"a rate too late": {broken{model: func(m trainer.Model) trainer.Model {
			return wrapped{Model: m, apply: func(s trainer.Schedule) (trainer.StepInfo, error) {
				s.Warmup++
				return m.Apply(s)
			}}
		}}, "updates_by_lamb"},
		"other bits each time": {broken{model: func(m trainer.Model) trainer.Model {
			return wrapped{Model: m, apply: func(s trainer.Schedule) (trainer.StepInfo, error) {
				s.Peak *= 1 + 1e-6*rand.Float64()
				return m.Apply(s)
			}}
		}}, "equal_bits"},
		"a snapshot that is not frozen": {broken{model: func(m trainer.Model) trainer.Model {
			return wrapped{Model: m, snapshot: func() (trainer.Snapshot, error) { return live{m}, nil }}
		}}, "snapshot"},
		"forgets others' plans": {broken{model: func(m trainer.Model) trainer.Model {
			return wrapped{Model: m, setState: func(s *trainer.State) { s.Plans = nil }}
		}}, "tensors_come_back_as_loaded"},
		"the best token is always 0": {broken{model: func(m trainer.Model) trainer.Model {
			return wrapped{Model: m, forward: func(o *trainer.Outputs) { clear(o.MLMBest) }}
		}}, "pretraining_with_dropout/outputs"},
		"losses with a NaN": {broken{model: func(m trainer.Model) trainer.Model {
			return wrapped{Model: m, forward: func(o *trainer.Outputs) {
				if len(o.MLMLosses) > 0 {
					o.MLMLosses[0] = math.NaN()
				}
			}}
		}}, "pretraining_with_dropout/outputs"},
	}
}

// brokenEnv makes this test binary run the suite on the broken backends.
const brokenEnv = "PRETEXT_BACKENDTEST_BROKEN"

func TestBroken(t *testing.T) {
	if os.Getenv(brokenEnv) == "" {
		return // TestEveryFaultFailsTheSuite runs this test in another process
	}
	for name, f := range faults() {
		t.Run(name, func(t *testing.T) {
			backendtest.Suite{Backend: f.backend, Precision: trainer.Float32, Small: true, Quick: true}.Run(t)
		})
	}
}

// TestEveryFaultFailsTheSuite runs, for each planted fault, the subtest that should
// find it. The subtest runs in another process and must fail there.
func TestEveryFaultFailsTheSuite(t *testing.T) {
	for name, f := range faults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := "TestBroken/" + strings.ReplaceAll(name, " ", "_") + "/" + f.fails
			parts := strings.Split(test, "/")
			for i, p := range parts {
				parts[i] = "^" + regexp.QuoteMeta(p) + "$"
			}
			c := exec.Command(os.Args[0], "-test.run="+strings.Join(parts, "/"), "-test.v")
			c.Env = append(os.Environ(), brokenEnv+"=1")
			if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "--- FAIL: "+test+" ") {
				t.Errorf("%q passes this backend: %v\n%.2000s", f.fails, err, out)
			}
		})
	}
}
