package trainer_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"pretext/trainer"
)

func TestRatesFollowTheOriginalSchedules(t *testing.T) {
	cases := []struct {
		name string
		s    trainer.Schedule
		want map[int64]float64
	}{
		{"Google's", trainer.Schedule{Kind: trainer.Linear, Peak: 1, Steps: 100, Warmup: 10},
			map[int64]float64{0: 0, 5: 0.5, 9: 0.9, 10: 0.9, 50: 0.5, 99: 0.01, 100: 0, 200: 0}},
		{"Google's without warm-up", trainer.Schedule{Kind: trainer.Linear, Peak: 2, Steps: 4}, map[int64]float64{0: 2, 2: 1, 4: 0}},
		{"NVIDIA's", trainer.Schedule{Kind: trainer.Polynomial, Peak: 1, Steps: 100, Warmup: 20, Degree: 0.5},
			map[int64]float64{0: 0.05, 18: 0.95, 19: math.Sqrt(0.8), 74: 0.5, 99: 0, 150: 0}},
		{"constant", trainer.Schedule{Kind: trainer.Constant, Peak: 3, Steps: 9, Warmup: 3}, map[int64]float64{0: 0, 1: 1, 3: 3, 8: 3, 99: 3}},
	}
	for _, c := range cases {
		if err := c.s.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for step, want := range c.want {
			if got := c.s.Rate(step); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s, step %d: got %v, want %v", c.name, step, got, want)
			}
		}
	}
}

func TestRatesNeverLeaveTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := trainer.Schedule{
			Kind:   rapid.SampledFrom([]trainer.ScheduleKind{trainer.Linear, trainer.Polynomial, trainer.Constant}).Draw(t, "kind"),
			Peak:   rapid.Float64Range(0, 10).Draw(t, "peak"),
			Steps:  rapid.Int64Range(1, 1000).Draw(t, "steps"),
			Degree: rapid.Float64Range(0.1, 3).Draw(t, "degree"),
		}
		s.Warmup = rapid.Float64Range(0, float64(s.Steps)).Draw(t, "warmup")
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		if r := s.Rate(rapid.Int64Range(0, 5000).Draw(t, "step")); !(r >= 0 && r <= s.Peak) {
			t.Fatalf("rate %v", r)
		}
	})
}

func TestNonsenseIsRefused(t *testing.T) {
	nan := math.NaN()
	for _, s := range []trainer.Schedule{
		{}, {Kind: "cosine", Steps: 1}, {Kind: trainer.Linear}, {Kind: trainer.Linear, Steps: 1, Peak: nan},
		{Kind: trainer.Linear, Steps: 1, Peak: -1}, {Kind: trainer.Linear, Steps: 1, Warmup: 2}, {Kind: trainer.Polynomial, Steps: 1},
	} {
		if s.Validate() == nil {
			t.Errorf("%+v: accepted", s)
		}
	}
	for name, change := range map[string]func(*trainer.Optimizer){
		"name":  func(o *trainer.Optimizer) { o.Name = "sgd" },
		"beta1": func(o *trainer.Optimizer) { o.Beta1 = 1 },
		"beta2": func(o *trainer.Optimizer) { o.Beta2 = nan },
		"eps":   func(o *trainer.Optimizer) { o.Epsilon = 0 },
		"decay": func(o *trainer.Optimizer) { o.WeightDecay = -1 },
		"clip":  func(o *trainer.Optimizer) { o.ClipNorm = math.Inf(1) },
	} {
		o := trainer.DefaultOptimizer(trainer.AdamW)
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&o)
		if o.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestCutsAreGreedyInOrderAndWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.IntRange(10, 60).Draw(t, "tokens")
		lengths := rapid.SliceOf(rapid.Int32Range(0, 10)).Draw(t, "lengths")
		bounds, err := trainer.Cut(lengths, tokens)
		if err != nil {
			t.Fatal(err)
		}
		if bounds[0] != 0 || bounds[len(bounds)-1] != len(lengths) {
			t.Fatalf("bounds %v of %d sequences", bounds, len(lengths))
		}
		sum := func(lo, hi int) (s int) {
			for _, n := range lengths[lo:hi] {
				s += int(n)
			}
			return s
		}
		for j := 1; j < len(bounds); j++ {
			if s := sum(bounds[j-1], bounds[j]); s > tokens || bounds[j] <= bounds[j-1] {
				t.Fatalf("cut %d has %d tokens, bounds %v", j, s, bounds)
			}
			if j < len(bounds)-1 && sum(bounds[j-1], bounds[j]+1) <= tokens {
				t.Fatalf("cut %d could be longer", j)
			}
		}
	})
	if _, err := trainer.Cut([]int32{3, 11}, 10); err == nil {
		t.Error("a sequence longer than a micro-batch was accepted")
	}
}

func TestCountsBecomeCoefficients(t *testing.T) {
	c := trainer.Counts{MaskedWeight: 3, NSP: 2}.Add(trainer.Counts{MaskedWeight: 1, Labels: 5})
	want := trainer.Coef{MLM: 1 / 4.00001, NSP: 0.5, Label: 0.2}
	if got := c.Coef(); math.Abs(got.MLM-want.MLM) > 1e-15 || got.NSP != want.NSP || got.Label != want.Label {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (trainer.Counts{}).Coef(); got.NSP != 0 || got.Label != 0 || math.IsInf(got.MLM, 0) {
		t.Errorf("of nothing: got %+v", got)
	}
}

func ExampleSchedule_Rate() {
	s := trainer.Schedule{Kind: trainer.Linear, Peak: 1e-4, Steps: 1_000_000, Warmup: 10_000}
	for _, step := range []int64{0, 5_000, 10_000, 500_000, 1_000_000} {
		fmt.Printf("%7d %.2e\n", step, s.Rate(step))
	}
	// Output:
	//       0 0.00e+00
	//    5000 5.00e-05
	//   10000 9.90e-05
	//  500000 5.00e-05
	// 1000000 0.00e+00
}
