package cpu_test

import (
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/cpu"
)

func TestOracleClassification(t *testing.T) { headTest(t, "classification") }

func TestOracleRegression(t *testing.T) { headTest(t, "regression") }

func TestOracleQuestionAnswering(t *testing.T) { headTest(t, "question-answering") }

// headTest runs a fine-tuning head on the encoder of optim/. Its batch keeps
// the padding, which the span loss counts.
func headTest(t *testing.T, kind string) {
	eachWay(t, func(t *testing.T, w way) {
		heads := realdata.Path(t, "oracle/heads")
		dir := heads + "/" + kind
		c, err := trainer.ParseConfig(realdata.Read(t, "oracle/heads/"+kind+"/config.json"))
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
		b := openOracle(t, heads+"/batch.safetensors").headBatch()
		m := openHead(t, c, h, w, b, head, "oracle/optim")
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
		tol := tolerances[w.precision]
		near(t, "loss", sums.Label(), want.Loss, tol.loss)
		checkHeadOutputs(t, out, openOracle(t, dir+"/outputs.safetensors"), kind)
		if err := m.Accumulate(b, b.Counts(h).Coef(), true); err != nil {
			t.Fatal(err)
		}
		if kind != "regression" {
			checkGradients(t, m, openOracle(t, dir+"/grads.safetensors"), w)
		}
		near(t, "gradient norm", kindNorm(t, m, trainer.Gradients), want.GradNorm, max(1e-7, 10*tol.loss))
	})
}

func openHead(t *testing.T, c trainer.Config, h trainer.Heads, w way, b *trainer.Batch, head oracleFile, of string) trainer.Model {
	t.Helper()
	encoder, err := checkpoint.OpenPretrained(realdata.Path(t, of))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { encoder.Close() })
	m, err := cpu.Backend{ISA: w.isa}.Open(c, h, trainer.Options{
		Tokens: b.Tokens(), Sequences: b.Sequences(), Precision: w.precision, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW),
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

// headBatch returns a batch in which padding is tokens that no token attends
// to.
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
