package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// Import converts a third-party model, in any form that [OpenModel] opens, to a
// folder that transformers and [ModelOptions] load, and returns the folder's path. A
// TensorFlow checkpoint with optimizer moments becomes a checkpoint in out. vocab is
// the path of a vocab.txt or tokenizer.json for a model that has none in its folder.
// The directory out must be empty or not exist. Warnings are written to log.
func Import(path, vocab, out string, log io.Writer) (dir string, err error) {
	if err := wantEmpty(out); err != nil {
		return "", err
	}
	m, err := OpenModel(path)
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
	warnOf(m.Config, log)
	if !m.HasMoments() {
		return out, m.Write(out, heads, tokenizer)
	}
	if err := heads.Validate(); err != nil {
		return "", usagef("%s: has moments of an optimizer but no head: %w", path, err)
	}
	return m.asCheckpoint(out, heads, tokenizer)
}

// tokenizerGiven returns the tokenizer in the file vocab, or, if vocab is "",
// the tokenizer in the model's folder.
func tokenizerGiven(m ModelFiles, vocab string) (t checkpoint.Tokenizer, err error) {
	if t, err = tokenizerBeside(m.Folder); err != nil {
		return t, err
	}
	switch {
	case vocab == "":
	case t.Vocab != nil || t.File != nil:
		return t, usagef("--vocab %s: not needed, %s has a vocabulary", vocab, m.Folder)
	default:
		if t, err = readTokenizer(vocab, m.Folder); err != nil {
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

// asCheckpoint writes a model and the moments of its optimizer as a checkpoint
// of phase 1, from which phase 2 can start.
func (m ModelFiles) asCheckpoint(out string, heads trainer.Heads, t checkpoint.Tokenizer) (dir string, err error) {
	rule := trainer.DefaultOptimizer(trainer.AdamW)
	device, err := Device{}.Open()
	if err != nil {
		return "", err
	}
	model, err := device.Model(m.Config, heads, trainer.Options{Tokens: 1, Sequences: 1, Train: true, Optimizer: rule})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, model.Close(), device.Close()) }()
	for kind, tensors := range map[trainer.Kind]iter.Seq2[trainer.Tensor, error]{trainer.Weights: m.Tensors(),
		trainer.FirstMoment: m.Moments(trainer.FirstMoment), trainer.SecondMoment: m.Moments(trainer.SecondMoment)} {
		report, err := model.Load(kind, tensors)
		if err == nil && len(report.Missing) > 0 {
			err = fmt.Errorf("%w: %s has no %v of %q", errDamaged, m.Folder, kind, report.Missing)
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
	snapshot, err := model.Snapshot()
	if err != nil {
		return "", err
	}
	defer snapshot.Close()
	saver := checkpoint.Saver{Dir: filepath.Clean(out), Config: m.Config, Tokenizer: t, State: checkpoint.State{
		Phase: 1, Heads: heads, Batch: 1, Tokens: 1, Multiple: 1, Ranks: 1, Device: device.Kind, Precision: device.Precision, Optimizer: rule,
		Schedule: trainer.Schedule{Kind: trainer.Constant, Steps: max(1, step)},
	}}
	return checkpoint.Folder(saver.Dir, step), saver.Save(trainer.Progress{Step: step}, snapshot)
}

// Export writes the model at path, in any form that [OpenModel] opens, as a
// folder that transformers loads. The directory out must be empty or not exist. Warnings are
// written to log.
func Export(path, out string, log io.Writer) (err error) {
	if err := wantEmpty(out); err != nil {
		return err
	}
	m, err := OpenModel(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	heads, err := m.Heads()
	if err != nil {
		return err
	}
	tokenizer, err := tokenizerBeside(m.Folder)
	if err != nil {
		return err
	}
	tokenizer.Labels = m.Labels
	warnOf(m.Config, log)
	return m.Write(out, heads, tokenizer)
}

// wantEmpty returns an error if the directory is not empty.
func wantEmpty(out string) error {
	there, err := os.ReadDir(out)
	if err == nil && len(there) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usagef("--out %s: must not exist, or be an empty folder", out)
	}
	return nil
}
