package squad

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"pretext/trainer/finetune"
)

// PredictOptions configures the choice of answers. Start from
// [DefaultPredictOptions].
type PredictOptions struct {
	NBestSize       int     `json:"n_best_size"`               // number of answers listed for a question, and of starts and ends tried in each window
	MaxAnswerLength int     `json:"max_answer_length"`         // maximum pieces of an answer
	NullThreshold   float64 `json:"null_score_diff_threshold"` // with Negatives: how much the score of "no answer" must exceed that of the best answer
}

// DefaultPredictOptions returns the defaults of run_squad.py.
func DefaultPredictOptions() PredictOptions {
	return PredictOptions{NBestSize: 20, MaxAnswerLength: 30}
}

// Validate reports every problem of o.
func (o PredictOptions) Validate() error {
	var errs []error
	if o.NBestSize < 1 || o.NBestSize > 1000 {
		errs = append(errs, fmt.Errorf("n_best_size %d: must be from 1 to 1000", o.NBestSize))
	}
	if o.MaxAnswerLength < 1 {
		errs = append(errs, fmt.Errorf("max_answer_length %d: must be at least 1", o.MaxAnswerLength))
	}
	if math.IsNaN(o.NullThreshold) || math.IsInf(o.NullThreshold, 0) {
		errs = append(errs, fmt.Errorf("null_score_diff_threshold %v: must be finite", o.NullThreshold))
	}
	return errors.Join(errs...)
}

// A Prediction is the answer to one question.
type Prediction struct {
	Question int    // index in the dataset
	Text     string // the answer; empty: the paragraph does not contain one
	NBest    []Candidate
	NullOdds float64 // score of "no answer" minus that of the best answer; with Negatives
}

// A Candidate is one of the n best answers.
type Candidate struct {
	Text        string
	From, To    int     // byte range in the paragraph; 0, 0: Text is not from the paragraph
	Probability float64 // probability among the n best
	StartLogit  float64
	EndLogit    float64
}

// A Predictor converts the logits of windows to answers.
type Predictor struct {
	f       *Features
	o       PredictOptions
	align   *aligner
	next    int // next window for Take
	item    int // item of the current windows
	pairs   []pair
	null    pair    // "no answer" in the window in which its score is lowest
	odds    float64 // lowest score of "no answer"; noNull before the first window
	results []Prediction
}

// A pair is a start and an end in a window.
type pair struct {
	window, from, to int // from and to are in the window; 0, 0: no answer
	start, end       float64
}

func (p pair) score() float64 { return p.start + p.end }

// noNull is the score of "no answer" before the first window. As in the reference, it is
// larger than the score of any window.
const noNull = 1000000

// NewPredictor returns a predictor for all questions of f.
func NewPredictor(f *Features, o PredictOptions) (*Predictor, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("predict answers: %w", err)
	}
	align, err := newAligner(f.words)
	if err != nil {
		return nil, fmt.Errorf("predict answers: %w", err)
	}
	p := &Predictor{f: f, o: o, align: align}
	p.begin()
	p.skip()
	return p, nil
}

func (p *Predictor) begin() { p.pairs, p.null, p.odds = p.pairs[:0], pair{}, noNull }

// Take processes the logits of window i: a start and an end logit for each
// token. Windows must come in order.
func (p *Predictor) Take(i int, logits []float32) error {
	if i != p.next || i >= p.f.Len() {
		panic(fmt.Sprintf("BUG: window %d, not %d", i, p.next))
	}
	if err := finetune.CheckNumbers(logits); err != nil {
		return err
	}
	p.window(p.f.window(p.item, i-p.f.first[p.item]), logits)
	p.next++
	p.skip()
	return nil
}

// skip finishes all questions that have no windows left, including questions without any
// window.
func (p *Predictor) skip() {
	for p.item < len(p.f.items) && p.f.first[p.item+1] == p.next {
		p.finish()
		p.item++
		p.begin()
	}
}

// window adds the pairs of a window. As in the reference, a padding token may be among
// the best starts and ends, but is never in a pair.
func (p *Predictor) window(w Window, logits []float32) {
	starts, ends := best(logits, 0, p.o.NBestSize), best(logits, 1, p.o.NBestSize)
	at := func(token, column int) float64 { return float64(logits[2*token+column]) }
	if p.f.o.Negatives {
		if own := (pair{window: w.Number, start: at(0, 0), end: at(0, 1)}); own.score() < p.odds {
			p.null, p.odds = own, own.score()
		}
	}
	for _, s := range starts {
		i := s - w.Offset
		if i < 0 || i >= len(w.Pieces) || !w.MaxContext(i) {
			continue
		}
		for _, e := range ends {
			if e < s || e-w.Offset >= len(w.Pieces) || e-s+1 > p.o.MaxAnswerLength {
				continue
			}
			p.pairs = append(p.pairs, pair{w.Number, s, e, at(s, 0), at(e, 1)})
		}
	}
}

// best returns the n tokens with the largest start logits (column 0) or end logits
// (column 1), largest first. Tokens with equal logits stay in the order of the window.
func best(logits []float32, column, n int) []int {
	tokens := make([]int, 0, n+1)
	for t := range len(logits) / 2 {
		v := logits[2*t+column]
		if len(tokens) == n && v <= logits[2*tokens[n-1]+column] {
			continue
		}
		at := len(tokens)
		for at > 0 && logits[2*tokens[at-1]+column] < v {
			at--
		}
		tokens = slices.Insert(tokens, at, t)
		tokens = tokens[:min(n, len(tokens))]
	}
	return tokens
}

// finish makes the prediction of the current question.
func (p *Predictor) finish() {
	if p.f.o.Negatives {
		p.pairs = append(p.pairs, p.null)
	}
	slices.SortStableFunc(p.pairs, func(a, b pair) int { return cmp.Compare(b.score(), a.score()) })
	out := Prediction{Question: int(p.f.items[p.item].question)}
	seen := map[string]bool{}
	for _, c := range p.pairs {
		if len(out.NBest) >= p.o.NBestSize {
			break
		}
		x := Candidate{StartLogit: c.start, EndLogit: c.end}
		if c.from > 0 {
			if p.locate(c, &x); seen[x.Text] {
				continue
			}
		}
		seen[x.Text] = true
		out.NBest = append(out.NBest, x)
	}
	if p.f.o.Negatives && !seen[""] {
		out.NBest = append(out.NBest, Candidate{StartLogit: p.null.start, EndLogit: p.null.end})
	}
	if len(out.NBest) == 0 {
		out.NBest = append(out.NBest, Candidate{Text: nothing})
	}
	weigh(out.NBest)
	p.choose(&out)
	p.results = append(p.results, out)
}

// nothing is the answer that the reference gives for a question without any pair.
const nothing = "empty"

// locate sets the text and location of a pair.
func (p *Predictor) locate(c pair, x *Candidate) {
	w := p.f.window(p.item, c.window)
	pieces := make([]string, 0, c.to-c.from+1)
	for _, id := range w.Pieces[c.from-w.Offset : c.to-w.Offset+1] {
		pieces = append(pieces, p.f.vocab.Token(id))
	}
	passage := w.it.passage
	first, last := int32(w.WordOf(c.from-w.Offset)), int32(w.WordOf(c.to-w.Offset))
	original := passage.text(first, last)
	from, to := p.align.find(joinPieces(pieces), original)
	x.Text = original[from:to]
	x.From, x.To = passage.place(first, from), passage.place(first, to)
}

// weigh sets the probabilities of the candidates to the softmax of their scores.
func weigh(c []Candidate) {
	top := math.Inf(-1)
	for _, x := range c {
		top = max(top, x.StartLogit+x.EndLogit)
	}
	sum := 0.0
	for i := range c {
		c[i].Probability = math.Exp(c[i].StartLogit + c[i].EndLogit - top)
		sum += c[i].Probability
	}
	for i := range c {
		c[i].Probability /= sum
	}
}

// choose sets the text of the prediction to the best candidate, or to "" if "no answer"
// scores higher by more than the threshold. If all candidates are "no answer", a case
// that the reference does not handle, the odds are relative to an answer with score 0.
func (p *Predictor) choose(out *Prediction) {
	if !p.f.o.Negatives {
		out.Text = out.NBest[0].Text
		return
	}
	i := slices.IndexFunc(out.NBest, func(c Candidate) bool { return c.Text != "" })
	if i < 0 {
		out.NullOdds = p.odds
		return
	}
	c := out.NBest[i]
	out.NullOdds = p.odds - c.StartLogit - c.EndLogit
	if out.NullOdds <= p.o.NullThreshold {
		out.Text = c.Text
	}
}

// Predictions returns the answers to all questions whose windows were taken, in
// order.
func (p *Predictor) Predictions() []Prediction { return p.results }
