package records

import "fmt"

// A Form is the set of features that a record has.
type Form string

// The forms. The zero value of Form means [Pairs]. The package comment lists the
// features of each.
const (
	Pairs  Form = "pairs"  // two segments with masks: the form of the original BERT release
	Masked Form = "masked" // one segment with masks
	Tokens Form = "tokens" // the ids of a document, of any length, without special tokens
	Packed Form = "packed" // pieces of several documents in a row of fixed length
)

// NoLabel is the NextSentenceLabel of an example whose form has none.
const NoLabel = -1

// Masks reports whether records of this form have masked tokens.
func (f Form) Masks() bool { return f != Tokens && f != Packed }

// Indexes of features into order.
const (
	inputIDs = iota
	inputMask
	segmentIDs
	positions
	ids
	weights
	label
	lengths
)

// order holds the name of each feature, in wire order.
var order = [...]string{
	InputIDs, InputMask, SegmentIDs, MaskedLMPositions, MaskedLMIDs, MaskedLMWeights, NextSentenceLabels, SequenceLengths,
}

// Indexes of the features of each form.
var (
	placesOfPairs  = []int{inputIDs, inputMask, segmentIDs, positions, ids, weights, label}
	placesOfMasked = placesOfPairs[:label]
	placesOfTokens = []int{inputIDs}
	placesOfPacked = []int{inputIDs, lengths}
)

// places returns the indexes of the features of f, in wire order.
func (f Form) places() []int {
	switch f {
	case Masked:
		return placesOfMasked
	case Tokens:
		return placesOfTokens
	case Packed:
		return placesOfPacked
	}
	return placesOfPairs
}

// place returns the index of the feature with a name, or -1. It knows the names
// that TensorFlow's model garden gives to two features.
func place(name []byte) int {
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
	}
	return -1
}

// FormOf returns the form of a payload, by the names of its features. A payload
// with some features of [Pairs] that fit no other form is Pairs: Decode then
// names what is missing. The error, a [*FeatureError], means that the payload is
// not a tf.train.Example or has no input_ids.
func FormOf(payload []byte) (Form, error) {
	var has [len(order)]bool
	err := eachFeature(payload, func(name, _ []byte) error {
		if p := place(name); p >= 0 {
			has[p] = true
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case !has[inputIDs]:
		return "", &FeatureError{InputIDs, "missing"}
	case has[label]:
		return Pairs, nil
	case has[lengths] && !has[positions]:
		return Packed, nil
	case has == [len(order)]bool{inputIDs: true}:
		return Tokens, nil
	case has[positions]:
		return Masked, nil
	}
	return Pairs, nil
}

// DecodeForm is [Example.Decode] for a payload of the form f. Fields that the
// form lacks become empty, NextSentenceLabel becomes [NoLabel]; their features
// are ignored if the payload has them. For [Packed] it also checks that the
// pieces fit the row.
func (e *Example) DecodeForm(f Form, payload []byte) error {
	d := decoder{e: e, places: f.places()}
	for _, p := range d.places {
		d.want[p] = true
	}
	e.clear(&d.want)
	if err := eachFeature(payload, d.feature); err != nil {
		return err
	}
	return d.finish()
}

// DecodeAny is [Example.DecodeForm] for the form that [FormOf] finds, which it
// returns.
func (e *Example) DecodeAny(payload []byte) (Form, error) {
	f, err := FormOf(payload)
	if err != nil {
		return f, err
	}
	return f, e.DecodeForm(f, payload)
}

// clear empties the fields of the features that are not wanted.
func (e *Example) clear(want *[len(order)]bool) {
	for p, list := range [...]*[]int32{inputIDs: &e.InputIDs, inputMask: &e.InputMask, segmentIDs: &e.SegmentIDs,
		positions: &e.MaskedLMPositions, ids: &e.MaskedLMIDs, weights: nil, label: nil, lengths: &e.SequenceLengths} {
		if list != nil && !want[p] {
			*list = (*list)[:0]
		}
	}
	if !want[weights] {
		e.MaskedLMWeights = e.MaskedLMWeights[:0]
	}
	e.NextSentenceLabel = NoLabel
}

// pieces checks that the pieces of a row have tokens and fit it.
func (e *Example) pieces() error {
	if len(e.SequenceLengths) == 0 {
		return &FeatureError{SequenceLengths, "empty"}
	}
	sum := int64(0)
	for i, n := range e.SequenceLengths {
		if n < 1 {
			return &FeatureError{SequenceLengths, fmt.Sprintf("value %d is %d: a piece has at least one token", i, n)}
		}
		sum += int64(n)
	}
	if sum > int64(len(e.InputIDs)) {
		return &FeatureError{SequenceLengths, fmt.Sprintf("the pieces have %d tokens, %s has %d values", sum, InputIDs, len(e.InputIDs))}
	}
	return nil
}
