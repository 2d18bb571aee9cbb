package records

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// smallOf returns a sound example of each form.
func smallOf(f Form) *Example {
	switch f {
	case Masked:
		e := small() // [CLS] a b c [SEP] d e f [SEP]: two documents
		e.SegmentIDs, e.NextSentenceLabel = make([]int32, 12), NoLabel
		return e
	case Tokens:
		return &Example{InputIDs: []int32{7, 300, 20000}, NextSentenceLabel: NoLabel}
	case Sentences:
		return &Example{InputIDs: []int32{7, 300, 20000}, SentenceLengths: []int32{1, 2}, NextSentenceLabel: NoLabel}
	case Pieces:
		return &Example{InputIDs: []int32{101, 300, 20000, 102}, NextSentenceLabel: NoLabel}
	case Packed:
		return &Example{InputIDs: []int32{101, 7, 102, 101, 300, 20000, 102, 0, 0, 0, 0, 0}, SequenceLengths: []int32{3, 4}, NextSentenceLabel: NoLabel}
	}
	return small()
}

var forms = []Form{Pairs, Masked, Tokens, Packed, Sentences, Pieces}

func rulesOf(f Form) Rules {
	r := smallRules
	r.Form = f
	return r
}

func TestEachFormIsWrittenAndReadBack(t *testing.T) {
	for _, f := range forms {
		e := smallOf(f)
		payload := e.AppendForm(nil, f)
		var got Example
		if err := got.Decode(small().Append(nil)); err != nil { // what was there before must not stay
			t.Fatal(err)
		}
		if err := got.DecodeForm(f, payload); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if diff := cmp.Diff(e, &got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
		found := f
		if f == Pieces { // without the vocabulary they are documents
			found = Tokens
		}
		if of, err := FormOf(payload); err != nil || of != found {
			t.Errorf("FormOf: got %q, %v, want %s", of, err, found)
		}
		if of, without := found.Narrow(&got, 101, 102), found.Narrow(&got, -1, 102); of != f || without != found {
			t.Errorf("Narrow: got %q, and %q without [CLS], want %s and %s", of, without, f, found)
		}
		if err := rulesOf(f).Check(&got); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		for _, other := range forms {
			if other != f && other != found && rulesOf(other).Check(&got) == nil {
				t.Errorf("an example of the form %s satisfies the rules of %s", f, other)
			}
		}
	}
}

func TestFormsOfPayloadsOfOthers(t *testing.T) {
	ids, mask := entry(InputIDs, KindInt64, packed(5, 6)), entry(InputMask, KindInt64, packed(1, 1))
	if f, err := FormOf(example(ids, mask)); f != Pairs || err != nil {
		t.Errorf("ids and mask: got %q, %v: it must be Pairs, whose Decode names what is missing", f, err)
	}
	if f, err := FormOf(example(entry("input_word_ids", KindInt64, packed(5)))); f != Tokens || err != nil {
		t.Errorf("got %q, %v, want tokens", f, err)
	}
	for _, payload := range [][]byte{[]byte("plain text"), example(mask), nil} {
		if f, err := FormOf(payload); !errors.Is(err, ErrExample) {
			t.Errorf("%q: got %q, %v, want an error", payload, f, err)
		}
	}
}

func TestPartsOfEachFormAreWrittenAsTheirExample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		enc, parts, e := anyParts(t)
		for _, f := range forms {
			want := *e
			p := parts
			switch f {
			case Masked:
				p.RandomNext = rapid.Bool().Draw(t, "ignored")
			case Tokens, Pieces:
				want.InputIDs = e.InputIDs[:parts.Tokens]
			case Packed:
				want.SequenceLengths = []int32{int32(parts.Tokens), 300}
				p.Lengths = AppendPacked(nil, want.SequenceLengths)
			case Sentences:
				want.InputIDs, want.SentenceLengths = e.InputIDs[:parts.Tokens], []int32{int32(parts.Tokens), 300}
				p.Lengths = AppendPacked(nil, want.SentenceLengths)
			}
			if got, want := enc.For(f).Append([]byte("before"), p), want.AppendForm([]byte("before"), f); !bytes.Equal(got, want) {
				t.Fatalf("%s: got  %x\nwant %x", f, got, want)
			}
		}
	})
}

func TestEachRuleOfTheFormsIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		form   Form
		change func(e *Example)
		want   string
	}{
		"masked, segment":    {Masked, func(e *Example) { e.SegmentIDs[3] = 1 }, "feature segment_ids: value 3 is 1, want 0"},
		"masked, label":      {Masked, func(e *Example) { e.NextSentenceLabel = 0 }, "feature next_sentence_labels: 0, which the form masked does not have"},
		"masked, no [CLS]":   {Masked, func(e *Example) { e.InputIDs[0] = 9 }, "feature input_ids: value 0 is 9, want [CLS], 101"},
		"masked, no [SEP]":   {Masked, func(e *Example) { e.InputIDs[8] = 9 }, "feature input_ids: value 8 is 9, want [SEP], 102"},
		"masked, on [SEP]":   {Masked, func(e *Example) { e.MaskedLMPositions[1] = 8 }, "feature masked_lm_positions: value 1 is 8, the place of a special token"},
		"masked, short":      {Masked, func(e *Example) { clear(e.InputMask[2:]) }, "feature input_mask: 2 tokens, fewer than the 3 of the shortest example"},
		"masked, padding":    {Masked, func(e *Example) { e.InputIDs[10] = 4 }, "feature input_ids: value 10 is 4, want padding"},
		"masked, length":     {Masked, func(e *Example) { e.InputIDs = e.InputIDs[:11] }, "feature input_ids: 11 values where max_seq_length is 12"},
		"masked, pieces":     {Masked, func(e *Example) { e.SequenceLengths = []int32{9} }, "feature sequence_lengths: 1 values, which the form masked does not have"},
		"tokens, none":       {Tokens, func(e *Example) { e.InputIDs = nil }, "feature input_ids: 0 tokens, want at least 1"},
		"tokens, too many":   {Tokens, func(e *Example) { e.InputIDs = make([]int32, 13) }, "feature input_ids: 13 values where max_seq_length is 12"},
		"tokens, vocabulary": {Tokens, func(e *Example) { e.InputIDs[1] = 30522 }, "feature input_ids: value 1 is 30522, not an id of a vocabulary of 30522"},
		"tokens, mask":       {Tokens, func(e *Example) { e.InputMask = []int32{1, 1, 1} }, "feature input_mask: 3 values, which the form tokens does not have"},
		"packed, [CLS]":      {Packed, func(e *Example) { e.InputIDs[3] = 8 }, "feature input_ids: piece 1 begins with 8, want [CLS], 101"},
		"packed, [SEP]":      {Packed, func(e *Example) { e.InputIDs[2] = 8 }, "feature input_ids: piece 0 ends with 8, want [SEP], 102"},
		"packed, boundary":   {Packed, func(e *Example) { e.SequenceLengths = []int32{4, 3} }, "feature input_ids: piece 0 ends with 101, want [SEP], 102"},
		"packed, empty":      {Packed, func(e *Example) { e.SequenceLengths = []int32{3, 4, 2} }, "feature sequence_lengths: value 2 is 2, want at least [CLS], a token and [SEP]"},
		"packed, padding":    {Packed, func(e *Example) { e.InputIDs[11] = 8 }, "feature input_ids: value 11 is 8, want padding"},
		"packed, lost piece": {Packed, func(e *Example) { e.SequenceLengths = []int32{3} }, "feature input_ids: value 3 is 101, want padding"},
		"packed, too long":   {Packed, func(e *Example) { e.SequenceLengths = []int32{3, 10} }, "feature sequence_lengths: the pieces have 13 tokens, input_ids has 12 values"},
		"packed, none":       {Packed, func(e *Example) { e.SequenceLengths = nil }, "feature sequence_lengths: empty"},
		"packed, length":     {Packed, func(e *Example) { e.InputIDs = e.InputIDs[:10] }, "feature input_ids: 10 values where max_seq_length is 12"},
		"packed, vocabulary": {Packed, func(e *Example) { e.InputIDs[1] = -1 }, "feature input_ids: value 1 is -1, not an id of a vocabulary of 30522"},
		"sentences, none":    {Sentences, func(e *Example) { e.SentenceLengths = nil }, "feature sentence_lengths: empty"},
		"sentences, empty":   {Sentences, func(e *Example) { e.SentenceLengths[0] = 0 }, "feature sentence_lengths: value 0 is 0: a sentence has at least one token"},
		"sentences, short":   {Sentences, func(e *Example) { e.SentenceLengths[1] = 1 }, "feature sentence_lengths: the sentences have 2 tokens, input_ids has 3 values"},
		"sentences, words":   {Sentences, func(e *Example) { e.InputIDs[1] = 30522 }, "feature input_ids: value 1 is 30522, not an id of a vocabulary of 30522"},
		"pieces, [CLS]":      {Pieces, func(e *Example) { e.InputIDs[0] = 8 }, "feature input_ids: value 0 is 8, want [CLS], 101"},
		"pieces, [SEP]":      {Pieces, func(e *Example) { e.InputIDs[3] = 8 }, "feature input_ids: value 3 is 8, want [SEP], 102"},
		"pieces, empty":      {Pieces, func(e *Example) { e.InputIDs = []int32{101, 102} }, "feature input_ids: 2 tokens, want at least 3"},
		"pieces, too many":   {Pieces, func(e *Example) { e.InputIDs = append(append([]int32{101}, make([]int32, 11)...), 102) }, "feature input_ids: 13 values where max_seq_length is 12"},
		"pieces, vocabulary": {Pieces, func(e *Example) { e.InputIDs[1] = 30522 }, "feature input_ids: value 1 is 30522, not an id of a vocabulary of 30522"},
		"packed, weights":    {Packed, func(e *Example) { e.MaskedLMWeights = []float32{1} }, "feature masked_lm_weights: 1 values, which the form packed does not have"},
	} {
		t.Run(name, func(t *testing.T) {
			e := smallOf(c.form)
			c.change(e)
			err := rulesOf(c.form).Check(e)
			if err == nil || !strings.Contains(err.Error()+"\n", c.want+"\n") {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestPiecesThatDoNotFitTheRowAreNotDecoded(t *testing.T) {
	for _, lengths := range [][]int32{nil, {13}, {3, 0}, {1 << 30, 1 << 30, 1 << 30, 1 << 30}} {
		e := smallOf(Packed)
		e.SequenceLengths = lengths
		if err := new(Example).DecodeForm(Packed, e.AppendForm(nil, Packed)); !errors.Is(err, ErrExample) {
			t.Errorf("%d: got %v, want an error", lengths, err)
		}
	}
}

// FuzzDecodeForm decodes anything as each form, as FuzzDecode does as Pairs.
func FuzzDecodeForm(f *testing.F) {
	for _, form := range forms {
		f.Add(smallOf(form).AppendForm(nil, form))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if _, err := FormOf(payload); err != nil && !errors.Is(err, ErrExample) {
			t.Fatal(err)
		}
		for _, form := range forms {
			var e, again Example
			if err := e.DecodeForm(form, payload); err != nil {
				if !errors.Is(err, ErrExample) {
					t.Fatalf("got %v, want an ErrExample", err)
				}
				continue
			}
			if n := e.Tokens(); n < 0 || n > len(e.InputIDs) {
				t.Fatalf("%d tokens of %d values", n, len(e.InputIDs))
			}
			_ = rulesOf(form).Check(&e)
			if err := again.DecodeForm(form, e.AppendForm(nil, form)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e, again, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", form, diff)
			}
		}
	})
}

func TestWeightsAloneAreFloats(t *testing.T) {
	for l := range List(len(lists)) {
		if l.Float() != (l.Name() == MaskedLMWeights) {
			t.Errorf("%s: floats: %v", l.Name(), l.Float())
		}
	}
}
