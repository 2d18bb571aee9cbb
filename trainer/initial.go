package trainer

import (
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
)

// InitialWeights yields the weights of a new model, initialized as in
// google-research/bert: matrices and embeddings from a normal distribution with
// standard deviation Config.InitializerRange, truncated at two standard
// deviations; LayerNorm weights 1; biases 0. The random generator of each
// tensor is seeded with seed and the tensor's name, so models with different
// heads get the same encoder. Data is valid until the next tensor.
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

// truncatedNormal draws a standard normal value within two standard deviations.
func truncatedNormal(r *rand.Rand) float64 {
	for {
		if x := r.NormFloat64(); math.Abs(x) <= 2 {
			return x
		}
	}
}
