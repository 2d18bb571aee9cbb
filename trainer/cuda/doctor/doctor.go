// Package doctor checks whether the GPUs of this machine can train, and measures
// their speed.
//
//	report := doctor.Examine()
//	if report.Problem != "" {
//		// no GPU can be used; the text says why and what to do
//	}
//
// For each GPU, it compiles all kernels, copies data to the GPU and back, and
// measures the time of a copy and of a matrix product. This takes seconds. Most of the
// time is for compiling; the driver caches the compiled kernels.
package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/driver"
	"pretext/trainer/cuda/kernels"
)

// A Report is the result of [Examine].
type Report struct {
	Problem   string    `json:"problem,omitempty"` // why no GPU can be used, and what to do; empty if one can be used
	CUDA      string    `json:"cuda_version,omitempty"`
	Libraries []Library `json:"libraries,omitempty"`
	NCCL      string    `json:"nccl_problem,omitempty"` // why several ranks cannot use NCCL; empty if they can, or if Problem is set
	GPUs      []GPU     `json:"gpus,omitempty"`         // all GPUs, by ordinal
}

// A Library is a shared library of NVIDIA that was found.
type Library struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version"`
}

// A GPU holds the properties and measured speeds of one GPU.
type GPU struct {
	Name            string   `json:"name"`
	Memory          int64    `json:"memory_bytes"`
	Capability      string   `json:"compute_capability"` // e.g. "9.0"
	Multiprocessors int      `json:"multiprocessors"`
	Problem         string   `json:"problem,omitempty"` // why this GPU cannot be used; other fields are then incomplete
	Kernels         int      `json:"kernels"`           // number of compiled kernels, counted once for each type
	CompileSeconds  float64  `json:"compile_seconds"`
	Spilling        []string `json:"spilling,omitempty"` // kernels that need a stack for spilled registers, which is slow
	Copy            float64  `json:"copy_bytes_per_second"`
	FLOPS           float64  `json:"bf16_flop_per_second"`
}

// Examine checks and measures all GPUs of this machine.
func Examine() Report {
	s := driver.Look()
	r := Report{CUDA: s.CUDA}
	for _, l := range s.Libraries {
		r.Libraries = append(r.Libraries, Library(l))
	}
	if s.Err != nil {
		r.Problem = s.Err.Error()
		return r
	}
	if s.NCCL != nil {
		r.NCCL = s.NCCL.Error()
	}
	r.Problem = "no GPU can be used"
	for i, p := range s.Devices {
		g := GPU{Name: p.Name, Memory: p.Memory, Capability: fmt.Sprintf("%d.%d", p.Major, p.Minor), Multiprocessors: p.Multiprocessors}
		if err := g.examine(i); err != nil {
			g.Problem = err.Error()
		} else {
			r.Problem = ""
		}
		r.GPUs = append(r.GPUs, g)
	}
	return r
}

// examine opens the GPU with the given ordinal and fills in the results of
// compiling and measuring.
func (g *GPU) examine(ordinal int) (err error) {
	d, err := driver.Open(ordinal)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := g.compile(d); err != nil {
		return err
	}
	return g.measure(d)
}

// compile loads all kernel modules, counts the kernels, and lists in g.Spilling those that
// need a stack for spilled registers.
func (g *GPU) compile(d device.Device) error {
	begin := time.Now()
	for _, t := range kernels.Types() {
		for _, module := range kernels.Modules(t) {
			if p := d.Properties(); module == "fp8" && p.Major*10+p.Minor < 89 {
				continue // no precision of this device uses it
			}
			text, err := kernels.PTX(module, t)
			if err != nil {
				return err
			}
			m, err := d.Load(text)
			if err != nil {
				return fmt.Errorf("module %s for %s: %w", module, t, err)
			}
			for _, name := range kernels.Names(text) {
				_, limits, err := d.Function(m, name)
				if err != nil {
					return fmt.Errorf("module %s for %s: %w", module, t, err)
				}
				if g.Kernels++; limits.Local > 0 {
					g.Spilling = append(g.Spilling, fmt.Sprintf("%s.%s", name, t))
				}
			}
		}
	}
	g.CompileSeconds = time.Since(begin).Seconds()
	return nil
}

// A bench has a timer and three matrices of size × size in bf16.
type bench struct {
	*device.Timer
	size     int
	matrices [3]device.Pointer
}

// measure sets the speeds of g from the times of a matrix product and of copies of
// a matrix.
func (g *GPU) measure(d device.Device) error {
	b, err := newBench(d)
	if err != nil {
		return err
	}
	if err := b.fill(); err != nil {
		return err
	}
	n := b.size
	took, err := b.Mean(func() error { return d.Copy(b.Stream, b.matrices[2], b.matrices[1], 2*n*n) })
	if err != nil {
		return err
	}
	g.Copy = 2 * float64(2*n*n) / took.Seconds() // each byte is read and written
	shape := device.Matmul{M: n, N: n, K: n, TransA: true, LDA: n, LDB: n, LDD: n, Type: device.BFloat16, Result: device.BFloat16}
	const workspace = 32 << 20
	p, err := d.Plan(shape, workspace, "")
	if err != nil {
		return err
	}
	x := device.Operands{A: b.matrices[0], B: b.matrices[1], D: b.matrices[2], Alpha: 1}
	if x.Workspace, err = d.Alloc(workspace); err != nil {
		return err
	}
	took, err = b.Mean(func() error { return d.Matmul(b.Stream, p, x) })
	g.FLOPS = 2 * float64(n) * float64(n) * float64(n) / took.Seconds()
	return err
}

func newBench(d device.Device) (*bench, error) {
	t, err := device.NewTimer(d)
	if err != nil {
		return nil, err
	}
	b := &bench{Timer: t, size: 8192}
	if d.Properties().Memory < 4<<30 {
		b.size = 1024
	}
	for i := range b.matrices {
		if b.matrices[i], err = d.Alloc(2 * b.size * b.size); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// fill writes normally distributed numbers to two matrices, reads them back, and
// returns an error if they differ. The numbers are not zero, because a GPU that
// multiplies zeros draws less power and is faster than in training.
func (b *bench) fill() error {
	const block = 1 << 20 // bytes; the size of both matrices is a multiple
	h, err := b.AllocHost(2 * block)
	if err != nil {
		return err
	}
	out, in := h[:block], h[block:]
	random := rand.New(rand.NewPCG(1, 1))
	for i := 0; i < block; i += 2 {
		v := math.Float32bits(float32(random.NormFloat64())) >> 16
		out[i], out[i+1] = byte(v), byte(v>>8)
	}
	for _, m := range b.matrices[:2] {
		for at := 0; at < 2*b.size*b.size; at += block {
			if err := b.ToDevice(b.Stream, m.Add(at), out); err != nil {
				return err
			}
		}
	}
	last := b.matrices[1].Add(2*b.size*b.size - block)
	if err := errors.Join(b.ToHost(b.Stream, in, last), b.SyncStream(b.Stream)); err != nil {
		return err
	}
	if !bytes.Equal(in, out) {
		return errors.New("data copied to the GPU and back is not the same: its memory or its connection is faulty")
	}
	return nil
}
