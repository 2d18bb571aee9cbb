// Package command is the command line of train-bert: flags in, text out. It
// wires the trainer's parts together: loader, model, optimizer, checkpoints.
// Results go to standard output, everything else to standard error.
package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
)

// NewRoot returns the command with all its subcommands.
func NewRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "train-bert",
		Short: "Train BERT on pre-training data",
		Long: `train-bert trains BERT (masked LM and next sentence) on the shards that
prepare-data makes, or on any folder of BERT's TFRecord files, on the processor.

  train-bert demo --out model                  see it learn, in under a minute
  train-bert train --data DATA --out OUT --model tiny
  train-bert finetune squad --init OUT …       learn a task: questions, classes
  train-bert predict OUT --text "a [MASK]"     ask a model; --serve: over HTTP
  train-bert export OUT --out FOLDER           a folder for transformers

Exit codes: 0 ok, 1 other, 2 usage, 4 damaged data, 6 disk full, 7 permission,
8 folder in use, 130 interrupted (run the same command again to go on).`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       cli.Version(),
	}
	root.SetGlobalNormalizationFunc(cli.Normalize)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newTrain(), newDemo(), newEval(), newFinetune(), newPredict(), newImport(), newExport(), newCurve(), newBench(), newDoctor())
	for _, c := range root.Commands() {
		args := c.Args
		c.Args = func(cmd *cobra.Command, a []string) error {
			if err := args(cmd, a); err != nil {
				return usageError{err}
			}
			return nil
		}
	}
	root.Args = func(cmd *cobra.Command, a []string) error {
		if len(a) == 0 {
			return nil
		}
		hint := ""
		if s := cmd.SuggestionsFor(a[0]); len(s) > 0 {
			hint = fmt.Sprintf(", did you mean %s?", strings.Join(s, " or "))
		}
		return usagef("unknown command %q%s", a[0], hint)
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return root
}
