package formats_test

import (
	"slices"
	"strings"
	"testing"

	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
)

// What the columns of LDDL would lose is refused, and the error names the list: a program of
// theirs makes [CLS] A [SEP] B [SEP], padded with 0, of the words.
func TestLDDLRefusesWhatItsColumnsLose(t *testing.T) {
	lddl, _ := formats.Get("lddl")
	base := records.Example{
		InputIDs: []int32{2, 10, 11, 3, 12, 13, 3, 0, 0, 0}, InputMask: []int32{1, 1, 1, 1, 1, 1, 1, 0, 0, 0}, SegmentIDs: []int32{0, 0, 0, 0, 1, 1, 1, 0, 0, 0},
		MaskedLMPositions: []int32{1, 5, 0}, MaskedLMIDs: []int32{20, 21, 0}, MaskedLMWeights: []float32{1, 1, 0}, NextSentenceLabel: 1,
	}
	for name, c := range map[string]struct {
		change func(e *records.Example)
		want   string
	}{
		"as it is":                  {func(*records.Example) {}, ""},
		"no [CLS]":                  {func(e *records.Example) { e.InputIDs[0] = 9 }, "input_ids: "},
		"no [SEP] behind A":         {func(e *records.Example) { e.InputIDs[3] = 9 }, "input_ids: "},
		"no [SEP] behind B":         {func(e *records.Example) { e.InputIDs[6] = 9 }, "input_ids: "},
		"an id in the padding":      {func(e *records.Example) { e.InputIDs[9] = 1 }, "input_ids: "},
		"a hole in the mask":        {func(e *records.Example) { e.InputMask[8] = 1 }, "input_mask: "},
		"another mask":              {func(e *records.Example) { e.InputMask[9] = 2 }, "input_mask: "},
		"A behind B":                {func(e *records.Example) { e.SegmentIDs[6] = 0 }, "segment_ids: "},
		"a third segment":           {func(e *records.Example) { e.SegmentIDs[5] = 2 }, "segment_ids: "},
		"a segment in the padding":  {func(e *records.Example) { e.SegmentIDs[9] = 1 }, "segment_ids: "},
		"a position without weight": {func(e *records.Example) { e.MaskedLMPositions[2] = 4 }, "masked_lm_positions: "},
		"a negative position":       {func(e *records.Example) { e.MaskedLMPositions[0] = -1 }, "masked_lm_positions: "},
		"a position of 17 bits":     {func(e *records.Example) { e.MaskedLMPositions[1] = 1 << 16 }, "masked_lm_positions: "},
		"a label without weight":    {func(e *records.Example) { e.MaskedLMIDs[2] = 4 }, "masked_lm_ids: "},
		"half a weight":             {func(e *records.Example) { e.MaskedLMWeights[2] = 0.5 }, "masked_lm_weights: "},
		"another label":             {func(e *records.Example) { e.NextSentenceLabel = 2 }, "next_sentence_labels: "},
		"B alone":                   {func(e *records.Example) { copy(e.SegmentIDs, []int32{0, 1, 1, 1}) }, "not [CLS] A [SEP] B [SEP]"},
		"A alone":                   {func(e *records.Example) { clear(e.SegmentIDs) }, "not [CLS] A [SEP] B [SEP]"},
		"an id without a word":      {func(e *records.Example) { e.InputIDs[1] = 3000 }, "the id 3000 has no word"},
		"a negative id":             {func(e *records.Example) { e.MaskedLMIDs[0] = -1 }, "the id -1 has no word"},
	} {
		e := base
		for _, list := range []*[]int32{&e.InputIDs, &e.InputMask, &e.SegmentIDs, &e.MaskedLMPositions, &e.MaskedLMIDs} {
			*list = slices.Clone(*list)
		}
		e.MaskedLMWeights = slices.Clone(e.MaskedLMWeights)
		c.change(&e)
		w, err := lddl.NewWriter(part(records.Pairs, []*records.Example{&e}, 10, 3), folder{}.create)
		if err != nil {
			t.Fatal(err)
		}
		err = w.Write(columns.NewTable(columns.Spec{Form: records.Pairs}).Row(&e))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
