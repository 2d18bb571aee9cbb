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
		Long: `Reads a checkpoint of google-research/bert by its prefix (such as
uncased_L-12_H-768_A-12/bert_model.ckpt, with bert_config.json beside it) or a
folder of transformers (config.json beside model.safetensors or pytorch_model.bin,
whole or in parts), and writes a folder that transformers, train --init and
finetune --init load. A TensorFlow checkpoint of a training run also has the
optimizer's moments: it becomes DIR/step-…, from which "train --init DIR" starts
with them.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return failure.Usagef("no output folder: give --out DIR")
			}
			path, err := session.Import(args[0], vocab, out)
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
