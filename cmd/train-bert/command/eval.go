package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/cpu"
	"pretext/trainer/loader"
)

// evalOptions say what is evaluated on what.
type evalOptions struct {
	model       string // path
	data, vocab string
	cache       string // "": none
	examples    int64  // 0: all
	threads     int
}

func newEval() *cobra.Command {
	o := evalOptions{examples: defaultOptions().evalExamples}
	asJSON := false
	cmd := &cobra.Command{
		Use:   "eval MODEL --data DIR",
		Short: "Evaluate a model on held-out examples",
		Long: `Computes losses and accuracies of a model (a run, a checkpoint, a folder of
transformers, or the prefix of a TensorFlow checkpoint) on the eval shards of a
folder, or on all of it where it has none: what train writes at a checkpoint.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.model = args[0]
			e, step, err := evaluateModel(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(newEvalLine(step, e))
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), e)
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.data, "data", "", "folder of shards (required)")
	fs.StringVar(&o.vocab, "vocab", "", "vocab.txt of records that have none beside them")
	addCache(fs, &o.cache, "none, compressed records cannot be read then")
	fs.Int64Var(&o.examples, "eval-examples", o.examples, "examples; 0: all")
	fs.IntVar(&o.threads, "threads", 0, "threads that compute; 0: one a processor")
	fs.BoolVar(&asJSON, "json", false, "write the line of metrics.jsonl")
	return cmd
}

// evaluateModel also returns the steps that the model had, 0 where its files do
// not say.
func evaluateModel(ctx context.Context, o evalOptions) (e *evaluation, step int64, err error) {
	if o.data == "" {
		return nil, 0, usagef("no data: give --data DIR")
	}
	if o.examples < 0 || o.threads < 0 {
		return nil, 0, usagef("--eval-examples %d, --threads %d: must not be negative", o.examples, o.threads)
	}
	m, err := openModelPath(o.model)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	data, err := openEval(ctx, &trainOptions{evalData: o.data, vocab: o.vocab})
	if err != nil {
		return nil, 0, err
	}
	if err := fits(m.Config, data); err != nil {
		return nil, 0, err
	}
	if err := data.cached(ctx, cacheBelow(o.cache, sharding.Eval), false, io.Discard); err != nil {
		return nil, 0, err
	}
	model, heads, tokens, err := m.forEvaluation(data, o.threads)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	source, err := loader.NewSource(ctx, data.shards, loader.SourceOptions{MicroBatchTokens: tokens, Heads: heads, Rules: data.rules()})
	if err != nil {
		return nil, 0, err
	}
	if m.phase != nil {
		step = m.phase.State.Progress.Step
	}
	evaluator := evaluator{source: source, examples: o.examples, mask: data.vocab.MASK(), vocab: data.vocab.Len(),
		baseline: func(ctx context.Context) (*unigram, error) { return trainUnigram(ctx, o.data, data.vocab.Len()) }}
	e, err = evaluator.run(ctx, model)
	return e, step, err
}

// forEvaluation loads the model with the pre-training heads it has.
func (m opened) forEvaluation(data *corpus, threads int) (model trainer.Model, heads trainer.Heads, tokens int, err error) {
	has, err := m.Heads()
	if err != nil {
		return nil, heads, 0, err
	}
	heads = trainer.Heads{MLM: has.MLM, NSP: has.NSP}
	if !heads.MLM {
		return nil, heads, 0, usagef("%s has no masked-LM head", m.folder)
	}
	tokens = autoTokens(m.Config, data.shards.MaxSeqLength())
	model, err = cpu.Backend{Threads: threads}.Open(m.Config, heads, trainer.Options{
		Tokens: tokens, Sequences: tokens/minTokens + 1, Masked: tokens, Precision: trainer.Float32,
	})
	if err != nil {
		return nil, heads, 0, err
	}
	report, err := model.Load(trainer.Weights, m.Tensors())
	if err == nil && len(report.Missing) > 0 {
		err = fmt.Errorf("%w: %s lacks tensors %q", errDamaged, m.folder, report.Missing)
	}
	if err != nil {
		return nil, heads, 0, errors.Join(err, model.Close())
	}
	return model, heads, tokens, nil
}
