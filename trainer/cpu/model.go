package cpu

import (
	"errors"
	"fmt"
	"iter"
	"maps"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/internal/bert"
)

// model implements trainer.Model. It consists of parts, each with its own state;
// trainer/cuda has the same parts under the same names.
type model[T kernel.Float] struct {
	c        trainer.Config
	h        trainer.Heads
	o        trainer.Options
	params   *parameters[T]
	encoder  *encoder[T]
	heads    *heads[T]
	ranks    *ranks[T]
	update   update[T]
	transfer transfer[T]
	packed   bool // the weights of the layers, for products
	closed   bool
}

func newModel[T kernel.Float](c trainer.Config, h trainer.Heads, o trainer.Options, s *kernel.Set[T], p *kernel.Pool) *model[T] {
	m := &model[T]{c: c, h: h, o: o}
	l := bert.NewLayout(c, h, bert.NoPadding(c))
	m.ranks = newRanks[T](o, l.Buckets)
	low := newLower[T](o, l.Size)
	m.params = newParameters(c, h, l, m.ranks, low)
	low.attach(&m.params.views, o)
	ops := &compute[T]{config: c, set: s, pool: p, gemm: kernel.NewGemm(s, p), lower: low}
	m.encoder = newEncoder(ops, h, o, &m.params.views)
	m.heads = newHeads(ops, h, o, &m.params.views)
	m.update = update[T]{compute: ops, optimizer: o.Optimizer, params: m.params, ranks: m.ranks, state: trainer.State{LossScale: 1}}
	m.transfer = transfer[T]{m.params, m.ranks}
	return m
}

// Forward implements trainer.Model.
func (m *model[T]) Forward(b *trainer.Batch, out *trainer.Outputs) (trainer.Sums, error) {
	if err := m.check(b); err != nil {
		return trainer.Sums{}, fmt.Errorf("forward: %w", err)
	}
	if out == nil {
		out = &trainer.Outputs{}
	}
	m.params.lower.begin(m.params, false)
	if !m.packed && !m.o.Train && m.params.lower == nil {
		m.encoder.pack()
		m.packed = true
	}
	m.encoder.forward(b, out.Want, false)
	return m.heads.forward(m.pass(b, out)), nil
}

// pass returns the input of the heads. Call it after the encoder's forward pass.
func (m *model[T]) pass(b *trainer.Batch, out *trainer.Outputs) pass[T] {
	n := m.encoder.behindAttention(b, m.c.Layers-1).n
	return pass[T]{batch: b, hidden: m.encoder.output()[:n*m.c.HiddenSize], rows: &m.encoder.selected, out: out}
}

// Accumulate implements trainer.Model. During the backward pass of the last
// micro-batch, gradients are summed over the ranks as soon as they are complete.
func (m *model[T]) Accumulate(b *trainer.Batch, coef trainer.Coef, last bool) error {
	err := m.check(b)
	switch {
	case err != nil:
	case !m.o.Train:
		err = errors.New("the model was not opened for training")
	case m.ranks.reduction != nil:
		err = errReducing
	}
	if err != nil {
		return fmt.Errorf("accumulate: %w", err)
	}
	m.params.lower.begin(m.params, true)
	m.encoder.forward(b, 0, true)
	if last && m.ranks.comm.Size() > 1 {
		m.ranks.start(m.params.g)
	}
	p := m.pass(b, &trainer.Outputs{})
	p.drop, p.coef, p.dy = true, coef, m.encoder.d.y[:len(p.hidden)]
	m.update.sums = m.update.sums.Add(m.heads.forward(p))
	m.ranks.complete(len(m.ranks.buckets) - 1)
	m.encoder.backward(b, m.ranks.complete)
	return nil
}

// Prepare implements trainer.Model: there is nothing to send.
func (m *model[T]) Prepare(*trainer.Batch) {}

// check returns an error if the model is closed or cannot compute the batch.
func (m *model[T]) check(b *trainer.Batch) error {
	if m.closed {
		return ErrClosed
	}
	if err := m.o.Fits(b); err != nil {
		return err
	}
	return b.Validate(m.c, m.h)
}

// Apply implements trainer.Model.
func (m *model[T]) Apply(s trainer.Schedule) (trainer.StepInfo, error) {
	if m.closed || !m.o.Train {
		return trainer.StepInfo{}, errors.New("apply: the model is closed or was not opened for training")
	}
	info, err := m.update.apply(s)
	if err != nil {
		return info, fmt.Errorf("apply: %w", err)
	}
	return info, nil
}

// Tensors implements trainer.Model.
func (m *model[T]) Tensors(k trainer.Kind) iter.Seq2[trainer.Tensor, error] {
	if m.closed {
		return func(yield func(trainer.Tensor, error) bool) {
			yield(trainer.Tensor{}, fmt.Errorf("read %v: %w", k, ErrClosed))
		}
	}
	return m.transfer.tensors(k)
}

// Load implements trainer.Model.
func (m *model[T]) Load(k trainer.Kind, tensors iter.Seq2[trainer.Tensor, error]) (trainer.LoadReport, error) {
	if m.closed {
		return trainer.LoadReport{}, fmt.Errorf("load %v: %w", k, ErrClosed)
	}
	r, err := m.transfer.load(k, tensors)
	m.params.lower.changed()
	m.packed = false
	if err != nil {
		return r, fmt.Errorf("load %v: %w", k, err)
	}
	return r, nil
}

// Snapshot implements trainer.Model.
func (m *model[T]) Snapshot() (trainer.Snapshot, error) {
	if m.closed {
		return nil, fmt.Errorf("snapshot: %w", ErrClosed)
	}
	s, err := m.transfer.snapshot(m.State())
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return s, nil
}

// State implements trainer.Model.
func (m *model[T]) State() trainer.State { return cloned(m.update.state) }

// SetState implements trainer.Model. The loss scale is always 1 on the CPU. The
// plans, which only other backends use, are stored unchanged.
func (m *model[T]) SetState(s trainer.State) {
	m.update.state = cloned(s)
	m.update.state.LossScale = 1
}

func cloned(s trainer.State) trainer.State {
	s.Plans = maps.Clone(s.Plans)
	return s
}

// Close implements trainer.Model.
func (m *model[T]) Close() error {
	*m = model[T]{closed: true}
	return nil
}
