package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/comm"
	"pretext/trainer/loader"
)

// EvalOptions select a model and the data to evaluate it on.
type EvalOptions struct {
	Model        string // a path that [OpenModel] takes
	Data         string // see [DataOptions]
	Vocab        string // vocab.txt of records that have none beside them
	Cache        string // see [DataOptions]; "": none, then compressed records are an error
	EvalExamples int64  // 0: all
	MaxSeqLength int    // see [DataOptions]
	AttendAcross bool   // see [DataOptions]
	Device       Device
}

// EvaluateModel evaluates a saved model. It also returns the number of steps
// that the model was trained for; 0 if its files do not state it.
func EvaluateModel(ctx context.Context, o EvalOptions) (e *Evaluation, step int64, err error) {
	if o.Data == "" {
		return nil, 0, usagef("no data: give --data DIR")
	}
	if o.EvalExamples < 0 {
		return nil, 0, usagef("--eval-examples %d: must not be negative", o.EvalExamples)
	}
	h, err := openHeldOut(ctx, o)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if p := h.files.Phase; p != nil {
		step = p.State.Progress.Step
	}
	vocab := h.data.vocab
	evaluator := evaluator{source: h.source, comm: comm.Alone(), examples: o.EvalExamples, single: h.files.Config.Modern != nil, mask: vocab.MASK(), vocab: vocab.Len(),
		baseline: func(ctx context.Context) (*unigram, error) { return trainUnigram(ctx, o.Data, vocab) }}
	e, err = evaluator.run(ctx, h.model)
	return e, step, err
}

// A heldOut is a saved model and the data to evaluate it on.
type heldOut struct {
	files  ModelFiles
	data   *Corpus
	device *Opened
	model  trainer.Model
	source *loader.Source
	closers
}

func openHeldOut(ctx context.Context, o EvalOptions) (h *heldOut, err error) {
	h = &heldOut{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if h.device, err = o.Device.Open(); err != nil {
		return h, err
	}
	h.add(h.device)
	if h.files, err = OpenModel(o.Model); err != nil {
		return h, err
	}
	h.add(h.files)
	if h.data, err = openForEvaluation(ctx, o.Data, o.Vocab); err != nil {
		return h, err
	}
	if err := Fits(ctx, h.files.Config, h.data); err != nil {
		return h, err
	}
	if err := h.data.cached(ctx, cacheBelow(o.Cache, sharding.Eval), false, io.Discard); err != nil {
		return h, err
	}
	return h, h.load(ctx, o)
}

// load opens the examples and the model. The model gets only the pre-training heads
// that its files contain.
func (h *heldOut) load(ctx context.Context, o EvalOptions) error {
	has, err := h.files.Heads()
	if err != nil {
		return err
	}
	heads := trainer.Heads{MLM: has.MLM, NSP: has.NSP}
	if !heads.MLM {
		return usagef("%s has no masked-LM head", h.files.Folder)
	}
	cut := cmp.Or(o.MaxSeqLength, h.files.Config.MaxPositions)
	if err := h.data.suits(cut, o.AttendAcross); err != nil {
		return err
	}
	if cut > h.files.Config.MaxPositions {
		return usagef("--max-seq-length %d: the model has %d positions", cut, h.files.Config.MaxPositions)
	}
	tokens, err := h.device.AutoTokens(h.files.Config, heads, h.data.Longest(cut))
	if err != nil {
		return err
	}
	masking, err := evalMasking(h.data)
	if err != nil {
		return err
	}
	limits := DataLimits(tokens, loader.SweepSequences, h.data.shards.MaxPredictionsPerSeq(), h.data)
	if h.model, err = h.device.Model(h.files.Config, heads, limits); err != nil {
		return err
	}
	h.add(h.model)
	report, err := h.model.Load(trainer.Weights, h.files.Tensors())
	if err == nil && len(report.Missing) > 0 {
		err = fmt.Errorf("%w: %s lacks tensors %q", errDamaged, h.files.Folder, report.Missing)
	}
	if err != nil {
		return err
	}
	h.source, err = loader.NewSource(ctx, h.data.shards, loader.SourceOptions{MicroBatchTokens: tokens, Heads: heads, Rules: h.data.rules(),
		Masking: masking, MaxSeqLength: cut, Positions: h.files.Config.MaxPositions, AttendAcross: o.AttendAcross})
	return err
}
