package records

// Names of the features, in wire order.
const (
	InputIDs           = "input_ids"
	InputMask          = "input_mask"
	SegmentIDs         = "segment_ids"
	MaskedLMPositions  = "masked_lm_positions"
	MaskedLMIDs        = "masked_lm_ids"
	MaskedLMWeights    = "masked_lm_weights"
	NextSentenceLabels = "next_sentence_labels"
	SequenceLengths    = "sequence_lengths"
)

// An Example is one training example. In the form [Pairs] it is a pair of
// segments with masked tokens, and whether the second segment follows the first.
// Lists are padded with zeros to length S = max_seq_length or P =
// max_predictions_per_seq; those that a [Form] lacks are empty. The package
// comment describes the content of each list.
type Example struct {
	InputIDs   []int32 // (S); any length in the form Tokens
	InputMask  []int32 // (S)
	SegmentIDs []int32 // (S)

	MaskedLMPositions []int32   // (P)
	MaskedLMIDs       []int32   // (P)
	MaskedLMWeights   []float32 // (P)

	NextSentenceLabel int32 // 1 if segment B does not follow segment A; NoLabel if the form has no label

	SequenceLengths []int32 // number of tokens of each piece, in order; only in the form Packed
}

// Tokens returns the number of tokens without padding: the number of leading
// ones in InputMask, the sum of SequenceLengths, or, without either, the number
// of InputIDs.
func (e *Example) Tokens() int {
	if len(e.InputMask) == 0 && len(e.SequenceLengths) > 0 {
		n := 0
		for _, length := range e.SequenceLengths {
			n += int(length)
		}
		return n
	}
	if len(e.InputMask) == 0 {
		return len(e.InputIDs)
	}
	for i, m := range e.InputMask {
		if m != 1 {
			return i
		}
	}
	return len(e.InputMask)
}

// Predictions returns the number of tokens to predict: the number of leading
// ones in MaskedLMWeights.
func (e *Example) Predictions() int {
	for i, w := range e.MaskedLMWeights {
		if w != 1 {
			return i
		}
	}
	return len(e.MaskedLMWeights)
}
