package predict

import (
	"math"
	"slices"
	"strings"

	"pretext/trainer"
	"pretext/trainer/finetune"
)

// maskText marks the place of a word to predict in a text.
const maskText = "[MASK]"

// maxTopK is the maximum number of predictions for each mask.
const maxTopK = 1000

// A FilledMask is the result of [Predictor.FillMask].
type FilledMask struct {
	Text  string `json:"text"` // the input text
	Masks []Mask `json:"masks"`
}

// A Mask holds the predictions for one [MASK].
type Mask struct {
	Position    int     `json:"position"` // index of the token in the sequence
	Predictions []Token `json:"predictions"`
}

// A Token is a vocabulary entry with its probability.
type Token struct {
	Token       string  `json:"token"`
	ID          int32   `json:"id"`
	Probability float64 `json:"probability"`
}

// FillMask returns a job that predicts the topK most probable tokens for each [MASK] in
// a text. Its result is a [FilledMask].
func (p *Predictor) FillMask(text string, topK int) (Job, error) {
	if err := p.check(TaskFillMask, text); err != nil {
		return nil, err
	}
	if topK < 1 || topK > min(maxTopK, p.s.Config.VocabSize) {
		return nil, wrong("top_k %d: must be from 1 to %d", topK, min(maxTopK, p.s.Config.VocabSize))
	}
	j := &fillJob{p: p, topK: topK, result: FilledMask{Text: text}}
	enc, giveBack := p.encoder()
	defer giveBack()
	vocab := enc.Vocab()
	j.ids = append(j.ids, vocab.CLS())
	for i, part := range strings.Split(text, maskText) {
		if i > 0 {
			j.masks = append(j.masks, int32(len(j.ids)))
			j.ids = append(j.ids, vocab.MASK())
		}
		j.ids = enc.AppendIDs(j.ids, part)
	}
	j.ids = append(j.ids, vocab.SEP())
	if len(j.masks) == 0 {
		return nil, wrong("the text holds no %s", maskText)
	}
	if len(j.masks) > MaxMasks {
		return nil, tooLong("the text holds %d %s: at most %d are filled", len(j.masks), maskText, MaxMasks)
	}
	if len(j.ids) > p.s.MaxSeqLength {
		return nil, tooLong("the text has %d tokens with [CLS] and [SEP]: the model takes %d", len(j.ids), p.s.MaxSeqLength)
	}
	return j, nil
}

type fillJob struct {
	p      *Predictor
	topK   int
	ids    []int32
	masks  []int32
	result FilledMask
}

// Len implements Job.
func (j *fillJob) Len() int { return 1 }

// Tokens implements Job.
func (j *fillJob) Tokens(int) int { return len(j.ids) }

// Masked implements Job.
func (j *fillJob) Masked(int) int { return len(j.masks) }

// Append implements Job. The targets are unknown; any value will do.
func (j *fillJob) Append(b *trainer.Batch, _ int, position int64) {
	s := trainer.Sequence{IDs: j.ids, Segments: make([]int32, len(j.ids)), NSPLabel: trainer.NoLabel, Position: position}
	for _, m := range j.masks {
		s.MaskedPositions = append(s.MaskedPositions, m)
		s.MaskedIDs = append(s.MaskedIDs, 0)
		s.MaskedWeights = append(s.MaskedWeights, 1)
	}
	b.Append(s)
}

// Take implements Job.
func (j *fillJob) Take(_ int, logits []float32) error {
	size := len(logits) / len(j.masks)
	for i, m := range j.masks {
		tokens, err := j.best(logits[i*size : (i+1)*size])
		if err != nil {
			return err
		}
		j.result.Masks = append(j.result.Masks, Mask{Position: int(m), Predictions: tokens})
	}
	return nil
}

// best returns the topK most probable tokens, most probable first. Equally probable
// tokens are in the order of their ids.
func (j *fillJob) best(logits []float32) ([]Token, error) {
	top := make([]int32, 0, j.topK+1)
	largest := math.Inf(-1)
	for id, v := range logits {
		largest = max(largest, float64(v))
		if len(top) == j.topK && !(v > logits[top[j.topK-1]]) {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, v, func(t int32, v float32) int {
			if logits[t] >= v {
				return -1
			}
			return 1
		})
		top = slices.Insert(top, at, int32(id))
		top = top[:min(len(top), j.topK)]
	}
	if math.IsNaN(largest) {
		return nil, finetune.ErrNumbers
	}
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - largest)
	}
	out := make([]Token, len(top))
	for i, id := range top {
		out[i] = Token{j.p.s.Tokenizer.Vocab().Token(id), id, math.Exp(float64(logits[id])-largest) / sum}
	}
	return out, nil
}

// Result implements Job.
func (j *fillJob) Result() any { return j.result }
