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
	SentenceLengths    = "sentence_lengths"
)

// A List is one of the features that a record can have; each is a list of values.
type List int

// The lists, in wire order.
const (
	inputIDs List = iota
	inputMask
	segmentIDs
	positions
	ids
	weights
	label
	lengths
	sentences
)

// lists holds, for each list, its name and a description of its values in the form [Pairs].
var lists = [...]struct{ name, meaning string }{
	inputIDs:   {InputIDs, "[CLS] A [SEP] B [SEP] with masks, then padding"},
	inputMask:  {InputMask, "1 for each token, 0 for padding"},
	segmentIDs: {SegmentIDs, "0 for A, 1 for B"},
	positions:  {MaskedLMPositions, "ascending places to predict, then 0"},
	ids:        {MaskedLMIDs, "the ids that stood there, then 0"},
	weights:    {MaskedLMWeights, "1 for each prediction, then 0"},
	label:      {NextSentenceLabels, "0: B follows A; 1: B is from elsewhere"},
	lengths:    {SequenceLengths, "the number of tokens of each piece"},
	sentences:  {SentenceLengths, "the number of tokens of each sentence"},
}

// Name returns the name of the feature.
func (l List) Name() string { return lists[l].name }

// Float reports whether the values are floats, which only MaskedLMWeights has.
func (l List) Float() bool { return l == weights }

// place returns the list with the given feature name, or -1. It also accepts the names that
// TensorFlow's model garden gives to two features.
func place(name []byte) List {
	switch string(name) {
	case InputIDs, inputWordIDs:
		return inputIDs
	case InputMask:
		return inputMask
	case SegmentIDs, inputTypeIDs:
		return segmentIDs
	case MaskedLMPositions:
		return positions
	case MaskedLMIDs:
		return ids
	case MaskedLMWeights:
		return weights
	case NextSentenceLabels:
		return label
	case SequenceLengths:
		return lengths
	case SentenceLengths:
		return sentences
	}
	return -1
}

// An Example is one training example. In the form [Pairs] it holds two segments with masked
// tokens, and a label that states whether the second segment follows the first. Lists are
// padded with zeros to length S = max_seq_length or P = max_predictions_per_seq; lists that
// the [Form] lacks are empty. The package comment describes the content of each list.
type Example struct {
	InputIDs   []int32 // (S); any length in the forms Tokens, Sentences and Pieces
	InputMask  []int32 // (S)
	SegmentIDs []int32 // (S)

	MaskedLMPositions []int32   // (P)
	MaskedLMIDs       []int32   // (P)
	MaskedLMWeights   []float32 // (P)

	NextSentenceLabel int32 // 1 if segment B does not follow segment A; NoLabel if the form has no label

	SequenceLengths []int32 // number of tokens of each piece, in order; only in the form Packed
	SentenceLengths []int32 // number of tokens of each sentence, in order; only in the form Sentences
}

// NoLabel is the NextSentenceLabel of examples whose form has no label.
const NoLabel = -1

// ints returns a pointer to the field that holds an int32 list; nil for the weights and the
// label.
func (e *Example) ints(l List) *[]int32 {
	switch l {
	case inputIDs:
		return &e.InputIDs
	case inputMask:
		return &e.InputMask
	case segmentIDs:
		return &e.SegmentIDs
	case positions:
		return &e.MaskedLMPositions
	case ids:
		return &e.MaskedLMIDs
	case lengths:
		return &e.SequenceLengths
	case sentences:
		return &e.SentenceLengths
	}
	return nil
}

// Ints returns the values of a list of ints. Except for the label, the result shares memory
// with the example.
func (e *Example) Ints(l List) []int32 {
	if l == label {
		return []int32{e.NextSentenceLabel}
	}
	return *e.ints(l)
}

// SetInts sets the values of a list of ints. The example retains the slice.
func (e *Example) SetInts(l List, values []int32) {
	if l == label {
		e.NextSentenceLabel = values[0]
		return
	}
	*e.ints(l) = values
}

// Tokens returns the number of tokens without padding: the number of leading ones in
// InputMask, else the sum of SequenceLengths, else, if both are empty, the number of
// InputIDs.
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
	return leading(e.InputMask, 1)
}

// leading returns the number of leading values that are v.
func leading(values []int32, v int32) int {
	n := 0
	for ; len(values)-n >= 8; n += 8 { // eight at a time
		a := (*[8]int32)(values[n:])
		if (a[0]^v)|(a[1]^v)|(a[2]^v)|(a[3]^v)|(a[4]^v)|(a[5]^v)|(a[6]^v)|(a[7]^v) != 0 {
			break
		}
	}
	for n < len(values) && values[n] == v {
		n++
	}
	return n
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
