package main

import (
	"bytes"
	"testing"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
)

// TestTheTileThatIsPlanted launches an attention kernel that writes nothing: of a sequence of
// 500 tokens the first head of tokens 448 to 499 is cleared, and no byte else.
func TestTheTileThatIsPlanted(t *testing.T) {
	const hidden, rows = 128, 3 + 500 + 2
	p, err := newPlanted(sim.NewGPU(sim.Options{Seed: 1}), "tile", hidden)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	stream, err := p.NewStream()
	check(err)
	ctx, err := p.Alloc(2 * hidden * rows)
	check(err)
	host, err := p.AllocHost(2 * hidden * rows)
	check(err)
	module, err := p.Load(".version 7.0\n.target sm_80\n.address_size 64\n" +
		".visible .entry flash_forward(.param .u64 ctx)\n{\n\tret;\n}\n.visible .entry another(.param .u64 ctx)\n{\n\tret;\n}\n")
	check(err)
	for _, c := range []struct {
		kernel string
		cu     []int32
		from   int // first row that is cleared
	}{
		{"another", []int32{0, 3, 503, 505}, rows},
		{"flash_forward", nil, rows}, // no batch yet
		{"flash_forward", []int32{0, 5, 505}, 5 + 448},
		{"flash_forward", []int32{0, 3, 503, 505}, 3 + 448},
		{"flash_forward", []int32{0, 499, 505}, rows},
	} {
		f, _, err := p.Function(module, c.kernel)
		check(err)
		want := bytes.Repeat([]byte{7}, len(host))
		copy(host, want)
		for row := c.from; row < min(c.from+52, rows); row++ {
			clear(want[2*hidden*row:][:2*tile])
		}
		p.cu = c.cu
		check(p.ToDevice(stream, ctx, host))
		check(p.Launch(stream, f, device.Config{Grid: device.Dim{X: 1}, Block: device.Dim{X: 32}}, kernels.Pack(ctx)))
		check(p.ToHost(stream, host, ctx))
		check(p.SyncStream(stream))
		for i, b := range host {
			if b != want[i] {
				t.Errorf("%s with %v: row %d, byte %d is %d, want %d", c.kernel, c.cu, i/(2*hidden), i%(2*hidden), b, want[i])
				break
			}
		}
	}
	check(p.Close())
}
