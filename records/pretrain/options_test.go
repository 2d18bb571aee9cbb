package pretrain

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestPredictionsAreRoundedHalfToEven(t *testing.T) {
	o := Options{MaxPredictionsPerSeq: 77, MaskedLMProb: 0.15}
	for tokens, want := range map[int]int{5: 1, 10: 2, 30: 4, 50: 8, 70: 10, 90: 14, 110: 16, 128: 19, 170: 26, 512: 77} {
		if got := o.Predictions(tokens); got != want {
			t.Errorf("%d tokens: got %d, want %d", tokens, got, want)
		}
	}
	o.MaxPredictionsPerSeq = 20
	if got := o.Predictions(512); got != 20 {
		t.Errorf("got %d, want the limit of 20", got)
	}
}

// The defaults are those of create_pretraining_data.py; examples without pairs are as
// long as those of RoBERTa, never shorter by chance.
func TestRecipesHavePublishedDefaults(t *testing.T) {
	google := Options{MaxSeqLength: 128, MaxPredictionsPerSeq: 20, MaskedLMProb: 0.15, ShortSeqProb: 0.1, DupeFactor: 10}
	mlm := google
	mlm.ShortSeqProb = 0
	for name, want := range map[string]Options{"google": google, "mlm": mlm} {
		if r, _ := RecipeByName(name); !reflect.DeepEqual(r.Defaults, want) {
			t.Errorf("%s: got %+v, want %+v", name, r.Defaults, want)
		}
	}
}

func TestAllProblemsOfOptionsAndVocabularyAreReported(t *testing.T) {
	o := Options{MaxSeqLength: 4, MaxPredictionsPerSeq: 0, MaskedLMProb: math.NaN(), ShortSeqProb: 1.5, DoWholeWordMask: true}
	_, err := NewBuilder(o, Vocab{Size: 10, CLS: 10, SEP: -1, Mask: 3}, Scratch{})
	want := strings.Join([]string{
		"max_seq_length 4: must be from 5 to 65535",
		"max_predictions_per_seq 0: must be at least 1",
		"masked_lm_prob NaN: must be from 0 to 1",
		"short_seq_prob 1.5: must be from 0 to 1",
		"dupe_factor 0: must be at least 1 (the original script writes no examples with less)",
		"id 10 of [CLS]: not an id of a vocabulary of 10 tokens",
		"id -1 of [SEP]: not an id of a vocabulary of 10 tokens",
		"do_whole_word_mask needs Vocab.IsSubword or Vocab.Marked",
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	o = DefaultOptions()
	o.MaxPredictionsPerSeq = 129
	want = "max_predictions_per_seq 129: more than max_seq_length 128 (the original script accepts it, and pads)"
	if err := o.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}
