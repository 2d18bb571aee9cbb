package cpu

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
)

// model implements trainer.Model. Shapes in comments use the maximum numbers of
// tokens (T), sequences (S) and masked tokens (M) of trainer.Options; a batch
// uses the first rows.
type model[T kernel.Float] struct {
	c    trainer.Config
	h    trainer.Heads
	o    trainer.Options
	set  *kernel.Set[T]
	pool *kernel.Pool
	gemm *kernel.Gemm[T]
	solo []*kernel.Gemm[T] // one for each thread, for attention

	layout            layout
	w, g              []T // weights and gradients, flat; without training only w
	m, v              []T // moments of parts, in their order; nil without training
	p                 views[T]
	a                 activations[T]
	state             trainer.State
	sums              trainer.Sums // of the batches since the last Apply
	hidden, attention dropout.Mask // of the current pass
	pooled            dropout.Mask
	comm              trainer.Comm
	sharded           bool           // several ranks divide the optimizer's work and memory
	buckets           []bucket       // in the order of the flat buffers
	parts             []part         // what this rank updates
	reduction         *reduction[T]  // of the step in progress; nil: not begun
	shared            []*snapshot[T] // open snapshots, which may share w, m and v
	closed            bool
}

func newModel[T kernel.Float](c trainer.Config, h trainer.Heads, o trainer.Options, s *kernel.Set[T], p *kernel.Pool) *model[T] {
	m := &model[T]{c: c, h: h, o: o, set: s, pool: p, gemm: kernel.NewGemm(s, p), layout: newLayout(c, h), comm: trainer.OrAlone(o.Comm)}
	one := kernel.NewPool(1)
	for range p.Threads {
		m.solo = append(m.solo, kernel.NewGemm(s, one))
	}
	m.w = make([]T, m.layout.size)
	if o.Train {
		m.sharded, m.buckets = o.ShardOptimizer && m.comm.Size() > 1, m.layout.bucketsOf(m.comm.Size())
		var own int
		m.parts, own = m.ownParts()
		m.g, m.m, m.v = make([]T, m.layout.size), make([]T, own), make([]T, own)
	}
	m.p = viewer[T]{&m.layout, m.w, m.g}.views(c, h)
	m.a = newActivations[T](c, h, o, p.Threads)
	m.a.mlm = newMLMScratch[T](c, h, o, m.gemm.Width(min(mlmColumns, o.Masked)))
	m.state.LossScale = 1
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
	m.hidden, m.attention, m.pooled = dropout.None(), dropout.None(), dropout.None()
	m.place(b, out.Want)
	m.encode(b)
	return m.heads(b, pass[T]{out: out}), nil
}

// Accumulate implements trainer.Model. During the backward pass of the last
// micro-batch, gradients are summed over the ranks as soon as they are complete.
func (m *model[T]) Accumulate(b *trainer.Batch, coef trainer.Coef, last bool) error {
	err := m.check(b)
	switch {
	case err != nil:
	case !m.o.Train:
		err = errors.New("the model was not opened for training")
	case m.reduction != nil:
		err = errReducing
	}
	if err != nil {
		return fmt.Errorf("accumulate: %w", err)
	}
	m.hidden = dropout.New(m.o.Seed, m.c.HiddenDropout)
	m.attention = dropout.New(m.o.Seed, m.c.AttentionDropout)
	m.pooled = dropout.New(m.o.Seed, m.c.PooledDropout())
	m.place(b, 0)
	m.encode(b)
	if last && m.comm.Size() > 1 {
		m.startReduction()
	}
	m.sums = m.sums.Add(m.heads(b, pass[T]{coef: coef, train: true, out: &trainer.Outputs{}}))
	m.complete(len(m.buckets) - 1)
	m.backward(b)
	return nil
}

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

// values returns the flat buffer of a kind, nil if the model has none.
func (m *model[T]) values(k trainer.Kind) []T {
	switch k {
	case trainer.Weights:
		return m.w
	case trainer.FirstMoment:
		return m.m
	case trainer.SecondMoment:
		return m.v
	case trainer.Gradients:
		return m.g
	}
	return nil
}

// Tensors implements trainer.Model.
func (m *model[T]) Tensors(k trainer.Kind) iter.Seq2[trainer.Tensor, error] {
	if m.closed {
		return func(yield func(trainer.Tensor, error) bool) {
			yield(trainer.Tensor{}, fmt.Errorf("read %v: %w", k, ErrClosed))
		}
	}
	return eachTensor(&m.layout, k, func(dst []float32, lo, hi int) []float32 {
		src := m.values(k)
		if len(src) != m.layout.size || k == trainer.Gradients && m.reduction != nil { // only a rank's parts, or incomplete sums
			return nil
		}
		return appendFloat32(dst, src[lo:hi])
	})
}

// eachTensor yields the tensors of a layout. read appends the values [lo, hi)
// of a flat buffer to dst, or returns nil if this rank does not have them.
func eachTensor(l *layout, k trainer.Kind, read func(dst []float32, lo, hi int) []float32) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		var data []float32
		for i, s := range l.specs {
			data = read(data[:0], l.offset[i], l.offset[i]+s.Size())
			if data == nil {
				yield(trainer.Tensor{}, fmt.Errorf("read %v: this rank does not have them", k))
				return
			}
			if !yield(trainer.Tensor{Name: s.Name, Shape: s.Shape, Data: data}, nil) {
				return
			}
		}
	}
}

// Load implements trainer.Model.
func (m *model[T]) Load(k trainer.Kind, tensors iter.Seq2[trainer.Tensor, error]) (trainer.LoadReport, error) {
	var r trainer.LoadReport
	dst := m.values(k)
	if dst == nil || m.closed {
		return r, fmt.Errorf("load %v: the model does not keep them", k)
	}
	m.unshare()
	given := make([]bool, len(m.layout.specs))
	for t, err := range tensors {
		if err != nil {
			return r, fmt.Errorf("load %v: %w", k, err)
		}
		i, ok := m.layout.byName[t.Name]
		if !ok {
			r.Unexpected = append(r.Unexpected, t.Name)
			continue
		}
		s := m.layout.specs[i]
		if len(t.Data) != s.Size() || !slices.Equal(t.Shape, s.Shape) {
			return r, fmt.Errorf("load %v: tensor %q has shape %v, the model %v", k, t.Name, t.Shape, s.Shape)
		}
		given[i] = true
		m.store(k, i, t.Data)
	}
	for i, ok := range given {
		if !ok {
			r.Missing = append(r.Missing, m.layout.specs[i].Name)
		}
	}
	return r, nil
}

// store sets the values of a kind of tensor i, or with m.sharded the moments
// that this rank has.
func (m *model[T]) store(k trainer.Kind, i int, data []float32) {
	dst, offset := m.values(k), m.layout.offset[i]
	if k == trainer.Weights || k == trainer.Gradients {
		for j, v := range data {
			dst[offset+j] = T(v)
		}
		return
	}
	for _, p := range m.parts {
		if p.tensor != i {
			continue
		}
		for j, v := range data[p.lo-offset : p.hi-offset] {
			dst[p.at+j] = T(v)
		}
	}
}

// State implements trainer.Model.
func (m *model[T]) State() trainer.State {
	s := m.state
	s.Plans = maps.Clone(s.Plans)
	return s
}

// SetState implements trainer.Model. The loss scale is always 1 on the CPU. The
// plans, which only other backends use, are stored unchanged.
func (m *model[T]) SetState(s trainer.State) {
	m.state = s
	m.state.LossScale, m.state.Plans = 1, maps.Clone(s.Plans)
}

// Close implements trainer.Model.
func (m *model[T]) Close() error {
	*m = model[T]{closed: true}
	return nil
}

func appendFloat32[T kernel.Float](dst []float32, src []T) []float32 {
	for _, v := range src {
		dst = append(dst, float32(v))
	}
	return dst
}
