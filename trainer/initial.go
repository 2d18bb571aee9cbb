package trainer

import (
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
)

// InitialWeights yields the weights of a new model, as [TensorSpec.Init] says: for BERT
// as in google-research/bert, matrices and embeddings from a normal distribution with
// standard deviation Config.InitializerRange, truncated at two standard deviations
// (ModernBERT: [Modern.Cutoff]); LayerNorm weights 1; biases 0. The random generator of each
// tensor is seeded with seed and the tensor's name, so models with different
// heads get the same encoder. Data is valid until the next tensor.
func InitialWeights(c Config, h Heads, seed uint64) iter.Seq2[Tensor, error] {
	return func(yield func(Tensor, error) bool) {
		var data []float32
		cutoff := 2.0
		if c.Modern != nil {
			cutoff = c.Modern.Cutoff
		}
		for _, s := range Tensors(c, h) {
			if n := s.Size(); n > cap(data) {
				data = make([]float32, n)
			}
			data = data[:s.Size()]
			fillInitial(data, s, cutoff, seed)
			if !yield(Tensor{Name: s.Name, Shape: s.Shape, Data: data}, nil) {
				return
			}
		}
	}
}

func fillInitial(data []float32, s TensorSpec, cutoff float64, seed uint64) {
	if !s.Init.Random {
		for i := range data {
			data[i] = float32(s.Init.Value)
		}
		return
	}
	hash := fnv.New64a()
	hash.Write([]byte(s.Name))
	r := rand.New(rand.NewPCG(seed, hash.Sum64()))
	for i := range data {
		data[i] = float32(s.Init.Value * truncatedNormal(r, cutoff))
	}
}

// truncatedNormal draws a standard normal value within cutoff standard deviations.
func truncatedNormal(r *rand.Rand, cutoff float64) float64 {
	for {
		if x := r.NormFloat64(); math.Abs(x) <= cutoff {
			return x
		}
	}
}
