package comm

import (
	"encoding/json"
	"fmt"
	"slices"

	"pretext/internal/failure"
	"pretext/trainer"
)

var _ trainer.Comm = (*Group)(nil)

// AllReduce implements [trainer.Comm].
func (g *Group) AllReduce(x []float64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Size() == 1 {
		return nil
	}
	s := segments{raw: bytesOf(x), size: 8, bounds: make([]int, g.Size()+1)}
	for k := range s.bounds {
		s.bounds[k] = k * len(x) / g.Size()
	}
	if err := g.reduceScatter(s); err != nil {
		return fmt.Errorf("all-reduce: %w", err)
	}
	if err := g.allGather(s); err != nil {
		return fmt.Errorf("all-reduce: %w", err)
	}
	return nil
}

// ReduceScatter implements [trainer.Comm].
func (g *Group) ReduceScatter(x trainer.Values, bounds []int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, err := g.segments(x, bounds)
	if err != nil || g.Size() == 1 {
		return err
	}
	return g.reduceScatter(s)
}

// AllGather implements [trainer.Comm].
func (g *Group) AllGather(x trainer.Values, bounds []int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, err := g.segments(x, bounds)
	if err != nil || g.Size() == 1 {
		return err
	}
	return g.allGather(s)
}

// Broadcast implements [trainer.Comm].
func (g *Group) Broadcast(b []byte, root int) error {
	if root < 0 || root >= g.Size() {
		return fmt.Errorf("broadcast: root %d of %d ranks", root, g.Size())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Size() == 1 {
		return nil
	}
	chunks := appendChunks(nil, b)
	var t transfer
	if g.o.Rank != root {
		t.in = chunks
	}
	if (g.o.Rank+1)%g.Size() != root {
		t.out = chunks
	}
	if g.o.Rank == root {
		t.free = len(chunks)
	}
	return g.exchange(call{operation: opBroadcast, size: 1, length: len(b), shape: uint64(root)}, t)
}

// Barrier returns after all ranks have called it.
func (g *Group) Barrier() error { return g.AllReduce(make([]float64, g.Size())) }

// Any reports whether any rank has passed true. All ranks get the same result.
func (g *Group) Any(yes bool) (bool, error) {
	x := []float64{0}
	if yes {
		x[0] = 1
	}
	err := g.AllReduce(x)
	return x[0] > 0, err
}

// maxGather is the maximum number of bytes that [Group.Gather] returns.
const maxGather = 1 << 26

// Gather collects b from every rank: result[r] is the b of rank r. All ranks get the
// same result. The lengths may differ; their sum must not exceed 64 MiB.
func (g *Group) Gather(b []byte) ([][]byte, error) {
	if g.Size() == 1 {
		return [][]byte{slices.Clone(b)}, nil
	}
	lengths := make([]float64, g.Size())
	lengths[g.o.Rank] = float64(len(b))
	if err := g.AllReduce(lengths); err != nil {
		return nil, fmt.Errorf("gather: %w", err)
	}
	bounds := make([]int, g.Size()+1)
	for k, n := range lengths {
		bounds[k+1] = bounds[k] + int(n)
	}
	if n := bounds[g.Size()]; n > maxGather {
		return nil, fmt.Errorf("gather: %d bytes: must be at most %d", n, maxGather)
	}
	s := segments{raw: make([]byte, bounds[g.Size()]), size: 1, bounds: bounds}
	copy(s.of(g.o.Rank), b)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.allGather(s); err != nil {
		return nil, fmt.Errorf("gather: %w", err)
	}
	out := make([][]byte, g.Size())
	for k := range out {
		out[k] = s.of(k)
	}
	return out, nil
}

// Agree checks that all ranks pass the same values by name. If a value of a rank differs
// from rank 0's, all ranks get the same usage error. It names the rank, the value's name
// and both values.
func (g *Group) Agree(values map[string]string) error {
	b, err := json.Marshal(hello{Rank: g.o.Rank, Host: g.host, Fingerprints: values})
	if err != nil {
		return err
	}
	all, err := g.Gather(b)
	if err != nil {
		return err
	}
	var first hello
	for r, b := range all {
		var h hello
		if err := decode(b, &h); err != nil {
			return err
		}
		if r == 0 {
			first = h
		}
		if reason := difference(first, h); reason != "" {
			return &RankError{Rank: r, Host: h.Host, Reason: reason, kind: failure.KindUsage}
		}
	}
	return nil
}

// segments divides x into one part per rank: part r is x[bounds[r]:bounds[r+1]].
func (g *Group) segments(x trainer.Values, bounds []int) (segments, error) {
	s := segments{bounds: bounds}
	n := 0
	switch x := x.(type) {
	case trainer.Float32s:
		s.raw, s.size, n = bytesOf(x), 4, len(x)
	case trainer.Float64s:
		s.raw, s.size, n = bytesOf(x), 8, len(x)
	default:
		panic(fmt.Sprintf("BUG: values of type %T", x))
	}
	if len(bounds) != g.Size()+1 || bounds[0] != 0 || bounds[g.Size()] != n || !slices.IsSorted(bounds) {
		return s, fmt.Errorf("bounds %v: must be %d numbers that rise from 0 to %d", bounds, g.Size()+1, n)
	}
	return s, nil
}

// reduceScatter sums each part of s on the rank that owns it. Rank r first sends part
// r-1. The last part that it receives is its own, with the sum of all other ranks.
func (g *Group) reduceScatter(s segments) error {
	return g.exchange(call{operation: opReduceScatter, size: byte(s.size), length: len(s.raw), shape: hashBounds(s.bounds)}, s.around(g.o.Rank-1, true))
}

// allGather sends each part of s from the rank that owns it to all others.
func (g *Group) allGather(s segments) error {
	return g.exchange(call{operation: opAllGather, size: byte(s.size), length: len(s.raw), shape: hashBounds(s.bounds)}, s.around(g.o.Rank, false))
}
