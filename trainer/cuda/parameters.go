package cuda

import (
	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/internal/bert"
)

// parameters holds the flat buffers of weights, gradients and moments. Moments may be
// divided over the ranks; every rank has all weights and gradients.
type parameters struct {
	layout layout
	views  bert.Parameters[dense, norm, table]
	w, g   device.Pointer // float32; g is zero without training
	m, v   device.Pointer // float32: moments, or this rank's slices of them; zero without training
	copy   device.Pointer // weights as elements; equals w in fp32

	element int // bytes
	hidden  int // hidden size
}

// A layout places tensors at multiples of 64 elements, and divides buckets evenly over the
// ranks.
type layout struct {
	bert.Layout
	ranks   int
	sharded bool // the ranks divide the optimizer's work and state
	gather  int  // elements that a rank sends at a time when moments are gathered
}

func newLayout(c trainer.Config, h trainer.Heads, s shape) layout {
	l := layout{ranks: s.ranks, sharded: s.sharded}
	l.Layout = bert.NewLayout(c, h, bert.Padding{Tensor: 64, Bucket: 64 * s.ranks, Vocabulary: s.vocabulary})
	l.gather = min(max(stagingBytes/4/l.ranks/64*64, 64), l.Size/l.ranks)
	return l
}

// moments returns the number of elements of a moment on this rank.
func (l *layout) moments() int {
	if l.sharded {
		return l.Size / l.ranks
	}
	return l.Size
}

// parts divides the tensors into parts, the optimizer's units of work. Each part belongs to
// one rank. Tensors are numbered in the order of l.Flat; the parts of tensor t are
// bounds[t] to bounds[t+1]-1.
func (l *layout) parts() (parts []kernels.Part, bounds []int32) {
	for t, i := range l.Flat {
		bounds = append(bounds, int32(len(parts)))
		n := l.Specs[i].Size()
		for at := 0; at < n; {
			size := min(kernels.PartSize, n-at)
			if l.sharded { // a part ends where the slice of its rank ends
				b := l.Buckets[1+l.Specs[i].Layer]
				each := b.N / l.ranks
				size = min(size, each-(l.Offset[i]+at-b.First)%each)
			}
			parts = append(parts, kernels.Part{First: int64(l.Offset[i] + at), N: int32(size), Tensor: int32(t)})
			at += size
		}
	}
	return parts, append(bounds, int32(len(parts)))
}

// request requests the flat buffers.
func (p *parameters) request(r *requests) {
	p.element = r.element
	r.floats("weights", &p.w, p.layout.Size)
	if r.element != 4 {
		r.elements("weights, rounded", &p.copy, p.layout.Size)
	}
	if r.train {
		r.floats("first moments", &p.m, p.layout.moments())
		r.floats("second moments", &p.v, p.layout.moments())
		r.floats("gradients", &p.g, p.layout.Size)
	}
}

// values returns the flat buffer that holds the tensors of kind k; zero if the model
// has none.
func (p *parameters) values(k trainer.Kind) device.Pointer {
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
	return 0
}

// divided reports whether this rank has only its slices of the tensors of kind k.
func (p *parameters) divided(k trainer.Kind) bool {
	return p.layout.sharded && (k == trainer.FirstMoment || k == trainer.SecondMoment)
}

// round queues the rounding of the weights to elements after they have changed, unless the
// kernel that changed them has done it.
func (p *parameters) round(q *queue) {
	if p.copy != p.w {
		q.each("round_down", p.layout.Size, p.copy, p.w, int64(p.layout.Size))
	}
}

// dense holds the addresses of the parameters of y = x·Wᵀ + b and of their
// gradients. Without training the gradients' addresses are zero.
type dense struct {
	out, in int
	w, b    device.Pointer // elements: (out, in), (out)
	master  device.Pointer // b in float32
	dw, db  device.Pointer // float32: gradients of w and b
	eight   *eightDense    // products in 8 bits; nil: none
}

// norm holds the addresses of a LayerNorm's parameters, (H) each, and of their
// gradients. dsums is (2, H) float32: gain, bias. In an encoder layer it is (3, H):
// the bias of the dense layer before the LayerNorm, gain, bias. Of ModernBERT it is (H): gain.
type norm struct{ gain, bias, dsums device.Pointer }

// table holds the addresses of a tensor: its weights in both types, and its
// gradient.
type table struct {
	w, master, dw device.Pointer // elements, float32, float32
}

// Table implements bert.Viewer.
func (p *parameters) Table(name string) table {
	at := p.layout.Offset[p.layout.Index(name)]
	t := table{w: p.copy.Add(at * p.element), master: p.w.Add(at * 4)}
	if p.g != 0 {
		t.dw = p.g.Add(at * 4)
	}
	return t
}

// Dense implements bert.Viewer.
func (p *parameters) Dense(name string, out, in int) dense {
	w := p.Table(name + ".weight")
	var b table
	if p.layout.Has(name + ".bias") {
		b = p.Table(name + ".bias")
	}
	return dense{out: out, in: in, w: w.w, b: b.w, master: b.master, dw: w.dw, db: b.dw}
}

// Norm implements bert.Viewer. The gradients must be adjacent, because one kernel adds to
// all of them.
func (p *parameters) Norm(name string, withBias bool) norm {
	if p.layout.Has(name + ".weight") { // ModernBERT's, without bias
		w := p.Table(name + ".weight")
		return norm{gain: w.w, dsums: w.dw}
	}
	w, b := p.Table(name+".LayerNorm.weight"), p.Table(name+".LayerNorm.bias")
	n, adjacent := norm{w.w, b.w, w.dw}, b.dw == w.dw.Add(4*p.hidden)
	if withBias {
		n.dsums = p.Table(name + ".dense.bias").dw
		adjacent = adjacent && w.dw == n.dsums.Add(4*p.hidden)
	}
	if p.g != 0 && !adjacent {
		panic("BUG: the parameters around LayerNorm of " + name + " are not adjacent")
	}
	return n
}
