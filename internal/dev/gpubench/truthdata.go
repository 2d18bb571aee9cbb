package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// tensors holds tensors of a model by name.
type tensors map[string][]float32

// collect copies all tensors of a kind from a model.
func collect(all iter.Seq2[trainer.Tensor, error]) (tensors, error) {
	list := tensors{}
	for x, err := range all {
		if err != nil {
			return nil, err
		}
		list[x.Name] = append([]float32(nil), x.Data...)
	}
	return list, nil
}

// seq yields the tensors in the order of specs.
func (l tensors) seq(specs []trainer.TensorSpec) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		for _, s := range specs {
			if !yield(trainer.Tensor{Name: s.Name, Shape: s.Shape, Data: l[s.Name]}, nil) {
				return
			}
		}
	}
}

// A temper is how large the logits and attention scores of made-up weights are.
type temper struct {
	name   string
	logits float64 // standard deviation of the logits
	scores float64 // that of the attention scores in the sharpest head; in the others down to a tenth of it
}

// Weights are calm, so that what 16 bits can do is small and known, and sharp: the largest
// of logits and scores are about ±30, as after training. Rounding a logit of 30 to bf16
// alone is an error of 0.04, which makes gradients of 3 %.
var (
	calm  = temper{"calm weights", 1.2, 1}
	sharp = temper{"sharp weights", 7, 5}
)

// trainedWeights returns random weights with what makes a trained model harder than an
// initial one: heads of different sharpness, gains and biases that are not 1 and 0. Blocks
// add a third to the residual, so that an error does not grow from layer to layer.
func trainedWeights(c trainer.Config, specs []trainer.TensorSpec, how temper, seed uint64) tensors {
	all := tensors{}
	for _, s := range specs {
		all[s.Name] = make([]float32, s.Size())
	}
	var wait sync.WaitGroup
	next := make(chan trainer.TensorSpec)
	for range runtime.NumCPU() {
		wait.Go(func() {
			for s := range next {
				fill(all[s.Name], c, s, how, seed)
			}
		})
	}
	for _, s := range specs {
		next <- s
	}
	close(next)
	wait.Wait()
	return all
}

// fill draws one tensor. Inputs of a matrix are about 1 in size, but those of the second
// feed-forward matrix, which are 0.6.
func fill(x []float32, c trainer.Config, s trainer.TensorSpec, how temper, seed uint64) {
	hash := fnv.New64a()
	hash.Write([]byte(s.Name))
	random := rand.New(rand.NewPCG(seed, hash.Sum64()))
	unit := 1 / math.Sqrt(float64(c.HiddenSize))
	mean, deviation := 0.0, 0.04
	is := func(part string) bool { return strings.Contains(s.Name, part) }
	switch {
	case is("transform.LayerNorm.weight"):
		mean, deviation = how.logits*unit/0.04, 0.02
	case is("LayerNorm.weight"):
		mean, deviation = 1, 0.1
	case is("bias"):
		deviation = 0.05
	case is("query.weight"), is("key.weight"):
		for i := range x {
			x[i] = float32(random.NormFloat64() * unit * math.Sqrt(how.scores*sharpness(i/c.HiddenSize/c.HeadSize(), c.AttentionHeads)))
		}
		return
	case is("value.weight"), is("transform.dense.weight"), is("pooler.dense.weight"), is("seq_relationship.weight"), is("intermediate.dense.weight"):
		deviation = unit
	case is("attention.output.dense.weight"):
		deviation = unit / 2
	case is("output.dense.weight"):
		deviation = unit / 4
	}
	for i := range x {
		x[i] = float32(mean + deviation*random.NormFloat64())
	}
}

// sharpness returns the deviation of the attention scores of a head, from a tenth to 1 in
// the last.
func sharpness(head, heads int) float64 {
	return 0.1 * math.Pow(10, float64(head+1)/float64(heads))
}

// addressed returns a batch whose word IDs say where they are: a word occurs in one
// sequence only, in span neighbouring tokens. So a row of the gradient of the word
// embeddings belongs to a place in the batch. Masked tokens are as in madeUp.
func (o *options) addressed(lengths []int, longest int) (b *trainer.Batch, places []place, err error) {
	const first = 5 // of the words that are not special
	span, words := 0, o.vocab
	for words > o.vocab-first {
		span++
		words = 0
		for _, n := range lengths {
			words += (n + span - 1) / span
		}
		if span > longest {
			return nil, nil, fmt.Errorf("%d words are too few for %d sequences: raise --vocab", o.vocab, len(lengths))
		}
	}
	b = o.madeUp(lengths, longest)
	places = make([]place, o.vocab)
	word, masked := first, 0
	for s, n := range lengths {
		at := int(b.CuSeqlens[s])
		for j := range n {
			id := word + j/span
			if places[id].tokens == 0 {
				places[id] = place{sequence: s, first: j}
			}
			places[id].tokens++
			if masked < b.Masked() && int(b.MaskedIndex[masked]) == at+j {
				b.MaskedIDs[masked] = int32(id)
				masked++
				continue
			}
			b.IDs[at+j] = int32(id)
		}
		word += (n + span - 1) / span
	}
	return b, places, nil
}

// A place is a range of tokens of a sequence, for messages.
type place struct{ sequence, first, tokens int }

// part returns sequences first to last-1 of b as a batch.
func part(b *trainer.Batch, first, last int) *trainer.Batch {
	p := &trainer.Batch{}
	m := 0
	for s := range last {
		from, to := b.CuSeqlens[s], b.CuSeqlens[s+1]
		q := trainer.Sequence{IDs: b.IDs[from:to], Segments: b.Segments[from:to], Position: b.Sequence[s], NSPLabel: b.NSPLabels[s]}
		for ; m < b.Masked() && b.MaskedIndex[m] < to; m++ {
			q.MaskedPositions = append(q.MaskedPositions, b.MaskedIndex[m]-from)
			q.MaskedIDs, q.MaskedWeights = append(q.MaskedIDs, b.MaskedIDs[m]), append(q.MaskedWeights, b.MaskedWeights[m])
		}
		if s >= first {
			p.Append(q)
		}
	}
	return p
}

// only returns b with the targets of one sequence: gradients of the whole batch are then
// those of this sequence.
func only(b *trainer.Batch, sequence int) *trainer.Batch {
	p := *b
	p.MaskedIndex, p.MaskedIDs, p.MaskedWeights, p.NSPLabels = nil, nil, nil, make([]int32, b.Sequences())
	for s := range p.NSPLabels {
		p.NSPLabels[s] = trainer.NoLabel
	}
	p.NSPLabels[sequence] = b.NSPLabels[sequence]
	for i, at := range b.MaskedIndex {
		if at >= b.CuSeqlens[sequence] && at < b.CuSeqlens[sequence+1] {
			p.MaskedIndex, p.MaskedIDs, p.MaskedWeights = append(p.MaskedIndex, at), append(p.MaskedIDs, b.MaskedIDs[i]), append(p.MaskedWeights, b.MaskedWeights[i])
		}
	}
	return &p
}

// writeBatch writes a batch as a safetensors file of float32 arrays: integers up to 2^24
// are exact in them.
func writeBatch(path string, b *trainer.Batch) error {
	floats := func(x []int32) (y []float32) {
		for _, v := range x {
			y = append(y, float32(v))
		}
		return y
	}
	list := tensors{
		"ids": floats(b.IDs), "segments": floats(b.Segments), "bounds": floats(b.CuSeqlens), "masked": floats(b.MaskedIndex),
		"labels": floats(b.MaskedIDs), "nsp": floats(b.NSPLabels),
	}
	for _, p := range b.Sequence {
		list["position"] = append(list["position"], float32(p))
	}
	var specs []trainer.TensorSpec
	for _, name := range []string{"ids", "segments", "bounds", "masked", "labels", "nsp", "position"} {
		specs = append(specs, trainer.TensorSpec{Name: name, Shape: []int{len(list[name])}})
	}
	return writeFile(path, specs, list)
}

func writeFile(path string, specs []trainer.TensorSpec, list tensors) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(checkpoint.WriteSafetensors(f, specs, list.seq(specs)), f.Close())
}

// readFile reads tensors that another program computed. Every tensor of specs must be
// there.
func readFile(path string, specs []trainer.TensorSpec) (tensors, error) {
	f, err := checkpoint.OpenSafetensors(path)
	if err != nil {
		return nil, err
	}
	list := tensors{}
	for _, s := range specs {
		x, err := f.Float32s(s.Name, nil)
		if err == nil && len(x) != s.Size() {
			err = fmt.Errorf("%s: %d elements of %s, want %d", path, len(x), s.Name, s.Size())
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		list[s.Name] = x
	}
	return list, f.Close()
}

// writeJSON writes v to a file of the folder dir.
func writeJSON(dir, name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), b, 0o644)
}
