// Package bert holds the code that the models of all backends share: the layout of
// parameters in a flat buffer, their use in the model, the selection of the rows of the
// encoder's output that heads read, and the loops over tensors of trainer.Model.
package bert

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"pretext/trainer"
)

// A Layout assigns every tensor an offset in one flat buffer. Weights, gradients and
// moments have the same layout. The weights of query, key and value are adjacent, and so
// are their biases: they form one matrix of 3H rows and one vector of 3H elements.
type Layout struct {
	Specs  []trainer.TensorSpec // in the order of trainer.Tensors
	Offset []int                // of Specs[i], in elements
	Flat   []int                // indexes in Specs by ascending offset
	Size   int                  // elements

	// Buckets are the ranges for the embeddings, each encoder layer, and the heads.
	// The index is 1 + trainer.TensorSpec.Layer.
	Buckets []Bucket

	byName map[string]int // index in Specs
}

// A Bucket is the range of the flat buffers that holds the embeddings, one encoder layer,
// or the heads. Its gradients are complete at the same point of a backward pass. Ranks sum
// gradients one bucket at a time.
type Bucket struct{ First, N int }

// Padding aligns the tensors and buckets of a layout. Padding elements stay zero.
type Padding struct {
	Tensor     int // every tensor's offset is a multiple of Tensor
	Bucket     int // every bucket's size is a multiple of Bucket
	Vocabulary int // number of rows of tensors with a row for each vocabulary entry
}

// NoPadding returns the padding of a layout without gaps between tensors.
func NoPadding(c trainer.Config) Padding {
	return Padding{Tensor: 1, Bucket: 1, Vocabulary: c.VocabSize}
}

// NewLayout returns the layout of a model.
func NewLayout(c trainer.Config, h trainer.Heads, pad Padding) Layout {
	l := Layout{Specs: trainer.Tensors(c, h), byName: map[string]int{}}
	l.Offset = make([]int, len(l.Specs))
	for i, s := range l.Specs {
		l.byName[s.Name] = i
	}
	for i := 0; i < len(l.Specs); {
		group := []int{i}
		if strings.HasSuffix(l.Specs[i].Name, "attention.self.query.weight") {
			// The weights of query, key and value, then their biases.
			group = []int{i, i + 2, i + 4, i + 1, i + 3, i + 5}
		}
		if l.Specs[i].Layer+1 == len(l.Buckets) {
			l.Buckets = append(l.Buckets, Bucket{First: l.Size})
		}
		for _, j := range group {
			n := l.Specs[j].Size()
			if name := l.Specs[j].Name; slices.Contains(perWord, name) {
				n = n / c.VocabSize * pad.Vocabulary
			}
			l.Offset[j] = l.Size
			l.Size += roundUp(n, pad.Tensor)
			l.Flat = append(l.Flat, j)
		}
		i += len(group)
		if i == len(l.Specs) || l.Specs[i].Layer+1 == len(l.Buckets) {
			l.Size = roundUp(l.Size, pad.Bucket)
			b := &l.Buckets[len(l.Buckets)-1]
			b.N = l.Size - b.First
		}
	}
	return l
}

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// Index returns the index in l.Specs of the tensor name, which the model must have.
func (l *Layout) Index(name string) int {
	i, ok := l.byName[name]
	if !ok {
		panic("BUG: no tensor " + name)
	}
	return i
}

// Has reports whether the model has the tensor name.
func (l *Layout) Has(name string) bool { _, ok := l.byName[name]; return ok }

// Tensors yields the tensors of kind k in the order of l.Specs. read appends the values of
// tensor i to dst. Data is valid until the next tensor.
func (l *Layout) Tensors(k trainer.Kind, read func(dst []float32, i int) ([]float32, error)) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		var data []float32
		for i, s := range l.Specs {
			var err error
			if data, err = read(data[:0], i); err != nil {
				yield(trainer.Tensor{}, fmt.Errorf("read %v: %w", k, err))
				return
			}
			if !yield(trainer.Tensor{Name: s.Name, Shape: s.Shape, Data: data}, nil) {
				return
			}
		}
	}
}

// Load calls store with the index and the values of each tensor that the model has, and
// reports missing and unexpected tensors. A wrong shape is an error.
func (l *Layout) Load(tensors iter.Seq2[trainer.Tensor, error], store func(i int, data []float32)) (trainer.LoadReport, error) {
	var r trainer.LoadReport
	given := make([]bool, len(l.Specs))
	for t, err := range tensors {
		if err != nil {
			return r, err
		}
		i, ok := l.byName[t.Name]
		if !ok {
			r.Unexpected = append(r.Unexpected, t.Name)
			continue
		}
		s := l.Specs[i]
		if len(t.Data) != s.Size() || !slices.Equal(t.Shape, s.Shape) {
			return r, fmt.Errorf("tensor %q has shape %v, the model %v", t.Name, t.Shape, s.Shape)
		}
		given[i] = true
		store(i, t.Data)
	}
	for i, ok := range given {
		if !ok {
			r.Missing = append(r.Missing, l.Specs[i].Name)
		}
	}
	return r, nil
}
