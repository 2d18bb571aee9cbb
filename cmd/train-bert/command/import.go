package command

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/cpu"
)

func newImport() *cobra.Command {
	var out, vocab string
	cmd := &cobra.Command{
		Use:   "import MODEL --out DIR",
		Short: "Take over a model of others: a TensorFlow checkpoint or a folder of transformers",
		Long: `Reads a checkpoint of google-research/bert by its prefix (such as
uncased_L-12_H-768_A-12/bert_model.ckpt, with bert_config.json beside it) or a
folder of transformers (config.json beside model.safetensors or pytorch_model.bin,
whole or in parts), and writes a folder that transformers, train --init and
finetune --init load. A TensorFlow checkpoint that training left behind has the
optimizer's moments too: it becomes DIR/step-…, and "train --init DIR" goes on
with them.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usagef("no output folder: give --out DIR")
			}
			path, err := importModel(args[0], vocab, out)
			if err != nil {
				return err
			}
			return show(cmd, modelFolder{path})
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder to write, which must not exist (required)")
	cmd.Flags().StringVar(&vocab, "vocab", "", "vocab.txt or tokenizer.json of a model that has none beside it")
	addJSON(cmd)
	return cmd
}

// importModel returns the folder that it wrote.
func importModel(path, vocab, out string) (dir string, err error) {
	if there, err := os.ReadDir(out); err == nil && len(there) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", usagef("--out %s: exists and is no empty folder", out)
	}
	m, err := openModelPath(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	heads, err := m.Heads()
	if err != nil {
		return "", err
	}
	tokenizer, err := tokenizerGiven(m, vocab)
	if err != nil {
		return "", err
	}
	if !m.HasMoments() {
		return out, m.write(out, heads, tokenizer)
	}
	if err := heads.Validate(); err != nil {
		return "", usagef("%s: an encoder with moments of training and no head: %w", path, err)
	}
	return m.asCheckpoint(out, heads, tokenizer)
}

// tokenizerGiven returns the vocabulary beside a model, or that of a file.
func tokenizerGiven(m opened, vocab string) (t checkpoint.Tokenizer, err error) {
	if t, err = tokenizerBeside(m.folder); err != nil {
		return t, err
	}
	switch {
	case vocab == "":
	case t.Vocab != nil || t.File != nil:
		return t, usagef("--vocab %s: %s has a vocabulary of its own", vocab, m.folder)
	default:
		if t, err = readTokenizer(vocab, m.folder); err != nil {
			return t, err
		}
	}
	t.Labels = m.Labels
	if t.Vocab == nil {
		return t, nil
	}
	v, err := tokenize.ReadVocab("vocab.txt", t.Vocab)
	if err == nil && v.Len() != m.Config.VocabSize {
		err = usagef("the vocabulary has %d tokens, the model's vocab_size is %d", v.Len(), m.Config.VocabSize)
	}
	return t, err
}

// asCheckpoint writes a model with the moments of its optimizer as a checkpoint
// of a first phase, for a second one to go on from.
func (m opened) asCheckpoint(out string, heads trainer.Heads, t checkpoint.Tokenizer) (dir string, err error) {
	rule := trainer.DefaultOptimizer(trainer.AdamW)
	model, err := cpu.Backend{}.Open(m.Config, heads, trainer.Options{Tokens: 1, Sequences: 1, Precision: trainer.Float32, Train: true, Optimizer: rule})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	for kind, tensors := range map[trainer.Kind]iter.Seq2[trainer.Tensor, error]{trainer.Weights: m.Tensors(),
		trainer.FirstMoment: m.Moments(trainer.FirstMoment), trainer.SecondMoment: m.Moments(trainer.SecondMoment)} {
		report, err := model.Load(kind, tensors)
		if err == nil && len(report.Missing) > 0 {
			err = fmt.Errorf("%w: %s has no %v of %q", errDamaged, m.folder, kind, report.Missing)
		}
		if err != nil {
			return "", err
		}
	}
	step, _ := m.Step()
	model.SetState(trainer.State{Step: step, LossScale: 1})
	if err := os.MkdirAll(out, 0o777); err != nil {
		return "", err
	}
	return checkpoint.Write(filepath.Clean(out), m.Config, checkpoint.State{
		Phase: 1, Progress: trainer.Progress{Step: step}, Heads: heads, Batch: 1, Tokens: 1, Ranks: 1, Optimizer: rule,
		Schedule: trainer.Schedule{Kind: trainer.Constant, Steps: max(1, step)},
	}, t, model)
}
