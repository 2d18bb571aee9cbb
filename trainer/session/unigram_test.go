package session

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/internal/dev/tinydata"
	"pretext/sharding"
	"pretext/trainer/loader"
)

// targets counts the masked-LM targets of one side of a folder; onlyMasks: those
// whose input is [MASK].
func targets(t *testing.T, dir, side string, onlyMasks bool) map[int32]float64 {
	t.Helper()
	shards, err := loader.Open(context.Background(), dir, loader.Options{Split: side})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[int32]float64{}
	for r, err := range shards.Examples(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range r.Example.MaskedLMWeights {
			if w > 0 && (!onlyMasks || r.Example.InputIDs[r.Example.MaskedLMPositions[i]] == 4) {
				counts[r.Example.MaskedLMIDs[i]]++
			}
		}
	}
	return counts
}

// The baseline is what the training shards' frequencies achieve on the held-out
// targets, computed here from the examples themselves, for train and for eval.
func TestTheBaselineIsTheUnigramModelOfTheTrainingShards(t *testing.T) {
	o := testOptions(t)
	o.EvalData = filepath.Join(fastDir(t), "held")
	if err := tinydata.Write(o.EvalData, tinydata.Options{Train: 8, Eval: 12, Vocab: testVocab, Seed: 77}); err != nil {
		t.Fatal(err)
	}
	train, held := targets(t, o.Data, sharding.Train, false), targets(t, o.EvalData, sharding.Eval, true)
	total, loss, n, entropy, top := 0.0, 0.0, 0.0, 0.0, int32(0)
	for id := range int32(testVocab) {
		total += train[id]
		n += held[id]
		if train[id] > train[top] {
			top = id
		}
	}
	for id, k := range held {
		loss -= k / n * math.Log((train[id]+1)/(total+testVocab))
		entropy -= k / n * math.Log(k/n)
	}
	e := mustTrain(t, o).Eval
	if math.Abs(e.UnigramLoss-loss) > 1e-9 || math.Abs(e.UnigramAccuracy-held[top]/n) > 1e-9 {
		t.Errorf("baseline %v, accuracy %v; want %v, %v", e.UnigramLoss, e.UnigramAccuracy, loss, held[top]/n)
	}
	if loss < entropy+0.05 {
		t.Errorf("the data does not tell the baseline, %.3f, from the entropy of the targets, %.3f", loss, entropy)
	}
	same, _, err := EvaluateModel(context.Background(), EvalOptions{Model: o.Out, Data: o.Data})
	if err != nil {
		t.Fatal(err)
	}
	all := targets(t, o.Data, sharding.Eval, true)
	loss, n = 0, 0
	for id, k := range all {
		n += k
		loss -= k * math.Log((train[id]+1)/(total+testVocab))
	}
	if math.Abs(same.UnigramLoss-loss/n) > 1e-9 {
		t.Errorf("eval: baseline %v, want %v", same.UnigramLoss, loss/n)
	}
}

// Without training shards nothing is known of frequencies, and nothing is said.
func TestWithoutTrainingShardsThereIsNoBaseline(t *testing.T) {
	o := testOptions(t)
	mustTrain(t, o)
	one, err := filepath.Glob(filepath.Join(o.Data, "eval-00000*.tfrecord"))
	if err != nil || len(one) != 1 {
		t.Fatal(one, err)
	}
	e, step, err := EvaluateModel(context.Background(), EvalOptions{Model: o.Out, Data: one[0], Vocab: filepath.Join(o.Data, sharding.VocabName)})
	if err != nil {
		// A single file lies beside its vocabulary.
		if e, step, err = EvaluateModel(context.Background(), EvalOptions{Model: o.Out, Data: one[0]}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(NewEvalLine(step, e))
	if err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(e.UnigramLoss) || strings.Contains(e.String(), "unigram") || strings.Contains(e.String(), "NaN") || !strings.Contains(string(b), `"eval_unigram_loss":null`) {
		t.Errorf("got %v: %s, %s", e.UnigramLoss, e, b)
	}
}

// A token that training never had to predict has a low probability, not none.
func TestAnUnseenTokenHasAFiniteLoss(t *testing.T) {
	u := &unigram{logProb: []float64{math.Log(3.0 / 4), math.Log(1.0 / 4)}}
	if loss, accuracy := u.score([]float64{0, 2}); math.Abs(loss-math.Log(4)) > 1e-12 || accuracy != 0 {
		t.Errorf("got %v, %v", loss, accuracy)
	}
	if loss, accuracy := u.score([]float64{0, 0}); !math.IsNaN(loss) || !math.IsNaN(accuracy) {
		t.Errorf("of nothing: %v, %v", loss, accuracy)
	}
}

// A corrupt training file does not take the baseline away: what reads all of it
// reports the damage.
func TestTheBaselineSurvivesACorruptTrainingFile(t *testing.T) {
	o := testOptions(t)
	shards := func() *loader.Shards {
		s, err := loader.Open(context.Background(), o.Data, loader.Options{Split: sharding.Train})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	data, err := OpenCorpus(context.Background(), o.Data, sharding.Train, "")
	if err != nil {
		t.Fatal(err)
	}
	vocab := data.vocab
	whole, err := countUnigram(context.Background(), shards(), vocab)
	if err != nil {
		t.Fatal(err)
	}
	path := shards().Files()[0].Path
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	part, err := countUnigram(context.Background(), shards(), vocab)
	if err != nil || part.logProb[0] <= whole.logProb[0] { // of fewer targets: one more weighs more
		t.Errorf("got %v, %v, of the whole files %v", part.logProb[0], err, whole.logProb[0])
	}
}
