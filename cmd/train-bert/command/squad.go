package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"pretext/trainer"
	"pretext/trainer/finetune"
	"pretext/trainer/finetune/squad"
)

// squadOptions are those of finetune squad.
type squadOptions struct {
	fineOptions
	train, predict string // files
	windows        squad.Options
	answers        squad.PredictOptions
	negatives      autoBool
}

func newSquad() *cobra.Command {
	o := squadOptions{fineOptions: defaultFineOptions(squad.DefaultOptions().MaxSeqLength), windows: squad.DefaultOptions(), answers: squad.DefaultPredictOptions()}
	cmd := &cobra.Command{
		Use:   "squad --init MODEL --train-file F --predict-file G --out DIR",
		Short: "Learn to answer questions about a text (SQuAD 1.1, 2.0)",
		Long: `Trains on questions in SQuAD's form and answers those of another file. Either file
may be left out: without --train-file, --init must be a model that was trained
for it. Writes OUT/step-… (BertForQuestionAnswering), predictions.json,
nbest_predictions.json, null_odds.json, and eval.json with the official measures.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := finetuneSquad(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return result.print(cmd.OutOrStdout(), o.json)
		},
	}
	fs := cmd.Flags()
	o.add(fs)
	fs.StringVar(&o.train, "train-file", "", "questions with answers, to train on")
	fs.StringVar(&o.predict, "predict-file", "", "questions to answer; where answers stand, they are the measure")
	fs.IntVar(&o.windows.DocStride, "doc-stride", o.windows.DocStride, "pieces between the starts of two windows on a text")
	fs.IntVar(&o.windows.MaxQueryLength, "max-query-length", o.windows.MaxQueryLength, "pieces of the longest question; what is longer is cut")
	fs.BoolVar(&o.windows.Pad, "pad-to-max-length", false, "compute padding, as the reference does; slower")
	fs.Var(&o.negatives, "version-2-with-negative", "questions may have no answer: true, false, or auto: as the file says")
	fs.IntVar(&o.answers.NBestSize, "n-best-size", o.answers.NBestSize, "answers of a question in nbest_predictions.json")
	fs.IntVar(&o.answers.MaxAnswerLength, "max-answer-length", o.answers.MaxAnswerLength, "pieces of the longest answer")
	fs.Float64Var(&o.answers.NullThreshold, "null-score-diff-threshold", 0, `how much better "no answer" must score to be given`)
	return cmd
}

// A squadResult is eval.json, and what is printed.
type squadResult struct {
	Steps     int64 `json:"steps"`
	Questions int   `json:"questions"`
	Windows   int   `json:"windows"`
	*squad.Evaluation
	Model string `json:"-"`
}

func (s *squadResult) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(s)
	}
	if s.Evaluation != nil {
		fmt.Fprintf(w, "%d questions: exact %.2f, F1 %.2f\n", s.Total, s.Exact, s.F1)
		if s.HasAnswer != nil {
			fmt.Fprintf(w, "%d with an answer: exact %.2f, F1 %.2f; %d without: %.2f\n", s.HasAnswer.Total, s.HasAnswer.Exact, s.HasAnswer.F1, s.NoAnswer.Total, s.NoAnswer.Exact)
		}
		if s.BestF1 != nil {
			fmt.Fprintf(w, "best F1 %.2f, with --null-score-diff-threshold %g\n", s.BestF1.Score, s.BestF1.Threshold)
		}
	}
	if s.Model == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "model: %s\n", s.Model)
	return err
}

func finetuneSquad(ctx context.Context, o squadOptions, stderr io.Writer) (result *squadResult, err error) {
	o.windows.MaxSeqLength = o.length
	if o.train == "" && o.predict == "" {
		return nil, usagef("nothing to do: give --train-file F, --predict-file G or both")
	}
	if err := errors.Join(o.windows.Validate(), o.answers.Validate()); err != nil {
		return nil, misuse(err)
	}
	r, err := openFine(o.fineOptions, stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var held *squad.Dataset
	if o.predict != "" {
		if held, _, err = readSquad(o.predict); err != nil {
			return nil, err
		}
	}
	task, negatives, err := o.task(r, held)
	if err != nil {
		return nil, err
	}
	a := &answering{o: &o, r: r, held: held}
	if held != nil {
		o.windows.Negatives = negatives
		if err := a.cut(); err != nil {
			return nil, err
		}
		if held.Answerable() {
			task.evaluate = a.evaluate
		}
	}
	if err := r.run(ctx, task); err != nil {
		return nil, err
	}
	result = &squadResult{Steps: r.step, Model: r.trained()}
	if held == nil {
		return result, nil
	}
	return result, a.finish(ctx, result)
}

func readSquad(path string) (*squad.Dataset, string, error) {
	b, err := readTaskFile(path)
	if err != nil {
		return nil, "", err
	}
	d, err := squad.Read(path, b)
	return d, hashOf(b), err
}

// task reads the training data. It also tells whether questions may have no
// answer: as the training file says, or, where there is none, that to predict.
func (o *squadOptions) task(r *fineRun, held *squad.Dataset) (task fineTask, negatives bool, err error) {
	task.heads = trainer.Heads{Span: true}
	if o.train == "" {
		return task, o.negatives.or(held.Negatives()), nil
	}
	data, hash, err := readSquad(o.train)
	if err != nil {
		return task, false, err
	}
	negatives = o.negatives.or(data.Negatives())
	o.windows.Negatives = negatives
	features, err := squad.NewFeatures(data, r.tok.NewEncoder(), o.windows, squad.Train)
	if err != nil {
		return task, false, err
	}
	if n := len(features.Unfound); n > 0 {
		q := data.Questions[features.Unfound[0]]
		fmt.Fprintf(r.stderr, "train-bert: %d questions left out: their answer does not stand where the file says; the first is %q\n", n, q.ID)
	}
	if features.Len() == 0 {
		return task, false, &finetune.DataError{File: o.train, Reason: "no question to train on"}
	}
	task.train, task.count, task.data = features, features.Questions(), hash
	task.options = map[string]string{
		"task": "squad", "max_seq_length": strconv.Itoa(o.length), "doc_stride": strconv.Itoa(o.windows.DocStride),
		"max_query_length": strconv.Itoa(o.windows.MaxQueryLength), "version_2_with_negative": strconv.FormatBool(negatives),
		"pad_to_max_seq_length": strconv.FormatBool(o.windows.Pad),
	}
	return task, negatives, nil
}

// An answering answers the questions of a file, during a run and at its end.
type answering struct {
	o        *squadOptions
	r        *fineRun
	held     *squad.Dataset
	features *squad.Features
}

// cut cuts the texts into windows.
func (a *answering) cut() (err error) {
	a.features, err = squad.NewFeatures(a.held, a.r.tok.NewEncoder(), a.o.windows, squad.Predict)
	return err
}

// answer answers all questions, and measures where the file has the answers.
func (a *answering) answer(ctx context.Context) ([]squad.Prediction, *squad.Evaluation, error) {
	predictor, err := squad.NewPredictor(a.features, a.o.answers)
	if err != nil {
		return nil, nil, err
	}
	forward := finetune.Forward{Model: a.r.model, Heads: a.r.task.heads, Tokens: a.r.microBatch()}
	if _, err := forward.Each(ctx, a.features, predictor.Take); err != nil {
		return nil, nil, err
	}
	predictions := predictor.Predictions()
	if !a.held.Answerable() {
		return predictions, nil, nil
	}
	answers, odds := map[string]string{}, map[string]float64{}
	for _, p := range predictions {
		q := a.held.Questions[p.Question]
		answers[q.ID] = p.Text
		odds[q.ID] = p.NullOdds
	}
	if !a.o.windows.Negatives {
		odds = nil
	}
	e := squad.Evaluate(a.held, answers, odds)
	return predictions, &e, nil
}

// evaluate measures during the run.
func (a *answering) evaluate(ctx context.Context) (map[string]float64, error) {
	_, e, err := a.answer(ctx)
	if err != nil {
		return nil, err
	}
	return measuresOf(e), nil
}

func measuresOf(e *squad.Evaluation) map[string]float64 {
	return map[string]float64{"exact": e.Exact, "f1": e.F1, "examples": float64(e.Total)}
}

// finish answers with the trained model and writes all.
func (a *answering) finish(ctx context.Context, result *squadResult) error {
	fmt.Fprintf(a.r.stderr, "train-bert: answering %d questions in %d windows\n", a.features.Questions(), a.features.Len())
	predictions, e, err := a.answer(ctx)
	if err != nil {
		return err
	}
	result.Questions, result.Windows, result.Evaluation = a.features.Questions(), a.features.Len(), e
	if e != nil {
		if err := a.r.conclude(measuresOf(e)); err != nil {
			return err
		}
	}
	return a.o.writeAnswers(a.r, a.held, predictions, result)
}

func (o *squadOptions) writeAnswers(r *fineRun, held *squad.Dataset, p []squad.Prediction, result *squadResult) error {
	errs := []error{
		r.write("predictions.json", func(w io.Writer) error { return squad.WriteAnswers(w, held, p) }),
		r.write("nbest_predictions.json", func(w io.Writer) error { return squad.WriteNBest(w, held, p) }),
	}
	if o.windows.Negatives {
		errs = append(errs, r.write("null_odds.json", func(w io.Writer) error { return squad.WriteOdds(w, held, p) }))
	}
	return errors.Join(append(errs, r.write("eval.json", func(w io.Writer) error { return writeIndented(w, result) }))...)
}

func writeIndented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
