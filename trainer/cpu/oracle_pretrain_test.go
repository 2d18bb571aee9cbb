package cpu_test

import (
	"fmt"
	"math"
	"testing"

	"pretext/trainer"
)

func TestOraclePretrainingStep(t *testing.T) {
	eachOracleWay(t, func(t *testing.T, root string, w way) {
		b := openOracle(t, root+"/pretrain/batch.safetensors").batches(0)[0]
		m, _ := openModel(t, root+"/pretrain", trainer.PretrainHeads(), w, trainer.DefaultOptimizer(trainer.AdamW), b)
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
		readJSON(t, root+"/pretrain/losses.json", &want)
		sums, err := m.Forward(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		tol := tolerances[w.precision]
		near(t, "loss", sums.Loss(), want.Loss, tol.loss)
		near(t, "padding-free loss", sums.Loss(), want.PaddingFree, tol.loss)
		near(t, "masked-LM loss", sums.MLM(), want.MLM, tol.loss)
		near(t, "next-sentence loss", sums.NSP(), want.NSP, tol.loss)
		near(t, "masked-LM sum", sums.MLMLoss, want.MLMSum, tol.loss)
		if sums.MLMWeight != want.MLMWeight || sums.MLMCorrect != math.Round(want.MLMAccuracy*want.MLMWeight) ||
			math.Abs(sums.NSPCorrect/sums.NSPCount-want.NSPAccuracy) > 1e-12 {
			t.Errorf("counts and accuracies: got %+v, want %+v", sums, want)
		}

		if err := m.Accumulate(b, b.Counts(trainer.PretrainHeads()).Coef(), true); err != nil {
			t.Fatal(err)
		}
		checkGradients(t, m, openOracle(t, root+"/pretrain/grads.safetensors"), w)
		info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Steps: 1})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "gradient norm", info.GradNorm, want.GradNorm, 10*tol.loss)
		near(t, "loss of the step", info.Sums.Loss(), want.Loss, tol.loss)
	})
}

// The comparison is sensitive enough: if the gradient of any one tensor is
// wrong by a thousandth, it reports that tensor and no other.
func TestOracleGradientsThatAreWrongByAThousandthFail(t *testing.T) {
	eachOracleWay(t, func(t *testing.T, root string, w way) {
		b := openOracle(t, root+"/pretrain/batch.safetensors").batches(0)[0]
		m, _ := openModel(t, root+"/pretrain", trainer.PretrainHeads(), w, trainer.DefaultOptimizer(trainer.AdamW), b)
		if err := m.Accumulate(b, b.Counts(trainer.PretrainHeads()).Coef(), true); err != nil {
			t.Fatal(err)
		}
		want := openOracle(t, root+"/pretrain/grads.safetensors")
		for _, e := range want.Entries {
			if norm(want.floats(e.Name)) < 1e-8 {
				continue // a thousandth of nothing
			}
			wrong, _, _ := wrongGradients(t, m, want, w, func(g trainer.Tensor) {
				for i := range g.Data {
					if g.Name == e.Name {
						g.Data[i] *= 1.001
					}
				}
			})
			if len(wrong) != 1 || wrong[e.Name] == "" {
				t.Errorf("%s is wrong by a thousandth: found %v", e.Name, wrong)
			}
		}
	})
}

func TestOraclePretrainingOutputs(t *testing.T) {
	eachOracleWay(t, func(t *testing.T, root string, w way) {
		padded := openOracle(t, root+"/pretrain/batch.safetensors")
		b := padded.batches(0)[0]
		m, weights := openModel(t, root+"/pretrain", trainer.PretrainHeads(), w, trainer.DefaultOptimizer(trainer.AdamW), b)
		want := openOracle(t, root+"/pretrain/outputs.safetensors")
		out := &trainer.Outputs{Want: trainer.OutputHidden | trainer.OutputPooled | trainer.OutputMLMLogits | trainer.OutputNSPLogits}
		if _, err := m.Forward(b, out); err != nil {
			t.Fatal(err)
		}
		tolerance := map[trainer.Precision]float64{trainer.Float64: 1e-7, trainer.Float32: 1e-5}[w.precision]
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
	eachOracle(t, func(t *testing.T, root string) {
		b := openOracle(t, root+"/pretrain/batch.safetensors").batches(0)[0]
		want := openOracle(t, root+"/pretrain/unpadded.safetensors")
		for name, got := range map[string][]int32{
			"cu_seqlens": b.CuSeqlens, "ids": b.IDs, "segments": b.Segments, "positions": b.Positions,
			"masked_index": b.MaskedIndex, "masked_ids": b.MaskedIDs,
		} {
			if fmt.Sprint(got) != fmt.Sprint(want.ints(name)) {
				t.Errorf("%s: got %v, want %v", name, got, want.ints(name))
			}
		}
	})
}
