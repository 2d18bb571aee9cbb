package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pretext/trainer"
	"pretext/trainer/cuda"
	"pretext/trainer/cuda/device"
	"pretext/trainer/session/speed"
)

// A stepResult is the result that "gpubench step" and "gpubench infer" print.
type stepResult struct {
	Kind        string  `json:"kind"` // "step" or "infer"
	Device      string  `json:"device"`
	BLAS        string  `json:"blas"`
	Model       string  `json:"model"`
	Lengths     string  `json:"lengths"`
	Precision   string  `json:"precision"`
	NCCL        bool    `json:"nccl,omitempty"`  // gradients were exchanged by NCCL, by a single rank
	ZeRO1       bool    `json:"zero1,omitempty"` // and weights too
	Optimizer   string  `json:"optimizer,omitempty"`
	Exact       bool    `json:"deterministic,omitempty"`
	Parts       int     `json:"micro_batches"`
	Tokens      int     `json:"tokens"`
	MeanLength  float64 `json:"mean_length"`
	Steps       int     `json:"steps"`
	Seconds     float64 `json:"seconds"`
	Median      float64 `json:"median_ms"`
	Least       float64 `json:"min_ms"`
	Most        float64 `json:"max_ms"`
	Sequences   float64 `json:"sequences_per_second"`
	TokenRate   float64 `json:"tokens_per_second"`
	TFLOPS      float64 `json:"tflop_per_second"` // operations of the model; a step counts as 3 forward passes
	OpenSeconds float64 `json:"open_seconds"`
	FirstLoss   float64 `json:"first_loss"`
	LastLoss    float64 `json:"last_loss"`
}

// A bench is a model with dropout and AdamW, and random sequences on which it
// trains or computes losses.
type bench struct {
	model   trainer.Model
	train   bool
	parts   int // micro-batches of a step
	config  trainer.Config
	made    []made
	batches []*trainer.Batch // the batches that are measured now, of one distribution
	next    int
	ahead   []*trainer.Batch // micro-batches of the next step, the first of which is announced; none: not made yet
}

// made holds the batches of one distribution of lengths.
type made struct {
	lengths string
	batches []*trainer.Batch
}

// step measures training steps of o.parts micro-batches each: upload of the batch,
// forward, backward, update. Without o.train it measures only upload and forward.
// It measures all distributions of lengths with one model, one after the other.
func (o *options) step(w io.Writer, d device.Device) error {
	begin := time.Now()
	t := newTimed(d)
	b, err := o.openBench(t)
	if err != nil {
		return err
	}
	open := time.Since(begin).Seconds()
	for _, made := range b.made {
		r := stepResult{Kind: "infer", Device: d.Properties().Name, BLAS: d.Properties().BLAS, Model: o.model, Lengths: made.lengths, Precision: o.precision, NCCL: o.nccl, ZeRO1: o.nccl && o.zero1, Tokens: o.tokens, OpenSeconds: open, Parts: b.parts}
		if o.train {
			r.Kind, r.Optimizer, r.Exact = "step", o.optimizer, o.deterministic
		}
		b.batches, b.ahead = made.batches, nil
		err = b.measure(&r, time.Duration(o.seconds*float64(time.Second)))
		if err == nil {
			err = write(w, r)
		}
		if err == nil && o.kernels {
			err = b.byKernel(w, t)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, b.model.Close())
}

// openBench makes the batches of all distributions, and opens a model with initial
// weights that is large enough for them.
func (o *options) openBench(d device.Device) (*bench, error) {
	b := &bench{train: o.train, parts: max(o.parts, 1)}
	var err error
	if b.config, err = trainer.Preset(o.model, o.vocab); err != nil {
		return nil, err
	}
	limits := trainer.Options{Tokens: o.tokens, Precision: trainer.Precision(o.precision), Train: o.train, Seed: 1, Optimizer: trainer.DefaultOptimizer(trainer.OptimizerName(o.optimizer)), Deterministic: o.deterministic}
	for name := range strings.SplitSeq(o.lengths, ",") {
		lengths, err := readLengths(name)
		if err != nil {
			return nil, err
		}
		m := made{lengths: name}
		const batches = 4
		for i := range batches {
			batch := o.madeUp(lengths.draw(o.tokens, rand.New(rand.NewPCG(uint64(i), 1))), lengths.longest)
			limits.Sequences, limits.Masked = max(limits.Sequences, batch.Sequences()), max(limits.Masked, batch.Masked())
			m.batches = append(m.batches, batch)
		}
		b.made = append(b.made, m)
	}
	heads, backend := trainer.PretrainHeads(), cuda.New(d)
	if o.nccl {
		backend.Transport, limits.ShardOptimizer = cuda.TransportNCCL, o.zero1
	}
	if b.model, err = backend.Open(b.config, heads, limits); err != nil {
		return nil, err
	}
	_, err = b.model.Load(trainer.Weights, trainer.InitialWeights(b.config, heads, 1))
	return b, err
}

// madeUp returns a batch of random sequences of the given lengths. 15 % of the
// tokens of a sequence are predicted, but at most 76, or at most 20 if longest is
// up to 128.
func (o *options) madeUp(lengths []int, longest int) *trainer.Batch {
	most := 76
	if longest <= 128 {
		most = 20
	}
	random := rand.New(rand.NewPCG(uint64(len(lengths)), 2))
	b := &trainer.Batch{}
	for i, n := range lengths {
		s := trainer.Sequence{Position: int64(i), NSPLabel: int32(random.IntN(2)), IDs: make([]int32, n), Segments: make([]int32, n)}
		for j := range n {
			s.IDs[j] = int32(5 + random.IntN(o.vocab-5))
			s.Segments[j] = int32(2 * j / n)
		}
		masked := random.Perm(n - 2)[:max(1, min(most, int(math.Round(0.15*float64(n)))))]
		slices.Sort(masked)
		for _, p := range masked {
			s.MaskedPositions = append(s.MaskedPositions, int32(p+1))
			s.MaskedIDs = append(s.MaskedIDs, s.IDs[p+1])
			s.MaskedWeights = append(s.MaskedWeights, 1)
			s.IDs[p+1] = 4
		}
		b.Append(s)
	}
	return b
}

// once trains one step on the next batch, or computes its losses. It returns the
// mean loss and the batch.
func (b *bench) once() (float64, *trainer.Batch, error) {
	batch := b.batches[b.next%len(b.batches)]
	b.next++
	counts := trainer.Counts{MaskedWeight: float64(batch.Masked()), NSP: float64(batch.Sequences())}
	sums, err := b.sums(batch, counts)
	if err != nil {
		return 0, nil, err
	}
	loss := sums.MLMLoss/counts.MaskedWeight + sums.NSPLoss/counts.NSP
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return 0, nil, fmt.Errorf("step %d: the loss is %v", b.next, loss)
	}
	return loss, batch, nil
}

func (b *bench) sums(batch *trainer.Batch, counts trainer.Counts) (trainer.Sums, error) {
	if !b.train {
		return b.model.Forward(batch, nil)
	}
	parts := b.ahead
	if len(parts) == 0 {
		parts = split(batch, b.parts)
	}
	for i, p := range parts {
		if err := b.model.Accumulate(p, counts.Coef(), i == len(parts)-1); err != nil {
			return trainer.Sums{}, err
		}
	}
	// While the device computes, as training does.
	b.ahead = split(b.batches[b.next%len(b.batches)], b.parts)
	b.model.Prepare(b.ahead[0])
	info, err := b.model.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-4, Steps: 1})
	return info.Sums, err
}

// measure uses each batch twice without measuring, then measures for the duration
// d, and stores the results in r.
func (b *bench) measure(r *stepResult, d time.Duration) error {
	for i := range 2 * len(b.batches) {
		loss, _, err := b.once()
		if err != nil {
			return err
		}
		if i == 0 {
			r.FirstLoss = loss
		}
	}
	var took []float64
	sequences, operations := 0, 0.0
	begin := time.Now()
	for last := begin; len(took) == 0 || time.Since(begin) < d; r.Steps++ {
		loss, batch, err := b.once()
		if err != nil {
			return err
		}
		took = append(took, milliseconds(time.Since(last)))
		last = time.Now()
		sequences += batch.Sequences()
		operations += speed.Operations(b.config, batch)
		r.LastLoss = loss
	}
	r.Seconds = time.Since(begin).Seconds()
	if !b.train {
		operations /= 3 // no backward pass
	}
	slices.Sort(took)
	r.Median, r.Least, r.Most = took[len(took)/2], took[0], took[len(took)-1]
	r.MeanLength = float64(r.Steps*r.Tokens) / float64(sequences)
	r.Sequences, r.TokenRate, r.TFLOPS = float64(sequences)/r.Seconds, float64(r.Steps*r.Tokens)/r.Seconds, operations/r.Seconds/1e12
	return nil
}
