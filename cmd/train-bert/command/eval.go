package command

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"pretext/trainer/session"
)

func newEval() *cobra.Command {
	o := session.EvalOptions{EvalExamples: session.DefaultOptions().EvalExamples}
	asJSON := false
	cmd := &cobra.Command{
		Use:   "eval MODEL --data DIR",
		Short: "Evaluate a model on held-out examples",
		Long: `Computes losses and accuracies of a model (a run, a checkpoint, a folder of
transformers, or the prefix of a TensorFlow checkpoint) on the eval shards of a
folder, or on all of it where it has none: what train writes at a checkpoint.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Model = args[0]
			e, step, err := session.EvaluateModel(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(session.NewEvalLine(step, e))
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), e)
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Data, "data", "", "folder of shards (required)")
	fs.StringVar(&o.Vocab, "vocab", "", "vocab.txt of records that have none beside them")
	addCache(fs, &o.Cache, "none, compressed records cannot be read then")
	fs.Int64Var(&o.EvalExamples, "eval-examples", o.EvalExamples, "examples; 0: all")
	addDevice(fs, &o.Device)
	fs.BoolVar(&asJSON, "json", false, "write the line of metrics.jsonl")
	return cmd
}
