package pretrain

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pretext/records"
)

// A maker is any of the builders.
type maker interface {
	Build(ctx context.Context, corpus *Corpus, seed int64, yield func(Record) error) (Counts, error)
}

// build returns the examples of form f that b makes, and checks that they satisfy
// the rules and that the counts are right.
func build(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, b maker, c *Corpus, r records.Rules) []*records.Example {
	var out []*records.Example
	var sum Counts
	counts, err := b.Build(context.Background(), c, 7, func(r2 Record) error {
		e := new(records.Example)
		if err := e.DecodeForm(r.Form, r2.Payload); err != nil {
			return err
		}
		if r2.Tokens != e.Tokens() || r2.Predictions != e.Predictions() || r2.Pieces != len(e.SequenceLengths) || r2.RandomNext {
			t.Fatalf("%+v is told of a record of %d tokens, %d predictions, %d pieces", r2, e.Tokens(), e.Predictions(), len(e.SequenceLengths))
		}
		sum = sum.Add(Counts{Examples: 1, Tokens: int64(e.Tokens()), Predictions: int64(e.Predictions()), Pieces: int64(len(e.SequenceLengths))})
		if e.Predictions() == 0 && r.Form.Masks() {
			sum.NoPredictions++
		}
		if err := r.Check(e); err != nil {
			t.Fatalf("record %d: %v", sum.Examples-1, err)
		}
		out = append(out, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if counts.CutDocuments, sum.CutDocuments = 0, 0; counts != sum {
		t.Fatalf("got counts %+v, want %+v", counts, sum)
	}
	return out
}

// wordDocuments draws documents without special tokens, so that the text can be
// told from what a builder adds.
func wordDocuments(t *rapid.T, longest int) (out [][][]int32) {
	id := rapid.Int32Range(4, 29)
	sentence := rapid.OneOf(rapid.SliceOfN(id, 1, 9), rapid.SliceOfN(id, 1, longest))
	out = rapid.SliceOfN(rapid.SliceOfN(sentence, 1, 12), 0, 12).Draw(t, "documents")
	for d := range out {
		for s := range out[d] {
			out[d][s][0] = int32(4 + d%26) // some documents differ in every sentence
		}
	}
	return out
}

// joined returns all tokens of each document, sorted as a list of texts.
func joined(documents [][][]int32) (out [][]int32) {
	for _, d := range documents {
		out = append(out, join(d))
	}
	slices.SortFunc(out, slices.Compare[[]int32])
	return out
}

// covers reports whether texts, in any order, are exactly the documents, each cut
// into consecutive parts. It tries the longest part that fits first.
func covers(documents, texts [][]int32) bool {
	left := map[string]int{}
	var sizes []int
	for _, text := range texts {
		left[key(text)]++
		if !slices.Contains(sizes, len(text)) {
			sizes = append(sizes, len(text))
		}
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	total := 0
	var cover func(d int, rest []int32) bool
	cover = func(d int, rest []int32) bool {
		if total++; total > 200000 {
			return true // too many ways: other draws decide
		}
		if len(rest) == 0 {
			if d++; d == len(documents) {
				return true
			}
			rest = documents[d]
		}
		for _, n := range sizes {
			if n > len(rest) {
				continue
			}
			k := key(rest[:n])
			if left[k] == 0 {
				continue
			}
			left[k]--
			if cover(d, rest[n:]) {
				return true
			}
			left[k]++
		}
		return false
	}
	if len(documents) == 0 {
		return len(texts) == 0
	}
	n := 0
	for _, d := range documents {
		n += len(d)
	}
	for _, t := range texts {
		n -= len(t)
	}
	return n == 0 && cover(-1, nil)
}

func key(ids []int32) string { return string(records.AppendPacked(nil, ids)) }

func TestEachTokenIsInOneRecordOfIds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		documents := wordDocuments(t, 60)
		o := Options{MaxSeqLength: rapid.IntRange(1, 80).Draw(t, "max_seq_length"), DupeFactor: 1}
		b, err := NewSplitter(o, Vocab{Size: 30, CLS: -1, SEP: -1, Mask: -1, Pad: -1})
		if err != nil {
			t.Fatal(err)
		}
		var texts [][]int32
		for _, e := range build(t, b, corpusOf(t, 30, documents), records.Rules{Form: records.Tokens, MaxSeqLength: o.MaxSeqLength, VocabSize: 30}) {
			texts = append(texts, e.InputIDs)
		}
		// The parts of a document follow each other: a document ends where it is whole.
		left := joined(documents)
		var rest []int32
		for _, text := range texts {
			rest = append(rest, text...)
			if i := slices.IndexFunc(left, func(d []int32) bool { return slices.Equal(d, rest) }); i >= 0 && !prefixOf(left, i, rest) {
				left = slices.Delete(left, i, i+1)
				rest = nil
			}
		}
		if (len(left) != 0 || len(rest) != 0) && !covers(joined(documents), texts) {
			t.Fatalf("%d documents were not found, %d tokens are of none", len(left), len(rest))
		}
	})
}

// prefixOf reports whether another document than i begins with text.
func prefixOf(documents [][]int32, i int, text []int32) bool {
	return slices.ContainsFunc(documents, func(d []int32) bool { return len(d) > len(text) && slices.Equal(d[:len(text)], text) })
}

func TestADocumentIsCutAtTheEndOfASentence(t *testing.T) {
	corpus := corpusOf(t, 30, [][][]int32{{{5, 5, 5}, {6, 6, 6}, {7, 7, 7, 7, 7, 7, 7, 7, 7}, {8}}})
	b, err := NewSplitter(Options{MaxSeqLength: 8, DupeFactor: 1}, smallVocab(30))
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, e := range build(t, b, corpus, records.Rules{Form: records.Tokens}) {
		got = append(got, len(e.InputIDs))
	}
	if want := []int{6, 8, 2}; !slices.Equal(got, want) { // the sentence of nine is longer than a record
		t.Errorf("got records of %d tokens, want %d", got, want)
	}
	if counts, err := b.Build(context.Background(), corpus, 1, func(Record) error { return nil }); err != nil || counts.CutDocuments != 1 {
		t.Errorf("got %+v, %v, want 1 document cut", counts, err)
	}
}

func TestEachTokenIsInOnePieceOfARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		documents := wordDocuments(t, 60)
		o := Options{MaxSeqLength: rapid.IntRange(3, 90).Draw(t, "max_seq_length"), DupeFactor: 1, PackSlack: rapid.SampledFrom([]float64{0, 0.05, 0.3, 0.9}).Draw(t, "slack")}
		v := smallVocab(30)
		v.Mask, v.Pad = -1, rapid.Int32Range(0, 3).Draw(t, "pad")
		b, err := NewPacker(o, v)
		if err != nil {
			t.Fatal(err)
		}
		rules := records.Rules{Form: records.Packed, MaxSeqLength: o.MaxSeqLength, VocabSize: 30, CLS: v.CLS, SEP: v.SEP, Pad: v.Pad}
		corpus := corpusOf(t, 30, documents)
		rows := build(t, b, corpus, rules)
		var texts [][]int32
		for _, e := range rows {
			from := int32(0)
			for _, n := range e.SequenceLengths {
				text := e.InputIDs[from+1 : from+n-1]
				if slices.Contains(text, v.CLS) || slices.Contains(text, v.SEP) {
					t.Fatal("a special token within a piece")
				}
				texts = append(texts, text)
				from += n
			}
		}
		if !covers(joined(documents), texts) {
			t.Fatal("the pieces are not the documents")
		}
		whole := map[string]bool{}
		for _, text := range texts {
			whole[key(text)] = true
		}
		for _, d := range joined(documents) {
			if len(d)+2 <= o.MaxSeqLength && !whole[key(d)] {
				t.Fatal("a document that fits a row was cut")
			}
		}
		again := build(t, b, corpus, rules) // a Packer uses its memory again
		for i := range rows {
			if !bytes.Equal(rows[i].AppendForm(nil, records.Packed), again[i].AppendForm(nil, records.Packed)) {
				t.Fatalf("row %d differs the second time", i)
			}
		}
	})
}

// Long documents leave hardly any padding: all rows but one are full to the slack
// or to less than the smallest part.
func TestLongDocumentsFillTheirRows(t *testing.T) {
	const seq = 256
	b, err := NewPacker(Options{MaxSeqLength: seq, DupeFactor: 1, PackSlack: 0.02}, benchVocab())
	if err != nil {
		t.Fatal(err)
	}
	padded := 0
	rows := build(t, b, proseCorpus(t, 100), records.Rules{Form: records.Packed, MaxSeqLength: seq})
	for _, e := range rows {
		if seq-e.Tokens() >= leastPart {
			padded++
		}
	}
	if len(rows) < 100 || padded > 1 {
		t.Errorf("%d of %d rows have room for %d tokens or more", padded, len(rows), leastPart)
	}
}

func TestEachTokenIsInOneExampleOfEachPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		documents := wordDocuments(t, 60)
		o := anyOptions(t)
		o.ShortSeqProb, o.DupeFactor, o.CrossDocuments = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "short"), 1, rapid.Bool().Draw(t, "cross")
		if o.SpanMask = rapid.Bool().Draw(t, "spans"); o.SpanMask {
			o.DoWholeWordMask = false
		}
		v := smallVocab(30)
		b, err := NewMLMBuilder(o, v, Scratch{})
		if err != nil {
			t.Fatal(err)
		}
		rules := records.Rules{Form: records.Masked, MaxSeqLength: o.MaxSeqLength, MaxPredictionsPerSeq: o.MaxPredictionsPerSeq, VocabSize: 30, CLS: v.CLS, SEP: v.SEP}
		var texts [][]int32
		for _, e := range build(t, b, corpusOf(t, 30, documents), rules) {
			if got, most := e.Predictions(), o.Predictions(e.Tokens()); got > most || got < most && !o.WholeWords() && got < e.Tokens()-3 && !o.CrossDocuments {
				t.Fatalf("%d predictions of %d tokens, want %d", got, e.Tokens(), most)
			}
			restored := slices.Clone(e.InputIDs[:e.Tokens()])
			for i, at := range e.MaskedLMPositions[:e.Predictions()] {
				restored[at] = e.MaskedLMIDs[i]
			}
			parts := split(restored[1:], v.SEP)
			if len(parts) > 1 && !o.CrossDocuments {
				t.Fatal("text of several documents without cross_documents")
			}
			texts = append(texts, parts...)
		}
		if !covers(joined(documents), texts) {
			t.Fatal("the examples are not the documents")
		}
	})
}

// split returns the texts that end with sep.
func split(ids []int32, sep int32) (out [][]int32) {
	for len(ids) > 0 {
		n := slices.Index(ids, sep)
		out = append(out, ids[:n])
		ids = ids[n+1:]
	}
	return out
}

func TestOptionsOfOtherFormsAreRefused(t *testing.T) {
	v := smallVocab(30)
	for name, make := range map[string]func() error{
		"dupe":     func() error { _, err := NewSplitter(Options{MaxSeqLength: 8, DupeFactor: 2}, v); return err },
		"masks":    func() error { _, err := NewPacker(Options{MaxSeqLength: 8, MaskedLMProb: 0.1}, v); return err },
		"row":      func() error { _, err := NewPacker(Options{MaxSeqLength: 2}, v); return err },
		"record":   func() error { _, err := NewSplitter(Options{MaxSeqLength: records.MaxValues + 1}, v); return err },
		"piece":    func() error { _, err := newSlicer(Options{MaxSeqLength: 2}, v); return err },
		"no [CLS]": func() error { v := v; v.CLS = -1; _, err := newSlicer(Options{MaxSeqLength: 8}, v); return err },
		"slack":    func() error { _, err := NewPacker(Options{MaxSeqLength: 8, PackSlack: 1}, v); return err },
		"slack of mlm": func() error {
			o := DefaultOptions()
			o.PackSlack = 0.1
			_, err := NewMLMBuilder(o, v, Scratch{})
			return err
		},
		"cross of pair": func() error {
			o := DefaultOptions()
			o.CrossDocuments = true
			_, err := NewBuilder(o, v, Scratch{})
			return err
		},
		"spans, words": func() error {
			o := DefaultOptions()
			o.SpanMask, o.DoWholeWordMask = true, true
			_, err := NewMLMBuilder(o, v, Scratch{})
			return err
		},
		"replacement": func() error {
			o := DefaultOptions()
			o.Replace = &Replacement{0.8, 0.3}
			_, err := NewBuilder(o, v, Scratch{})
			return err
		},
		"no [SEP]":  func() error { v := v; v.SEP = -1; _, err := NewPacker(Options{MaxSeqLength: 8}, v); return err },
		"no [MASK]": func() error { v := v; v.Mask = -1; _, err := NewMLMBuilder(DefaultOptions(), v, Scratch{}); return err },
	} {
		if make() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestACancelledContextEndsEveryBuild(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	v := benchVocab()
	splitter, _ := NewSplitter(Options{MaxSeqLength: 64}, v)
	packer, _ := NewPacker(Options{MaxSeqLength: 64}, v)
	slicer, _ := newSlicer(Options{MaxSeqLength: 64}, v)
	mlm, _ := NewMLMBuilder(DefaultOptions(), v, Scratch{})
	for _, b := range []maker{splitter, packer, slicer, mlm} {
		if _, err := b.Build(ctx, proseCorpus(t, 50), 1, func(Record) error { return nil }); err == nil {
			t.Errorf("%T: got no error", b)
		}
	}
}

// Length bins change the padding of examples and nothing else.
func TestLengthBinsChangeThePaddingAlone(t *testing.T) {
	for _, recipe := range Recipes() {
		f := recipe.Form
		if recipe.Lacks("length_bins") {
			continue
		}
		o := DefaultOptions()
		o.ShortSeqProb, o.DupeFactor = 0.5, 2
		make := func(o Options) (out []*records.Example, bins []int) {
			b, err := recipe.New(o, benchVocab(), Scratch{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Build(context.Background(), proseCorpus(t, 100), 3, func(r Record) error {
				e := new(records.Example)
				out, bins = append(out, e), append(bins, r.Bin)
				return e.DecodeForm(f, r.Payload)
			})
			if err != nil {
				t.Fatal(err)
			}
			return out, bins
		}
		want, _ := make(o)
		o.LengthBins = []int{32, 64, 128}
		got, bins := make(o)
		used := map[int]int{}
		for i, e := range got {
			n := e.Tokens()
			if bins[i] != len(e.InputIDs) || bins[i] != o.PaddedLength(n) || n > bins[i] || bins[i] == 128 && n <= 64 || bins[i] == 64 && n <= 32 {
				t.Fatalf("%s: example %d of %d tokens has %d values, in bin %d", f, i, n, len(e.InputIDs), bins[i])
			}
			used[bins[i]]++
			for list, wide := range map[*[]int32]int{&e.InputIDs: 128, &e.InputMask: 128, &e.SegmentIDs: 128} {
				*list = append(*list, make0(wide-len(*list))...)
			}
			if !bytes.Equal(e.AppendForm(nil, f), want[i].AppendForm(nil, f)) {
				t.Fatalf("%s: example %d differs", f, i)
			}
		}
		if len(got) != len(want) || len(used) != 3 {
			t.Errorf("%s: %d examples in the bins %v, %d without bins", f, len(got), used, len(want))
		}
	}
}

func make0(n int) []int32 { return make([]int32, n) }
