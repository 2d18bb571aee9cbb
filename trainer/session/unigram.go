package session

import (
	"context"
	"errors"
	"fmt"
	"math"

	"pretext/records"
	"pretext/sharding"
	"pretext/trainer/loader"
)

// A unigram is the baseline of an evaluation: a model that ignores its input
// and predicts each token by its frequency among the masked-LM targets of the
// training shards or, in records without masks, among all their tokens. One is
// added to each count (Laplace), so that no token is impossible.
type unigram struct {
	logProb []float64 // (V) natural logarithm, by token id
	top     int32     // the most frequent token
}

// unigramExamples is the maximum number of training examples counted. Each file
// contributes an equal number from its beginning. Examples are shuffled within and
// between files, so this is a random sample. With 5 million targets (20 per example of
// 128 tokens) and 30,522 frequencies, the loss is about 30522/(2·5e6) = 0.003 nat too
// high.
const unigramExamples = 1 << 18

// countUnigram counts the targets of training shards. It skips corrupt records; training
// reports them. It returns nil if shards are of the eval split.
func countUnigram(ctx context.Context, shards *loader.Shards, vocab vocabulary) (*unigram, error) {
	files := shards.Files()
	if files[0].Split == sharding.Eval {
		return nil, nil // a single file is opened whatever its split
	}
	vocabSize := vocab.Len()
	counts, total := make([]float64, vocabSize), 0.0
	add := func(id int32, w float64) {
		if w > 0 && int(id) < vocabSize && id >= 0 {
			counts[id] += w
			total += w
		}
	}
	each := int64(unigramExamples)
	if n, known := shards.Records(); !known || n > unigramExamples {
		each = max(1, unigramExamples/int64(len(files)))
	}
	for r, err := range shards.Head(ctx, each) {
		if err != nil {
			return nil, fmt.Errorf("count training targets: %w", err)
		}
		eachTarget(r.Example, shards.Form(), vocab, add)
	}
	u := &unigram{logProb: make([]float64, vocabSize)}
	for id, n := range counts {
		u.logProb[id] = math.Log((n + 1) / (total + float64(vocabSize)))
		if n > counts[u.top] {
			u.top = int32(id)
		}
	}
	return u, nil
}

// eachTarget calls add with each target of an example and the target's weight. In an
// example without masks, every token that can be masked is a target.
func eachTarget(e *records.Example, form records.Form, vocab vocabulary, add func(id int32, w float64)) {
	if form.Masks() {
		for i, id := range e.MaskedLMIDs {
			add(id, float64(e.MaskedLMWeights[i]))
		}
		return
	}
	for _, id := range e.InputIDs[:e.Tokens()] {
		if id != vocab.CLS() && id != vocab.SEP() {
			add(id, 1)
		}
	}
}

// trainUnigram counts the targets of a folder's train shards. It returns nil if
// the folder has none.
func trainUnigram(ctx context.Context, data string, vocab vocabulary) (*unigram, error) {
	shards, err := loader.Open(ctx, data, loader.Options{Split: sharding.Train})
	if errors.Is(err, sharding.ErrNoShards) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return countUnigram(ctx, shards, vocab)
}

// score evaluates the baseline on targets; counts holds the number of targets by token
// id. It returns the mean cross entropy in nats, and the accuracy: the fraction of
// targets that are the most frequent token. Both are NaN if u is nil or there are no
// targets. It sums in the order of ids, so that equal targets give equal bits.
func (u *unigram) score(counts []float64) (loss, accuracy float64) {
	total := 0.0
	for _, n := range counts {
		total += n
	}
	if u == nil || total == 0 {
		return math.NaN(), math.NaN()
	}
	for id, n := range counts {
		if n > 0 {
			loss -= n * u.logProb[id]
		}
	}
	return loss / total, counts[u.top] / total
}
