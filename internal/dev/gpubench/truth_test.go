package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pretext/internal/dev/torture"
	"pretext/trainer"
)

// tried runs truth on the simulator, in small, and returns the lines that are broken.
func tried(t *testing.T, args string) (broken []line, err error) {
	t.Helper()
	var out strings.Builder
	err = run(strings.Fields("truth -device sim -model tiny -vocab 1003 -parts 1 -steps 2 "+args), &out)
	lines := 0
	for text := range strings.Lines(out.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		lines++
		if !l.OK {
			broken = append(broken, l)
		}
	}
	if lines == 0 {
		t.Error("no lines")
	}
	if (err == nil) != (len(broken) == 0) {
		t.Errorf("%d lines are broken, and the error is %v", len(broken), err)
	}
	return broken, err
}

// TestTruthNamesWhatIsBroken runs the shortest check with a planted fault. A full test
// plants every fault, and has a device that is right pass all checks.
func TestTruthNamesWhatIsBroken(t *testing.T) {
	const product = "-checks sharp -tokens 20 -plant product"
	expect(t, product, "gradients", "attention.output.dense.weight", "")
	if !torture.Full() {
		return
	}
	if broken, err := tried(t, "-tokens 130 -lengths full-40"); err != nil {
		t.Errorf("a device that is right: %v, %+v", err, broken)
	}
	const layout, tile = "-checks sharp -tokens 48 -plant layout", "-checks sharp -lengths full-24 -tokens 540 -plant tile"
	expect(t, layout, "outputs of tokens", "", "sequence 0 ")
	expect(t, tile, "outputs of tokens", "", "of 500 tokens, tokens 448 to 499")
	expect(t, tile, "gradients of heads", ".self.query.weight", "head 0")
}

// expect runs truth with a planted fault: a line of the check must be broken, and name
// tensor and place.
func expect(t *testing.T, args, check, tensor, where string) {
	t.Helper()
	broken, _ := tried(t, args)
	for _, l := range broken {
		if strings.HasSuffix(l.Check, ": "+check) || strings.Contains(l.Check, ": "+check+",") {
			if strings.Contains(l.Tensor, tensor) && strings.Contains(l.Where, where) {
				return
			}
		}
	}
	t.Errorf("%s: no broken line of %q names %q, %q: %+v", args, check, tensor, where, broken)
}

func TestWhereADifferenceSits(t *testing.T) {
	const n = 192
	want := make([]float32, n*n)
	for i := range want {
		want[i] = float32(i*i%1009) / 1009
	}
	changed := func(f func(x []float32)) []float32 {
		x := append([]float32(nil), want...)
		f(x)
		return x
	}
	for _, c := range []struct {
		want string
		got  []float32
	}{
		{"rows 64 to 127 of 192, columns 0 to 63 of 192", changed(func(x []float32) { x[100*n+20]++; x[70*n+63]++ })},
		{"rows 128 to 191 of 192, all columns", changed(func(x []float32) { clear(x[150*n : 151*n]) })},
		{"all rows, columns 64 to 127 of 192", changed(func(x []float32) {
			for i := range n {
				x[i*n+90]++
			}
		})},
		{"row 3, column 5 is NaN", changed(func(x []float32) { x[3*n+5] = float32(math.NaN()) })},
		{"the reference, transposed: a swapped layout", changed(func(x []float32) {
			for i := range x {
				x[i] = want[i%n*n+i/n]
			}
		})},
	} {
		if got := where(c.got, want, []int{n, n}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if r := relative([]float32{1, float32(math.NaN())}, []float32{1, 1}, []float32{1, 1}); !math.IsInf(r, 1) {
		t.Errorf("a NaN is %v off", r)
	}
}

// The words of a batch say where they stand, and parts of it are what they were.
func TestWordsAreAddresses(t *testing.T) {
	o := options{vocab: 100}
	lengths := []int{30, 70, 50}
	b, places, err := o.addressed(lengths, 512)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Validate(mustPreset(t), pretraining); err != nil {
		t.Fatal(err)
	}
	ids := append([]int32(nil), b.IDs...)
	for i, at := range b.MaskedIndex {
		ids[at] = b.MaskedIDs[i]
	}
	for s, n := range lengths {
		for j := range n {
			p := places[ids[int(b.CuSeqlens[s])+j]]
			if p.sequence != s || j < p.first || j >= p.first+p.tokens {
				t.Fatalf("token %d of sequence %d has the address %+v", j, s, p)
			}
		}
	}
	second := part(b, 1, 2)
	if second.Tokens() != 70 || second.Sequence[0] != b.Sequence[1] || second.IDs[3] != b.IDs[33] {
		t.Errorf("the second sequence is %+v", second)
	}
	alone := only(b, 1)
	if alone.Masked() != second.Masked() || alone.Tokens() != b.Tokens() || alone.Counts(pretraining).NSP != 1 {
		t.Errorf("%d masked tokens of %d, %v", alone.Masked(), second.Masked(), alone.Counts(pretraining))
	}
	if _, _, err := (&options{vocab: 6}).addressed(lengths, 512); err == nil {
		t.Error("three sequences fit one word")
	}
}

func mustPreset(t *testing.T) trainer.Config {
	t.Helper()
	c, err := trainer.Preset("tiny", 100)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTrainedWeightsAreAsStated computes logits and scores of random inputs of size 1.
func TestTrainedWeightsAreAsStated(t *testing.T) {
	c, err := trainer.Preset("mini", 2000)
	if err != nil {
		t.Fatal(err)
	}
	specs := trainer.Tensors(c, pretraining)
	for _, how := range []temper{calm, sharp} {
		w := trainedWeights(c, specs, how, 1)
		again := trainedWeights(c, specs, how, 1)
		if d := differences(again, w, specs); d[0].relative != 0 || len(d) != len(specs) {
			t.Errorf("the same weights differ: %+v", d[0])
		}
		h, last := c.HiddenSize, c.AttentionHeads-1
		random := rand.New(rand.NewPCG(1, 1))
		input := func(gain []float32) []float64 {
			x := make([]float64, h)
			for i := range x {
				x[i] = random.NormFloat64() * float64(gain[i])
			}
			return x
		}
		ones := make([]float32, h)
		for i := range ones {
			ones[i] = 1
		}
		times := func(matrix []float32, row int, x []float64) (sum float64) {
			for i, v := range x {
				sum += v * float64(matrix[row*h+i])
			}
			return sum
		}
		logits, scores, n := 0.0, 0.0, 400
		for i := range n {
			l := times(w["bert.embeddings.word_embeddings.weight"], i, input(w["cls.predictions.transform.LayerNorm.weight"]))
			x, y, s := input(ones), input(ones), 0.0
			for j := last * tile; j < (last+1)*tile; j++ {
				s += times(w["bert.encoder.layer.0.attention.self.query.weight"], j, x) * times(w["bert.encoder.layer.0.attention.self.key.weight"], j, y) / 8
			}
			logits, scores = logits+l*l, scores+s*s
		}
		if l, s := math.Sqrt(logits/float64(n)), math.Sqrt(scores/float64(n)); math.Abs(l/how.logits-1) > 0.2 || math.Abs(s/how.scores-1) > 0.2 {
			t.Errorf("%s: logits of %.2g, scores of %.2g; stated %+v", how.name, l, s, how)
		}
	}
}
