package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pretext/sharding"
	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

func newExport() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export MODEL --out DIR",
		Short: "Write a model as a folder that transformers loads",
		Long: `Writes config.json, model.safetensors and the vocabulary of a model: of the
newest checkpoint of a run, of one checkpoint, of a folder of transformers, or of
a TensorFlow checkpoint (its prefix, such as uncased_L-12_H-768_A-12/bert_model.ckpt).
What only training needs is left behind.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usagef("no output folder: give --out DIR")
			}
			if err := export(args[0], out); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "model: %s\n", out)
			return err
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder to write, which must not exist (required)")
	return cmd
}

func export(path, out string) (err error) {
	if there, err := os.ReadDir(out); err == nil && len(there) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usagef("--out %s: exists and is no empty folder", out)
	}
	m, err := openModelPath(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	heads, err := m.Heads()
	if err != nil {
		return err
	}
	if err := heads.Validate(); err != nil {
		return usagef("%s: a bare encoder cannot be exported: %w", path, err)
	}
	tokenizer, err := tokenizerBeside(m.folder)
	if err != nil {
		return err
	}
	tokenizer.Labels = m.Labels
	return checkpoint.WriteModel(out, m.Config, heads, tokenizer, inOrder(m.Pretrained, heads))
}

// inOrder yields the tensors of a model in the order in which files hold them.
func inOrder(p *checkpoint.Pretrained, heads trainer.Heads) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		var data []float32
		for _, s := range trainer.Tensors(p.Config, heads) {
			t, err := p.Tensor(s.Name, data)
			if !yield(t, err) || err != nil {
				return
			}
			data = t.Data
		}
	}
}

// tokenizerBeside reads the vocabulary that lies in a model's folder, if there
// is one, and how it is to be used.
func tokenizerBeside(dir string) (checkpoint.Tokenizer, error) {
	t, err := readTokenizer(filepath.Join(dir, sharding.VocabName))
	if errors.Is(err, fs.ErrNotExist) {
		if t, err = tokenizerFile(dir); errors.Is(err, fs.ErrNotExist) {
			return checkpoint.Tokenizer{}, nil
		}
		return t, err
	}
	if err != nil {
		return t, err
	}
	var o struct {
		LowerCase *bool `json:"do_lower_case"`
	}
	b, err := os.ReadFile(filepath.Join(dir, "tokenizer_config.json"))
	if err == nil && json.Unmarshal(b, &o) == nil && o.LowerCase != nil {
		t.LowerCase = *o.LowerCase
	}
	return t, nil
}

// readTokenizer reads a vocabulary and guesses from its tokens how it is used.
func readTokenizer(path string) (t checkpoint.Tokenizer, err error) {
	if t.Vocab, err = os.ReadFile(path); err != nil {
		return t, err
	}
	v, err := tokenize.ReadVocab(path, t.Vocab)
	if err != nil {
		return t, fmt.Errorf("%w: %w", errDamaged, err)
	}
	t.LowerCase = v.LooksUncased()
	return t, nil
}
