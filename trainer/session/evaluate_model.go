package session

import (
	"context"
	"errors"
	"fmt"
	"io"

	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/loader"
)

// EvalOptions select a model and the data it is evaluated on.
type EvalOptions struct {
	Model        string // a path that [OpenModel] takes
	Data         string // see [Options.EvalData]
	Vocab        string // vocab.txt of records that have none beside them
	Cache        string // see [Options.Cache]; "": none, then compressed records are an error
	EvalExamples int64  // 0: all
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
	device, err := o.Device.Open()
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	m, err := OpenModel(o.Model)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	data, err := openForEvaluation(ctx, o.Data, o.Vocab)
	if err != nil {
		return nil, 0, err
	}
	if err := fits(m.Config, data); err != nil {
		return nil, 0, err
	}
	if err := data.cached(ctx, cacheBelow(o.Cache, sharding.Eval), false, io.Discard); err != nil {
		return nil, 0, err
	}
	model, heads, tokens, err := m.forEvaluation(data, device)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	source, err := loader.NewSource(ctx, data.shards, loader.SourceOptions{MicroBatchTokens: tokens, Heads: heads, Rules: data.rules()})
	if err != nil {
		return nil, 0, err
	}
	if m.Phase != nil {
		step = m.Phase.State.Progress.Step
	}
	evaluator := evaluator{source: source, examples: o.EvalExamples, mask: data.vocab.MASK(), vocab: data.vocab.Len(),
		baseline: func(ctx context.Context) (*unigram, error) { return trainUnigram(ctx, o.Data, data.vocab.Len()) }}
	e, err = evaluator.run(ctx, model)
	return e, step, err
}

// forEvaluation loads the model with those pre-training heads that its files
// have.
func (m ModelFiles) forEvaluation(data *Corpus, device *Opened) (model trainer.Model, heads trainer.Heads, tokens int, err error) {
	has, err := m.Heads()
	if err != nil {
		return nil, heads, 0, err
	}
	heads = trainer.Heads{MLM: has.MLM, NSP: has.NSP}
	if !heads.MLM {
		return nil, heads, 0, usagef("%s has no masked-LM head", m.Folder)
	}
	if tokens, err = device.AutoTokens(m.Config, heads, data.shards.MaxSeqLength()); err != nil {
		return nil, heads, 0, err
	}
	model, err = device.Model(m.Config, heads, BatchLimits(tokens, loader.SweepSequences, data.shards.MaxPredictionsPerSeq()))
	if err != nil {
		return nil, heads, 0, err
	}
	report, err := model.Load(trainer.Weights, m.Tensors())
	if err == nil && len(report.Missing) > 0 {
		err = fmt.Errorf("%w: %s lacks tensors %q", errDamaged, m.Folder, report.Missing)
	}
	if err != nil {
		return nil, heads, 0, errors.Join(err, model.Close())
	}
	return model, heads, tokens, nil
}
