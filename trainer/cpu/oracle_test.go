package cpu_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/cpu"
)

// tolerances of the trainer's design, by precision.
var tolerances = map[trainer.Precision]struct{ loss, gradient, movement, zero, keyWeight float64 }{
	trainer.Float64: {loss: 1e-11, gradient: 1e-7, movement: 1e-7, zero: 1e-7, keyWeight: 1e-3},
	trainer.Float32: {loss: 1e-6, gradient: 2e-5, movement: 2e-5, zero: 1e-6, keyWeight: 1e-3},
}

// oracleFile is a safetensors file of the oracle data.
type oracleFile struct {
	t *testing.T
	*checkpoint.Safetensors
}

// eachOracle runs f for the oracle data in testdata, which is in this
// repository, and for the oracle of the real data; root is the path of its
// directories.
func eachOracle(t *testing.T, f func(t *testing.T, root string)) {
	t.Run("demo", func(t *testing.T) { f(t, "testdata/oracle") })
	t.Run("real data", func(t *testing.T) { f(t, realdata.Path(t, "oracle")) })
}

func openOracle(t *testing.T, name string) oracleFile {
	t.Helper()
	s, err := checkpoint.OpenSafetensors(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return oracleFile{t, s}
}

func (f oracleFile) ints(name string) []int32 {
	f.t.Helper()
	v, err := f.Int32s(name, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

func (f oracleFile) floats(name string) []float32 {
	f.t.Helper()
	v, err := f.Float32s(name, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatal(err)
	}
}

// width returns the second dimension of a tensor.
func (f oracleFile) width(name string) int {
	f.t.Helper()
	e, ok := f.Lookup(name)
	if !ok || len(e.Shape) < 2 {
		f.t.Fatalf("%s: no matrix", name)
	}
	return int(e.Shape[1])
}

// batches cuts a file of padded records into unpadded batches of n records; 0
// means one batch of all.
func (f oracleFile) batches(n int) []*trainer.Batch {
	ids, mask, segments := f.ints("input_ids"), f.ints("input_mask"), f.ints("segment_ids")
	s, p := f.width("input_ids"), f.width("masked_lm_ids")
	positions, originals, weights := f.ints("masked_lm_positions"), f.ints("masked_lm_ids"), f.floats("masked_lm_weights")
	labels := f.ints("next_sentence_labels")
	if n == 0 {
		n = len(labels)
	}
	var bs []*trainer.Batch
	for r := range labels {
		if r%n == 0 {
			bs = append(bs, &trainer.Batch{})
		}
		length := 0
		for _, m := range mask[r*s : (r+1)*s] {
			length += int(m)
		}
		bs[len(bs)-1].Append(trainer.Sequence{
			IDs: ids[r*s : r*s+length], Segments: segments[r*s : r*s+length],
			MaskedPositions: positions[r*p : (r+1)*p], MaskedIDs: originals[r*p : (r+1)*p], MaskedWeights: weights[r*p : (r+1)*p],
			NSPLabel: labels[r], Position: int64(r),
		})
	}
	return bs
}

// openModel opens a model with the weights of an oracle folder.
func openModel(t *testing.T, dir string, h trainer.Heads, w way, o trainer.Optimizer, bs ...*trainer.Batch) (trainer.Model, *checkpoint.Pretrained) {
	t.Helper()
	weights, err := checkpoint.OpenPretrained(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { weights.Close() })
	opts := trainer.Options{Precision: w.precision, Train: true, Optimizer: o}
	for _, b := range bs {
		opts.Tokens, opts.Sequences, opts.Masked = max(opts.Tokens, b.Tokens()), max(opts.Sequences, b.Sequences()), max(opts.Masked, b.Masked())
	}
	m, err := cpu.Backend{ISA: w.isa}.Open(weights.Config, h, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	report, err := m.Load(trainer.Weights, weights.Tensors())
	if err != nil {
		t.Fatal(err)
	}
	if h == trainer.PretrainHeads() {
		if err := report.Complete(); err != nil {
			t.Fatal(err)
		}
	}
	return m, weights
}

// A way is a precision and the instruction set that computes in it.
type way struct {
	precision trainer.Precision
	isa       string
}

// eachWay runs f in double precision, and in single with every instruction set
// of the machine.
func eachWay(t *testing.T, f func(t *testing.T, w way)) {
	for _, w := range []way{{trainer.Float64, ""}, {trainer.Float32, "plain"}, {trainer.Float32, "avx2"}, {trainer.Float32, "avx512"}, {trainer.Float32, "neon"}} {
		t.Run(string(w.precision)+" "+w.isa, func(t *testing.T) {
			switch w.isa {
			case "avx2":
				realdata.Instructions(t, "AVX2")
			case "avx512":
				realdata.Instructions(t, "AVX-512 BW")
			case "neon":
				realdata.Instructions(t, "NEON")
			}
			f(t, w)
		})
	}
}

// eachOracleWay runs f for each oracle in each way.
func eachOracleWay(t *testing.T, f func(t *testing.T, root string, w way)) {
	eachOracle(t, func(t *testing.T, root string) {
		eachWay(t, func(t *testing.T, w way) { f(t, root, w) })
	})
}

// near compares numbers by their relative difference.
func near(t *testing.T, name string, got, want, tolerance float64) float64 {
	t.Helper()
	d := math.Abs(got-want) / math.Abs(want)
	if !(d <= tolerance) {
		t.Errorf("%s: got %.17g, want %.17g, apart by %.3g of allowed %.3g", name, got, want, d, tolerance)
	}
	return d
}

func norm(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

func distance(a, b []float32) float64 {
	d := make([]float32, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return norm(d)
}

// closeTo compares tensors by the norm of their difference, as a fraction of
// the norm of want.
func closeTo(t *testing.T, name string, got, want []float32, tolerance float64) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d elements, want %d", name, len(got), len(want))
		return math.Inf(1)
	}
	d := distance(got, want) / norm(want)
	if !(d <= tolerance) {
		t.Errorf("%s: apart by %.3g of allowed %.3g", name, d, tolerance)
	}
	return d
}

// checkGradients compares all gradients with a file.
func checkGradients(t *testing.T, m trainer.Model, want oracleFile, w way) {
	t.Helper()
	wrong, n, worst := wrongGradients(t, m, want, w, func(trainer.Tensor) {})
	t.Logf("%d gradients, the worst apart by %.2g of allowed %.2g", n, worst, tolerances[w.precision].gradient)
	for name, reason := range wrong {
		t.Errorf("%s: %s", name, reason)
	}
	if n != len(want.Entries) {
		t.Errorf("%d gradients, want %d", n, len(want.Entries))
	}
}

// wrongGradients compares the n gradients, after change has modified them, and
// returns the errors by tensor name, and the largest relative one. If the true gradient is zero (key biases;
// parameters that only shift all span logits), it compares absolute sizes.
func wrongGradients(t *testing.T, m trainer.Model, want oracleFile, w way, change func(g trainer.Tensor)) (wrong map[string]string, n int, worst float64) {
	t.Helper()
	tol := tolerances[w.precision]
	wrong = map[string]string{}
	for g, err := range m.Tensors(trainer.Gradients) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		change(g)
		golden := want.floats(g.Name)
		if norm(golden) < 1e-8 {
			if size := norm(g.Data); !(size < tol.zero) {
				wrong[g.Name] = fmt.Sprintf("gradient of size %.3g, want below %.3g", size, tol.zero)
			}
			continue
		}
		if g.Name == wordEmbedding && norm(golden[:g.Shape[1]]) == 0 {
			clear(g.Data[:g.Shape[1]])
		}
		d := distance(g.Data, golden) / norm(golden)
		if worst = max(worst, d); !(d <= tol.gradient) {
			wrong[g.Name] = fmt.Sprintf("apart by %.3g of allowed %.3g", d, tol.gradient)
		}
	}
	return wrong, n, worst
}

// wordEmbedding's first row, of [PAD], has no gradient in transformers
// (nn.Embedding's padding_idx). It has one in google-research/bert and here,
// where padding is part of a batch at all: in the span test.
const wordEmbedding = "bert.embeddings.word_embeddings.weight"
