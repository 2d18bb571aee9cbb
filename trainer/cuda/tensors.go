package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"unsafe"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
)

// values returns the flat buffer that holds the tensors of kind k; zero if the model
// has none.
func (m *model) values(k trainer.Kind) device.Pointer {
	switch k {
	case trainer.Weights:
		return m.b.w
	case trainer.FirstMoment:
		return m.b.m
	case trainer.SecondMoment:
		return m.b.v
	case trainer.Gradients:
		return m.b.g
	}
	return 0
}

// source returns the flat buffer that holds the tensors of kind k. It returns an
// error if the model is unusable or has no such buffer.
func (m *model) source(k trainer.Kind) (device.Pointer, error) {
	if err := m.usable(); err != nil {
		return 0, err
	}
	p := m.values(k)
	if p == 0 {
		return 0, fmt.Errorf("the model does not keep %v", k)
	}
	if k == trainer.Gradients && m.reduced > 0 {
		return 0, errReducing
	}
	return p, nil
}

// divided reports whether this rank has only its slices of the tensors of kind k.
func (m *model) divided(k trainer.Kind) bool {
	return m.layout.sharded && (k == trainer.FirstMoment || k == trainer.SecondMoment)
}

// Tensors implements trainer.Model.
func (m *model) Tensors(k trainer.Kind) iter.Seq2[trainer.Tensor, error] {
	return eachTensor(m.layout.specs, k, func(i int, dst []float32) ([]float32, error) {
		src, err := m.source(k)
		if err == nil && m.divided(k) {
			err = errors.New("the ranks have a part each: take a Snapshot")
		}
		if err != nil {
			return nil, err
		}
		dst = m.appendFloat32(dst, src.Add(4*m.layout.offset[i]), m.layout.specs[i].Size())
		if k == trainer.Gradients {
			unscale(dst, float32(m.state.LossScale))
		}
		return dst, m.err
	})
}

// eachTensor yields the tensors of kind k in the order of specs. read appends the
// values of tensor i to dst. A yielded tensor's Data is valid until the next one.
func eachTensor(specs []trainer.TensorSpec, k trainer.Kind, read func(i int, dst []float32) ([]float32, error)) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		var data []float32
		for i, s := range specs {
			var err error
			if data, err = read(i, data[:0]); err != nil {
				yield(trainer.Tensor{}, fmt.Errorf("read %v: %w", k, err))
				return
			}
			if !yield(trainer.Tensor{Name: s.Name, Shape: s.Shape, Data: data}, nil) {
				return
			}
		}
	}
}

func unscale(x []float32, scale float32) {
	for i := range x {
		x[i] /= scale
	}
}

// Load implements trainer.Model.
func (m *model) Load(k trainer.Kind, tensors iter.Seq2[trainer.Tensor, error]) (trainer.LoadReport, error) {
	r, err := m.load(k, tensors)
	if err != nil {
		return r, fmt.Errorf("load %v: %w", k, err)
	}
	return r, nil
}

func (m *model) load(k trainer.Kind, tensors iter.Seq2[trainer.Tensor, error]) (trainer.LoadReport, error) {
	var r trainer.LoadReport
	dst, err := m.source(k)
	if err != nil {
		return r, err
	}
	given := make([]bool, len(m.layout.specs))
	for t, err := range tensors {
		if err != nil {
			return r, err
		}
		i, ok := m.layout.byName[t.Name]
		if !ok {
			r.Unexpected = append(r.Unexpected, t.Name)
			continue
		}
		s := m.layout.specs[i]
		if len(t.Data) != s.Size() || !slices.Equal(t.Shape, s.Shape) {
			return r, fmt.Errorf("tensor %q has shape %v, the model %v", t.Name, t.Shape, s.Shape)
		}
		given[i] = true
		data := t.Data
		if k == trainer.Gradients && m.state.LossScale != 1 {
			data = slices.Clone(data)
			unscale(data, float32(1/m.state.LossScale))
		}
		m.store(k, dst, i, data)
	}
	for i, ok := range given {
		if !ok {
			r.Missing = append(r.Missing, m.layout.specs[i].Name)
		}
	}
	if k == trainer.Weights && m.b.copy != m.b.w {
		m.each("round_down", m.layout.size, m.b.copy, m.b.w, int64(m.layout.size))
	}
	return r, m.sync()
}

// store copies the values of tensor i to the buffer dst of kind k: all of them, or
// those in this rank's slices.
func (m *model) store(k trainer.Kind, dst device.Pointer, i int, data []float32) {
	at := m.layout.offset[i]
	if !m.divided(k) {
		m.upload(dst.Add(4*at), bytesOf(data))
		return
	}
	s := m.slices[1+m.layout.specs[i].Layer]
	if lo, hi := max(at, s.first), min(at+len(data), s.first+s.n); lo < hi {
		m.upload(dst.Add(4*(s.moments+lo-s.first)), bytesOf(data[lo-at:hi-at]))
	}
}

// appendFloat32 reads n float32 values at an address of the device and appends them
// to dst.
func (m *model) appendFloat32(dst []float32, from device.Pointer, n int) []float32 {
	for n > 0 && m.err == nil {
		k := min(n, stagingBytes/4)
		dst = append(dst, floatsOf(m.download(from, 4*k))...)
		from, n = from.Add(4*k), n-k
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
