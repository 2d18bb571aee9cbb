package predict

import (
	"unicode/utf8"

	"pretext/trainer/finetune/squad"
)

// An Answer is the result of [Predictor.Answer].
type Answer struct {
	Answer      string      `json:"answer"` // empty: the context does not contain an answer
	Start       int         `json:"start"`  // start of the answer in the context, in characters (code points)
	End         int         `json:"end"`    // end of the answer, after its last character
	Probability float64     `json:"probability"`
	NullOdds    *float64    `json:"null_odds,omitempty"` // score of "no answer" minus that of the best answer, with Settings.Negatives
	NBest       []Candidate `json:"n_best,omitempty"`
}

// A Candidate is one of the n best answers.
type Candidate struct {
	Answer      string  `json:"answer"`
	Start       int     `json:"start"`
	End         int     `json:"end"`
	Probability float64 `json:"probability"`
}

// Answer returns a job that answers a question from a context. Its result, an [Answer],
// also lists the nBest best answers.
func (p *Predictor) Answer(question, context string, nBest int) (Job, error) {
	if err := p.check(TaskAnswer, question, context); err != nil {
		return nil, err
	}
	if nBest < 0 || nBest > p.s.Answers.NBestSize {
		return nil, wrong("n_best %d: must be from 0 to %d", nBest, p.s.Answers.NBestSize)
	}
	d := &squad.Dataset{Name: "request", Paragraphs: []squad.Paragraph{{Context: context}}, Questions: []squad.Question{{Text: question}}}
	enc, giveBack := p.encoder()
	defer giveBack()
	f, err := squad.NewFeatures(d, enc, p.windows, squad.Predict)
	if err != nil {
		return nil, err
	}
	if f.Len() == 0 {
		return nil, wrong("the context is empty")
	}
	if f.Len() > p.s.MaxSequences {
		return nil, tooLong("the context takes %d windows: at most %d are computed", f.Len(), p.s.MaxSequences)
	}
	predictor, err := squad.NewPredictor(f, p.s.Answers)
	if err != nil {
		return nil, err
	}
	return &answerJob{Features: f, predictor: predictor, p: p, context: context, nBest: nBest}, nil
}

type answerJob struct {
	*squad.Features
	predictor *squad.Predictor
	p         *Predictor
	context   string
	nBest     int
}

// Take implements Job.
func (j *answerJob) Take(i int, logits []float32) error { return j.predictor.Take(i, logits) }

// Result implements Job.
func (j *answerJob) Result() any {
	x := j.predictor.Predictions()[0]
	a := Answer{Answer: x.Text}
	if x.NBest[0].Text == x.Text && x.NBest[0].To == 0 {
		a.Answer = "" // the reference writes "empty" if no pair of start and end is left
	}
	for i, c := range x.NBest {
		y := Candidate{c.Text, utf8.RuneCountInString(j.context[:c.From]), utf8.RuneCountInString(j.context[:c.To]), c.Probability}
		if c.Text == x.Text && a.Probability == 0 {
			a.Start, a.End, a.Probability = y.Start, y.End, y.Probability
		}
		if i < j.nBest {
			a.NBest = append(a.NBest, y)
		}
	}
	if j.p.s.Negatives {
		a.NullOdds = &x.NullOdds
	}
	return a
}

// Masked implements Job.
func (j *answerJob) Masked(int) int { return 0 }
