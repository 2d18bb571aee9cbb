package squad_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/trainer/finetune"
	"pretext/trainer/finetune/squad"
)

func TestScoresOfVersion2TellQuestionsWithAnAnswerFromOthers(t *testing.T) {
	d := &squad.Dataset{Version: "v2.0", Paragraphs: []squad.Paragraph{{}}, Questions: []squad.Question{
		{ID: "right", Answers: []squad.Answer{{Text: "the red fox"}, {Text: "fox"}}},
		{ID: "half", Answers: []squad.Answer{{Text: "red fox"}}},
		{ID: "silent", Answers: []squad.Answer{{Text: "fox"}}},
		{ID: "article", Answers: []squad.Answer{{Text: "The"}}}, // nothing is left of it: "" is right
		{ID: "none", Impossible: true},
		{ID: "guess", Impossible: true},
		{ID: "unanswered", Impossible: true},
	}}
	answers := map[string]string{"right": "Fox!", "half": "fox", "silent": "", "article": "", "none": "", "guess": "fox"}
	odds := map[string]float64{"right": -3, "half": -2, "silent": 2, "article": 1, "none": 3, "guess": -1, "unknown": -9}
	got := squad.Evaluate(d, answers, odds)
	want := squad.Evaluation{
		Score: squad.Score{Exact: 100 * 3 / 7., F1: 100 * (3 + 2/3.) / 7, Total: 7}, Missing: 1,
		HasAnswer: &squad.Score{Exact: 50, F1: 100 * (2 + 2/3.) / 4, Total: 4}, NoAnswer: &squad.Score{Exact: 100 / 3., F1: 100 / 3., Total: 3},
		// Before any answer is let in the three without one are right; "right" makes
		// four, "half" 4⅔ by F1.
		BestExact: &squad.Threshold{Score: 100 * 4 / 7., Threshold: -3}, BestF1: &squad.Threshold{Score: 100 * (4 + 2/3.) / 7, Threshold: -2},
	}
	near := gocmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := gocmp.Diff(want, got, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The best threshold, found by trying every one: an answer whose odds are above
// it is taken back. Odds differ, so that no order is left open.
func TestTheBestThresholdIsTheBestOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &squad.Dataset{Version: "v2.0", Paragraphs: []squad.Paragraph{{}}}
		answers, odds := map[string]string{}, map[string]float64{}
		n := rapid.IntRange(1, 6).Draw(t, "questions")
		order := rapid.Permutation([]int{1, 2, 3, 4, 5, 6}).Draw(t, "odds")
		for i := range n {
			q := squad.Question{ID: string(rune('a' + i))}
			if rapid.Bool().Draw(t, "answerable") {
				q.Answers = []squad.Answer{{Text: "x y"}}
			}
			d.Questions = append(d.Questions, q)
			answers[q.ID] = rapid.SampledFrom([]string{"", "x", "x y", "z"}).Draw(t, "answer")
			odds[q.ID] = float64(order[i])
		}
		best := 0.0
		for threshold := 0.0; threshold <= 6; threshold++ {
			sum := 0.0
			for _, q := range d.Questions {
				switch {
				case odds[q.ID] > threshold && len(q.Answers) == 0:
					sum++
				case odds[q.ID] > threshold:
				case len(q.Answers) == 0 && answers[q.ID] == "":
					sum++
				case len(q.Answers) > 0:
					sum += squad.Compare(answers[q.ID], "x y", true).F1
				}
			}
			best = max(best, 100*sum/float64(n))
		}
		if got := squad.Evaluate(d, answers, odds).BestF1.Score; math.Abs(got-best) > 1e-9 {
			t.Fatalf("%+v, %v, %v: got %v, want %v", d.Questions, answers, odds, got, best)
		}
	})
}

// Where normalizing leaves nothing of either, the scripts of the two versions
// differ.
func TestTwoEmptyAnswers(t *testing.T) {
	if got, want := squad.Compare("a", "The", false), (squad.Grade{Exact: 1}); got != want {
		t.Errorf("version 1.1: got %+v, want %+v", got, want)
	}
	if got, want := squad.Compare("a", "The", true), (squad.Grade{Exact: 1, F1: 1}); got != want {
		t.Errorf("version 2.0: got %+v, want %+v", got, want)
	}
}

func TestAFileOfPredictionsThatIsNoneIsRefused(t *testing.T) {
	for in, want := range map[string]string{
		`{"q": 1}`:    `p.json: byte 7: number where`,
		`{"q": null}`: `p.json: question "q": null`,
		`null`:        `p.json: null: must be`,
		`{"q": "a"`:   `p.json: byte 9: not JSON`,
		"{\"\xff\":1": `p.json: byte 2: not UTF-8`,
		``:            `p.json: byte 0: not JSON`,
	} {
		_, err := squad.ReadAnswers("p.json", []byte(in))
		if !errors.Is(err, finetune.ErrData) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", in, err, want)
		}
	}
	if odds, err := squad.ReadOdds("o.json", []byte(`{"q": -1.5}`)); err != nil || odds["q"] != -1.5 {
		t.Errorf("got %v, %v", odds, err)
	}
}
