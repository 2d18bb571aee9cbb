// Functions that compare take a backend's result, the expected result and a limit.

package backendtest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
)

// check ends the test at an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tensors returns copies of all tensors of kind k by name. m is a model or a
// snapshot.
func tensors(t *testing.T, m trainer.Snapshot, k trainer.Kind) map[string][]float32 {
	t.Helper()
	all := map[string][]float32{}
	for x, err := range m.Tensors(k) {
		check(t, err)
		all[x.Name] = slices.Clone(x.Data)
	}
	return all
}

// everything returns copies of all weights and optimizer moments, by kind and name.
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

// different returns the names of the tensors in which any bit of got and want
// differs.
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

// distance returns the norm of got - want, divided by the norm of want. It returns
// NaN if got or want contains NaN.
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

// near reports whether got differs from want by at most tolerance × want.
func near(got, want, tolerance float64) bool { return math.Abs(got/want-1) <= tolerance }

// compareGradients fails the test if the gradient of any tensor is outside the
// tolerance. Errors are relative to the norm of the exact gradient, with these exceptions:
//
//   - The exact gradient of a key bias is zero. The computed one is compared with the
//     gradient of the query bias in the same layer.
//   - Other gradients that are zero except for rounding are compared with the norm of
//     all gradients.
//   - The gradient of a bias sums terms of both signs over tokens or sequences, which may
//     nearly cancel, while its rounding errors are as large as in a column of the weight
//     matrix. Its scale is at least the root mean square of the norms of the columns.
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
		case norm(w) < 1e-6*math.Sqrt(total): // a bias that shifts all span logits equally has no gradient
			if !(norm(g) <= tol.Gradient*math.Sqrt(total)) {
				t.Errorf("%s: size %.3g, true value 0", name, norm(g))
			}
			continue
		}
		size := norm(w)
		if matrix := want[strings.TrimSuffix(name, "bias")+"weight"]; strings.HasSuffix(name, ".bias") && len(matrix) > len(w) {
			size = max(size, norm(matrix)/math.Sqrt(float64(len(matrix)/len(w))))
		}
		d := distance(g, w) * norm(w) / size
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

// compareMovement fails the test if the changes of the weights from start to got
// and from start to want differ by more than limit.
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

// compareChanges fails the test if changes of weights, or moments, differ by more than
// limit. It ignores key biases: their gradients are only rounding noise, which the
// optimizer amplifies because it divides by the size of the gradients.
func compareChanges(t *testing.T, got, want map[string][]float32, limit float64) {
	t.Helper()
	for name, w := range want {
		if d := distance(got[name], w); !strings.HasSuffix(name, "key.bias") && !(d <= limit) {
			t.Errorf("%s: changes are apart by %.3g, allowed %.3g", name, d, limit)
		}
	}
}
