package survey

import (
	"slices"

	"pretext/records"
)

// maxTalliedID limits the table of token counts. Higher ids are counted together.
const maxTalliedID = 1 << 20

// A tally counts the contents of records. Each goroutine has its own tally.
type tally struct {
	files, bytes int64
	records      int64
	tokens       int64 // number of tokens without padding
	places       int64 // number of tokens including padding
	masked       int64
	randomNext   int64
	pieces       int64
	forms        []records.Form // forms of the records, sorted
	seq, preds   int            // maximum lengths of input_ids and masked_lm_positions

	lengths histogram // number of records by number of tokens
	masks   histogram // number of records by number of predictions
	words   histogram // number of original tokens by id, without special tokens
	other   int64     // number of original tokens with an id of maxTalliedID or more, or a negative id
	kept    int64     // number of predicted tokens that are unchanged
	became  histogram // number of predicted tokens that were replaced, by id of the replacement
	firsts  histogram // number of records by id of their first token, [CLS]
	lasts   histogram // number of records by id of their last token, [SEP]
	wrongID int64     // number of ids that are negative or too large for became, firsts or lasts
}

// A histogram counts small numbers. Element i is the count of the number i.
type histogram []int64

// add counts the number i, which must be from 0 to maxTalliedID.
func (c *histogram) add(i int) {
	if i >= len(*c) {
		*c = append(*c, make([]int64, i+1-len(*c))...)
	}
	(*c)[i]++
}

func (c *histogram) merge(other histogram) {
	if len(other) > len(*c) {
		*c = append(*c, make([]int64, len(other)-len(*c))...)
	}
	for i, n := range other {
		(*c)[i] += n
	}
}

// mode returns the most frequent number, 0 if the histogram is empty.
func (c histogram) mode() (most int) {
	for i, n := range c {
		if n > c[most] {
			most = i
		}
	}
	return most
}

// at returns the count of the number i.
func (c histogram) at(i int) int64 {
	if i < 0 || i >= len(c) {
		return 0
	}
	return c[i]
}

func (c histogram) sum() (n int64) {
	for _, v := range c {
		n += v
	}
	return n
}

// add counts an example of the form f.
func (t *tally) add(e *records.Example, f records.Form) {
	n, predicted := e.Tokens(), e.Predictions()
	if f.Masks() {
		n = min(n, len(e.InputIDs), len(e.SegmentIDs))
	}
	t.form(f)
	t.pieces += int64(len(e.SequenceLengths))
	predicted = min(predicted, len(e.MaskedLMIDs), len(e.MaskedLMPositions))
	t.records++
	t.tokens += int64(n)
	t.places += int64(len(e.InputIDs))
	t.masked += int64(predicted)
	t.seq, t.preds = max(t.seq, len(e.InputIDs)), max(t.preds, len(e.MaskedLMPositions))
	if e.NextSentenceLabel == 1 {
		t.randomNext++
	}
	t.lengths.add(n)
	t.masks.add(predicted)
	if n > 0 && !f.Documents() {
		t.special(&t.firsts, e.InputIDs[0])
		t.special(&t.lasts, e.InputIDs[n-1])
	}
	switch {
	case f.Documents():
		t.addWords(e.InputIDs)
	case f.Rows():
		from := 0
		for _, size := range e.SequenceLengths {
			t.addPiece(e.InputIDs[from : from+int(size)])
			from += int(size)
		}
	case f.Alone():
		t.addPiece(e.InputIDs)
	default:
		t.addTokens(e, n, predicted)
	}
}

// form adds the form of a record to t.forms.
func (t *tally) form(f records.Form) {
	if !slices.Contains(t.forms, f) {
		t.forms = append(t.forms, f)
		slices.Sort(t.forms)
	}
}

// formsBesidePairs returns the forms, or nil if all records are pairs.
func (t *tally) formsBesidePairs() []records.Form {
	if len(t.forms) == 1 && t.forms[0].Pairs() {
		return nil
	}
	return t.forms
}

// addWords counts ids, which must be neither special nor masked tokens.
func (t *tally) addWords(ids []int32) {
	for _, id := range ids {
		t.addWord(id)
	}
}

// addPiece counts the ids of a piece besides [CLS] and [SEP].
func (t *tally) addPiece(ids []int32) {
	if n := len(ids); n > 2 {
		t.addWords(ids[1 : n-1])
	}
}

func (t *tally) addWord(id int32) {
	if id >= 0 && id < maxTalliedID {
		t.words.add(int(id))
	} else {
		t.other++
	}
}

// addTokens counts the original tokens of an example and, for predicted tokens, their
// replacements.
func (t *tally) addTokens(e *records.Example, n, predicted int) {
	next := 0
	for i := 1; i < n-1; i++ { // the first and the last token are special
		id := e.InputIDs[i]
		for next < predicted && int(e.MaskedLMPositions[next]) < i {
			next++
		}
		if next < predicted && int(e.MaskedLMPositions[next]) == i {
			original := e.MaskedLMIDs[next]
			if id == original {
				t.kept++
			} else {
				t.special(&t.became, id)
			}
			id = original
		} else if e.SegmentIDs[i] != e.SegmentIDs[i+1] || e.NextSentenceLabel == records.NoLabel && id == e.InputIDs[n-1] {
			continue // skip the [SEP] between segments or between documents
		}
		t.addWord(id)
	}
}

func (t *tally) special(c *histogram, id int32) {
	if id < 0 || id >= maxTalliedID {
		t.wrongID++
		return
	}
	c.add(int(id))
}

func (t *tally) merge(o *tally) {
	t.files += o.files
	t.bytes += o.bytes
	t.records += o.records
	t.tokens += o.tokens
	t.places += o.places
	t.masked += o.masked
	t.randomNext += o.randomNext
	t.pieces += o.pieces
	for _, f := range o.forms {
		t.form(f)
	}
	t.seq, t.preds = max(t.seq, o.seq), max(t.preds, o.preds)
	t.lengths.merge(o.lengths)
	t.masks.merge(o.masks)
	t.words.merge(o.words)
	t.became.merge(o.became)
	t.firsts.merge(o.firsts)
	t.lasts.merge(o.lasts)
	t.other += o.other
	t.kept += o.kept
	t.wrongID += o.wrongID
}
