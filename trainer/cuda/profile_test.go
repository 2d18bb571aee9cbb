package cuda

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pretext/internal/dev/torture"
	"pretext/trainer"
	"pretext/trainer/cuda/sim"
)

// TestTheModelOfBytesIsWhatMoves compares the bytes that a profile expects with those that the
// simulator counts, for the kernels whose bytes it knows and the products of a step. A plain go
// test has bf16 models.
func TestTheModelOfBytesIsWhatMoves(t *testing.T) {
	t.Parallel()
	c, h := smallConfig(128, 2, trainer.GELUNew), trainer.PretrainHeads()
	batch := ragged(rand.New(rand.NewPCG(1, 3)), c, 64, 64, 128)
	recent := modernConfig(128, 2, 41)
	recentBatch := ragged(rand.New(rand.NewPCG(1, 3)), recent, 64, 64, 128)
	for i, p := range []struct {
		c         trainer.Config
		h         trainer.Heads
		batch     *trainer.Batch
		precision trainer.Precision
		ways      string
		exact     bool
	}{
		{c, h, batch, trainer.BFloat16, fused, false}, {c, h, batch, trainer.Float16, plain, true}, {c, h, batch, trainer.Float8, plain, false},
		{recent, recent.PretrainHeads(), recentBatch, trainer.BFloat16, fused, false},
	} {
		if i%3 != 0 && !torture.Full() {
			continue
		}
		c, h, batch := p.c, p.h, p.batch
		gpu := sim.NewGPU(sim.Options{Seed: 3, Memory: 1 << 30})
		profile := NewProfile(gpu)
		b := onDevice(profile)
		b.ways = p.ways
		o := trainer.Options{Tokens: batch.Tokens(), Sequences: 8, Masked: 100, Precision: p.precision, Train: true, Deterministic: p.exact, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)}
		m := openTinyOf(t, b, c, h, o)
		before := gpu.Counts()
		profile.Start()
		if err := m.Accumulate(batch, batch.Counts(h).Coef(), true); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: 10}); err != nil {
			t.Fatal(err)
		}
		list, err := profile.Stop()
		if err != nil {
			t.Fatal(err)
		}
		expected, after := map[string]float64{}, gpu.Counts()
		for _, w := range list {
			name, _, _ := strings.Cut(w.Name, " ")
			if w.Bytes > 0 && name != "cross_entropy" { // it reads no row without a label, of which a small batch has many
				expected[strings.Replace(name, "product", "matmul", 1)] += w.Bytes
			}
			if w.Calls < 1 || strings.HasPrefix(w.Name, "flash_") && w.Name != "flash_queries_done" && !(w.Operations > 0) {
				t.Errorf("%+v", w)
			}
		}
		if len(expected) < 10 {
			t.Errorf("the bytes of %d kernels are known", len(expected))
		}
		for name, want := range expected {
			counted := float64(after[name].Read + after[name].Written - before[name].Read - before[name].Written)
			t.Logf("%s, %s: %s: expected %.0f bytes, counted %.0f", p.precision, p.ways, name, want, counted)
			off := 0.04
			if name == "rotate" {
				off = 0.15 // its table of angles counts in a small batch
			}
			if !(math.Abs(want/counted-1) <= off) {
				t.Errorf("%s, %s: %s: expected %.0f bytes, counted %.0f", p.precision, p.ways, name, want, counted)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTheModelOfTime computes the time of a kernel that memory limits, and of a product.
func TestTheModelOfTime(t *testing.T) {
	h100 := Chips[1]
	for _, c := range []struct {
		work Work
		want float64 // ms
	}{
		{Work{Name: "norm_forward", Bytes: 3 * 65536 * 1024 * 2}, 0.1561},
		{Work{Name: "product 4096×65536×1024", Bytes: 1e9, Operations: 2 * 4096 * 65536 * 1024}, 0.8423},
		{Work{Name: "flash_forward", Operations: 282e9}, 1.0005},
		{Work{Name: "begin_update"}, 0},
		{Work{Name: "product fp8", Operations: 1979e9 * 0.66, Width: 1}, 1},
		{Work{Name: "product fp32", Operations: 67e9 * 0.66, Width: 4}, 1},
	} {
		if got := h100.Expected(c.work).Seconds() * 1e3; math.Abs(got-c.want) > 1e-3*(1+c.want) {
			t.Errorf("%s: %.4f ms, want %.4f", c.work.Name, got, c.want)
		}
	}
}
