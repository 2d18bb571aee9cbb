package glue

import (
	"math"

	"pretext/trainer/finetune/internal/pyrepr"
)

// AppendResult appends a line of test_results.tsv as run_classifier.py writes
// it: the probability of each class, or the score.
func AppendResult(dst []byte, logits []float32, regression bool) []byte {
	values := make([]float64, len(logits))
	for i, v := range logits {
		values[i] = float64(v)
	}
	if !regression {
		values = Softmax(logits)
	}
	for i, v := range values {
		if i > 0 {
			dst = append(dst, '\t')
		}
		dst = pyrepr.AppendFloat(dst, float64(float32(v)), 32)
	}
	return append(dst, '\n')
}

// Softmax converts logits to probabilities.
func Softmax(logits []float32) []float64 {
	top := math.Inf(-1)
	for _, v := range logits {
		top = max(top, float64(v))
	}
	p := make([]float64, len(logits))
	sum := 0.0
	for i, v := range logits {
		p[i] = math.Exp(float64(v) - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}
