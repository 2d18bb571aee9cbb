package records

import (
	"fmt"
	"slices"
)

// A Form is the set of features that the records of a recipe have.
type Form string

// The forms. The zero value of Form means [Pairs]. The package comment lists the
// features of each.
const (
	Pairs  Form = "pairs"  // two segments with masks: the form of the original BERT release
	Masked Form = "masked" // one segment with masks
	Tokens Form = "tokens" // the ids of a document, of any length, without special tokens
	Packed Form = "packed" // pieces of several documents in a row of fixed length
	Pieces Form = "pieces" // a piece of a document, of any length, without masks

	Sentences Form = "sentences" // as Tokens, with the length of each sentence
)

// shapes describes the records of each form. The first entry also applies to the zero Form.
var shapes = [...]struct {
	form    Form
	lists   []List
	least   int             // number of tokens of the shortest record
	varies  bool            // input_ids has any length up to max_seq_length
	bare    bool            // without special tokens
	meaning map[List]string // descriptions that differ from those in lists
}{
	{form: Pairs, lists: []List{inputIDs, inputMask, segmentIDs, positions, ids, weights, label}, least: 5}, // [CLS] a [SEP] b [SEP]
	{form: Masked, lists: []List{inputIDs, inputMask, segmentIDs, positions, ids, weights}, least: leastPiece,
		meaning: map[List]string{inputIDs: "[CLS] text [SEP] with masks, then padding", segmentIDs: "0"}},
	{form: Tokens, lists: []List{inputIDs}, least: 1, varies: true, bare: true,
		meaning: map[List]string{inputIDs: "the ids of a document, without special tokens"}},
	{form: Packed, lists: []List{inputIDs, lengths}, least: leastPiece,
		meaning: map[List]string{inputIDs: "pieces, each [CLS] text [SEP], then padding"}},
	{form: Pieces, lists: []List{inputIDs}, least: leastPiece, varies: true,
		meaning: map[List]string{inputIDs: "[CLS] text [SEP], without padding"}},
	{form: Sentences, lists: []List{inputIDs, sentences}, least: 1, varies: true, bare: true,
		meaning: map[List]string{inputIDs: "the ids of a document, without special tokens"}},
}

// leastPiece is the number of tokens of the shortest piece: [CLS], one token and [SEP].
const leastPiece = 3

// index returns the index of f in shapes; 0 if f is not there.
func (f Form) index() int {
	for i := range shapes {
		if shapes[i].form == f {
			return i
		}
	}
	return 0
}

// Lists returns the features of records of this form, in wire order.
func (f Form) Lists() []List { return shapes[f.index()].lists }

func (f Form) has(l List) bool { return slices.Contains(f.Lists(), l) }

// Pairs reports whether records of this form have two segments, and the label for next
// sentence prediction.
func (f Form) Pairs() bool { return f.has(label) }

// Masks reports whether records of this form have masked tokens.
func (f Form) Masks() bool { return f.has(positions) }

// Rows reports whether records of this form are rows of fixed length that are packed with
// pieces; each piece is a sequence.
func (f Form) Rows() bool { return f.has(lengths) }

// Documents reports whether records of this form are documents of any length without
// special tokens, which readers cut into sequences.
func (f Form) Documents() bool { return shapes[f.index()].bare }

// Varies reports whether the length of records of this form differs from one to the next,
// up to max_seq_length.
func (f Form) Varies() bool { return shapes[f.index()].varies }

// Alone reports whether each record of this form is one piece of a document: a sequence
// without masks and padding.
func (f Form) Alone() bool { return f.Varies() && !f.Documents() }

// Len returns the number of values of a feature in records of this form, where seq is
// max_seq_length and predictions is max_predictions_per_seq. 0 means any number, at least
// 1.
func (f Form) Len(l List, seq, predictions int) int {
	switch {
	case l == label:
		return 1
	case l == lengths || f.Varies():
		return 0
	case l == positions || l == ids || l == weights:
		return predictions
	}
	return seq
}

// Meaning returns a one-line description of the values of a feature in records of this
// form.
func (f Form) Meaning(l List) string {
	if m := shapes[f.index()].meaning[l]; m != "" {
		return m
	}
	return lists[l].meaning
}

// FormOf returns the form of a payload, based on the names of its features. A payload that
// has only some features of [Pairs] and fits no other form is Pairs, so that Decode reports
// what is missing. A payload of input_ids alone is Tokens: [Pieces] have the same feature,
// and only who knows the ids of [CLS] and [SEP] can tell them apart ([Form.Narrow]).
// The error, a [*FeatureError], means that the payload is not a tf.train.Example or has no
// input_ids.
func FormOf(payload []byte) (Form, error) {
	var has [len(lists)]bool
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
	case has[sentences] && !has[positions]:
		return Sentences, nil
	case has == [len(lists)]bool{inputIDs: true}:
		return Tokens, nil
	case has[positions]:
		return Masked, nil
	}
	return Pairs, nil
}

// DecodeForm is [Example.Decode] for a payload of the form f. Fields that f lacks become
// empty, and NextSentenceLabel becomes [NoLabel], even if the payload has these features.
// For [Packed] it also checks that the pieces fit in the row, for [Sentences] that the
// sentences are the document.
func (e *Example) DecodeForm(f Form, payload []byte) error {
	form, want := f.Lists(), f.wanted()
	if ok, err := e.decodeWritten(form, &want, payload); ok {
		return err
	}
	return e.decodeFields(form, want, payload)
}

// decodeFields decodes a payload in any valid encoding.
func (e *Example) decodeFields(form []List, want [len(lists)]bool, payload []byte) error {
	e.clear(&want)
	d := &decoder{e: e, form: form, want: want}
	if err := eachFeature(payload, d.feature); err != nil {
		return err
	}
	return d.finish()
}

// wanted returns which lists the form has.
func (f Form) wanted() (want [len(lists)]bool) {
	for _, p := range f.Lists() {
		want[p] = true
	}
	return want
}

// DecodeAny determines the form with [FormOf], decodes as [Example.DecodeForm] does, and
// returns the form.
func (e *Example) DecodeAny(payload []byte) (Form, error) {
	want := Pairs.wanted()
	if ok, err := e.decodeWritten(Pairs.Lists(), &want, payload); ok {
		return Pairs, err
	}
	f, err := FormOf(payload)
	if err != nil {
		return f, err
	}
	return f, e.DecodeForm(f, payload)
}

// Narrow returns the form of e, which has the features of f, in a vocabulary with these ids
// of [CLS] and [SEP] (below 0: none). It is [Pieces] for [Tokens] that they enclose, else f.
func (f Form) Narrow(e *Example, cls, sep int32) Form {
	n := len(e.InputIDs)
	if f == Tokens && n >= leastPiece && min(cls, sep) >= 0 && e.InputIDs[0] == cls && e.InputIDs[n-1] == sep {
		return Pieces
	}
	return f
}

// clear empties the fields of the features that are not wanted.
func (e *Example) clear(want *[len(lists)]bool) {
	for l := range List(len(lists)) {
		if at := e.ints(l); at != nil && !want[l] {
			*at = (*at)[:0]
		}
	}
	if !want[weights] {
		e.MaskedLMWeights = e.MaskedLMWeights[:0]
	}
	e.NextSentenceLabel = NoLabel
}

// pieces checks that every piece of a row has a token, and that all pieces together fit in
// the row.
func (e *Example) pieces() error {
	sum, err := sumOf(lengths, e.SequenceLengths, "piece")
	if err == nil && sum > int64(len(e.InputIDs)) {
		err = &FeatureError{SequenceLengths, fmt.Sprintf("the pieces have %d tokens, %s has %d values", sum, InputIDs, len(e.InputIDs))}
	}
	return err
}

// sentences checks that every sentence has a token, and that they are the whole document.
func (e *Example) sentences() error {
	sum, err := sumOf(sentences, e.SentenceLengths, "sentence")
	if err == nil && sum != int64(len(e.InputIDs)) {
		err = &FeatureError{SentenceLengths, fmt.Sprintf("the sentences have %d tokens, %s has %d values", sum, InputIDs, len(e.InputIDs))}
	}
	return err
}

// sumOf returns the sum of values, the token counts of the parts of a record. A part without
// a token is an error; l and part name the feature and the kind of part in it.
func sumOf(l List, values []int32, part string) (sum int64, err error) {
	if len(values) == 0 {
		return 0, &FeatureError{l.Name(), "empty"}
	}
	for i, n := range values {
		if n < 1 {
			return 0, &FeatureError{l.Name(), fmt.Sprintf("value %d is %d: a %s has at least one token", i, n, part)}
		}
		sum += int64(n)
	}
	return sum, nil
}
