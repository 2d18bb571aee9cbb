package pretrain

import (
	"math"
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
