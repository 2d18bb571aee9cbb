package records

import (
	"strings"
	"testing"
)

func TestASoundExampleSatisfiesTheRules(t *testing.T) {
	for _, r := range []Rules{{}, smallRules} {
		if err := r.Check(small()); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	none := small()
	none.MaskedLMPositions = make([]int32, 3)
	none.MaskedLMIDs = make([]int32, 3)
	none.MaskedLMWeights = make([]float32, 3)
	if err := smallRules.Check(none); err != nil {
		t.Errorf("no predictions: %v", err)
	}
	padded, rules := small(), smallRules
	rules.Pad = 7
	for i := padded.Tokens(); i < len(padded.InputIDs); i++ {
		padded.InputIDs[i] = 7
	}
	if err := rules.Check(padded); err != nil {
		t.Errorf("padded with 7: %v", err)
	}
	if rules.Check(small()) == nil || smallRules.Check(padded) == nil {
		t.Error("padding with another id than the rules' is not found")
	}
	replaced := small()
	replaced.InputIDs[2] = 102 // a mask may be replaced with [SEP]
	if err := smallRules.Check(replaced); err != nil {
		t.Errorf("replaced with [SEP]: %v", err)
	}
}

func TestEachRuleIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *Example)
		want   string
	}{
		"length": {func(e *Example) {
			e.InputIDs, e.InputMask, e.SegmentIDs = e.InputIDs[:11], e.InputMask[:11], e.SegmentIDs[:11]
		}, "feature input_ids: 11 values where max_seq_length is 12"},
		"predictions": {func(e *Example) {
			e.MaskedLMPositions, e.MaskedLMIDs, e.MaskedLMWeights = e.MaskedLMPositions[:2], e.MaskedLMIDs[:2], e.MaskedLMWeights[:2]
		}, "feature masked_lm_positions: 2 values where max_predictions_per_seq is 3"},
		"few tokens":                 {func(e *Example) { e.InputMask = make([]int32, 12) }, "feature input_mask: 0 tokens, fewer than the 5 of the shortest pair"},
		"mask with a hole":           {func(e *Example) { e.InputMask[10] = 1 }, "feature input_mask: value 10 is 1, want padding"},
		"mask of 2":                  {func(e *Example) { e.InputMask[8] = 2 }, "feature input_mask: value 8 is 2, want padding"},
		"ids in padding":             {func(e *Example) { e.InputIDs[11] = 5 }, "feature input_ids: value 11 is 5, want padding"},
		"segment in padding":         {func(e *Example) { e.SegmentIDs[9] = 1 }, "feature segment_ids: value 9 is 1, want padding"},
		"segment of 2":               {func(e *Example) { e.SegmentIDs[7] = 2 }, "feature segment_ids: value 7 is 2, not of the form 0…0 1…1"},
		"segment back to 0":          {func(e *Example) { e.SegmentIDs[7] = 0 }, "feature segment_ids: value 7 is 0, not of the form 0…0 1…1"},
		"no segment 1":               {func(e *Example) { clear(e.SegmentIDs) }, "feature segment_ids: the second segment begins at 9 of 9: one of the two is empty"},
		"empty A":                    {func(e *Example) { e.SegmentIDs[2], e.SegmentIDs[3], e.SegmentIDs[4] = 1, 1, 1 }, "feature segment_ids: the second segment begins at 2 of 9: one of the two is empty"},
		"empty B":                    {func(e *Example) { e.SegmentIDs[5], e.SegmentIDs[6], e.SegmentIDs[7] = 0, 0, 0 }, "feature segment_ids: the second segment begins at 8 of 9: one of the two is empty"},
		"no [CLS]":                   {func(e *Example) { e.InputIDs[0] = 7 }, "feature input_ids: value 0 is 7, want [CLS], 101"},
		"no [SEP] between":           {func(e *Example) { e.InputIDs[4] = 7 }, "feature input_ids: value 4 is 7, want [SEP], 102"},
		"no [SEP] at end":            {func(e *Example) { e.InputIDs[8] = 7 }, "feature input_ids: value 8 is 7, want [SEP], 102"},
		"not in vocabulary":          {func(e *Example) { e.InputIDs[1] = 30522 }, "feature input_ids: value 1 is 30522, not an id of a vocabulary of 30522"},
		"original not in vocabulary": {func(e *Example) { e.MaskedLMIDs[0] = 40000 }, "feature masked_lm_ids: value 0 is 40000, not an id of a vocabulary of 30522"},
		"position beyond":            {func(e *Example) { e.MaskedLMPositions[1] = 9 }, "feature masked_lm_positions: value 1 is 9, not one of 9 tokens"},
		"positions equal":            {func(e *Example) { e.MaskedLMPositions[0] = 5 }, "feature masked_lm_positions: value 1 is 5 after 5: not ascending"},
		"position on [CLS]":          {func(e *Example) { e.MaskedLMPositions[0] = 0 }, "feature masked_lm_positions: value 0 is 0, the place of a special token"},
		"position on [SEP]":          {func(e *Example) { e.MaskedLMPositions[0] = 4 }, "feature masked_lm_positions: value 0 is 4, the place of a special token"},
		"position on last":           {func(e *Example) { e.MaskedLMPositions[1] = 8 }, "feature masked_lm_positions: value 1 is 8, the place of a special token"},
		"masked [SEP]":               {func(e *Example) { e.MaskedLMIDs[1] = 102 }, "feature masked_lm_ids: value 1 is 102, a special token"},
		"position in padding":        {func(e *Example) { e.MaskedLMPositions[2] = 6 }, "feature masked_lm_positions: value 2 is 6, want padding"},
		"original in padding":        {func(e *Example) { e.MaskedLMIDs[2] = 6 }, "feature masked_lm_ids: value 2 is 6, want padding"},
		"weight":                     {func(e *Example) { e.MaskedLMWeights[2] = 0.5 }, "feature masked_lm_weights: value 2 is 0.5, neither a leading 1 nor 0 after them"},
		"label":                      {func(e *Example) { e.NextSentenceLabel = 2 }, "feature next_sentence_labels: 2, which is neither 0 nor 1"},
	} {
		t.Run(name, func(t *testing.T) {
			e := small()
			c.change(e)
			err := smallRules.Check(e)
			if err == nil || !strings.Contains(err.Error()+"\n", c.want+"\n") {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	e := small()
	e.InputIDs[0] = 7
	e.NextSentenceLabel = 9
	err := smallRules.Check(e)
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want two problems", err)
	}
}

func TestRaggedExamplesDoNotPanic(t *testing.T) {
	e := small()
	e.InputIDs, e.SegmentIDs, e.MaskedLMIDs, e.MaskedLMPositions = nil, nil, nil, nil
	if smallRules.Check(e) == nil {
		t.Error("got nil for an example without ids")
	}
}
