package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
)

// faults are the names of what plant can break.
var faults = []string{"product", "layout", "tile"}

// A planted is a simulated device that computes something wrong, as a GPU could: the
// rehearsal of truth must name it.
//
//   - product: an algorithm for weight gradients loses the last 16 tokens;
//   - layout: the product behind the attention takes its weights transposed;
//   - tile: the attention of a head loses tokens 448 to 499 of a sequence of 500.
type planted struct {
	*sim.GPU
	fault  string
	hidden int
	cu     []int32 // bounds of the sequences of the batch with the tile
	flash  device.Function
}

func newPlanted(g *sim.GPU, fault string, hidden int) (*planted, error) {
	for _, f := range faults {
		if f == fault {
			return &planted{GPU: g, fault: fault, hidden: hidden}, nil
		}
	}
	return nil, fmt.Errorf("--plant %q: must be one of %s", fault, strings.Join(faults, ", "))
}

// Plan prepares a product that is wrong.
func (p *planted) Plan(m device.Matmul, workspace int, algorithm string) (device.Product, error) {
	const lost = 16
	switch {
	case m.Type == device.Float32:
	case p.fault == "product" && m.TransB && m.M == p.hidden && m.N == p.hidden && m.K > lost:
		m.K -= lost
	case p.fault == "layout" && m.TransA && m.M == p.hidden && m.K == p.hidden && m.Epilogue == device.None:
		m.TransA = false
	}
	return p.GPU.Plan(m, workspace, algorithm)
}

// Function notes the attention kernel.
func (p *planted) Function(m device.Module, name string) (device.Function, device.Limits, error) {
	f, l, err := p.GPU.Function(m, name)
	if name == "flash_forward" {
		p.flash = f
	}
	return f, l, err
}

// Launch clears a tile of what the attention kernel has written. Its first argument is the
// output (T, H).
func (p *planted) Launch(s device.Stream, f device.Function, c device.Config, args []byte) error {
	if err := p.GPU.Launch(s, f, c, args); err != nil || p.fault != "tile" || f != p.flash {
		return err
	}
	ctx := device.Pointer(binary.LittleEndian.Uint64(args))
	for s0, from := range p.cu[:max(0, len(p.cu)-1)] {
		if p.cu[s0+1]-from != 500 {
			continue
		}
		for row := from + 448; row < from+500; row++ {
			if err := p.Clear(s, ctx.Add(2*p.hidden*int(row)), 2*tile); err != nil {
				return err
			}
		}
	}
	return nil
}
