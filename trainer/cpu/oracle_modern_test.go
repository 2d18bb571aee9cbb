package cpu_test

import (
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/cpu"
)

// modernBatch returns the unpadded batch in a file of the ModernBERT oracle; prefix is that of
// its tensors' names.
func (f oracleFile) modernBatch(prefix string) *trainer.Batch {
	b := &trainer.Batch{CuSeqlens: f.ints(prefix + "cu_seqlens"), IDs: f.ints(prefix + "ids"), Positions: f.ints(prefix + "positions")}
	b.Segments = make([]int32, len(b.IDs))
	for s := range b.CuSeqlens[1:] {
		b.Sequence, b.NSPLabels = append(b.Sequence, int64(s)), append(b.NSPLabels, trainer.NoLabel)
	}
	if _, ok := f.Lookup(prefix + "masked_ids"); ok {
		b.MaskedIndex, b.MaskedIDs, b.MaskedWeights = f.ints(prefix+"masked_index"), f.ints(prefix+"masked_ids"), f.floats(prefix+"masked_weights")
	}
	return b
}

// A modernGolden is the content of losses.json.
type modernGolden struct {
	Loss        float64 `json:"loss"`
	MLMSum      float64 `json:"mlm_sum"`
	MLMWeight   float64 `json:"mlm_weight"`
	MLMAccuracy float64 `json:"mlm_accuracy"`
	GradNorm    float64 `json:"grad_norm"`
	Wrong       map[string]struct {
		Loss float64 `json:"loss"`
	} `json:"wrong"`
}

// eachModern runs f for the sets of the oracle with one exact step, in each way.
func eachModern(t *testing.T, f func(t *testing.T, dir string, w way)) {
	for _, set := range []string{"pretrain", "head64"} {
		t.Run(set, func(t *testing.T) {
			dir := realdata.Path(t, "oracle-modern/"+set)
			eachWay(t, func(t *testing.T, w way) { f(t, dir, w) })
		})
	}
}

// openModern opens a model with the weights of a set, whose configuration change may modify.
func openModern(t *testing.T, dir string, w way, o trainer.Optimizer, change func(c *trainer.Config), bs ...*trainer.Batch) (trainer.Model, *checkpoint.Pretrained) {
	t.Helper()
	weights, err := checkpoint.OpenPretrained(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { weights.Close() })
	c := weights.Config
	if change != nil {
		modern := *c.Modern
		modern.Local, c.Modern = slices.Clone(modern.Local), &modern
		change(&c)
	}
	opts := trainer.Options{Precision: w.precision, Train: true, Optimizer: o}
	for _, b := range bs {
		opts.Tokens, opts.Sequences, opts.Masked = max(opts.Tokens, b.Tokens()), max(opts.Sequences, b.Sequences()), max(opts.Masked, b.Masked())
	}
	m, err := cpu.Backend{ISA: w.isa}.Open(c, c.PretrainHeads(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	report, err := m.Load(trainer.Weights, weights.Tensors())
	if err == nil {
		err = report.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, weights
}

func TestModernOraclePretrainingStep(t *testing.T) {
	eachModern(t, func(t *testing.T, dir string, w way) {
		b := openOracle(t, dir+"/batch.safetensors").modernBatch("")
		m, weights := openModern(t, dir, w, trainer.DefaultOptimizer(trainer.AdamW), nil, b)
		var want modernGolden
		readJSON(t, dir+"/losses.json", &want)
		tol := tolerances[w.precision]
		for _, outputs := range []trainer.Output{0, trainer.OutputHidden | trainer.OutputMLMLogits | trainer.OutputMLMLosses} {
			out := &trainer.Outputs{Want: outputs}
			sums, err := m.Forward(b, out)
			if err != nil {
				t.Fatal(err)
			}
			off := near(t, "loss", sums.Loss(), want.Loss, tol.loss)
			near(t, "masked-LM sum", sums.MLMLoss, want.MLMSum, tol.loss)
			if sums.MLMWeight != want.MLMWeight || sums.MLMCorrect != math.Round(want.MLMAccuracy*want.MLMWeight) || sums.NSPCount != 0 {
				t.Errorf("counts and accuracies: got %+v, want %+v", sums, want)
			}
			if outputs == 0 {
				t.Logf("loss apart by %.2g of allowed %.2g", off, tol.loss)
				continue
			}
			golden := openOracle(t, dir+"/outputs.safetensors")
			tolerance := map[trainer.Precision]float64{trainer.Float64: 1e-7, trainer.Float32: 1e-5}[w.precision]
			closeTo(t, "sequence output", out.Hidden, golden.floats("sequence_output"), tolerance)
			closeTo(t, "masked-LM logits", out.MLMLogits, golden.floats("mlm_logits"), tolerance)
			losses := make([]float32, len(out.MLMLosses))
			for i, l := range out.MLMLosses {
				losses[i] = float32(l)
			}
			closeTo(t, "losses", losses, golden.floats("mlm_per_position_loss"), tolerance)
		}
		if err := m.Accumulate(b, b.Counts(weights.Config.PretrainHeads()).Coef(), true); err != nil {
			t.Fatal(err)
		}
		checkGradients(t, m, openOracle(t, dir+"/grads.safetensors"), w)
		info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Steps: 1})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "gradient norm", info.GradNorm, want.GradNorm, 10*tol.loss)
	})
}

// The oracle notices the usual mistakes: each makes the loss that losses.json says, and
// gradients that are far off.
func TestModernOracleNoticesTheUsualMistakes(t *testing.T) {
	mistakes := map[string]func(c *trainer.Config){
		"window one wider":    func(c *trainer.Config) { c.Modern.Window += 2 },
		"window one narrower": func(c *trainer.Config) { c.Modern.Window -= 2 },
		"no window":           func(c *trainer.Config) { c.Modern.Window = 2 * c.MaxPositions },
		"all layers local": func(c *trainer.Config) {
			for i := range c.Modern.Local {
				c.Modern.Local[i] = true
			}
		},
		"thetas swapped": func(c *trainer.Config) {
			c.Modern.GlobalTheta, c.Modern.LocalTheta = c.Modern.LocalTheta, c.Modern.GlobalTheta
		},
		"the other gelu": func(c *trainer.Config) { c.Activation = trainer.GELUNew },
		"eps 1e-12":      func(c *trainer.Config) { c.LayerNormEps = 1e-12 },
	}
	for _, set := range []string{"pretrain", "head64"} {
		t.Run(set, func(t *testing.T) {
			dir := realdata.Path(t, "oracle-modern/"+set)
			var want modernGolden
			readJSON(t, dir+"/losses.json", &want)
			if len(want.Wrong) == 0 {
				t.Error("no mistakes in losses.json")
			}
			b := openOracle(t, dir+"/batch.safetensors").modernBatch("")
			w := way{precision: trainer.Float64}
			for name, wrong := range want.Wrong {
				change := mistakes[name]
				if change == nil {
					t.Errorf("losses.json has a mistake %q that this test does not know", name)
					continue
				}
				m, weights := openModern(t, dir, w, trainer.DefaultOptimizer(trainer.AdamW), change, b)
				sums, err := m.Forward(b, nil)
				if err == nil {
					err = m.Accumulate(b, b.Counts(weights.Config.PretrainHeads()).Coef(), true)
				}
				if err != nil {
					t.Fatal(err)
				}
				near(t, name+": loss", sums.Loss(), wrong.Loss, 1e-11)
				if off, n, worst := wrongGradients(t, m, openOracle(t, dir+"/grads.safetensors"), w, func(trainer.Tensor) {}); len(off) == 0 {
					t.Errorf("%s: the gradients do not notice", name)
				} else {
					t.Logf("%s: %d of %d gradients notice, the worst is off by %.2g", name, len(off), n, worst)
				}
			}
		})
	}
}

// modernOptim is an optimizer's golden file.
type modernOptim struct {
	optimGolden
	Options struct {
		optimOptions
		DecaySteps     int64 `json:"decay_steps"`
		BiasCorrection bool  `json:"bias_correction"`
	} `json:"options"`
}

func (o modernOptim) schedule() trainer.Schedule {
	shape := map[float64]trainer.DecayShape{0.5: "1-sqrt", 1: "linear"}[o.Options.Degree]
	return trainer.Schedule{Kind: trainer.WSD, Peak: o.Options.LR, Steps: o.Options.TrainSteps, Warmup: o.Options.WarmupSteps, Decay: o.Options.DecaySteps, Shape: shape}
}

func TestModernOracleOptimizers(t *testing.T) {
	for _, name := range []string{"adamw", "stableadamw"} {
		t.Run(name, func(t *testing.T) {
			dir := realdata.Path(t, "oracle-modern/optim")
			var want modernOptim
			readJSON(t, path.Join(dir, name+".json"), &want)
			file := openOracle(t, dir+"/batches.safetensors")
			var bs []*trainer.Batch
			for i := range want.Steps {
				bs = append(bs, file.modernBatch(fmt.Sprintf("%02d.", i)))
			}
			eachWay(t, func(t *testing.T, w way) { followSteps(t, dir, name, w, &want, bs) })
		})
	}
}

// followSteps trains as a golden file says and compares every step.
func followSteps(t *testing.T, dir, name string, w way, want *modernOptim, bs []*trainer.Batch) {
	o := want.Options.optimizer()
	o.BiasCorrection = want.Options.BiasCorrection
	m, start := openModern(t, dir, w, o, nil, bs...)
	heads := start.Config.PretrainHeads()
	var decayed []string
	for _, s := range trainer.Tensors(start.Config, heads) {
		if s.Decay {
			decayed = append(decayed, s.Name)
		}
	}
	if !slices.Equal(decayed, want.Decayed) {
		t.Errorf("decayed tensors: got %v, want %v", decayed, want.Decayed)
	}
	tol, off := tolerances[w.precision], 0.0
	for i, step := range want.Steps {
		if err := m.Accumulate(bs[i], bs[i].Counts(heads).Coef(), true); err != nil {
			t.Fatal(err)
		}
		info, err := m.Apply(want.schedule())
		if err != nil {
			t.Fatal(err)
		}
		at := fmt.Sprintf("step %d ", i)
		if math.Abs(info.Rate-step.Rate) > 1e-12*want.Options.LR {
			t.Errorf("%srate: got %v, want %v", at, info.Rate, step.Rate)
		}
		off = max(off, near(t, at+"loss", info.Sums.Loss(), step.Loss, tol.loss))
		near(t, at+"gradient norm", info.GradNorm, step.GradNorm, 10*tol.loss)
		near(t, at+"weight norm", kindNorm(t, m, trainer.Weights), step.WeightNorm, max(1e-8, tol.loss))
		near(t, at+"norm of m", kindNorm(t, m, trainer.FirstMoment), step.MNorm, max(1e-7, 10*tol.loss))
		near(t, at+"norm of v", kindNorm(t, m, trainer.SecondMoment), step.VNorm, max(1e-7, 10*tol.loss))
	}
	t.Logf("losses of %d steps apart by %.2g of allowed %.2g", len(want.Steps), off, tol.loss)
	checkMovement(t, m, start, openOracle(t, path.Join(dir, name+"-final.safetensors")), w)
}

func TestModernOracleHeads(t *testing.T) {
	for _, kind := range []string{"classification", "classification-mean", "regression", "question-answering"} {
		t.Run(kind, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way) { modernHead(t, kind, w) })
		})
	}
}

// modernHead runs a fine-tuning head on the encoder of optim/.
func modernHead(t *testing.T, kind string, w way) {
	root := realdata.Path(t, "oracle-modern")
	dir := root + "/heads/" + kind
	c, err := trainer.ParseConfig(realdata.Read(t, "oracle-modern/heads/"+kind+"/config.json"))
	if err != nil {
		t.Fatal(err)
	}
	head, file := openOracle(t, dir+"/head.safetensors"), openOracle(t, root+"/heads/batch.safetensors")
	h := map[string]trainer.Heads{"regression": {Regression: true}, "question-answering": {Span: true}}[kind]
	if strings.HasPrefix(kind, "classification") {
		h.Labels = len(head.floats("classifier.bias"))
	}
	b := file.modernBatch("")
	b.Labels, b.Scores, b.Starts, b.Ends = file.ints("labels"), file.floats("scores"), file.ints("start_positions"), file.ints("end_positions")
	m := openHead(t, c, h, w, b, head, "oracle-modern/optim")
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
	off, worst := near(t, "loss", sums.Label(), want.Loss, tol.loss), 0.0
	golden := openOracle(t, dir+"/outputs.safetensors").floats("logits")
	logits := closeTo(t, "logits", append(out.Logits, out.Spans...), golden, map[trainer.Precision]float64{trainer.Float64: 1e-7, trainer.Float32: 1e-5}[w.precision])
	if err := m.Accumulate(b, b.Counts(h).Coef(), true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/grads.safetensors"); err == nil {
		grads, n := openOracle(t, dir+"/grads.safetensors"), 0
		for g, err := range m.Tensors(trainer.Gradients) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := grads.Lookup(g.Name); ok { // those of layer 0 are not in the file
				n++
				if golden := grads.floats(g.Name); norm(golden) >= 1e-8 {
					worst = max(worst, closeTo(t, g.Name, g.Data, golden, tol.gradient))
				} else if size := norm(g.Data); !(size < tol.zero) { // it only shifts all span logits
					t.Errorf("%s: gradient of size %.3g, want below %.3g", g.Name, size, tol.zero)
				}
			}
		}
		if n != len(grads.Entries) || n == 0 {
			t.Errorf("compared %d gradients of %d", n, len(grads.Entries))
		}
	}
	near(t, "gradient norm", kindNorm(t, m, trainer.Gradients), want.GradNorm, max(1e-7, 10*tol.loss))
	t.Logf("loss apart by %.2g, logits by %.2g, the worst gradient by %.2g", off, logits, worst)
}
