package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"pretext/internal/failure"
	"pretext/trainer"
	"pretext/trainer/finetune"
	"pretext/trainer/finetune/squad"
)

// SquadOptions are the options of [FinetuneSquad].
type SquadOptions struct {
	FinetuneOptions
	TrainFile, PredictFile string // JSON files in SQuAD's format; one of them may be ""
	Windows                squad.Options
	Answers                squad.PredictOptions
	Version2WithNegative   *bool // questions may have no answer; nil: as stated in the file
}

// given returns *b, or auto if b is nil.
func given(b *bool, auto bool) bool {
	if b != nil {
		return *b
	}
	return auto
}

// A SquadResult is the result of [FinetuneSquad] and the content of eval.json.
type SquadResult struct {
	Steps     int64 `json:"steps"`
	Questions int   `json:"questions"`
	Windows   int   `json:"windows"`
	*squad.Evaluation
	Model string `json:"-"`
}

// FinetuneSquad trains on a file of questions with answers, answers the questions of
// another file, or does both. In the directory of the checkpoints it also writes
// predictions.json, nbest_predictions.json, null_odds.json and eval.json.
func FinetuneSquad(ctx context.Context, o SquadOptions) (result *SquadResult, err error) {
	o.Windows.MaxSeqLength = o.MaxSeqLength
	if o.TrainFile == "" && o.PredictFile == "" {
		return nil, usagef("nothing to do: give --train-file F, --predict-file G or both")
	}
	if err := errors.Join(o.Windows.Validate(), o.Answers.Validate()); err != nil {
		return nil, failure.Usage(err)
	}
	err = runFinetune(o.FinetuneOptions, func(r *finetuneRun) error {
		result, err = o.run(ctx, r)
		return err
	})
	return result, err
}

func (o *SquadOptions) run(ctx context.Context, r *finetuneRun) (result *SquadResult, err error) {
	if o.Windows.Pad && r.config.Modern != nil {
		return nil, usagef("--pad-to-max-length: ModernBERT is computed without padding: leave it out")
	}
	var dataset *squad.Dataset
	if o.PredictFile != "" {
		if dataset, _, err = readSquad(o.PredictFile); err != nil {
			return nil, err
		}
	}
	task, negatives, err := o.task(r, dataset)
	if err != nil {
		return nil, err
	}
	a := &answering{o: o, r: r, dataset: dataset}
	if dataset != nil {
		o.Windows.Negatives = negatives
		if err := a.cut(); err != nil {
			return nil, err
		}
		if dataset.Answerable() {
			task.evaluate = a.evaluate
		}
	}
	if err := r.run(ctx, task); err != nil {
		return nil, err
	}
	result = &SquadResult{Steps: r.step, Model: r.trained()}
	if dataset == nil {
		return result, nil
	}
	return result, a.finish(ctx, result)
}

// ScoreSquad evaluates the answers in the file predictions on the questions in the file
// data. odds is a file of null odds, or "".
func ScoreSquad(data, predictions, odds string) (*squad.Evaluation, error) {
	d, _, err := readSquad(data)
	if err != nil {
		return nil, err
	}
	if err := notJSON.Check(context.Background(), predictions); err != nil {
		return nil, err
	}
	b, err := readTaskFile(predictions)
	if err != nil {
		return nil, err
	}
	answers, err := squad.ReadAnswers(predictions, b)
	if err != nil {
		return nil, err
	}
	var null map[string]float64
	if odds != "" {
		if b, err = readTaskFile(odds); err != nil {
			return nil, err
		}
		if null, err = squad.ReadOdds(odds, b); err != nil {
			return nil, err
		}
	}
	e := squad.Evaluate(d, answers, null)
	return &e, nil
}

// readSquad reads a file of questions and returns its SHA-256 as the second
// result.
func readSquad(path string) (*squad.Dataset, string, error) {
	if err := notJSON.Check(context.Background(), path); err != nil {
		return nil, "", err
	}
	b, err := readTaskFile(path)
	if err != nil {
		return nil, "", err
	}
	d, err := squad.Read(path, b)
	return d, hashOf(b), err
}

// task reads the training data. negatives reports whether questions may have no answer;
// without an option, this is found from the training file, or else from dataset.
func (o *SquadOptions) task(r *finetuneRun, dataset *squad.Dataset) (task finetuneTask, negatives bool, err error) {
	task.heads = trainer.Heads{Span: true}
	if o.TrainFile == "" {
		return task, given(o.Version2WithNegative, dataset.Negatives()), nil
	}
	data, hash, err := readSquad(o.TrainFile)
	if err != nil {
		return task, false, err
	}
	negatives = given(o.Version2WithNegative, data.Negatives())
	o.Windows.Negatives = negatives
	features, err := squad.NewFeatures(data, r.tok.NewEncoder(), o.Windows, squad.Train)
	if err != nil {
		return task, false, err
	}
	if n := len(features.Unfound); n > 0 {
		q := data.Questions[features.Unfound[0]]
		fmt.Fprintf(r.log, "%d questions skipped: their answer is not at the stated position; the first is %q\n", n, q.ID)
	}
	if features.Len() == 0 {
		return task, false, &finetune.DataError{File: o.TrainFile, Reason: "no question to train on"}
	}
	task.train, task.count, task.data = features, features.Questions(), hash
	task.options = map[string]string{
		"task": "squad", "max_seq_length": strconv.Itoa(o.MaxSeqLength), "doc_stride": strconv.Itoa(o.Windows.DocStride),
		"max_query_length": strconv.Itoa(o.Windows.MaxQueryLength), "version_2_with_negative": strconv.FormatBool(negatives),
		"pad_to_max_seq_length": strconv.FormatBool(o.Windows.Pad),
	}
	return task, negatives, nil
}

// An answering answers the questions of a file, during a run and at its end.
type answering struct {
	o        *SquadOptions
	r        *finetuneRun
	dataset  *squad.Dataset
	features *squad.Features
}

// cut splits the texts into windows.
func (a *answering) cut() (err error) {
	a.features, err = squad.NewFeatures(a.dataset, a.r.tok.NewEncoder(), a.o.Windows, squad.Predict)
	return err
}

// answer answers all questions. It also returns the scores if the file has the
// correct answers.
func (a *answering) answer(ctx context.Context) ([]squad.Prediction, *squad.Evaluation, error) {
	predictor, err := squad.NewPredictor(a.features, a.o.Answers)
	if err != nil {
		return nil, nil, err
	}
	forward := finetune.Forward{Model: a.r.model, Heads: a.r.task.heads, Tokens: a.r.tokens}
	if _, err := forward.Each(ctx, a.features, predictor.Take); err != nil {
		return nil, nil, err
	}
	predictions := predictor.Predictions()
	if !a.dataset.Answerable() {
		return predictions, nil, nil
	}
	answers, odds := map[string]string{}, map[string]float64{}
	for _, p := range predictions {
		q := a.dataset.Questions[p.Question]
		answers[q.ID] = p.Text
		odds[q.ID] = p.NullOdds
	}
	if !a.o.Windows.Negatives {
		odds = nil
	}
	e := squad.Evaluate(a.dataset, answers, odds)
	return predictions, &e, nil
}

// evaluate answers the questions during the run and returns the scores.
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

// finish answers all questions with the trained model and writes the result
// files.
func (a *answering) finish(ctx context.Context, result *SquadResult) error {
	fmt.Fprintf(a.r.log, "answering %d questions in %d windows\n", a.features.Questions(), a.features.Len())
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
	return a.o.writeAnswers(a.r, a.dataset, predictions, result)
}

func (o *SquadOptions) writeAnswers(r *finetuneRun, dataset *squad.Dataset, p []squad.Prediction, result *SquadResult) error {
	errs := []error{
		r.write("predictions.json", func(w io.Writer) error { return squad.WriteAnswers(w, dataset, p) }),
		r.write("nbest_predictions.json", func(w io.Writer) error { return squad.WriteNBest(w, dataset, p) }),
	}
	if o.Windows.Negatives {
		errs = append(errs, r.write("null_odds.json", func(w io.Writer) error { return squad.WriteOdds(w, dataset, p) }))
	}
	return errors.Join(append(errs, r.write("eval.json", func(w io.Writer) error { return writeIndented(w, result) }))...)
}

func writeIndented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
