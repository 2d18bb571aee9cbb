package cpu

import (
	"unsafe"

	"pretext/internal/hugepages"
	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/internal/bert"
)

// parameters holds the weights, gradients and moments, and the open snapshots, which may
// share them.
type parameters[T kernel.Float] struct {
	layout bert.Layout
	views  bert.Parameters[dense[T], norm[T], table[T]]
	w, g   []T            // weights and gradients, flat; without training only w
	parts  []part         // what this rank updates, ascending
	m, v   []T            // moments of parts, in their order; nil without training
	shared []*snapshot[T] // open snapshots, which may share w, m and v
	zeros  []T            // bias of every LayerNorm that has none
	lower  *lower[T]      // nil: the views of weights are w
}

// newParameters allocates the weights. For training it also allocates the gradients, and the
// moments of the parameters that this rank updates.
func newParameters[T kernel.Float](c trainer.Config, h trainer.Heads, l bert.Layout, r *ranks[T], low *lower[T]) *parameters[T] {
	p := &parameters[T]{layout: l, w: large[T](l.Size), zeros: make([]T, c.HiddenSize), lower: low}
	if r.train {
		own := 0
		for _, b := range l.Buckets {
			lo, hi := r.own(b)
			p.parts = appendParts(p.parts, &l, lo, hi)
			own += hi - lo
		}
		p.g, p.m, p.v = large[T](l.Size), large[T](own), large[T](own)
	}
	p.views = bert.View(p, c, h)
	return p
}

// values returns the flat buffer of a kind, nil if the model has none.
func (p *parameters[T]) values(k trainer.Kind) []T {
	switch k {
	case trainer.Weights:
		return p.w
	case trainer.FirstMoment:
		return p.m
	case trainer.SecondMoment:
		return p.v
	case trainer.Gradients:
		return p.g
	}
	return nil
}

// A part is a range of the flat buffers inside one tensor.
type part struct {
	lo, hi int
	at     int // index of its first element in m and v, which have only the parts that this rank updates
	tensor int // index in the layout's specs
}

// partSize is the maximum size of a part, the unit of work of a thread and of
// summation.
const partSize = 1 << 14

// appendParts divides [lo, hi) of the flat buffers at tensor borders, and at
// multiples of partSize within a tensor.
func appendParts(parts []part, l *bert.Layout, lo, hi int) []part {
	for _, t := range l.Flat {
		begin := l.Offset[t]
		end := begin + l.Specs[t].Size()
		if end <= lo || begin >= hi {
			continue
		}
		for at := begin; at < end; at += partSize {
			if p := (part{lo: max(at, lo), hi: min(at+partSize, end, hi), tensor: t}); p.lo < p.hi {
				if len(parts) > 0 {
					last := parts[len(parts)-1]
					p.at = last.at + last.hi - last.lo
				}
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// dense is y = x·Wᵀ + b with its gradients (nil without training).
type dense[T kernel.Float] struct {
	out, in int
	w, dw   []T               // (out, in)
	b, db   []T               // (out); nil: no bias
	eight   *eightDense[T]    // nil: operands have the type of the model
	packed  *kernel.Packed[T] // Wᵀ, where weights do not change; else nil
}

// norm holds the parameters of a LayerNorm and their gradients.
type norm[T kernel.Float] struct {
	gain, dgain []T // (H) "weight"
	bias, dbias []T // (H); without a bias, zeros and nil
}

// table is an embedding table.
type table[T kernel.Float] struct{ w, dw []T }

// from returns n weights from the start of a tensor, and their gradients.
func (p *parameters[T]) from(name string, n int) table[T] {
	at := p.layout.Offset[p.layout.Index(name)]
	w := p.w
	if p.lower != nil {
		w = p.lower.weights
	}
	if p.g == nil {
		return table[T]{w: w[at : at+n]}
	}
	return table[T]{w[at : at+n], p.g[at : at+n]}
}

// Table implements bert.Viewer.
func (p *parameters[T]) Table(name string) table[T] {
	return p.from(name, p.layout.Specs[p.layout.Index(name)].Size())
}

// Dense implements bert.Viewer.
func (p *parameters[T]) Dense(name string, out, in int) dense[T] {
	w, b := p.from(name+".weight", out*in), table[T]{}
	if p.layout.Has(name + ".bias") {
		b = p.from(name+".bias", out)
	}
	return dense[T]{out: out, in: in, w: w.w, dw: w.dw, b: b.w, db: b.dw}
}

// Norm implements bert.Viewer.
func (p *parameters[T]) Norm(name string, _ bool) norm[T] {
	if p.layout.Has(name + ".weight") {
		w := p.Table(name + ".weight")
		return norm[T]{w.w, w.dw, p.zeros, nil}
	}
	w, b := p.Table(name+".LayerNorm.weight"), p.Table(name+".LayerNorm.bias")
	return norm[T]{w.w, w.dw, b.w, b.dw}
}

// large returns n numbers in large pages of memory, if they are a megabyte at least: a step
// reads each buffer once, and otherwise waits for the addresses of its pages.
func large[T kernel.Float](n int) []T {
	s := make([]T, n)
	if uintptr(n)*unsafe.Sizeof(*new(T)) >= 1<<20 {
		hugepages.Advise(s)
	}
	return s
}
