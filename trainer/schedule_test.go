package trainer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
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
		{"MiniCPM's", trainer.Schedule{Kind: trainer.WSD, Peak: 2, Steps: 100, Warmup: 10, Decay: 20, Shape: "exponential"},
			map[int64]float64{0: 0, 5: 1, 10: 2, 79: 2, 80: 2, 90: 2 * math.Sqrt(0.1), 100: 0.2, 200: 0.2}},
		{"ModernBERT's", trainer.Schedule{Kind: trainer.WSD, Peak: 2, Steps: 100, Decay: 100, Shape: "1-sqrt"}, map[int64]float64{0: 2, 25: 1, 100: 0}},
		{"linear decay", trainer.Schedule{Kind: trainer.WSD, Peak: 2, Steps: 10, Decay: 4, Shape: "linear"}, map[int64]float64{0: 2, 6: 2, 7: 1.5, 9: 0.5, 10: 0}},
		{"before its decay", trainer.Schedule{Kind: trainer.WSD, Peak: 2, Steps: 10, Shape: "linear"}, map[int64]float64{0: 2, 10: 2, 99: 2}},
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

// byStep returns the schedules by steps.
func byStep() (kinds []trainer.ScheduleKind) {
	for _, name := range trainer.ScheduleNames() {
		if kind := trainer.ScheduleKind(name); !(trainer.Schedule{Kind: kind}).ByTime() {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func TestRatesNeverLeaveTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := trainer.DefaultScheduleOptions()
		o.Schedule = string(rapid.SampledFrom(byStep()).Draw(t, "kind"))
		o.LearningRate = rapid.Float64Range(0, 10).Draw(t, "peak")
		o.NumTrainSteps = rapid.Int64Range(1, 1000).Draw(t, "steps")
		s := o.For(trainer.AdamW)
		s.Warmup = rapid.Float64Range(0, float64(s.Steps)).Draw(t, "warmup")
		if s.Kind == trainer.Polynomial {
			s.Degree = rapid.Float64Range(0.1, 3).Draw(t, "degree")
		}
		if s.Kind == trainer.WSD {
			s.Shape = rapid.SampledFrom([]trainer.DecayShape{"exponential", "1-sqrt", "linear"}).Draw(t, "shape")
			s.Decay = rapid.Int64Range(0, int64(float64(s.Steps)-s.Warmup)).Draw(t, "decay")
		}
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
		{Kind: trainer.WSD, Steps: 9}, {Kind: trainer.WSD, Steps: 9, Shape: "cosine"}, {Kind: trainer.WSD, Steps: 9, Warmup: 4, Decay: 6, Shape: "linear"},
		{Kind: trainer.Budget, Steps: 9}, {Kind: trainer.Linear, Steps: 9, Seconds: 1}, {Kind: trainer.Budget, Steps: 9, Seconds: 1, Warmup: 1}, {Kind: trainer.Budget, Steps: 9, Seconds: nan},
		{Kind: trainer.WSD, Steps: 9, Decay: -1, Shape: "linear"}, {Kind: trainer.Constant, Steps: 9, Decay: 1},
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

func TestParametersBelongToSchedules(t *testing.T) {
	o := trainer.DefaultScheduleOptions()
	o.DecaySteps = 5
	if err := o.Validate(trainer.LAMB); err == nil || err.Error() != "--decay-steps applies only with --schedule wsd" {
		t.Errorf("got %v", err)
	}
	if o.Schedule = "wsd"; o.Validate(trainer.LAMB) != nil {
		t.Error(o.Validate(trainer.LAMB))
	}
	for _, p := range trainer.ScheduleParameters() {
		if p.Kinds() == "" {
			t.Errorf("no schedule has the parameter %s", p.Name)
		}
	}
	for optimizer, kind := range map[trainer.OptimizerName]trainer.ScheduleKind{trainer.AdamW: trainer.Linear, trainer.LAMB: trainer.Polynomial, "": trainer.Linear} {
		if got := trainer.DefaultScheduleOptions().For(optimizer).Kind; got != kind {
			t.Errorf("%s: got %s", optimizer, got)
		}
	}
}

func TestTheRateOfABudgetFollowsTheTime(t *testing.T) {
	s := trainer.Schedule{Kind: trainer.Budget, Peak: 2, Steps: 9, Seconds: 3600, Warmup: 0.06}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for fraction, want := range map[float64]float64{0: 0, 0.03: 1, 0.06: 2, 0.53: 1, 1: 0, 1.5: 0} {
		if got := s.At(fraction); math.Abs(got-want) > 1e-12 {
			t.Errorf("after %v of the time: got %v, want %v", fraction, got, want)
		}
	}
}

func TestOnlyStepsThatAreNotDoneMayChange(t *testing.T) {
	constant := trainer.Schedule{Kind: trainer.Constant, Peak: 1, Steps: 100, Warmup: 10}
	wsd := func(steps, decay int64) trainer.Schedule {
		return trainer.Schedule{Kind: trainer.WSD, Peak: 1, Steps: steps, Warmup: 10, Decay: decay, Shape: "exponential"}
	}
	linear, longer := trainer.Schedule{Kind: trainer.Linear, Peak: 1, Steps: 100}, trainer.Schedule{Kind: trainer.Linear, Peak: 1, Steps: 200}
	higher := constant
	higher.Peak, higher.Steps = 2, 200
	other := wsd(100, 20)
	other.Shape = "linear"
	for _, c := range []struct {
		was, now trainer.Schedule
		done     int64
		want     string // part of the error; "": none
	}{
		{linear, linear, 100, ""},
		{linear, longer, 5, "num_train_steps: the checkpoint has 100, this run 200: every rate of a linear schedule depends on it"},
		{constant, wsd(300, 20), 100, ""},
		{constant, wsd(120, 20), 100, ""},
		{constant, wsd(119, 20), 100, "the decay would begin at step 99, and 100 steps are done"},
		{constant, linear, 0, "the checkpoint has constant, 100 steps"},
		{constant, higher, 1, "this run constant, 200 steps, learning rate 2"},
		{wsd(100, 20), wsd(200, 20), 80, ""},
		{wsd(100, 20), wsd(200, 20), 81, "is in its decay, which began after step 80: resume from an earlier checkpoint"},
		{wsd(100, 20), other, 80, ""},
		{wsd(100, 20), other, 90, "is in its decay"},
		{wsd(100, 0), wsd(120, 20), 100, ""},
		{wsd(100, 0), constant, 100, ""},
		{wsd(100, 0), wsd(60, 0), 61, "num_train_steps 60: 61 steps are done"},
	} {
		err := c.now.Continues(c.was, c.done)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v after %d steps of %v: got %v, want %q", c.now, c.done, c.was, err, c.want)
		}
		for step := range c.done {
			if err == nil && c.now.Rate(step) != c.was.Rate(step) {
				t.Fatalf("%v after %d steps of %v: the rate of step %d differs", c.now, c.done, c.was, step)
			}
		}
	}
}

// fewest returns the number of micro-batches that a greedy cut needs.
func fewest(lengths []int32, tokens int) int {
	n, sum := 0, tokens+1
	for _, l := range lengths {
		if sum += int(l); sum > tokens {
			n, sum = n+1, int(l)
		}
	}
	return n
}

func TestCutsAreEvenInOrderAndWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens, multiple := rapid.IntRange(10, 60).Draw(t, "tokens"), rapid.IntRange(1, 5).Draw(t, "multiple")
		lengths := rapid.SliceOf(rapid.Int32Range(0, 10)).Draw(t, "lengths")
		bounds, err := trainer.Cut(lengths, tokens, multiple)
		if err != nil {
			t.Fatal(err)
		}
		n := len(bounds) - 1
		if bounds[0] != 0 || bounds[n] != len(lengths) {
			t.Fatalf("bounds %v of %d sequences", bounds, len(lengths))
		}
		least := (fewest(lengths, tokens) + multiple - 1) / multiple * multiple
		if want := min(least, len(lengths)); n != want {
			t.Fatalf("%d micro-batches, want %d", n, want)
		}
		largest := 0
		for j := range n {
			sum := 0
			for _, l := range lengths[bounds[j]:bounds[j+1]] {
				sum += int(l)
			}
			if largest = max(largest, sum); sum > tokens || bounds[j] >= bounds[j+1] {
				t.Fatalf("micro-batch %d has %d tokens, bounds %v", j, sum, bounds)
			}
		}
		if n > 0 && largest > 0 && fewest(lengths, largest-1) <= n && int32(largest) > slices.Max(lengths) {
			t.Fatalf("the largest micro-batch has %d tokens, %d would do; bounds %v", largest, largest-1, bounds)
		}
	})
	if _, err := trainer.Cut([]int32{3, 11}, 10, 1); err == nil {
		t.Error("a sequence longer than a micro-batch was accepted")
	}
	if _, err := trainer.Cut([]int32{3}, 10, 0); err == nil {
		t.Error("a multiple of 0 was accepted")
	}
}

// A greedy cut of the first row would be 100 and 20 tokens.
func TestCutsAreCloseToEqualParts(t *testing.T) {
	tens := func(n int) []int32 { return slices.Repeat([]int32{10}, n) }
	for _, c := range []struct {
		lengths          []int32
		tokens, multiple int
		want             []int
	}{
		{tens(12), 100, 1, []int{0, 6, 12}},
		{tens(10), 100, 4, []int{0, 2, 5, 7, 10}},
		{[]int32{100, 1, 1, 1}, 100, 1, []int{0, 1, 4}},
		{[]int32{1, 1, 1, 100}, 100, 2, []int{0, 3, 4}},
		{tens(3), 100, 8, []int{0, 1, 2, 3}},
		{[]int32{0, 0}, 5, 1, []int{0, 2}},
		{nil, 5, 3, []int{0}},
	} {
		if got, err := trainer.Cut(c.lengths, c.tokens, c.multiple); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v by %d: got %v, %v, want %v", c.lengths, c.tokens, got, err, c.want)
		}
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

// ModernBERT's name and degree of a decay are other names for WSD and its shapes.
func TestATrapezoidIsWSD(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *trainer.ScheduleOptions)
		shape  trainer.DecayShape
		err    string
	}{
		"wsd":                      {func(o *trainer.ScheduleOptions) { o.Schedule = "wsd" }, "exponential", ""},
		"trapezoid":                {func(*trainer.ScheduleOptions) {}, "1-sqrt", ""},
		"of degree 1":              {func(o *trainer.ScheduleOptions) { o.DecayDegree = 1 }, "linear", ""},
		"of degree 1/2":            {func(o *trainer.ScheduleOptions) { o.Schedule, o.DecayDegree = "wsd", 0.5 }, "1-sqrt", ""},
		"exponential":              {func(o *trainer.ScheduleOptions) { o.DecayShape = "exponential" }, "exponential", ""},
		"both, the same":           {func(o *trainer.ScheduleOptions) { o.DecayShape, o.DecayDegree = "linear", 1 }, "linear", ""},
		"both, another":            {func(o *trainer.ScheduleOptions) { o.DecayShape, o.DecayDegree = "exponential", 1 }, "exponential", "give one of them"},
		"of degree 2":              {func(o *trainer.ScheduleOptions) { o.DecayDegree = 2 }, "", "must be 0.5 (1-sqrt) or 1 (linear)"},
		"of no number":             {func(o *trainer.ScheduleOptions) { o.DecayDegree = math.NaN() }, "", "must be 0.5 (1-sqrt) or 1 (linear)"},
		"a degree without a decay": {func(o *trainer.ScheduleOptions) { o.Schedule, o.DecayDegree = "constant", 1 }, "", "--decay-degree applies only with --schedule wsd"},
	} {
		o := trainer.DefaultScheduleOptions()
		o.Schedule = "trapezoid"
		c.change(&o)
		s := o.For(trainer.StableAdamW)
		if o.Schedule != "constant" && (s.Kind != trainer.WSD || s.Shape != c.shape || s.Decay != o.NumTrainSteps/10) {
			t.Errorf("%s: got %v", name, s)
		}
		err := o.Validate(trainer.StableAdamW)
		if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got error %v, want %q", name, err, c.err)
		}
	}
}
