package cuda

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/trainer"
	"pretext/trainer/backendtest"
	"pretext/trainer/checkpoint"
)

// oracleTensors are those of a file of the ModernBERT oracle.
type oracleTensors struct {
	*checkpoint.Safetensors
	t *testing.T
}

func openTensors(t *testing.T, name string) oracleTensors {
	t.Helper()
	s, err := checkpoint.OpenSafetensors(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return oracleTensors{s, t}
}

func (f oracleTensors) ints(name string) []int32 {
	f.t.Helper()
	v, err := f.Int32s(name, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

func (f oracleTensors) floats(name string) []float32 {
	f.t.Helper()
	v, err := f.Float32s(name, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

// wide returns a tensor's values in double precision.
func (f oracleTensors) wide(name string) (wide []float64) {
	f.t.Helper()
	for _, v := range f.floats(name) {
		wide = append(wide, float64(v))
	}
	return wide
}

// batch returns the file's unpadded batch.
func (f oracleTensors) batch() *trainer.Batch {
	b := &trainer.Batch{
		CuSeqlens: f.ints("cu_seqlens"), IDs: f.ints("ids"), Positions: f.ints("positions"),
		MaskedIndex: f.ints("masked_index"), MaskedIDs: f.ints("masked_ids"), MaskedWeights: f.floats("masked_weights"),
	}
	b.Segments = make([]int32, len(b.IDs))
	for s := range b.CuSeqlens[1:] {
		b.Sequence, b.NSPLabels = append(b.Sequence, int64(s)), append(b.NSPLabels, trainer.NoLabel)
	}
	return b
}

// rounded returns v as the type of precision p holds it.
func rounded(p trainer.Precision, v float32) float32 {
	bits, least := 24, -149
	switch p {
	case trainer.BFloat16:
		bits, least = 8, -133
	case trainer.Float16:
		bits, least = 11, -24
	}
	_, e := math.Frexp(float64(v))
	unit := math.Ldexp(1, max(e-bits, least))
	return float32(math.RoundToEven(float64(v)/unit) * unit)
}

// TestModernOracleHead64 compares the loss and every gradient of a step on the simulator with
// those in double precision. The model has heads of 64, the size that the kernels support.
//
// In 16 bits the rounding of the weights alone, with all else exact, moves the median
// gradient of this model by more than the tolerance of the median. newOracleStep measures
// this effect with the CPU backend in each run. The median distance of the simulator's
// gradients from the exact ones of the rounded weights may be 1.5 times the effect, or the
// tolerance if that is larger. The worst gradient and the loss keep their tolerances.
func TestModernOracleHead64(t *testing.T) {
	dir := realdata.Path(t, "oracle-modern/head64")
	raw, err := os.ReadFile(dir + "/losses.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Loss     float64 `json:"loss"`
		GradNorm float64 `json:"grad_norm"`
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	for i, p := range share([]trainer.Precision{trainer.BFloat16}, []trainer.Precision{trainer.BFloat16, trainer.Float16, trainer.Float32}) {
		t.Run(string(p), func(t *testing.T) {
			limit, s := backendtest.Tolerances(p), newOracleStep(t, dir, uint64(41+i), p)
			if p == trainer.Float32 {
				limit.Gradient = limit.Median
			}
			golden := openTensors(t, dir+"/grads.safetensors")
			var off, bySums, byWeights []float64 // of the simulator; from the exact gradients of the rounded weights; these
			for name, g := range s.gradients {
				exact := golden.wide(name)
				d := apart(g, exact)
				if off, bySums, byWeights = append(off, d), append(bySums, apart(g, s.exact[name])), append(byWeights, apart(s.exact[name], exact)); !(d <= limit.Gradient) {
					t.Errorf("gradient of %s is off by %.2g, allowed %.2g", name, d, limit.Gradient)
				}
			}
			if len(off) != len(golden.Entries) {
				t.Errorf("%d gradients, want %d", len(off), len(golden.Entries))
			}
			if got, most := median(bySums), max(limit.Median, 1.5*median(byWeights)); !(got <= most) {
				t.Errorf("the median gradient is off by %.2g, allowed %.2g", got, most)
			}
			loss := math.Abs(s.info.Sums.Loss()/want.Loss - 1)
			if !(loss <= limit.Loss) {
				t.Errorf("loss %v, want %v: off by %.2g, allowed %.2g", s.info.Sums.Loss(), want.Loss, loss, limit.Loss)
			}
			if d := math.Abs(s.info.GradNorm/want.GradNorm - 1); !(d <= limit.Median) {
				t.Errorf("gradient norm %v, want %v", s.info.GradNorm, want.GradNorm)
			}
			t.Logf("loss off by %.1g, gradients by %.2g; median %.2g of rounded weights, which alone are off by %.2g", loss, slices.Max(off), median(bySums), median(byWeights))
		})
	}
}

// median returns the middle element of x.
func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// An oracleStep is what the simulator computes of a set, and the exact gradients of the
// weights as its precision holds them.
type oracleStep struct {
	gradients, exact map[string][]float64
	info             trainer.StepInfo
}

func newOracleStep(t *testing.T, dir string, seed uint64, p trainer.Precision) (s oracleStep) {
	weights, err := checkpoint.OpenPretrained(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer weights.Close()
	b, c := openTensors(t, dir+"/batch.safetensors").batch(), weights.Config
	o := trainer.Options{Tokens: b.Tokens(), Sequences: b.Sequences(), Masked: b.Masked(), Precision: p, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)}
	both := openPair(t, simulated(seed), c, c.PretrainHeads(), o)
	both.each(func(m trainer.Model) {
		report, err := m.Load(trainer.Weights, func(yield func(trainer.Tensor, error) bool) {
			for w, err := range weights.Tensors() {
				for i, v := range w.Data {
					w.Data[i] = rounded(p, v)
				}
				if !yield(w, err) {
					return
				}
			}
		})
		if err := errors.Join(err, report.Complete()); err != nil {
			t.Fatal(err)
		}
	})
	s.gradients, s.exact = both.gradients(t, b, c.PretrainHeads())
	if s.info, err = both.device.Apply(trainer.Schedule{Kind: trainer.Constant, Steps: 1}); err != nil {
		t.Fatal(err)
	}
	return s
}
