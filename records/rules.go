package records

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Rules are the conditions for valid BERT input. A field that is 0 is not checked, so the
// zero Rules checks only the conditions that do not depend on the options of a run.
type Rules struct {
	Form                 Form // of the example; "" is [Pairs]
	MaxSeqLength         int  // number of values of input_ids; the maximum in the forms [Tokens], [Sentences] and [Pieces]
	MaxPredictionsPerSeq int  // number of values of masked_lm_positions
	VocabSize            int  // every id must be below it

	// CLS and SEP are the ids of [CLS] and [SEP]; checked unless both are 0.
	CLS, SEP int32

	// Pad is the padding id of input_ids: 0 in the original script.
	Pad int32
}

// Check returns all problems of an example that [Example.Decode] accepted. Each problem is
// a [*FeatureError]; they are joined by [errors.Join].
//
// Check tests the consistency of the example:
//   - The ones and zeros of mask, segments and weights are at the right
//     positions.
//   - [CLS] and [SEP] are at the borders that the segments define.
//   - Masked positions ascend, lie within the tokens, and are not those of [CLS]
//     or [SEP].
//   - The padding is zero, or [Rules.Pad] for input_ids.
//   - In the forms [Packed] and [Pieces], each piece begins with [CLS], ends with
//     [SEP] and has a token between them.
//   - In the form [Sentences], the sentences are the document.
//   - Lists that the form lacks are empty.
//
// A masked token may have been replaced with any id, special ones included,
// because the original script draws it from the whole vocabulary. An example
// without predictions is valid.
func (r Rules) Check(e *Example) error {
	c := checker{rules: r, e: e, tokens: e.Tokens(), predictions: e.Predictions()}
	c.lengths()
	switch {
	case r.Form.Masks():
		c.padding()
		c.segments()
		c.vocabulary()
		c.positions()
	case r.Form.Rows():
		c.pieces()
		c.vocabulary()
	case r.Form.Alone():
		c.oneSegment()
		c.vocabulary()
	case r.Form.has(sentences):
		if err := e.sentences(); err != nil {
			c.faults = append(c.faults, err)
		}
		c.vocabulary()
	default:
		c.vocabulary()
	}
	c.absent()
	return errors.Join(c.faults...)
}

// A checker holds the state of one call of Check.
type checker struct {
	rules               Rules
	e                   *Example
	tokens, predictions int
	second              int // index of the first token of segment B; 0 if unknown
	faults              []error
}

func (c *checker) fault(feature, format string, args ...any) {
	c.faults = append(c.faults, &FeatureError{feature, fmt.Sprintf(format, args...)})
}

func (c *checker) lengths() {
	n, want := len(c.e.InputIDs), c.rules.MaxSeqLength
	if want != 0 && n != want && (!c.rules.Form.Varies() || n > want) {
		c.fault(InputIDs, "%d values where max_seq_length is %d", n, want)
	}
	if n, want := len(c.e.MaskedLMPositions), c.rules.MaxPredictionsPerSeq; want != 0 && n != want && c.rules.Form.Masks() {
		c.fault(MaskedLMPositions, "%d values where max_predictions_per_seq is %d", n, want)
	}
	if l := shapes[c.rules.Form.index()].least; c.tokens < l {
		switch {
		case c.rules.Form.Pairs():
			c.fault(InputMask, "%d tokens, fewer than the %d of the shortest pair", c.tokens, l)
		case c.rules.Form.Masks():
			c.fault(InputMask, "%d tokens, fewer than the %d of the shortest example", c.tokens, l)
		default:
			c.fault(InputIDs, "%d tokens, want at least %d", c.tokens, l)
		}
	}
}

// absent checks the label, and that the lists that the form lacks are empty.
func (c *checker) absent() {
	e := c.e
	if l := e.NextSentenceLabel; c.rules.Form.Pairs() && l != 0 && l != 1 {
		c.fault(NextSentenceLabels, "%d, which is neither 0 nor 1", l)
	} else if !c.rules.Form.Pairs() && l != NoLabel {
		c.fault(NextSentenceLabels, "%d, which the form %s does not have", l, c.rules.Form)
	}
	for _, l := range lacking[c.rules.Form.index()] {
		n := len(e.MaskedLMWeights)
		if at := e.ints(l); at != nil {
			n = len(*at)
		}
		if n != 0 {
			c.fault(l.Name(), "%d values, which the form %s does not have", n, cmp.Or(c.rules.Form, Pairs))
		}
	}
}

// lacking holds, for each of shapes, the lists that its records do not have, without the
// label.
var lacking = func() (all [len(shapes)][]List) {
	for i, s := range shapes {
		for l := range List(len(lists)) {
			if l != label && !s.form.has(l) {
				all[i] = append(all[i], l)
			}
		}
	}
	return all
}()

// pieces checks the pieces of a row, and the padding after the last piece.
func (c *checker) pieces() {
	e := c.e
	if err := e.pieces(); err != nil {
		c.faults = append(c.faults, err)
		return
	}
	from := 0
	for i, n := range e.SequenceLengths {
		c.piece(i, e.InputIDs[from:from+int(n)])
		from += int(n)
	}
	for i, v := range e.InputIDs[from:] {
		if v != c.rules.Pad {
			c.fault(InputIDs, "value %d is %d, want padding", from+i, v)
			return
		}
	}
}

// piece checks the length and the special tokens of piece i.
func (c *checker) piece(i int, ids []int32) {
	if n := len(ids); n < leastPiece {
		c.fault(SequenceLengths, "value %d is %d, want at least [CLS], a token and [SEP]", i, n)
		return
	}
	if c.rules.CLS == 0 && c.rules.SEP == 0 {
		return
	}
	first, last := ids[0], ids[len(ids)-1]
	if first != c.rules.CLS {
		c.fault(InputIDs, "piece %d begins with %d, want [CLS], %d", i, first, c.rules.CLS)
	}
	if last != c.rules.SEP {
		c.fault(InputIDs, "piece %d ends with %d, want [SEP], %d", i, last, c.rules.SEP)
	}
}

// padding checks that only padding follows the tokens, and that only padding follows the
// predictions.
func (c *checker) padding() {
	e := c.e
	for _, f := range []struct {
		feature string
		values  []int32
		from    int
		padding int32
	}{
		{InputMask, e.InputMask, c.tokens, 0},
		{InputIDs, e.InputIDs, c.tokens, c.rules.Pad},
		{SegmentIDs, e.SegmentIDs, c.tokens, 0},
		{MaskedLMPositions, e.MaskedLMPositions, c.predictions, 0},
		{MaskedLMIDs, e.MaskedLMIDs, c.predictions, 0},
	} {
		rest := tail(f.values, f.from)
		if i := leading(rest, f.padding); i < len(rest) {
			c.fault(f.feature, "value %d is %d, want padding", f.from+i, rest[i])
		}
	}
	for i, w := range tail(e.MaskedLMWeights, c.predictions) {
		if w != 0 {
			c.fault(MaskedLMWeights, "value %d is %v, neither a leading 1 nor 0 after them", c.predictions+i, w)
			return
		}
	}
}

// tail returns values[from:], or an empty slice if from is beyond the end. The lists of an
// Example that was not made by Decode may be too short.
func tail[T any](values []T, from int) []T { return values[min(from, len(values)):] }

// segments checks that SegmentIDs is 0…0 1…1 over the tokens, that both
// segments have a token besides [CLS] and [SEP], and that [CLS] and [SEP] are
// at the borders of the segments.
func (c *checker) segments() {
	if !c.rules.Form.Pairs() {
		c.oneSegment()
		return
	}
	segments := c.e.SegmentIDs[:min(c.tokens, len(c.e.SegmentIDs))]
	c.second = leading(segments, 0)
	if i := c.second + leading(segments[c.second:], 1); i < len(segments) {
		c.fault(SegmentIDs, "value %d is %d, not of the form 0…0 1…1", i, segments[i])
		c.second = 0
		return
	}
	if c.second < 3 || c.second > len(segments)-2 {
		c.fault(SegmentIDs, "the second segment begins at %d of %d: one of the two is empty", c.second, len(segments))
		c.second = 0
		return
	}
	c.specials()
}

// oneSegment checks that all segment ids are 0, and that the first and the last token are
// [CLS] and [SEP].
func (c *checker) oneSegment() {
	for i, s := range c.e.SegmentIDs[:min(c.tokens, len(c.e.SegmentIDs))] {
		if s != 0 {
			c.fault(SegmentIDs, "value %d is %d, want 0", i, s)
			break
		}
	}
	if c.tokens >= leastPiece {
		c.second = c.tokens // as if a segment B began after the last [SEP]
		c.specials()
		c.second = 0
	}
}

func (c *checker) specials() {
	if c.rules.CLS == 0 && c.rules.SEP == 0 {
		return
	}
	for _, at := range slices.Compact([]int{0, c.second - 1, c.tokens - 1}) {
		name, want := "[SEP]", c.rules.SEP
		if at == 0 {
			name, want = "[CLS]", c.rules.CLS
		}
		if at < len(c.e.InputIDs) && c.e.InputIDs[at] != want {
			c.fault(InputIDs, "value %d is %d, want %s, %d", at, c.e.InputIDs[at], name, want)
		}
	}
}

func (c *checker) vocabulary() {
	if c.rules.VocabSize == 0 {
		return
	}
	c.below(InputIDs, c.e.InputIDs)
	c.below(MaskedLMIDs, c.e.MaskedLMIDs)
}

func (c *checker) below(feature string, values []int32) {
	if int64(largest(values)) < int64(c.rules.VocabSize) {
		return
	}
	if i := slices.IndexFunc(values, func(v int32) bool { return v < 0 || int(v) >= c.rules.VocabSize }); i >= 0 {
		c.fault(feature, "value %d is %d, not an id of a vocabulary of %d", i, values[i], c.rules.VocabSize)
	}
}

// largest returns the largest of the values as unsigned ones, so that negative values are
// larger than all others.
func largest(values []int32) uint32 {
	var a, b, c, d uint32
	for ; len(values) >= 4; values = values[4:] {
		v := (*[4]int32)(values)
		a, b, c, d = max(a, uint32(v[0])), max(b, uint32(v[1])), max(c, uint32(v[2])), max(d, uint32(v[3]))
	}
	for _, v := range values {
		a = max(a, uint32(v))
	}
	return max(a, b, c, d)
}

func (c *checker) positions() {
	positions := c.e.MaskedLMPositions[:min(c.predictions, len(c.e.MaskedLMPositions))]
	for i, p := range positions {
		switch {
		case p < 0 || int(p) >= c.tokens:
			c.fault(MaskedLMPositions, "value %d is %d, not one of %d tokens", i, p, c.tokens)
		case i > 0 && p <= positions[i-1]:
			c.fault(MaskedLMPositions, "value %d is %d after %d: not ascending", i, p, positions[i-1])
		case p == 0 || int(p) == c.tokens-1 || c.second > 0 && int(p) == c.second-1:
			c.fault(MaskedLMPositions, "value %d is %d, the place of a special token", i, p)
		default:
			c.original(i)
			continue
		}
		return
	}
}

// original checks that the original token of prediction i is neither [CLS] nor [SEP].
func (c *checker) original(i int) {
	if c.rules.CLS == 0 && c.rules.SEP == 0 || i >= len(c.e.MaskedLMIDs) {
		return
	}
	if id := c.e.MaskedLMIDs[i]; id == c.rules.CLS || id == c.rules.SEP {
		c.fault(MaskedLMIDs, "value %d is %d, a special token", i, id)
	}
}
