package command

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"pretext/internal/failure"
	"pretext/trainer/session"
)

func newScore() *cobra.Command {
	var data, predictions, odds string
	asJSON := false
	cmd := &cobra.Command{
		Use:   "score --data FILE --predictions FILE",
		Short: "Evaluate answers to SQuAD's questions, as the official scripts do",
		Long: `Computes exact match and F1 of the answers in predictions.json, an object from
question id to text. The result is that of evaluate-v1.1.py, or of evaluate-v2.0.py
if the file has questions without an answer; with --null-odds it also has the best
thresholds. A question without a prediction counts as wrong.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" || predictions == "" {
				return failure.Usagef("give --data FILE and --predictions FILE")
			}
			e, err := session.ScoreSquad(data, predictions, odds)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(e)
			}
			return printSquad(cmd.OutOrStdout(), &session.SquadResult{Evaluation: e}, false)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&data, "data", "", "questions with answers, in SQuAD's format (required)")
	fs.StringVar(&predictions, "predictions", "", "file of predictions to score, as finetune writes it: predictions.json (required)")
	fs.StringVar(&odds, "null-odds", "", "null_odds.json")
	fs.BoolVar(&asJSON, "json", false, "print an object")
	return cmd
}
