package command

import (
	"github.com/spf13/cobra"

	"pretext/internal/failure"
	"pretext/trainer/session"
)

func newExport() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export MODEL --out DIR",
		Short: "Write a model as a folder that transformers loads",
		Long: `Writes config.json, model.safetensors and the vocabulary of a model. MODEL is a run
(its newest checkpoint is exported), a checkpoint, a transformers folder, or the
prefix of a TensorFlow checkpoint, such as uncased_L-12_H-768_A-12/bert_model.ckpt.
The state of the optimizer is not exported.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return failure.Usagef("no output folder: give --out DIR")
			}
			if err := session.Export(args[0], out, cmd.ErrOrStderr()); err != nil {
				return err
			}
			return show(cmd, modelFolder{out})
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "directory to write; must not exist (required)")
	addJSON(cmd)
	return cmd
}
