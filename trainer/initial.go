package trainer

import (
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
)

// InitialWeights yields the weights of a new model as google-research/bert
// draws them: matrices and embeddings from a normal distribution of standard
// deviation Config.InitializerRange cut off at two deviations, LayerNorm
// weights 1, all biases 0. Each tensor has a generator of its own, made of the
// seed and its name, so that a model with other heads has the same encoder.
// Data is valid until the next tensor is asked for.
func InitialWeights(c Config, h Heads, seed uint64) iter.Seq2[Tensor, error] {
	return func(yield func(Tensor, error) bool) {
		var data []float32
		for _, s := range Tensors(c, h) {
			if n := s.Size(); n > cap(data) {
				data = make([]float32, n)
			}
			data = data[:s.Size()]
			fillInitial(data, s, c.InitializerRange, seed)
			if !yield(Tensor{Name: s.Name, Shape: s.Shape, Data: data}, nil) {
				return
			}
		}
	}
}

func fillInitial(data []float32, s TensorSpec, deviation float64, seed uint64) {
	switch {
	case strings.HasSuffix(s.Name, "LayerNorm.weight"):
		for i := range data {
			data[i] = 1
		}
	case strings.HasSuffix(s.Name, "bias"):
		clear(data)
	default:
		hash := fnv.New64a()
		hash.Write([]byte(s.Name))
		r := rand.New(rand.NewPCG(seed, hash.Sum64()))
		for i := range data {
			data[i] = float32(deviation * truncatedNormal(r))
		}
	}
}

// truncatedNormal draws a standard normal value of at most two deviations.
func truncatedNormal(r *rand.Rand) float64 {
	for {
		if x := r.NormFloat64(); math.Abs(x) <= 2 {
			return x
		}
	}
}
