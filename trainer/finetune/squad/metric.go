package squad

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pretext/trainer/finetune"
)

// A Grade is the score of one answer, each value from 0 to 1.
type Grade struct{ Exact, F1 float64 }

// Compare grades an answer against one correct answer. Exact is 1 if both are
// equal after [Normalize], else 0. F1 is the harmonic mean of precision and recall
// of their words. F1 is 0 if the answer or the correct answer has no words; with
// negatives (as in evaluate-v2.0.py), it is 1 if both have no words.
func Compare(answer, right string, negatives bool) Grade {
	a, r := Normalize(answer), Normalize(right)
	var g Grade
	if a == r {
		g.Exact = 1
	}
	words, rights := strings.Fields(a), strings.Fields(r)
	if negatives && len(words) == 0 && len(rights) == 0 {
		return Grade{1, 1}
	}
	left := map[string]int{}
	for _, w := range rights {
		left[w]++
	}
	same := 0
	for _, w := range words {
		if left[w] > 0 {
			left[w]--
			same++
		}
	}
	if same > 0 {
		precision, recall := float64(same)/float64(len(words)), float64(same)/float64(len(rights))
		g.F1 = 2 * precision * recall / (precision + recall)
	}
	return g
}

// Best grades an answer against all correct answers and returns the best value
// of each metric.
func Best(answer string, rights []string, negatives bool) Grade {
	var g Grade
	for _, r := range rights {
		x := Compare(answer, r, negatives)
		g = Grade{max(g.Exact, x.Exact), max(g.F1, x.F1)}
	}
	return g
}

// A Score is the mean grade of a set of answers, in percent.
type Score struct {
	Exact float64 `json:"exact"`
	F1    float64 `json:"f1"`
	Total int     `json:"total"` // number of questions
}

// An Evaluation is the result of the official script for a dataset:
// evaluate-v1.1.py, or evaluate-v2.0.py if there are questions without an
// answer.
type Evaluation struct {
	Score
	Missing   int        `json:"missing"` // questions without a prediction; they count as wrong
	HasAnswer *Score     `json:"has_answer,omitempty"`
	NoAnswer  *Score     `json:"no_answer,omitempty"`
	BestExact *Threshold `json:"best_exact,omitempty"` // with odds only
	BestF1    *Threshold `json:"best_f1,omitempty"`
}

// A Threshold is the best value of null_score_diff_threshold and its score. Answers
// whose null odds are above the threshold are replaced by "no answer".
type Threshold struct {
	Score     float64 `json:"score"`
	Threshold float64 `json:"threshold"`
}

// Evaluate grades answers, a map by question id. odds are the null odds by question
// id, or nil. They are used only for the best thresholds, and only if the dataset has
// unanswerable questions.
func Evaluate(d *Dataset, answers map[string]string, odds map[string]float64) Evaluation {
	negatives := d.Negatives()
	grades := map[string]Grade{}
	var all, has, none tally
	var e Evaluation
	for _, q := range d.Questions {
		answer, ok := answers[q.ID]
		var g Grade
		if ok {
			g = Best(answer, q.rights(negatives), negatives)
			grades[q.ID] = g
		} else {
			e.Missing++
		}
		all.add(g)
		if len(q.Answers) > 0 {
			has.add(g)
		} else {
			none.add(g)
		}
	}
	e.Score = *all.score()
	if !negatives {
		return e
	}
	e.HasAnswer, e.NoAnswer = has.score(), none.score()
	if odds != nil {
		e.BestExact = bestThreshold(d, answers, odds, func(id string) float64 { return grades[id].Exact })
		e.BestF1 = bestThreshold(d, answers, odds, func(id string) float64 { return grades[id].F1 })
	}
	return e
}

// rights returns the correct answers to compare with. With negatives it ignores answers
// that are empty after normalization, as evaluate-v2.0.py does; if none remains, the
// empty answer is correct.
func (q *Question) rights(negatives bool) []string {
	var out []string
	for _, a := range q.Answers {
		if !negatives || Normalize(a.Text) != "" {
			out = append(out, a.Text)
		}
	}
	if negatives && len(out) == 0 {
		out = []string{""}
	}
	return out
}

// A tally sums the grades of several answers.
type tally struct {
	exact, f1 float64
	n         int
}

func (t *tally) add(g Grade) { t.exact, t.f1, t.n = t.exact+g.Exact, t.f1+g.F1, t.n+1 }

// score returns the mean in percent; 0 if there are no grades.
func (t *tally) score() *Score {
	if t.n == 0 {
		return &Score{}
	}
	n := float64(t.n)
	return &Score{100 * t.exact / n, 100 * t.f1 / n, t.n}
}

// bestThreshold implements find_best_thresh of the official script. It starts with
// "no answer" for all questions, replaces them by the answers in ascending order of
// odds, and returns the odds at which the score is best.
func bestThreshold(d *Dataset, answers map[string]string, odds map[string]float64, grade func(id string) float64) *Threshold {
	questions := map[string]*Question{}
	var ids []string // ids of the questions with odds
	current := 0.0
	for i := range d.Questions {
		q := &d.Questions[i]
		questions[q.ID] = q
		if len(q.Answers) == 0 {
			current++
		}
		if _, ok := odds[q.ID]; ok {
			ids = append(ids, q.ID)
		}
	}
	best := Threshold{Score: current}
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(odds[a], odds[b]) })
	for _, id := range ids {
		q := questions[id]
		switch answer, ok := answers[id]; {
		case !ok:
			continue
		case len(q.Answers) > 0:
			current += grade(id)
		case answer != "":
			current--
		}
		if current > best.Score {
			best = Threshold{current, odds[id]}
		}
	}
	if n := len(d.Questions); n > 0 {
		best.Score = 100 * best.Score / float64(n)
	}
	return &best
}

// ReadAnswers parses predictions.json: an object from question id to text.
func ReadAnswers(name string, data []byte) (map[string]string, error) {
	return readObject[string](name, data)
}

// ReadOdds parses null_odds.json: an object from question id to a number.
func ReadOdds(name string, data []byte) (map[string]float64, error) {
	return readObject[float64](name, data)
}

func readObject[T any](name string, data []byte) (map[string]T, error) {
	if at := invalidUTF8(data); at >= 0 {
		return nil, &finetune.DataError{File: name, Place: fmt.Sprintf("byte %d", at), Reason: "not UTF-8"}
	}
	var pointers map[string]*T
	if err := json.Unmarshal(data, &pointers); err != nil {
		place, reason := jsonFault(err)
		return nil, &finetune.DataError{File: name, Place: place, Reason: reason}
	}
	if pointers == nil {
		return nil, &finetune.DataError{File: name, Reason: "null: must be an object from question ids to values"}
	}
	out := make(map[string]T, len(pointers))
	for _, id := range slices.Sorted(maps.Keys(pointers)) {
		if pointers[id] == nil {
			return nil, &finetune.DataError{File: name, Place: fmt.Sprintf("question %q", id), Reason: "null"}
		}
		out[id] = *pointers[id]
	}
	return out, nil
}
