package cpu

import (
	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
)

// activations is all memory of a pass, besides the parameters.
type activations[T kernel.Float] struct {
	sequence []int32   // (T) sequence number of each row
	selected selection // rows of the encoder's output

	embedded normed[T]   // output of the embedding's LayerNorm
	x        []T         // (T, H) embedded after dropout: input of the first layer
	layers   []kept[T]   // one for each layer; without training they share memory
	pooled   []T         // (S, H) after tanh
	score    []scores[T] // one for each thread

	// Scratch.
	g       []T // (T, F) output of the activation
	o       []T // (T, H) output of a block before its LayerNorm
	first   []T // (S, H) hidden rows of first tokens
	dropped []T // (S, H) pooled output, dropped out
	mlm     mlmScratch[T]

	// Gradients; nil without training.
	dy, dz, do []T // (T, H)
	dqkv       []T // (T, 3H)
	du         []T // (T, F)
	dpooled    []T // (S, H)
}

// kept is what a layer stores for the backward pass.
type kept[T kernel.Float] struct {
	x          []T // (T, H) its input
	qkv        []T // (T, 3H)
	lse        []T // (A, T) logarithm of the softmax's denominator
	ctx        []T // (T, H)
	mid, final normed[T]
	u          []T // (T, F) before the activation
}

// normed is a LayerNorm's output and the values that its gradient needs.
type normed[T kernel.Float] struct {
	y     []T // (T, H)
	xhat  []T // (T, H) standardized input
	scale []T // (T) 1/σ
}

// scores is a thread's attention matrices. They grow to the longest sequence
// seen.
type scores[T kernel.Float] struct{ p, dp []T }

// mlmScratch is the working memory of the masked-LM head.
type mlmScratch[T kernel.Float] struct {
	x    []T       // (M, H) hidden rows of the masked tokens
	u    []T       // (M, H) the transform before the activation
	g    []T       // (M, H) after the activation
	norm normed[T] // (M, H)
	dy   []T       // (M, H)
	dx   []T       // (M, H)

	// For a chunk of up to mlmColumns masked tokens; n is their number, rounded
	// up.
	width         int              // n
	columns, rows kernel.Packed[T] // the decoder's input as (H, n) and as (n, H)
	logits        []T              // (V, n)
	top, sum      []T              // (vocabulary parts, n) largest logit; sum of exp(logit − largest)
	shift, scale  []T              // (n) a probability's gradient is exp(logit − shift)·scale
	loss          []rowLoss        // (n)
}

func newActivations[T kernel.Float](c trainer.Config, h trainer.Heads, o trainer.Options, threads int) activations[T] {
	tokens, hidden := o.Tokens, c.HiddenSize
	a := activations[T]{
		sequence: make([]int32, tokens),
		selected: selection{place: make([]int32, tokens)},
		embedded: newNormed[T](tokens, hidden),
		x:        make([]T, tokens*hidden),
		score:    make([]scores[T], threads),
		g:        make([]T, tokens*c.IntermediateSize),
		o:        make([]T, tokens*hidden),
	}
	if h.Pooled() {
		a.pooled, a.first, a.dropped = make([]T, o.Sequences*hidden), make([]T, o.Sequences*hidden), make([]T, o.Sequences*hidden)
		a.dpooled = make([]T, o.Sequences*hidden)
	}
	a.layers = newKept[T](c, o)
	a.layers[0].x = a.x
	for i := 1; i < c.Layers; i++ {
		a.layers[i].x = a.layers[i-1].final.y
	}
	if o.Train {
		a.dy, a.dz, a.do = make([]T, tokens*hidden), make([]T, tokens*hidden), make([]T, tokens*hidden)
		a.dqkv, a.du = make([]T, 3*tokens*hidden), make([]T, tokens*c.IntermediateSize)
	}
	return a
}

// newKept allocates the memory of all layers. Without training, two sets
// alternate, because a layer reads only the output of the one before it.
func newKept[T kernel.Float](c trainer.Config, o trainer.Options) []kept[T] {
	layers := make([]kept[T], c.Layers)
	for i := range layers {
		if !o.Train && i >= 2 {
			layers[i] = layers[i-2]
			continue
		}
		tokens, hidden := o.Tokens, c.HiddenSize
		layers[i] = kept[T]{
			qkv: make([]T, 3*tokens*hidden),
			lse: make([]T, c.AttentionHeads*tokens),
			ctx: make([]T, tokens*hidden),
			mid: newNormed[T](tokens, hidden), final: newNormed[T](tokens, hidden),
			u: make([]T, tokens*c.IntermediateSize),
		}
	}
	return layers
}

func newNormed[T kernel.Float](rows, hidden int) normed[T] {
	return normed[T]{y: make([]T, rows*hidden), xhat: make([]T, rows*hidden), scale: make([]T, rows)}
}

// newMLMScratch allocates the memory of the masked-LM head; widest is n of the
// largest chunk.
func newMLMScratch[T kernel.Float](c trainer.Config, h trainer.Heads, o trainer.Options, widest int) mlmScratch[T] {
	if !h.MLM {
		return mlmScratch[T]{}
	}
	n, parts := o.Masked*c.HiddenSize, vocabParts(c)
	s := mlmScratch[T]{
		x: make([]T, n), u: make([]T, n), g: make([]T, n), norm: newNormed[T](o.Masked, c.HiddenSize),
		logits: make([]T, c.VocabSize*widest), top: make([]T, parts*widest), sum: make([]T, parts*widest),
		shift: make([]T, widest), scale: make([]T, widest), loss: make([]rowLoss, widest),
	}
	if o.Train {
		s.dy, s.dx = make([]T, n), make([]T, n)
	}
	return s
}

// place records the sequence of every row, and which rows of the encoder's
// output the wanted outputs need.
func (m *model[T]) place(b *trainer.Batch, want trainer.Output) {
	m.a.selected.choose(b, m.h, want)
	for s := range b.Sequences() {
		for r := b.CuSeqlens[s]; r < b.CuSeqlens[s+1]; r++ {
			m.a.sequence[r] = int32(s)
		}
	}
}

// drop applies dropout in place to x, the values of one row of the batch.
// Without active dropout it does nothing.
func (m *model[T]) drop(b *trainer.Batch, x []T, row int, site dropout.Site) {
	if !m.hidden.Active() {
		return
	}
	s := m.a.sequence[row]
	place := (row - int(b.CuSeqlens[s])) * len(x)
	dropout.Hidden(m.hidden, x, b.Sequence[s], site, place)
}
