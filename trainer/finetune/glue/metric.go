package glue

import (
	"cmp"
	"math"
	"slices"
)

// A Metric is a metric of GLUE.
type Metric string

// The metrics, computed as scikit-learn and SciPy do.
const (
	Accuracy Metric = "accuracy" // fraction of correct classes
	F1       Metric = "f1"       // F1 score of class 1
	Matthews Metric = "matthews" // correlation coefficient of two classes
	Pearson  Metric = "pearson"  // correlation of scores
	Spearman Metric = "spearman" // correlation of ranks; equal scores have their mean rank
)

// Of returns the value of the metric. answers are the model's answers and right the
// correct ones, both lists of class numbers or of scores. An undefined metric (no
// answers, or all equal) is 0.
func (m Metric) Of(answers, right []float64) float64 {
	if len(answers) != len(right) {
		panic("BUG: answers and right ones differ in number")
	}
	switch m {
	case Accuracy:
		hits := 0.0
		for i, a := range answers {
			if a == right[i] {
				hits++
			}
		}
		return ratio(hits, float64(len(right)))
	case F1:
		tp, fp, fn, _ := confusion(answers, right)
		return ratio(2*tp, 2*tp+fp+fn)
	case Matthews:
		tp, fp, fn, tn := confusion(answers, right)
		return ratio(tp*tn-fp*fn, math.Sqrt(tp+fp)*math.Sqrt(tp+fn)*math.Sqrt(tn+fp)*math.Sqrt(tn+fn))
	case Pearson:
		return correlation(answers, right)
	case Spearman:
		return correlation(ranks(answers), ranks(right))
	}
	panic("BUG: metric " + string(m))
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// confusion counts true and false positives and negatives.
func confusion(answers, right []float64) (tp, fp, fn, tn float64) {
	for i, a := range answers {
		switch {
		case a == 1 && right[i] == 1:
			tp++
		case a == 1:
			fp++
		case right[i] == 1:
			fn++
		default:
			tn++
		}
	}
	return tp, fp, fn, tn
}

func correlation(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	var xy, xx, yy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xy, xx, yy = xy+dx*dy, xx+dx*dx, yy+dy*dy
	}
	return max(-1, min(1, ratio(xy, math.Sqrt(xx)*math.Sqrt(yy))))
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return ratio(sum, float64(len(x)))
}

// ranks returns the rank of each value, from 1. Equal values get their mean
// rank.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	out := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j+1) / 2
		}
		if j == i { // NaN is not equal to itself
			j++
		}
		i = j
	}
	return out
}
