package cpu_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strings"
	"testing"

	"pretext/internal/realdata"
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

func openOracle(t *testing.T, name string) oracleFile {
	t.Helper()
	s, err := checkpoint.OpenSafetensors(realdata.Path(t, "oracle/"+name))
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
	if err := json.Unmarshal(realdata.Read(t, "oracle/"+name), v); err != nil {
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
func openModel(t *testing.T, dir string, h trainer.Heads, p trainer.Precision, o trainer.Optimizer, bs ...*trainer.Batch) (trainer.Model, *checkpoint.Pretrained) {
	t.Helper()
	weights, err := checkpoint.OpenPretrained(realdata.Path(t, "oracle/"+dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { weights.Close() })
	opts := trainer.Options{Precision: p, Train: true, Optimizer: o}
	for _, b := range bs {
		opts.Tokens, opts.Sequences, opts.Masked = max(opts.Tokens, b.Tokens()), max(opts.Sequences, b.Sequences()), max(opts.Masked, b.Masked())
	}
	m, err := cpu.Backend{}.Open(weights.Config, h, opts)
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

func eachPrecision(t *testing.T, f func(t *testing.T, p trainer.Precision)) {
	for _, p := range []trainer.Precision{trainer.Float64, trainer.Float32} {
		t.Run(string(p), func(t *testing.T) { f(t, p) })
	}
}

// near compares numbers by their relative difference.
func near(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if d := math.Abs(got-want) / math.Abs(want); !(d <= tolerance) {
		t.Errorf("%s: got %.17g, want %.17g, apart by %.3g of allowed %.3g", name, got, want, d, tolerance)
	}
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

// close compares tensors by norm of difference over norm.
func closeTo(t *testing.T, name string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d elements, want %d", name, len(got), len(want))
		return
	}
	if d := distance(got, want) / norm(want); !(d <= tolerance) {
		t.Errorf("%s: apart by %.3g of allowed %.3g", name, d, tolerance)
	}
}

// checkGradients compares all gradients with a file. Where the true gradient is
// zero (key biases; what only shifts all span logits), it is compared by size.
func checkGradients(t *testing.T, m trainer.Model, want oracleFile, p trainer.Precision) {
	t.Helper()
	tol, n := tolerances[p], 0
	for g, err := range m.Tensors(trainer.Gradients) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		golden := want.floats(g.Name)
		if norm(golden) < 1e-8 {
			if size := norm(g.Data); !(size < tol.zero) {
				t.Errorf("%s: gradient of size %.3g, want below %.3g", g.Name, size, tol.zero)
			}
			continue
		}
		if g.Name == wordEmbedding && norm(golden[:g.Shape[1]]) == 0 {
			clear(g.Data[:g.Shape[1]])
		}
		closeTo(t, g.Name, g.Data, golden, tol.gradient)
	}
	if n != len(want.Entries) {
		t.Errorf("%d gradients, want %d", n, len(want.Entries))
	}
}

// wordEmbedding's first row, of [PAD], has no gradient in transformers
// (nn.Embedding's padding_idx). It has one in google-research/bert and here,
// where padding is part of a batch at all: in the span test.
const wordEmbedding = "bert.embeddings.word_embeddings.weight"

func TestOraclePretrainingStep(t *testing.T) {
	eachPrecision(t, func(t *testing.T, p trainer.Precision) {
		b := openOracle(t, "pretrain/batch.safetensors").batches(0)[0]
		m, _ := openModel(t, "pretrain", trainer.PretrainHeads(), p, trainer.DefaultOptimizer(trainer.AdamW), b)
		var want struct {
			Loss         float64 `json:"loss"`
			MLM          float64 `json:"mlm_loss"`
			NSP          float64 `json:"nsp_loss"`
			MLMSum       float64 `json:"mlm_sum"`
			MLMWeight    float64 `json:"mlm_weight"`
			MLMAccuracy  float64 `json:"mlm_accuracy"`
			NSPAccuracy  float64 `json:"nsp_accuracy"`
			GradNorm     float64 `json:"grad_norm"`
			PaddingFree  float64 `json:"padding_free_loss"`
			TransformErf float64 `json:"loss_with_erf_gelu"`
		}
		readJSON(t, "pretrain/losses.json", &want)
		sums, err := m.Forward(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		tol := tolerances[p]
		near(t, "loss", sums.Loss(), want.Loss, tol.loss)
		near(t, "padding-free loss", sums.Loss(), want.PaddingFree, tol.loss)
		near(t, "masked-LM loss", sums.MLM(), want.MLM, tol.loss)
		near(t, "next-sentence loss", sums.NSP(), want.NSP, tol.loss)
		near(t, "masked-LM sum", sums.MLMLoss, want.MLMSum, tol.loss)
		if sums.MLMWeight != want.MLMWeight || sums.MLMCorrect != math.Round(want.MLMAccuracy*want.MLMWeight) ||
			math.Abs(sums.NSPCorrect/sums.NSPCount-want.NSPAccuracy) > 1e-12 {
			t.Errorf("counts and accuracies: got %+v, want %+v", sums, want)
		}

		if err := m.Accumulate(b, b.Counts(trainer.PretrainHeads()).Coef()); err != nil {
			t.Fatal(err)
		}
		checkGradients(t, m, openOracle(t, "pretrain/grads.safetensors"), p)
		info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Steps: 1}, trainer.Alone{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "gradient norm", info.GradNorm, want.GradNorm, 10*tol.loss)
		near(t, "loss of the step", info.Sums.Loss(), want.Loss, tol.loss)
	})
}

func TestOraclePretrainingOutputs(t *testing.T) {
	eachPrecision(t, func(t *testing.T, p trainer.Precision) {
		padded := openOracle(t, "pretrain/batch.safetensors")
		b := padded.batches(0)[0]
		m, weights := openModel(t, "pretrain", trainer.PretrainHeads(), p, trainer.DefaultOptimizer(trainer.AdamW), b)
		want := openOracle(t, "pretrain/outputs.safetensors")
		out := &trainer.Outputs{Want: trainer.OutputHidden | trainer.OutputPooled | trainer.OutputMLMLogits | trainer.OutputNSPLogits}
		if _, err := m.Forward(b, out); err != nil {
			t.Fatal(err)
		}
		tolerance := map[trainer.Precision]float64{trainer.Float64: 1e-7, trainer.Float32: 1e-5}[p]
		closeTo(t, "pooled output", out.Pooled, want.floats("pooled_output"), tolerance)
		closeTo(t, "next-sentence logits", out.NSPLogits, want.floats("nsp_logits"), tolerance)
		h, v := weights.Config.HiddenSize, weights.Config.VocabSize
		closeTo(t, "sequence output", out.Hidden, realRows(padded, want.floats("sequence_output"), h), tolerance)
		closeTo(t, "masked-LM logits", out.MLMLogits, liveRows(padded, want.floats("mlm_logits"), v), tolerance)
	})
}

// realRows drops the padding rows of a (B, S, width) tensor.
func realRows(padded oracleFile, x []float32, width int) []float32 {
	var rows []float32
	for i, m := range padded.ints("input_mask") {
		if m != 0 {
			rows = append(rows, x[i*width:(i+1)*width]...)
		}
	}
	return rows
}

// liveRows drops the empty prediction slots of a (B, P, width) tensor.
func liveRows(padded oracleFile, x []float32, width int) []float32 {
	var rows []float32
	for i, w := range padded.floats("masked_lm_weights") {
		if w != 0 {
			rows = append(rows, x[i*width:(i+1)*width]...)
		}
	}
	return rows
}

func TestOracleUnpaddedBatch(t *testing.T) {
	b := openOracle(t, "pretrain/batch.safetensors").batches(0)[0]
	want := openOracle(t, "pretrain/unpadded.safetensors")
	for name, got := range map[string][]int32{
		"cu_seqlens": b.CuSeqlens, "ids": b.IDs, "segments": b.Segments, "positions": b.Positions,
		"masked_index": b.MaskedIndex, "masked_ids": b.MaskedIDs,
	} {
		if fmt.Sprint(got) != fmt.Sprint(want.ints(name)) {
			t.Errorf("%s: got %v, want %v", name, got, want.ints(name))
		}
	}
}

// optimOptions are the options of an optimizer's golden file.
type optimOptions struct {
	Name        trainer.OptimizerName `json:"name"`
	LR          float64               `json:"lr"`
	WarmupSteps float64               `json:"warmup_steps"`
	Warmup      float64               `json:"warmup"`
	TrainSteps  int64                 `json:"train_steps"`
	Degree      float64               `json:"degree"`
	Beta1       float64               `json:"beta1"`
	Beta2       float64               `json:"beta2"`
	Eps         float64               `json:"eps"`
	WeightDecay float64               `json:"weight_decay"`
	ClipNorm    float64               `json:"clip_norm"`
}

type optimGolden struct {
	Options   optimOptions `json:"options"`
	BatchSize int          `json:"batch_size"`
	Decayed   []string     `json:"decayed"`
	Steps     []struct {
		Rate       float64 `json:"lr"`
		Loss       float64 `json:"loss"`
		MLM        float64 `json:"mlm_loss"`
		NSP        float64 `json:"nsp_loss"`
		GradNorm   float64 `json:"grad_norm"`
		WeightNorm float64 `json:"weight_norm"`
		MNorm      float64 `json:"m_norm"`
		VNorm      float64 `json:"v_norm"`
	} `json:"steps"`
}

func (o optimOptions) schedule() trainer.Schedule {
	s := trainer.Schedule{Kind: trainer.Linear, Peak: o.LR, Steps: o.TrainSteps, Warmup: o.WarmupSteps}
	if o.Name == trainer.LAMB {
		s.Kind, s.Warmup, s.Degree = trainer.Polynomial, o.Warmup*float64(o.TrainSteps), o.Degree
	}
	return s
}

func (o optimOptions) optimizer() trainer.Optimizer {
	return trainer.Optimizer{
		Name: o.Name, Beta1: o.Beta1, Beta2: o.Beta2, Epsilon: o.Eps, WeightDecay: o.WeightDecay, ClipNorm: o.ClipNorm,
		BiasCorrection: o.Name == trainer.LAMB,
	}
}

func TestOracleAdamW(t *testing.T) { eachPrecision(t, runOptimizer("adamw")) }

func TestOracleLAMB(t *testing.T) { eachPrecision(t, runOptimizer("lamb")) }

func runOptimizer(name string) func(*testing.T, trainer.Precision) {
	return func(t *testing.T, p trainer.Precision) {
		var want optimGolden
		readJSON(t, "optim/"+name+".json", &want)
		bs := openOracle(t, "optim/batches.safetensors").batches(want.BatchSize)
		m, start := openModel(t, "optim", trainer.PretrainHeads(), p, want.Options.optimizer(), bs...)
		if got := decayed(start.Config); fmt.Sprint(got) != fmt.Sprint(want.Decayed) {
			t.Errorf("decayed tensors: got %v, want %v", got, want.Decayed)
		}
		tol := tolerances[p]
		for i, step := range want.Steps {
			if err := m.Accumulate(bs[i], bs[i].Counts(trainer.PretrainHeads()).Coef()); err != nil {
				t.Fatal(err)
			}
			info, err := m.Apply(want.Options.schedule(), trainer.Alone{})
			if err != nil {
				t.Fatal(err)
			}
			at := fmt.Sprintf("step %d ", i)
			if math.Abs(info.Rate-step.Rate) > 1e-12*want.Options.LR {
				t.Errorf("%srate: got %v, want %v", at, info.Rate, step.Rate)
			}
			near(t, at+"loss", info.Sums.Loss(), step.Loss, tol.loss)
			near(t, at+"masked-LM loss", info.Sums.MLM(), step.MLM, tol.loss)
			near(t, at+"next-sentence loss", info.Sums.NSP(), step.NSP, 10*tol.loss)
			near(t, at+"gradient norm", info.GradNorm, step.GradNorm, 10*tol.loss)
			near(t, at+"weight norm", kindNorm(t, m, trainer.Weights), step.WeightNorm, max(1e-8, tol.loss))
			near(t, at+"norm of m", kindNorm(t, m, trainer.FirstMoment), step.MNorm, max(1e-7, 10*tol.loss))
			near(t, at+"norm of v", kindNorm(t, m, trainer.SecondMoment), step.VNorm, max(1e-7, 10*tol.loss))
		}
		checkMovement(t, m, start, openOracle(t, path.Join("optim", name+"-final.safetensors")), p)
	}
}

func decayed(c trainer.Config) (names []string) {
	for _, s := range trainer.Tensors(c, trainer.PretrainHeads()) {
		if s.Decay {
			names = append(names, s.Name)
		}
	}
	return names
}

func kindNorm(t *testing.T, m trainer.Model, k trainer.Kind) float64 {
	t.Helper()
	s := 0.0
	for x, err := range m.Tensors(k) {
		if err != nil {
			t.Fatal(err)
		}
		if k == trainer.Gradients && x.Name == wordEmbedding {
			clear(x.Data[:x.Shape[1]])
		}
		s += norm(x.Data) * norm(x.Data)
	}
	return math.Sqrt(s)
}

// checkMovement compares final weights by the way they went. The goldens and
// the start are float32, whose rounding alone is 6e-8 of a weight.
func checkMovement(t *testing.T, m trainer.Model, start *checkpoint.Pretrained, want oracleFile, p trainer.Precision) {
	t.Helper()
	tol := tolerances[p]
	for w, err := range m.Tensors(trainer.Weights) {
		if err != nil {
			t.Fatal(err)
		}
		end := want.floats(w.Name)
		if strings.HasSuffix(w.Name, "key.bias") {
			closeTo(t, w.Name, w.Data, end, tol.keyWeight)
			continue
		}
		begin, err := start.Tensor(w.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		moved := distance(end, begin.Data)
		if d := distance(w.Data, end) / moved; !(d <= tol.movement) {
			t.Errorf("%s: apart by %.3g of the movement, allowed %.3g (%.3g of the weights)", w.Name, d, tol.movement, distance(w.Data, end)/norm(end))
		}
	}
}

func TestOracleClassification(t *testing.T) { headTest(t, "classification") }

func TestOracleRegression(t *testing.T) { headTest(t, "regression") }

func TestOracleQuestionAnswering(t *testing.T) { headTest(t, "question-answering") }

// headTest runs a fine-tuning head on the encoder of optim/. Its batch keeps
// the padding, which the span loss counts.
func headTest(t *testing.T, kind string) {
	eachPrecision(t, func(t *testing.T, p trainer.Precision) {
		dir := "heads/" + kind
		c, err := trainer.ParseConfig(realdata.Read(t, "oracle/"+dir+"/config.json"))
		if err != nil {
			t.Fatal(err)
		}
		head := openOracle(t, dir+"/head.safetensors")
		h := map[string]trainer.Heads{
			"regression": {Regression: true}, "question-answering": {Span: true},
		}[kind]
		if kind == "classification" {
			h.Labels = len(head.floats("classifier.bias"))
		}
		b := openOracle(t, "heads/batch.safetensors").headBatch()
		m := openHead(t, c, h, p, b, head)
		var want struct {
			Loss     float64 `json:"loss"`
			GradNorm float64 `json:"grad_norm"`
		}
		readJSON(t, dir+"/loss.json", &want)
		out := &trainer.Outputs{Want: trainer.OutputLogits | trainer.OutputSpans}
		sums, err := m.Forward(b, out)
		if err != nil {
			t.Fatal(err)
		}
		tol := tolerances[p]
		near(t, "loss", sums.Label(), want.Loss, tol.loss)
		checkHeadOutputs(t, out, openOracle(t, dir+"/outputs.safetensors"), kind)
		if err := m.Accumulate(b, b.Counts(h).Coef()); err != nil {
			t.Fatal(err)
		}
		if kind != "regression" {
			checkGradients(t, m, openOracle(t, dir+"/grads.safetensors"), p)
		}
		near(t, "gradient norm", kindNorm(t, m, trainer.Gradients), want.GradNorm, max(1e-7, 10*tol.loss))
	})
}

func openHead(t *testing.T, c trainer.Config, h trainer.Heads, p trainer.Precision, b *trainer.Batch, head oracleFile) trainer.Model {
	t.Helper()
	encoder, err := checkpoint.OpenPretrained(realdata.Path(t, "oracle/optim"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { encoder.Close() })
	m, err := cpu.Backend{}.Open(c, h, trainer.Options{
		Tokens: b.Tokens(), Sequences: b.Sequences(), Precision: p, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if _, err := m.Load(trainer.Weights, encoder.Tensors()); err != nil {
		t.Fatal(err)
	}
	report, err := m.Load(trainer.Weights, head.Tensors())
	if err != nil || len(report.Unexpected) > 0 {
		t.Fatal(err, report.Unexpected)
	}
	return m
}

// headBatch keeps the padding as tokens that nobody attends to.
func (f oracleFile) headBatch() *trainer.Batch {
	s := f.width("input_ids")
	ids, mask, segments := f.ints("input_ids"), f.ints("input_mask"), f.ints("segment_ids")
	b := &trainer.Batch{
		Labels: f.ints("labels"), Scores: f.floats("scores"), Starts: f.ints("start_positions"), Ends: f.ints("end_positions"),
	}
	for r := range b.Labels {
		b.Append(trainer.Sequence{IDs: ids[r*s : (r+1)*s], Segments: segments[r*s : (r+1)*s], NSPLabel: trainer.NoLabel, Position: int64(r)})
		length := int32(0)
		for _, m := range mask[r*s : (r+1)*s] {
			length += m
		}
		b.VisibleKeys = append(b.VisibleKeys, length)
	}
	return b
}

func checkHeadOutputs(t *testing.T, out *trainer.Outputs, want oracleFile, kind string) {
	t.Helper()
	if kind != "question-answering" {
		closeTo(t, "logits", out.Logits, want.floats("logits"), 1e-5)
		return
	}
	var start, end []float32
	for i := 0; i < len(out.Spans); i += 2 {
		start, end = append(start, out.Spans[i]), append(end, out.Spans[i+1])
	}
	closeTo(t, "start logits", start, want.floats("start_logits"), 1e-5)
	closeTo(t, "end logits", end, want.floats("end_logits"), 1e-5)
}
