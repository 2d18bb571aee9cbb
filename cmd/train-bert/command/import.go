package command

import (
	"github.com/spf13/cobra"

	"pretext/internal/failure"
	"pretext/trainer/session"
)

func newImport() *cobra.Command {
	var out, vocab string
	cmd := &cobra.Command{
		Use:   "import MODEL --out DIR",
		Short: "Convert a third-party model: a TensorFlow checkpoint or a transformers folder",
		Long: `Writes a model as a folder that transformers, train --init and finetune --init load.
MODEL is one of:

  - a checkpoint of google-research/bert: its prefix, such as
    uncased_L-12_H-768_A-12/bert_model.ckpt, with bert_config.json in the same folder
  - a transformers folder: config.json with model.safetensors or pytorch_model.bin, in
    one file or several

If a TensorFlow checkpoint has the optimizer's moments, it is written as DIR/step-…,
and "train --init DIR" starts with these moments.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return failure.Usagef("no output folder: give --out DIR")
			}
			path, err := session.Import(args[0], vocab, out, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return show(cmd, modelFolder{path})
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "directory to write; must not exist (required)")
	cmd.Flags().StringVar(&vocab, "vocab", "", "vocab.txt or tokenizer.json, if the model's folder has none")
	addJSON(cmd)
	return cmd
}
