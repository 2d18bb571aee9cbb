// Package command is the command line of train-bert. Commands turn flags into options,
// call package session and print the result. Results go to standard output, everything
// else to standard error.
package command

import (
	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
)

// NewRoot returns the command with all its subcommands.
func NewRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "train-bert",
		Short: "Train BERT on pre-training data",
		Long: `train-bert trains BERT (masked LM and, on pairs, next sentence) on the shards that
prepare-data makes, or on any folder of BERT's TFRecord files, on the CPU or on
an NVIDIA GPU (--device cuda).

  train-bert demo --out model                  train a small model, in half a minute
  train-bert train --data DATA --out OUT --model tiny
  train-bert finetune squad --init OUT …       train for a task
  train-bert predict OUT --text "a [MASK]"     run a model; --serve: over HTTP
  train-bert export OUT --out FOLDER           write a folder for transformers

PRETEXT_CUDA_LIBS, directories separated by colons, replaces the search for the
libraries of a GPU; doctor shows what is found.

` + cli.ExitCodes(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       cli.Version(),
	}
	root.AddCommand(newTrain(), newDemo(), newEval(), newFinetune(), newPredict(), newImport(), newExport(), newCurve(), newBench(), newDoctor())
	checkPaths(root)
	needOneProcess(root, "demo", "eval", "finetune", "predict", "import", "export", "curve", "bench")
	st := flagSettings()
	root.AddCommand(cli.NewConfig(st), cli.NewMan(), cli.NewVersion())
	st.AddTo(root)
	completions().AddTo(root)
	cli.GroupFlags(root, flagGroups)
	hints().Complain(root)
	return root
}

// checkPaths makes all commands below parent check paths before they run. They return
// a usage error if --vocab or --vocab-file is not a vocabulary, or if an output
// directory is a file.
func checkPaths(parent *cobra.Command) {
	for _, c := range parent.Commands() {
		checkPaths(c)
		run := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"out", "cache"} {
				f := cmd.Flags().Lookup(name)
				if f == nil || cmd.Name() == "curve" { // curve writes a file, not a directory
					continue
				}
				if err := cli.CheckFolder(name, f.Value.String()); err != nil {
					return err
				}
			}
			for _, name := range []string{"vocab", "vocab-file"} {
				if f := cmd.Flags().Lookup(name); f != nil && f.Value.String() != "" {
					if err := cli.CheckVocab(name, f.Value.String(), name); err != nil {
						return err
					}
				}
			}
			return run(cmd, args)
		}
	}
}
