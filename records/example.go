package records

// Names of the features, in the order in which they are written.
const (
	InputIDs           = "input_ids"
	InputMask          = "input_mask"
	SegmentIDs         = "segment_ids"
	MaskedLMPositions  = "masked_lm_positions"
	MaskedLMIDs        = "masked_lm_ids"
	MaskedLMWeights    = "masked_lm_weights"
	NextSentenceLabels = "next_sentence_labels"
)

// An Example is one training example: a pair of segments, what was masked in
// it, and whether the second follows the first. Lists are padded with zeros to
// S = max_seq_length or P = max_predictions_per_seq; the package comment says
// what each holds.
type Example struct {
	InputIDs   []int32 // (S)
	InputMask  []int32 // (S)
	SegmentIDs []int32 // (S)

	MaskedLMPositions []int32   // (P)
	MaskedLMIDs       []int32   // (P)
	MaskedLMWeights   []float32 // (P)

	NextSentenceLabel int32 // 1 when B is not what follows A
}

// Tokens returns the number of tokens, padding apart: the leading ones of the
// mask.
func (e *Example) Tokens() int {
	for i, m := range e.InputMask {
		if m != 1 {
			return i
		}
	}
	return len(e.InputMask)
}

// Predictions returns the number of tokens to predict: the leading ones of the
// weights.
func (e *Example) Predictions() int {
	for i, w := range e.MaskedLMWeights {
		if w != 1 {
			return i
		}
	}
	return len(e.MaskedLMWeights)
}
