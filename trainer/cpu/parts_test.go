package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/internal/bert"
	"pretext/trainer/optim"
)

// apart returns what a part of a model is made of, with random weights.
func apart(t *testing.T, c trainer.Config, h trainer.Heads, o trainer.Options) (*compute[float64], *parameters[float64], *ranks[float64]) {
	t.Helper()
	set, err := kernel.For[float64](kernel.Plain)
	if err != nil {
		t.Fatal(err)
	}
	pool := kernel.NewPool(2)
	l := bert.NewLayout(c, h, bert.NoPadding(c))
	r := newRanks[float64](o, l.Buckets)
	p := newParameters(c, h, l, r, nil)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range p.w {
		p.w[i] = 0.3 * random.NormFloat64()
	}
	return &compute[float64]{config: c, set: set, pool: pool, gemm: kernel.NewGemm(set, pool)}, p, r
}

func TestAnEncoderAloneGivesTheModelsOutput(t *testing.T) {
	c, h := smallConfig(trainer.GELU), trainer.PretrainHeads()
	b := ragged(rand.New(rand.NewPCG(5, 5)), c, 20, 4)
	o := limitsOf(b, trainer.Float64)
	ops, p, _ := apart(t, c, h, o)
	e := newEncoder(ops, h, o, &p.views)
	e.forward(b, trainer.OutputHidden, false)

	out := &trainer.Outputs{Want: trainer.OutputHidden}
	if _, err := openRandom[float64](t, c, h, o, Backend{Threads: 1}).Forward(b, out); err != nil {
		t.Fatal(err)
	}
	if got := appendFloat32(nil, e.output()[:b.Tokens()*c.HiddenSize]); !slices.Equal(got, out.Hidden) {
		t.Error("the encoder's output is not that of the model")
	}
}

// The gradient of the heads' input is checked on rows that no encoder has made.
func TestHeadsAloneHaveTheGradientOfTheirInput(t *testing.T) {
	c := smallConfig(trainer.GELU)
	b := ragged(rand.New(rand.NewPCG(5, 5)), c, 20, 4)
	coef := trainer.Coef{MLM: 0.3, NSP: 0.7}
	h, o := trainer.PretrainHeads(), limitsOf(b, trainer.Float64)
	ops, params, _ := apart(t, c, h, o)
	s := newHeads(ops, h, o, &params.views)
	p := pass[float64]{batch: b, rows: &bert.Selection{All: true}, hidden: make([]float64, b.Tokens()*c.HiddenSize), coef: coef, out: &trainer.Outputs{}}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range p.hidden {
		p.hidden[i] = random.NormFloat64()
	}
	dy := make([]float64, len(p.hidden))
	p.dy = dy
	s.forward(p)
	p.dy = nil
	for range 40 {
		i := random.IntN(len(dy))
		was := p.hidden[i]
		want := derivative(func(x float64) float64 {
			p.hidden[i] = was + x
			sums := s.forward(p)
			return coef.MLM*sums.MLMLoss + coef.NSP*sums.NSPLoss
		})
		p.hidden[i] = was
		if math.Abs(dy[i]-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("element %d: gradient %v, by differences %v", i, dy[i], want)
		}
	}
}

func TestAnUpdateAloneIsThatOfTheOptimizer(t *testing.T) {
	c, h := smallConfig(trainer.GELU), trainer.Heads{MLM: true}
	o := trainer.Options{Tokens: 8, Sequences: 1, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)}
	ops, p, r := apart(t, c, h, o)
	for i := range p.g {
		p.g[i] = math.Sin(float64(i))
	}
	w, g := slices.Clone(p.w), slices.Clone(p.g)
	u := update[float64]{compute: ops, optimizer: o.Optimizer, params: p, ranks: r, state: trainer.State{LossScale: 1}}
	schedule := trainer.Schedule{Kind: trainer.Constant, Peak: 0.01, Steps: 3}
	info, err := u.apply(schedule)
	if err != nil {
		t.Fatal(err)
	}
	constants := optim.For[float64](o.Optimizer, 0, info.Rate, info.GradNorm)
	for i, spec := range p.layout.Specs {
		at, n := p.layout.Offset[i], spec.Size()
		want := slices.Clone(w[at : at+n])
		optim.Update(constants.Decaying(spec.Decay), want, make([]float64, n), make([]float64, n), g[at:at+n])
		if !slices.Equal(want, p.w[at:at+n]) {
			t.Errorf("%s is not what the optimizer makes of it", spec.Name)
		}
	}
	if u.state.Step != 1 || slices.ContainsFunc(p.g, func(v float64) bool { return v != 0 }) {
		t.Errorf("after the step the state is %+v, or gradients are left", u.state)
	}
}

func TestTokensOfAMicroBatchFitTheMemory(t *testing.T) {
	for hidden, want := range map[int]int{64: 8192, 768: 2048, 1024: 512, 8192: 512} {
		c := trainer.Config{HiddenSize: hidden, IntermediateSize: 4 * hidden, Layers: 12}
		if hidden == 1024 {
			c.Layers = 24
		}
		if got, err := (Backend{}).AutoTokens(c, trainer.Heads{}, trainer.Options{}); err != nil || got != want {
			t.Errorf("hidden size %d: got %d tokens, %v, want %d", hidden, got, err, want)
		}
	}
}

// TestTheDecodersGradientsAreThoseOfOneProduct compares the gradients of a vocabulary of many
// parts, which are multiplied while the logits are in the cache, with those of one product over
// all words: the same bits, for any number of threads.
func TestTheDecodersGradientsAreThoseOfOneProduct(t *testing.T) {
	c := smallConfig(trainer.GELU)
	c.VocabSize = 9*mlmRows + 50
	b := ragged(rand.New(rand.NewPCG(8, 5)), c, 40, 9, 35)
	for _, isa := range []string{"plain", ""} {
		for _, threads := range []int{1, 2, 3, 7} {
			m := openRandom[float32](t, c, trainer.Heads{MLM: true}, limitsOf(b, trainer.Float32), Backend{Threads: threads, ISA: isa})
			s, n, h := m.heads, b.Masked(), c.HiddenSize
			a := &s.mlm
			a.width = s.gemm.Width(n)
			start := randomOf(rand.New(rand.NewPCG(1, 2)), len(a.logits))
			for j := range a.width {
				a.shift[j], a.scale[j] = float32(j%3), 0.5
			}
			rows := kernel.Rows(randomOf(rand.New(rand.NewPCG(5, 6)), n*h), h)
			s.gemm.Pack(&a.rows, rows, n, h)
			coef := func(j int) float32 { return float32(j) }

			copy(a.logits, start)
			s.mlmWordGrad(0, vocabParts(c), b.MaskedIDs, coef)
			want := make([]float32, n*h)
			s.gemm.Mul(n, h, c.VocabSize, kernel.Rows(a.logits, a.width).T(), kernel.Rows(s.p.Word.w, h), want, h, false)
			wantWords := slices.Clone(m.params.g)

			clear(m.params.g)
			copy(a.logits, start)
			got := randomOf(rand.New(rand.NewPCG(7, 8)), n*h) // is overwritten
			s.mlmGrad(b.MaskedIDs, got, coef)
			if !slices.Equal(got, want) {
				t.Errorf("%q, %d threads: the gradients of the decoder's input differ", isa, threads)
			}
			if !slices.Equal(m.params.g, wantWords) {
				t.Errorf("%q, %d threads: the gradients of the decoder differ", isa, threads)
			}
		}
	}
}
