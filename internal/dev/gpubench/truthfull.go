package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pretext/trainer"
	"pretext/trainer/cuda"
)

// full gives the weights the temper how. Then it computes the gradients of the whole batch
// in every precision, without and with dropout, and compares fp32 with PyTorch, and the
// other precisions with fp32.
func (t *truth) full(how temper) error {
	t.become(how)
	for _, dropout := range []float64{0, dropoutRate} {
		if err := t.precisions(dropout); err != nil {
			return err
		}
	}
	return nil
}

// precisions does what [truth.full] says for the weights of t and one rate of dropout.
// PyTorch's gradients are only there for sharp weights.
func (t *truth) precisions(dropout float64) error {
	reference := variant{precision: trainer.Float32, dropout: dropout, parts: t.parts}
	if t.parts == 0 {
		reference.parts = 4
	}
	want, err := t.compute(reference, t.batch)
	if err != nil {
		return err
	}
	torch := t.torch[reference.name()]
	if t.temper != sharp {
		torch = nil
	}
	if torch != nil {
		if err := t.against(reference.name()+" against PyTorch, "+t.temper.name, want, torch, single); err != nil {
			return err
		}
	}
	for _, p := range []trainer.Precision{trainer.BFloat16, trainer.Float16} {
		v := variant{precision: p, dropout: dropout}
		got, err := t.compute(v, t.batch)
		if err == nil {
			err = t.against(v.name()+" against fp32, "+t.temper.name, got, want, t.tolerances(p))
		}
		if err == nil && torch != nil {
			err = t.against(v.name()+" against PyTorch, "+t.temper.name, got, torch, t.tolerances(p))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// alone computes the gradients of one sequence in two ways that must agree: inside of the
// whole batch, in which no other sequence has targets, and by itself in fp32. A fault in
// one tile, which the sum over all sequences would hide, is a large part of them.
func (t *truth) alone() error {
	t.become(calm)
	for _, s := range t.probes {
		self := part(t.batch, s, s+1)
		v := variant{precision: trainer.Float32, dropout: dropoutRate}
		want, err := t.compute(v, self)
		if err != nil {
			return err
		}
		for _, p := range []trainer.Precision{trainer.BFloat16, trainer.Float16} {
			v.precision = p
			got, err := t.compute(v, only(t.batch, s))
			if err != nil {
				return err
			}
			name := fmt.Sprintf("sequence %d of %d tokens in the batch, %s, against fp32 alone: gradients", s, self.Tokens(), v.name())
			by := t.tolerances(p)
			by.median = 2 * by.median // of fewer tokens
			if err := t.gradients(name, got.gradients, want.gradients, by); err != nil {
				return err
			}
		}
	}
	return nil
}

// bits demands that two runs with --deterministic have equal bits.
func (t *truth) bits() error {
	t.become(calm)
	for _, p := range []trainer.Precision{trainer.BFloat16, trainer.Float16} {
		v := variant{precision: p, dropout: dropoutRate, deterministic: true}
		first, err := t.compute(v, t.batch)
		if err != nil {
			return err
		}
		second, err := t.compute(v, t.batch)
		if err != nil {
			return err
		}
		l := line{Check: "two deterministic runs in " + v.name() + ": tensors with other bits"}
		for _, s := range t.specs {
			if !slices.Equal(first.gradients[s.Name], second.gradients[s.Name]) {
				l.Value++
				l.Tensor, l.Where = s.Name, where(second.gradients[s.Name], first.gradients[s.Name], s.Shape)
			}
		}
		if first.loss != second.loss {
			l.Value++
		}
		if err := t.report(l); err != nil {
			return err
		}
	}
	return nil
}

// accumulation compares four micro-batches with one.
func (t *truth) accumulation() error {
	t.become(calm)
	v := variant{precision: trainer.BFloat16, dropout: dropoutRate}
	want, err := t.compute(v, t.batch)
	if err != nil {
		return err
	}
	v.parts = 4
	got, err := t.compute(v, t.batch)
	if err != nil {
		return err
	}
	return t.against("4 micro-batches against 1, "+v.name(), got, want, half)
}

// trained takes steps with each optimizer on a part of the batch, with dropout, and
// compares losses and the way of the weights with fp32.
func (t *truth) trained() error {
	t.become(calm)
	batch := t.fewer()
	for _, optimizer := range []trainer.OptimizerName{trainer.AdamW, trainer.LAMB} {
		want, losses, err := t.train(variant{precision: trainer.Float32, dropout: dropoutRate}, optimizer, batch)
		if err != nil {
			return err
		}
		for _, p := range []trainer.Precision{trainer.BFloat16, trainer.Float16} {
			v := variant{precision: p, dropout: dropoutRate}
			got, now, err := t.train(v, optimizer, batch)
			if err != nil {
				return err
			}
			name := fmt.Sprintf("%d steps of %s in %s against fp32", t.steps, optimizer, v.name())
			worst, at := 0.0, 0
			for i := range now {
				if d := math.Abs(now[i]-losses[i]) / losses[i]; !(d <= worst) {
					worst, at = d, i
				}
			}
			by := t.tolerances(p)
			if err := t.report(line{Check: name + ": losses", Value: worst, Limit: 3 * by.loss, Where: fmt.Sprintf("step %d", at+1)}); err != nil {
				return err
			}
			if err := t.gradients(name+": way of the weights", got, want, tolerance{worst: 0.5, median: 0.25}); err != nil {
				return err
			}
		}
	}
	return nil
}

// fewer returns an eighth of the batch's sequences, at least one.
func (t *truth) fewer() *trainer.Batch {
	n := t.batch.Sequences()
	return part(t.batch, n-max(1, n/8), n)
}

// train takes steps on a batch. It returns how far each weight went, and the losses.
func (t *truth) train(v variant, optimizer trainer.OptimizerName, batch *trainer.Batch) (way tensors, losses []float64, err error) {
	m, err := t.open(cuda.New(t.device), v, limitsOf(batch), optimizer)
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	for taken := 0; taken < t.steps; {
		t.plantIn(batch)
		if err := m.Accumulate(batch, batch.Counts(pretraining).Coef(), true); err != nil {
			return nil, nil, err
		}
		info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: learningRate, Steps: int64(t.steps)})
		if err != nil {
			return nil, nil, err
		}
		if info.Skipped && v.precision == trainer.Float16 && info.LossScale > 1 {
			continue // the loss scale was too large
		}
		losses = append(losses, info.Sums.Loss())
		taken++
	}
	if way, err = collect(m.Tensors(trainer.Weights)); err != nil {
		return nil, nil, err
	}
	for name, w := range way {
		if strings.HasSuffix(name, "key.bias") {
			clear(w) // its gradient is nothing but rounding, of which an optimizer makes steps
			continue
		}
		for i, from := range t.weights[name] {
			w[i] -= from
		}
	}
	return way, losses, nil
}

// learningRate is the rate of the steps that truth takes.
const learningRate = 1e-4
