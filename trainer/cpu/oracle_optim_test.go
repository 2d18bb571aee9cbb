package cpu_test

import (
	"fmt"
	"math"
	"path"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

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

func TestOracleAdamW(t *testing.T) { eachOracleWay(t, runOptimizer("adamw")) }

func TestOracleLAMB(t *testing.T) { eachOracleWay(t, runOptimizer("lamb")) }

func runOptimizer(name string) func(*testing.T, string, way) {
	return func(t *testing.T, root string, w way) {
		var want optimGolden
		readJSON(t, root+"/optim/"+name+".json", &want)
		bs := openOracle(t, root+"/optim/batches.safetensors").batches(want.BatchSize)
		m, start := openModel(t, root+"/optim", trainer.PretrainHeads(), w, want.Options.optimizer(), bs...)
		if got := decayed(start.Config); fmt.Sprint(got) != fmt.Sprint(want.Decayed) {
			t.Errorf("decayed tensors: got %v, want %v", got, want.Decayed)
		}
		tol := tolerances[w.precision]
		for i, step := range want.Steps {
			if err := m.Accumulate(bs[i], bs[i].Counts(trainer.PretrainHeads()).Coef(), true); err != nil {
				t.Fatal(err)
			}
			info, err := m.Apply(want.Options.schedule())
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
		checkMovement(t, m, start, openOracle(t, path.Join(root, "optim", name+"-final.safetensors")), w)
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

// checkMovement compares how far the weights moved from the start. The golden
// and initial weights are float32, whose rounding alone is 6e-8 of a weight.
func checkMovement(t *testing.T, m trainer.Model, start *checkpoint.Pretrained, want oracleFile, w way) {
	t.Helper()
	tol, worst := tolerances[w.precision], 0.0
	for x, err := range m.Tensors(trainer.Weights) {
		if err != nil {
			t.Fatal(err)
		}
		end := want.floats(x.Name)
		if strings.HasSuffix(x.Name, "key.bias") {
			closeTo(t, x.Name, x.Data, end, tol.keyWeight)
			continue
		}
		begin, err := start.Tensor(x.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		moved := distance(end, begin.Data)
		d := distance(x.Data, end) / moved
		if worst = max(worst, d); !(d <= tol.movement) {
			t.Errorf("%s: apart by %.3g of the movement, allowed %.3g (%.3g of the weights)", x.Name, d, tol.movement, distance(x.Data, end)/norm(end))
		}
	}
	t.Logf("final weights apart by %.2g of the movement, allowed %.2g", worst, tol.movement)
}
