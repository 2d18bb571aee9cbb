package session

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"pretext/sharding"
	"pretext/tokenize"
	"pretext/trainer"
)

// An Answer is a model's guess of a masked word of a held-out example.
type Answer struct {
	Sentence    string  `json:"sentence"` // with one [MASK]; begins with "… " if its beginning may be missing
	Answer      string  `json:"answer"`
	Guess       string  `json:"guess"` // the model's most probable token
	Probability float64 `json:"probability"`
	Right       bool    `json:"right"`

	rarity float64 // -log of the answer's frequency in training
}

// Numbers of answers that are shown.
const (
	ShownRight = 5
	shownWrong = 2
)

// answerExamples is the maximum number of held-out examples that are searched.
const answerExamples = 2048

// HeldOutAnswers predicts masked words of held-out examples and returns the
// answers to show. It returns none for data without a vocab.txt, because its
// tokens are not readable text.
func HeldOutAnswers(ctx context.Context, o EvalOptions) (picked []Answer, err error) {
	h, err := openHeldOut(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	vocab, ok := h.data.vocab.(*tokenize.Vocab)
	if !ok || h.data.shards.Files()[0].Split != sharding.Eval {
		return []Answer{}, nil
	}
	unigram, err := trainUnigram(ctx, o.Data, vocab)
	if err != nil {
		return nil, err
	}
	var all []Answer
	out := trainer.Outputs{Want: trainer.OutputMLMLogits}
	for b, err := range h.source.Sweep(answerExamples) {
		if err != nil {
			return nil, err
		}
		if _, err := h.model.Forward(b, &out); err != nil {
			return nil, err
		}
		all = append(all, readAnswers(b, out.MLMLogits, vocab, unigram)...)
	}
	return pickAnswers(all), nil
}

// readAnswers returns the answers of a batch. It uses only complete sentences of at
// least minWords tokens with exactly one token to predict. The input of this token
// must be [MASK], and the token must be a whole word.
func readAnswers(b *trainer.Batch, logits []float32, vocab *tokenize.Vocab, unigram *unigram) (all []Answer) {
	const minWords = 5
	inSentence := map[[2]int]int{} // number of tokens to predict in each sentence
	spans := make([][2]int, len(b.MaskedIndex))
	for i, row := range b.MaskedIndex {
		spans[i] = sentenceAround(b, int(row), vocab)
		inSentence[spans[i]]++
	}
	size := vocab.Len()
	for i, row := range b.MaskedIndex {
		span := spans[i]
		if b.IDs[row] != vocab.MASK() || inSentence[span] > 1 || span[1]-span[0] < minWords || !isWord(vocab.Token(b.MaskedIDs[i])) || !isWord(vocab.Token(b.IDs[row+1])) {
			continue
		}
		guess, p := mostProbable(logits[i*size : (i+1)*size])
		text := readable(b.IDs[span[0]:span[1]], vocab)
		if first := b.IDs[span[0]-1]; first == vocab.CLS() || first == vocab.SEP() {
			text = "… " + text
		}
		a := Answer{Sentence: text, Answer: vocab.Token(b.MaskedIDs[i]), Guess: vocab.Token(guess), Probability: p, Right: guess == b.MaskedIDs[i]}
		if unigram != nil {
			a.rarity = -unigram.logProb[b.MaskedIDs[i]]
		}
		all = append(all, a)
	}
	return all
}

// sentenceAround returns the range [from, to) of the sentence that contains the
// token at index row of the batch. The range is empty if the example ends before
// the sentence does. The first sentence of a segment may lack its beginning.
func sentenceAround(b *trainer.Batch, row int, vocab *tokenize.Vocab) (span [2]int) {
	ends := func(i int) bool { id := b.IDs[i]; return id == vocab.CLS() || id == vocab.SEP() }
	stop := func(i int) bool { t := vocab.Token(b.IDs[i]); return t == "." || t == "!" || t == "?" }
	from, to := row, row
	for from > 0 && !ends(from-1) && !stop(from-1) {
		from--
	}
	for to+1 < len(b.IDs) && !ends(to) && !stop(to) {
		to++
	}
	if ends(to) {
		return [2]int{row, row}
	}
	return [2]int{from, to + 1}
}

// isWord reports whether a token begins a word: it has no "##".
func isWord(token string) bool { return !strings.HasPrefix(token, "##") }

// mostProbable returns the most probable token of a row of logits, and its
// probability.
func mostProbable(logits []float32) (id int32, p float64) {
	for i, x := range logits {
		if x > logits[id] {
			id = int32(i)
		}
	}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x - logits[id]))
	}
	return id, 1 / sum
}

// readable returns the text of tokens. It joins pieces of a word, and
// punctuation with the word before it.
func readable(ids []int32, vocab *tokenize.Vocab) string {
	var b strings.Builder
	for i, id := range ids {
		token := vocab.Token(id)
		switch piece, isPiece := strings.CutPrefix(token, "##"); {
		case isPiece:
			token = piece
		case i > 0 && !strings.ContainsAny(token, ".,;:!?") || token == vocab.Token(vocab.MASK()):
			b.WriteByte(' ')
		}
		b.WriteString(token)
	}
	return strings.TrimSpace(b.String())
}

// pickAnswers returns the answers to show. Among the right answers it takes the
// rarest words, each once: the unigram baseline also guesses frequent words. Among
// the wrong answers it takes those with the highest probability.
func pickAnswers(all []Answer) []Answer {
	picked := []Answer{}
	take := func(right bool, n int, order func(a, b Answer) int) {
		of := slices.DeleteFunc(slices.Clone(all), func(a Answer) bool { return a.Right != right })
		slices.SortStableFunc(of, order)
		seen := map[string]bool{}
		for _, a := range of {
			if len(seen) < n && !seen[a.Answer] {
				seen[a.Answer] = true
				picked = append(picked, a)
			}
		}
	}
	take(true, ShownRight, func(a, b Answer) int { return cmp.Compare(b.rarity, a.rarity) })
	take(false, shownWrong, func(a, b Answer) int { return cmp.Compare(b.Probability, a.Probability) })
	return picked
}
