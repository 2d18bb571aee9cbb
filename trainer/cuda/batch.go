package cuda

import (
	"fmt"
	"math"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/internal/bert"
)

// pairs returns the number of pairs of a token and one that it attends to, at most reach away;
// a negative reach has no limit.
func (d *batch) pairs(reach int) float64 {
	total := 0.0
	for i := range d.sequences {
		n := float64(d.bounds[i+1] - d.bounds[i])
		r := float64(reach)
		switch {
		case r >= 0 && r < n:
			total += n*(2*r+1) - r*(r+1)
		case d.visible != nil:
			total += n * float64(d.visible[i])
		default:
			total += n * n
		}
	}
	return total
}

// uploads copies batches to the device in its own stream, so that the copy of a batch
// overlaps with the computation of the previous batch. It has two slots, used in turn.
type uploads struct {
	queue  // the stream for copies
	packer packer
	slots  [2]slot
	next   int // slot of the next batch

	ready    *trainer.Batch // in the slot before next, for the next training pass; nil: none
	prepared batch          // ready, as it is packed
}

// request requests the slots' memory on the device.
func (u *uploads) request(r *requests) {
	for i := range u.slots {
		r.want(fmt.Sprintf("batch %d", i), &u.slots[i].base, slotBytes(r.s))
	}
}

// copy packs a batch into the next slot and queues its copy to the device. Before it writes
// to the slot, it waits until the slot's previous batch is copied. The device starts the copy
// only when it has computed that previous batch.
func (u *uploads) copy(b *trainer.Batch, want trainer.Output, train bool) (batch, error) {
	s := &u.slots[u.next]
	u.next = 1 - u.next
	if err := u.device.SyncEvent(s.uploaded); err != nil {
		return batch{}, err
	}
	d := u.packer.pack(s, b, want, train)
	u.wait(s.consumed)
	u.toDevice(s.base, s.host[:s.n])
	u.record(s.uploaded)
	return d, u.err
}

// prepare copies the batch of the next training pass.
func (u *uploads) prepare(b *trainer.Batch) {
	d, err := u.copy(b, 0, true)
	if err == nil { // else the device is lost, and send says so
		u.ready, u.prepared = b, d
	}
}

// send makes the stream main wait for the copy of a batch, which it queues unless b is ready.
func (u *uploads) send(main *queue, b *trainer.Batch, want trainer.Output, train bool) (d batch, err error) {
	if d = u.prepared; !train || b != u.ready {
		d, err = u.copy(b, want, train)
	}
	u.ready = nil
	if err == nil {
		main.wait(u.slots[1-u.next].uploaded)
	}
	return d, err
}

// done marks the end of main's work on the latest batch: call it when all work that reads
// this batch is queued. After this work, the batch's slot can be used again.
func (u *uploads) done(main *queue) { main.record(u.slots[1-u.next].consumed) }

// A slot holds the index arrays of one batch on the host and on the device.
// There are two: one batch is copied while the other is computed.
type slot struct {
	host     []byte         // page-locked
	base     device.Pointer // address of the copy on the device
	uploaded device.Event   // the copy is done: host may be written again
	consumed device.Event   // the batch is computed: the device's part may be written again
	n        int            // bytes used
}

// slotBytes returns the size of a slot in bytes for the largest batch. It includes
// the alignment of every array.
func slotBytes(s shape) int {
	const arrays, lists = 64, 3
	words := 4*s.tokens + lists*(3*s.tokens+1+3*s.pieces) + 8*s.tokens + // ids, positions, …; embedding gradients; selected rows
		8*s.sequences + 12*s.pooled + 8*s.masked
	return 4*words + 16*(arrays+8*s.masked/s.chunk)
}

// put appends x to the slot's host memory and returns the address that it will have
// on the device.
func put[T number](s *slot, x []T) device.Pointer {
	s.n = roundUp(s.n, 16)
	at, b := s.base.Add(s.n), s.host[s.n:]
	s.n += copy(b, bytesOf(x))
	return at
}

// A batch holds the sizes of a padded batch and the addresses of its arrays on the
// device.
type batch struct {
	tokens, sequences int     // with padding
	longest           int     // tokens of the longest sequence
	real              int     // sequences without padding
	bounds, visible   []int32 // of the sequences: cu_seqlens, and the keys that are attended to; nil: all

	ids, positions, segments device.Pointer // (tokens)
	all                      kernels.Rows   // every row
	attention                kernels.Batch
	words, places, kinds     grouped // tokens by word ID, position and segment, for the gradients of the embeddings
	rows                     outputRows
	masked                   []chunk
	pooled                   pooledRows
	spans                    device.Pointer // (2, sequences)
}

// realTokens returns the number of tokens without padding.
func (d *batch) realTokens() int { return int(d.bounds[d.real]) }

// outputRows describes the rows of the encoder's output: all rows of the batch, or only
// those that the heads read.
type outputRows struct {
	all    kernels.Rows
	real   int            // rows that the heads read, without padding; only with index
	index  device.Pointer // (all.N) row of the batch for each row of the encoder's output; zero: all rows
	spread grouped        // rows of the encoder's output by row of the batch
}

// pooledRows describes the rows of the pooler: one for each real sequence, then padding.
type pooledRows struct {
	n                               int
	first                           device.Pointer // (n) row of the encoder's output with the sequence's first token
	firsts                          grouped        // rows of the pooler by row of the encoder's output
	rows                            kernels.Rows
	nsp, labels, scores, scoreLabel device.Pointer // (n)
}

// A chunk is a fixed number of masked tokens.
type chunk struct {
	n            int            // tokens that are not padding
	index        device.Pointer // (rows) row of the encoder's output
	ids, weights device.Pointer // (rows) original token and weight of the loss
	scattered    grouped        // masked tokens by row of the encoder's output; only in training
	rows         int            // with padding
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// A packer writes batches to slots.
type packer struct {
	c      trainer.Config
	h      trainer.Heads
	shape  shape
	choice bert.Selection
	grouper
}

// pack writes b to the slot and returns the addresses of its arrays. If train is set,
// it includes the arrays that gradients need.
func (p *packer) pack(s *slot, b *trainer.Batch, want trainer.Output, train bool) batch {
	s.n = 0
	d := batch{real: b.Sequences(), pooled: pooledRows{n: roundUp(b.Sequences(), p.shape.pooledRows)}, tokens: roundUp(b.Tokens(), p.shape.tokenQuantum)}
	p.tokens(s, b, &d, train)
	if m := p.c.Modern; m != nil && m.MeanPooling && p.h.ClassifierWidth() > 0 {
		want |= trainer.OutputHidden // every row
	}
	p.choice.Choose(b, p.h, want)
	p.selection(s, b, &d, train)
	if p.h.MLM {
		p.masked(s, b, &d, train)
	}
	if p.h.Pooled() {
		p.pooled(s, b, &d, train)
	}
	if p.h.Span {
		spans := p.padded(b.Starts, d.sequences, trainer.NoLabel)
		d.spans = put(s, append(spans, p.padded(b.Ends, d.sequences, trainer.NoLabel)...))
	}
	if s.n > len(s.host) {
		panic(fmt.Sprintf("BUG: a batch of %d bytes in a slot of %d", s.n, len(s.host)))
	}
	return d
}

// padded returns a copy of x, extended to n elements by the value v.
func (p *packer) padded(x []int32, n int, v int32) []int32 {
	y := append(make([]int32, 0, n), x...)
	for len(y) < n {
		y = append(y, v)
	}
	return y
}

// tokens writes the encoder's input: all tokens of b, followed by padding sequences of
// token 0.
func (p *packer) tokens(s *slot, b *trainer.Batch, d *batch, train bool) {
	ids, segments := p.padded(b.IDs, d.tokens, 0), p.padded(b.Segments, d.tokens, 0)
	positions, cu := p.padded(b.Positions, b.Tokens(), 0), p.padded(b.CuSeqlens, b.Sequences()+1, 0)
	global := append([]int64(nil), b.Sequence...)
	for len(positions) < d.tokens {
		n := min(d.tokens-len(positions), p.c.MaxPositions)
		for i := range n {
			positions = append(positions, int32(i))
		}
		cu, global = append(cu, int32(len(positions))), append(global, 0)
	}
	d.sequences = len(cu) - 1
	sequence := make([]int32, d.tokens)
	for i := range d.sequences {
		d.longest = max(d.longest, int(cu[i+1]-cu[i]))
		for r := cu[i]; r < cu[i+1]; r++ {
			sequence[r] = int32(i)
		}
	}
	d.ids, d.positions, d.segments = put(s, ids), put(s, positions), put(s, segments)
	at, position := put(s, cu), put(s, global)
	d.all = kernels.Rows{Sequence: uint64(put(s, sequence)), Cu: uint64(at), Position: uint64(position), N: int32(d.tokens)}
	d.attention = kernels.Batch{Cu: uint64(at), Position: uint64(position), Tokens: int32(d.tokens), Heads: int32(p.c.AttentionHeads)}
	if len(b.VisibleKeys) > 0 {
		visible := p.padded(b.VisibleKeys, b.Sequences(), 0)
		for i := b.Sequences(); i < d.sequences; i++ {
			visible = append(visible, cu[i+1]-cu[i])
		}
		d.attention.Visible, d.visible = uint64(put(s, visible)), visible
	}
	d.bounds = cu
	if train {
		n := b.Tokens() // padding has no gradient
		max := p.shape.piece
		d.words = p.group(s, ids[:n], p.c.VocabSize, max)
		if p.c.Modern == nil {
			d.places, d.kinds = p.group(s, positions[:n], p.c.MaxPositions, max), p.group(s, segments[:n], p.c.Segments, max)
		}
	}
}

// selection writes the arrays for the rows that the heads read. The kernels compute a row's
// position in its sequence, on which dropout depends, as the row number minus the first row
// of the sequence. So each selected row i gets its own sequence, which begins at i minus the
// row's true position; this may be negative.
func (p *packer) selection(s *slot, b *trainer.Batch, d *batch, train bool) {
	if p.choice.All {
		d.rows.all = d.all
		return
	}
	rows := p.choice.Rows
	d.rows.real = len(rows)
	n := min(roundUp(max(len(rows), 1), p.shape.tokenQuantum), d.tokens)
	index, cu, own, position := make([]int32, n), make([]int32, n), make([]int32, n), make([]int64, n)
	q := 0
	for i := range n {
		own[i], cu[i] = int32(i), int32(i)
		if i >= len(rows) {
			continue
		}
		for rows[i] >= b.CuSeqlens[q+1] {
			q++
		}
		index[i], cu[i], position[i] = rows[i], int32(i)-(rows[i]-b.CuSeqlens[q]), b.Sequence[q]
	}
	d.rows.index = put(s, index)
	d.rows.all = kernels.Rows{Sequence: uint64(put(s, own)), Cu: uint64(put(s, cu)), Position: uint64(put(s, position)), N: int32(n)}
	if train {
		d.rows.spread = grouped{whole: runs{len(rows), put(s, rows), put(s, append(own, int32(n))), put(s, own)}}
	}
}

// masked writes the masked tokens in chunks. Padding tokens of the last chunk read row
// 0 and have no label.
func (p *packer) masked(s *slot, b *trainer.Batch, d *batch, train bool) {
	rows := p.shape.chunk
	for first := 0; first < b.Masked(); first += rows {
		n := min(rows, b.Masked()-first)
		index := make([]int32, n, rows)
		for i, row := range b.MaskedIndex[first : first+n] {
			index[i] = int32(p.choice.At(row))
		}
		c := chunk{n: n, rows: rows}
		if train {
			c.scattered = p.group(s, index, int(d.rows.all.N), n)
		}
		c.index, c.ids = put(s, p.padded(index, rows, 0)), put(s, p.padded(b.MaskedIDs[first:first+n], rows, trainer.NoLabel))
		c.weights = put(s, append(append(make([]float32, 0, rows), b.MaskedWeights[first:first+n]...), make([]float32, rows-n)...))
		d.masked = append(d.masked, c)
	}
}

// pooled writes the arrays of the pooler's rows: the first token of each real sequence.
func (p *packer) pooled(s *slot, b *trainer.Batch, d *batch, train bool) {
	first := make([]int32, d.real)
	for i := range first {
		first[i] = int32(p.choice.At(b.CuSeqlens[i]))
	}
	if train {
		d.pooled.firsts = p.group(s, first, int(d.rows.all.N), d.real)
	}
	d.pooled.first = put(s, p.padded(first, d.pooled.n, 0))
	position := append(append(make([]int64, 0, d.pooled.n), b.Sequence...), make([]int64, d.pooled.n-d.real)...)
	d.pooled.rows = kernels.Rows{Position: uint64(put(s, position)), N: int32(d.pooled.n)}
	if p.h.NSP {
		d.pooled.nsp = put(s, p.padded(b.NSPLabels, d.pooled.n, trainer.NoLabel))
	}
	switch {
	case p.h.Labels > 0:
		d.pooled.labels = put(s, p.padded(b.Labels, d.pooled.n, trainer.NoLabel))
	case p.h.Regression: // the targets, and a label for each: 0 if the sequence has a target
		scores, labels := make([]float32, d.pooled.n), make([]int32, d.pooled.n)
		for i := range scores {
			scores[i], labels[i] = float32(math.NaN()), trainer.NoLabel
			if i < d.real && !math.IsNaN(float64(b.Scores[i])) {
				scores[i], labels[i] = b.Scores[i], 0
			}
		}
		d.pooled.scores, d.pooled.scoreLabel = put(s, scores), put(s, labels)
	}
}
