package command

import (
	"errors"
	"io/fs"
	"iter"
	"os"

	"github.com/spf13/cobra"

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
			return show(cmd, modelFolder{out})
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder to write, which must not exist (required)")
	addJSON(cmd)
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
	tokenizer, err := tokenizerBeside(m.folder)
	if err != nil {
		return err
	}
	tokenizer.Labels = m.Labels
	return m.write(out, heads, tokenizer)
}

// write writes a model as a folder of transformers; without a head as a BertModel.
func (m opened) write(out string, heads trainer.Heads, t checkpoint.Tokenizer) error {
	if heads == (trainer.Heads{}) {
		return checkpoint.WriteEncoder(out, t, m.Pretrained)
	}
	return checkpoint.WriteModel(out, m.Config, heads, t, inOrder(m.Pretrained, heads))
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
