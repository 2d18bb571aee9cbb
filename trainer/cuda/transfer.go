package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"unsafe"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/internal/bert"
)

// transfer copies weights, moments and gradients, as named tensors, from the device and to
// the device. (For batches see uploads.)
type transfer struct {
	*staging
	params *parameters
	ranks  *ranks
	state  *trainer.State // has the loss scale, by which the gradients are multiplied
}

// source returns the flat buffer that holds the tensors of kind k. It returns an
// error if the model has no such buffer, or only incomplete sums.
func (t *transfer) source(k trainer.Kind) (device.Pointer, error) {
	p := t.params.values(k)
	switch {
	case t.err != nil:
		return 0, t.err
	case p == 0:
		return 0, fmt.Errorf("the model does not keep %v", k)
	case k == trainer.Gradients && t.ranks.reduced > 0:
		return 0, errReducing
	}
	return p, nil
}

// tensors implements Model.Tensors.
func (t *transfer) tensors(k trainer.Kind) iter.Seq2[trainer.Tensor, error] {
	l := &t.params.layout
	return l.Tensors(k, func(dst []float32, i int) ([]float32, error) {
		src, err := t.source(k)
		if err == nil && t.params.divided(k) {
			err = errors.New("the ranks have a part each: take a Snapshot")
		}
		if err != nil {
			return nil, err
		}
		dst = t.appendFloat32(dst, src.Add(4*l.Offset[i]), l.Specs[i].Size())
		if k == trainer.Gradients {
			unscale(dst, float32(t.state.LossScale))
		}
		return dst, t.err
	})
}

func unscale(x []float32, scale float32) {
	for i := range x {
		x[i] /= scale
	}
}

// load implements Model.Load. If the moments are divided over the ranks, it loads only this
// rank's slices of them.
func (t *transfer) load(k trainer.Kind, tensors iter.Seq2[trainer.Tensor, error]) (trainer.LoadReport, error) {
	dst, err := t.source(k)
	if err != nil {
		return trainer.LoadReport{}, err
	}
	l := &t.params.layout
	r, err := l.Load(tensors, func(i int, data []float32) {
		at := l.Offset[i]
		if k == trainer.Gradients && t.state.LossScale != 1 {
			data = slices.Clone(data)
			unscale(data, float32(1/t.state.LossScale))
		}
		if !t.params.divided(k) {
			t.upload(dst.Add(4*at), bytesOf(data))
			return
		}
		s := t.ranks.slices[1+l.Specs[i].Layer]
		if lo, hi := max(at, s.first), min(at+len(data), s.first+s.n); lo < hi {
			t.upload(dst.Add(4*(s.moments+lo-s.first)), bytesOf(data[lo-at:hi-at]))
		}
	})
	if err != nil {
		return r, err
	}
	if k == trainer.Weights {
		t.params.round(t.queue)
	}
	return r, t.sync()
}

// snapshot implements trainer.Snapshot by a copy in host memory. If the ranks divide
// the optimizer's state, only rank 0's snapshot holds the moments.
type snapshot struct {
	layout *bert.Layout
	state  trainer.State

	mu     sync.Mutex
	values [3][]float32 // weights, first and second moments, flat; nil if the model has none, and after Close
}

// snapshot implements Model.Snapshot. It waits for the device.
func (t *transfer) snapshot(state trainer.State) (*snapshot, error) {
	if t.ranks.reduced > 0 {
		return nil, errReducing
	}
	l := &t.params.layout
	s := &snapshot{layout: &l.Layout, state: state}
	for k := range s.values {
		p := t.params.values(trainer.Kind(k))
		switch {
		case p == 0:
		case t.params.divided(trainer.Kind(k)):
			s.values[k] = t.ranks.gatherMoment(p)
		default:
			s.values[k] = t.appendFloat32(make([]float32, 0, l.Size), p, l.Size)
		}
	}
	return s, t.ranks.reason(t.err)
}

// Tensors implements trainer.Snapshot.
func (s *snapshot) Tensors(k trainer.Kind) iter.Seq2[trainer.Tensor, error] {
	return s.layout.Tensors(k, func(dst []float32, i int) ([]float32, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if k < 0 || int(k) >= len(s.values) || s.values[k] == nil {
			return nil, fmt.Errorf("the snapshot does not keep %v", k)
		}
		return append(dst, s.values[k][s.layout.Offset[i]:][:s.layout.Specs[i].Size()]...), nil
	})
}

// State implements trainer.Snapshot.
func (s *snapshot) State() trainer.State { return s.state }

// Close implements trainer.Snapshot.
func (s *snapshot) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = [3][]float32{}
	return nil
}

// staging copies between the device and any memory of the host through page-locked memory
// of its own. It waits for each copy.
type staging struct {
	*queue
	memory []byte
}

// stagingBytes is the size of staging.memory.
const stagingBytes = 4 << 20

// upload copies b to the device.
func (s *staging) upload(to device.Pointer, b []byte) {
	for len(b) > 0 && s.err == nil {
		n := copy(s.memory, b)
		s.toDevice(to, s.memory[:n])
		s.sync()
		to, b = to.Add(n), b[n:]
	}
}

// appendFloat32 reads n float32 values at an address of the device and appends them
// to dst.
func (s *staging) appendFloat32(dst []float32, from device.Pointer, n int) []float32 {
	return s.appendElements(device.Float32, dst, from, n)
}

// appendElements reads n elements of type t at an address of the device and appends them
// to dst as float32.
func (s *staging) appendElements(t device.DataType, dst []float32, from device.Pointer, n int) []float32 {
	for n > 0 && s.err == nil {
		k := min(n, stagingBytes/t.Size())
		s.toHost(s.memory[:k*t.Size()], from)
		s.sync()
		dst = appendFloats(dst, s.memory[:k*t.Size()], t)
		from, n = from.Add(k*t.Size()), n-k
	}
	return dst
}

// appendFloats converts the elements of type t in b to float32 and appends them to
// dst. b must be aligned to 4 bytes.
func appendFloats(dst []float32, b []byte, t device.DataType) []float32 {
	switch t {
	case device.BFloat16:
		for ; len(b) > 0; b = b[2:] {
			dst = append(dst, math.Float32frombits(uint32(binary.LittleEndian.Uint16(b))<<16))
		}
		return dst
	case device.Float16:
		for ; len(b) > 0; b = b[2:] {
			dst = append(dst, fromHalf(binary.LittleEndian.Uint16(b)))
		}
		return dst
	}
	return append(dst, floatsOf(b)...)
}

// fromHalf converts an IEEE 754 half-precision number to float32.
func fromHalf(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&0x3ff)
	switch exponent {
	case 0: // zero or subnormal: a multiple of 2^-24
		v := float32(fraction) * 0x1p-24
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31: // infinity or NaN
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// floatsOf returns b as float32 values without a copy. b must be aligned to 4 bytes.
// It needs no byte swap: GPUs and the machines that have them are little-endian.
func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// bytesOf returns the memory of x as bytes without a copy.
func bytesOf[T number](x []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), int(unsafe.Sizeof(zero))*len(x))
}

// number is an element of an array that is copied to the device.
type number interface{ int32 | int64 | float32 }
