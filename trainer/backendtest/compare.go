// Functions that compare take what a backend gave, what is wanted and a limit.

package backendtest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
)

// tensors copies all tensors of a kind. It takes a model or a snapshot.
func tensors(t *testing.T, m trainer.Snapshot, k trainer.Kind) map[string][]float32 {
	t.Helper()
	all := map[string][]float32{}
	for x, err := range m.Tensors(k) {
		if err != nil {
			t.Fatal(err)
		}
		all[x.Name] = slices.Clone(x.Data)
	}
	return all
}

// everything copies weights and moments, under names with their kind.
func everything(t *testing.T, m trainer.Snapshot) map[string][]float32 {
	t.Helper()
	all := map[string][]float32{}
	for _, k := range []trainer.Kind{trainer.Weights, trainer.FirstMoment, trainer.SecondMoment} {
		for name, x := range tensors(t, m, k) {
			all[k.String()+" "+name] = x
		}
	}
	return all
}

// different returns the names of tensors with other bits.
func different(got, want map[string][]float32) (names []string) {
	for name, w := range want {
		if !slices.Equal(got[name], w) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func norm(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

// distance returns the norm of the difference divided by the norm of want; NaN
// if either contains NaN.
func distance(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	return norm(minus(got, want)) / norm(want)
}

func minus(x, y []float32) []float32 {
	d := make([]float32, len(x))
	for i := range x {
		d[i] = x[i] - y[i]
	}
	return d
}

// near reports whether two values differ by at most a fraction of want.
func near(got, want, tolerance float64) bool { return math.Abs(got/want-1) <= tolerance }

// compareGradients compares all tensors. Where the true gradient is zero but
// for rounding, sizes are compared with the neighbouring query bias.
func compareGradients(t *testing.T, got, want map[string][]float32, tol Tolerance) {
	t.Helper()
	var all []float64
	total := 0.0
	for _, w := range want {
		total += norm(w) * norm(w)
	}
	for name, w := range want {
		g := got[name]
		switch {
		case strings.HasSuffix(name, "key.bias"):
			query := norm(want[strings.Replace(name, "key", "query", 1)])
			if !(norm(g) <= tol.Zero*query) {
				t.Errorf("%s: size %.3g, true value 0, query bias %.3g", name, norm(g), query)
			}
			continue
		case norm(w) < 1e-6*math.Sqrt(total): // what only shifts all span logits
			if !(norm(g) <= tol.Gradient*math.Sqrt(total)) {
				t.Errorf("%s: size %.3g, true value 0", name, norm(g))
			}
			continue
		}
		d := distance(g, w)
		all = append(all, d)
		if !(d <= tol.Gradient) {
			t.Errorf("%s: apart by %.3g, allowed %.3g", name, d, tol.Gradient)
		}
	}
	slices.Sort(all)
	if m := all[len(all)/2]; !(m <= tol.Median) {
		t.Errorf("median of tensors apart by %.3g, allowed %.3g", m, tol.Median)
	}
}

// compareMovement compares the changes of weights since start.
func compareMovement(t *testing.T, got, want, start map[string][]float32, limit float64) {
	t.Helper()
	compareChanges(t, changes(start, got), changes(start, want), limit)
}

// changes returns end minus start, tensor by tensor.
func changes(start, end map[string][]float32) map[string][]float32 {
	all := map[string][]float32{}
	for name, x := range end {
		all[name] = minus(x, start[name])
	}
	return all
}

// compareChanges compares changes of weights. It ignores tensors whose
// gradients are only rounding noise (key biases), because an optimizer that
// divides by their size amplifies the noise.
func compareChanges(t *testing.T, got, want map[string][]float32, limit float64) {
	t.Helper()
	for name, w := range want {
		if d := distance(got[name], w); !strings.HasSuffix(name, "key.bias") && !(d <= limit) {
			t.Errorf("%s: moved apart by %.3g of the way, allowed %.3g", name, d, limit)
		}
	}
}

// compareMoments compares a moment, but that of key biases.
func compareMoments(t *testing.T, got, want map[string][]float32, limit float64) {
	t.Helper()
	for name, w := range want {
		if d := distance(got[name], w); !strings.HasSuffix(name, "key.bias") && !(d <= limit) {
			t.Errorf("moment of %s: apart by %.3g, allowed %.3g", name, d, limit)
		}
	}
}
