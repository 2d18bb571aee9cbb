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
		Long: `Computes the losses and accuracies that train writes at a checkpoint. MODEL is a run,
a checkpoint, a transformers folder, or the prefix of a TensorFlow checkpoint. The
examples are those of the eval split of --data, or all examples if it has no split.`,
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
	fs.StringVar(&o.Data, "data", "", "directory of shards (required)")
	fs.StringVar(&o.Vocab, "vocab", "", "vocabulary (vocab.txt), if the directory of the records has none")
	addCache(fs, &o.Cache, "none, so compressed records cannot be read")
	fs.Int64Var(&o.EvalExamples, "eval-examples", o.EvalExamples, "number of examples; 0: all")
	addForm(fs, &o.MaxSeqLength, &o.AttendAcross)
	addDevice(fs, &o.Device)
	fs.BoolVar(&asJSON, "json", false, "write the result as a line of metrics.jsonl")
	return cmd
}
