package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pretext/trainer/cuda/sim"
)

func TestLengthsHaveTheMeansThatAreStated(t *testing.T) {
	want := map[string]float64{"wikipedia-512": 369.4, "wikipedia-128": 113.0, "uniform-512": 255.2, "full-77": 77}
	for _, name := range append(lengthNames(), "full-77") {
		d, err := readLengths(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for i, n := range d.lengths {
			sum += n * d.counts[i]
		}
		if mean := float64(sum) / float64(d.total); math.Abs(mean-want[name]) > 0.05 {
			t.Errorf("%s: mean %.2f, want %.1f", name, mean, want[name])
		}
		const tokens = 65536
		drawn := d.draw(tokens, rand.New(rand.NewPCG(1, 1)))
		sum = 0
		for _, n := range drawn {
			sum += n
			if n < 3 || n > d.longest {
				t.Errorf("%s: a sequence of %d tokens", name, n)
			}
		}
		if mean := float64(sum) / float64(len(drawn)); sum != tokens || math.Abs(mean/want[name]-1) > 0.1 {
			t.Errorf("%s: drew %d tokens with mean %.1f", name, sum, mean)
		}
	}
	for _, name := range []string{"full-", "full-0", "full-513", "none"} {
		if _, err := readLengths(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestBatchesAreAsInPretraining(t *testing.T) {
	o := options{vocab: 1000}
	b := o.madeUp([]int{512, 100, 8}, 512)
	if b.Tokens() != 620 || b.Sequences() != 3 || b.Masked() != 76+15+1 {
		t.Errorf("%d tokens, %d sequences, %d masked", b.Tokens(), b.Sequences(), b.Masked())
	}
	for i, at := range b.MaskedIndex {
		if b.IDs[at] != 4 || b.MaskedIDs[i] < 5 {
			t.Errorf("masked token %d: %d for %d", i, b.IDs[at], b.MaskedIDs[i])
		}
	}
}

// Every product of a layer, with real operands and sizes: the simulator finds one
// that reaches beyond its buffers.
func TestProductsFitTheirBuffers(t *testing.T) {
	var out strings.Builder
	o := options{model: "tiny", vocab: 64, precision: "bf16", tokens: 8}
	if err := o.products(&out, sim.NewGPU(sim.Options{Seed: 1})); err != nil {
		t.Fatal(err)
	}
	lines, epilogues := 0, map[string]bool{}
	for line := range strings.Lines(out.String()) {
		var r productResult
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Error != "" {
			t.Fatalf("%s: %v", line, err)
		}
		lines++
		epilogues[r.Epilogue] = true
	}
	if lines != 4*5+1+2 || len(epilogues) != 6 {
		t.Errorf("%d products, epilogues %v", lines, epilogues)
	}
}

func TestWrongArgumentsAreOneLine(t *testing.T) {
	for _, args := range []string{"", "fly", "step -device tpu", "products -device cuda:x", "lengths none", "step -device sim -lengths none", "step -device sim -model huge", "products -device sim -precision int8 -model tiny -tokens 8"} {
		err := run(strings.Fields(args), &strings.Builder{})
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
