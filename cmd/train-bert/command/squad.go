package command

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"pretext/trainer/finetune/squad"
	"pretext/trainer/session"
)

func newSquad() *cobra.Command {
	shared := finetuneFlags{}
	o := session.SquadOptions{FinetuneOptions: session.DefaultFinetuneOptions(squad.DefaultOptions().MaxSeqLength), Windows: squad.DefaultOptions(), Answers: squad.DefaultPredictOptions()}
	cmd := &cobra.Command{
		Use:   "squad --init MODEL --train-file F --predict-file G --out DIR",
		Short: "Train to answer questions about a text (SQuAD 1.1, 2.0)",
		Long: `Trains on questions in SQuAD's format and answers those of another file. Either file
may be omitted; without --train-file, --init must be a model that was trained for
SQuAD. Writes OUT/step-… (BertForQuestionAnswering), predictions.json,
nbest_predictions.json, null_odds.json, and eval.json with the official metrics.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer shared.report(cmd, &o.FinetuneOptions)()
			result, err := session.FinetuneSquad(cmd.Context(), o)
			if err != nil {
				return interrupted(err, o.Out)
			}
			return printSquad(cmd.OutOrStdout(), result, shared.json)
		},
	}
	fs := cmd.Flags()
	shared.add(fs, &o.FinetuneOptions)
	fs.StringVar(&o.TrainFile, "train-file", "", "questions with answers, to train on")
	fs.StringVar(&o.PredictFile, "predict-file", "", "questions to answer; if the file has answers, exact match and F1 are computed")
	fs.IntVar(&o.Windows.DocStride, "doc-stride", o.Windows.DocStride, "tokens between the starts of two windows of a text")
	fs.IntVar(&o.Windows.MaxQueryLength, "max-query-length", o.Windows.MaxQueryLength, "maximum tokens of a question; longer ones are truncated")
	fs.BoolVar(&o.Windows.Pad, "pad-to-max-length", false, "pad every window to --max-seq-length, as the reference does; slower")
	fs.Var(autoBool(&o.Version2WithNegative), "version-2-with-negative", "questions may have no answer: true, false, or auto: as the file says")
	fs.IntVar(&o.Answers.NBestSize, "n-best-size", o.Answers.NBestSize, "answers per question in nbest_predictions.json")
	fs.IntVar(&o.Answers.MaxAnswerLength, "max-answer-length", o.Answers.MaxAnswerLength, "maximum tokens of an answer")
	fs.Float64Var(&o.Answers.NullThreshold, "null-score-diff-threshold", 0, `give no answer if the score of "no answer" exceeds the best answer's by more than this`)
	return cmd
}

// printSquad writes the metrics.
func printSquad(w io.Writer, s *session.SquadResult, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(s)
	}
	if s.Evaluation != nil {
		fmt.Fprintf(w, "%d questions: exact %.2f, F1 %.2f\n", s.Total, s.Exact, s.F1)
		if s.HasAnswer != nil {
			fmt.Fprintf(w, "%d with an answer: exact %.2f, F1 %.2f; %d without: %.2f\n", s.HasAnswer.Total, s.HasAnswer.Exact, s.HasAnswer.F1, s.NoAnswer.Total, s.NoAnswer.Exact)
		}
		if s.BestF1 != nil {
			fmt.Fprintf(w, "best F1 %.2f, with --set null-score-diff-threshold=%g\n", s.BestF1.Score, s.BestF1.Threshold)
		}
	}
	if s.Model == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "model: %s\n", s.Model)
	return err
}
