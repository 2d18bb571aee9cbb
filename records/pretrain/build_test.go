package pretrain

import (
	"bytes"
	"context"
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/pyrandom"
	"pretext/records"
)

// smallVocab has few words, so that all cases come up often; every third id
// continues a word.
func smallVocab(size int) Vocab {
	return Vocab{Size: size, CLS: 1, SEP: 2, Mask: 3, IsSubword: func(id int32) bool { return id%3 == 0 }}
}

// anyOptions draws options under which examples are small.
func anyOptions(t *rapid.T) Options {
	o := Options{
		MaxSeqLength:    rapid.IntRange(minPair, 200).Draw(t, "max_seq_length"),
		MaskedLMProb:    rapid.SampledFrom([]float64{0, 0.15, 0.5, 1}).Draw(t, "masked_lm_prob"),
		ShortSeqProb:    rapid.SampledFrom([]float64{0, 0.1, 0.5, 1}).Draw(t, "short_seq_prob"),
		DupeFactor:      rapid.IntRange(1, 3).Draw(t, "dupe_factor"),
		DoWholeWordMask: rapid.Bool().Draw(t, "do_whole_word_mask"),
	}
	o.MaxPredictionsPerSeq = rapid.IntRange(1, o.MaxSeqLength).Draw(t, "max_predictions_per_seq")
	return o
}

// anyDocuments draws documents, empty ones and empty sentences among them. Ids
// may be those of special tokens: other tokenizers keep them in the text.
func anyDocuments(t *rapid.T, vocabSize int) [][][]int32 {
	id := rapid.Int32Range(0, int32(vocabSize)-1)
	sentence := rapid.OneOf(rapid.SliceOfN(id, 0, 12), rapid.SliceOfN(id, 0, 90))
	return rapid.SliceOfN(rapid.SliceOfN(sentence, 0, 12), 0, 8).Draw(t, "documents")
}

func corpusOf(tb interface{ Fatal(...any) }, vocabSize int, documents [][][]int32) *Corpus {
	return fillCorpus(tb, NewCorpus(vocabSize), documents)
}

func fillCorpus(tb interface{ Fatal(...any) }, c *Corpus, documents [][][]int32) *Corpus {
	for _, d := range documents {
		for _, s := range d {
			if err := c.AddSentence(s); err != nil {
				tb.Fatal(err)
			}
		}
		c.EndDocument()
	}
	return c
}

// withoutEmpties drops empty sentences and documents.
func withoutEmpties(documents [][][]int32) (out [][][]int32) {
	for _, d := range documents {
		var kept [][]int32
		for _, s := range d {
			if len(s) > 0 {
				kept = append(kept, s)
			}
		}
		if len(kept) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

// buildAll returns copies of all payloads.
func buildAll(tb interface{ Fatal(...any) }, b *Builder, c *Corpus, seed int64) ([][]byte, Counts) {
	var out [][]byte
	counts, err := b.Build(context.Background(), c, seed, func(r Record) error {
		out = append(out, bytes.Clone(r.Payload))
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out, counts
}

func mustBuilder(tb interface{ Fatal(...any) }, o Options, v Vocab, s Scratch) *Builder {
	b, err := NewBuilder(o, v, s)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// checkPlain compares Build with the plain algorithm.
func checkPlain(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, o Options, v Vocab, documents [][][]int32, seed int64) {
	kept := withoutEmpties(documents)
	c, plainVocab := NewCorpus(v.Size), v
	if v.Marked {
		c = NewMarkedCorpus(v.Size)
		plainVocab.IsSubword = func(id int32) bool { return id&Continues != 0 }
	}
	fillCorpus(t, c, documents)
	if got := c.Documents(); got != len(kept) {
		t.Fatalf("got %d documents, want %d", got, len(kept))
	}
	plain := plainBuilder{o, plainVocab, pyrandom.New(seed), kept}
	want := plain.build()
	got, counts := buildAll(t, mustBuilder(t, o, v, Scratch{}), c, seed)
	if len(got) != len(want) || counts.Examples != int64(len(want)) {
		t.Fatalf("got %d examples and count %d, want %d", len(got), counts.Examples, len(want))
	}
	for i := range want {
		if bytes.Equal(got[i], want[i].Append(nil)) {
			continue
		}
		var e records.Example
		if err := e.Decode(got[i]); err != nil {
			t.Fatal(err)
		}
		t.Fatalf("example %d (-want +got):\n%s", i, cmp.Diff(want[i], &e))
	}
}

func TestBuildIsThePlainAlgorithm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, seed := anyOptions(t), rapid.Int64().Draw(t, "seed")
		v := smallVocab(rapid.SampledFrom([]int{7, 200, 1 << 16, 70000}).Draw(t, "vocabulary"))
		v.Pad = rapid.SampledFrom([]int32{0, 1, int32(v.Size) - 1}).Draw(t, "pad")
		checkPlain(t, o, v, anyDocuments(t, v.Size), seed)
	})
}

func TestAMarkedCorpusTellsByPlaceWhatContinuesAWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, seed := anyOptions(t), rapid.Int64().Draw(t, "seed")
		v := smallVocab(rapid.SampledFrom([]int{7, 200, 70000}).Draw(t, "vocabulary"))
		v.IsSubword, v.Marked = nil, true
		documents := anyDocuments(t, v.Size)
		for _, d := range documents {
			for _, s := range d {
				for i := range s {
					if rapid.Bool().Draw(t, "continues") {
						s[i] |= Continues
					}
				}
			}
		}
		checkPlain(t, o, v, documents, seed)
	})
}

func TestACorpusOfTheWrongKindIsRefused(t *testing.T) {
	v := smallVocab(20)
	v.Marked = true
	if _, err := mustBuilder(t, DefaultOptions(), v, Scratch{}).Build(context.Background(), NewCorpus(20), 1, nil); err == nil {
		t.Error("a corpus without marks is taken for one with them")
	}
	if err := NewCorpus(20).AddSentence([]int32{5 | Continues}); err == nil {
		t.Error("a corpus without marks takes a marked id")
	}
	if err := NewMarkedCorpus(20).AddSentence([]int32{20 | Continues}); err == nil {
		t.Error("a corpus takes an id beyond the vocabulary")
	}
}

func TestBuildIsThePlainAlgorithmAtRealLengths(t *testing.T) {
	o := DefaultOptions()
	checkPlain(t, o, benchVocab(), prose(60), 12345)
	o.MaxSeqLength, o.MaxPredictionsPerSeq, o.DoWholeWordMask = 512, 76, true
	checkPlain(t, o, benchVocab(), prose(60), 12345)
}

func TestACompleteCorpusMayBeShared(t *testing.T) {
	c := proseCorpus(t, 30)
	results := make([][]byte, 3)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			b, err := NewBuilder(DefaultOptions(), benchVocab(), Scratch{})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err = b.Build(context.Background(), c, 9, func(r Record) error {
				results[i] = append(results[i], r.Payload...)
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(results[0]) == 0 || !bytes.Equal(results[0], results[1]) || !bytes.Equal(results[0], results[2]) {
		t.Error("builders that share a corpus give other examples")
	}
}

func TestAnErrorOfYieldEndsTheBuild(t *testing.T) {
	stop := errors.New("enough")
	b := mustBuilder(t, DefaultOptions(), benchVocab(), Scratch{})
	n := 0
	_, err := b.Build(context.Background(), proseCorpus(t, 20), 1, func(Record) error {
		if n++; n == 3 {
			return stop
		}
		return nil
	})
	if err != stop || n != 3 {
		t.Errorf("got %v after %d records", err, n)
	}
}

// Payloads are made in the caller's memory where it gives some.
func TestPayloadsAreMadeWhereTheCallerSays(t *testing.T) {
	build := func(memory func(bin, n int) []byte, each func(p []byte)) {
		b := mustBuilder(t, DefaultOptions(), benchVocab(), Scratch{})
		b.MakeIn(memory)
		if _, err := b.Build(context.Background(), proseCorpus(t, 20), 1, func(r Record) error { each(r.Payload); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	var want [][]byte
	build(func(int, int) []byte { return nil }, func(p []byte) { want = append(want, bytes.Clone(p)) })
	var room []byte
	n := 0
	build(func(_, longest int) []byte { room = make([]byte, 0, longest); return room }, func(p []byte) {
		if &p[0] != &room[:1][0] || !bytes.Equal(p, want[n]) {
			t.Fatalf("record %d is elsewhere, or another", n)
		}
		n++
	})
	if n == 0 || n != len(want) {
		t.Errorf("%d records, want %d", n, len(want))
	}
}

func TestACancelledContextEndsTheBuild(t *testing.T) {
	b := mustBuilder(t, DefaultOptions(), benchVocab(), Scratch{})
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	_, err := b.Build(ctx, proseCorpus(t, 50), 1, func(Record) error {
		n++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || n > checkEvery {
		t.Errorf("got %v after %d records", err, n)
	}
	oneDocument := NewCorpus(10)
	for range 100000 {
		if err := oneDocument.AddSentence([]int32{5, 6, 7}); err != nil {
			t.Fatal(err)
		}
	}
	oneDocument.EndDocument()
	w := walker{corpus: oneDocument, rng: pyrandom.New(1), order: []uint32{0}, room: 5}
	made := 0
	if err := w.walk(ctx, 0, func(pair) error { made++; return nil }); !errors.Is(err, context.Canceled) || made > checkEvery {
		t.Errorf("within a document: got %v after %d pairs", err, made)
	}
}

func TestAnEmptyCorpusGivesNoExamples(t *testing.T) {
	b := mustBuilder(t, DefaultOptions(), smallVocab(100), Scratch{})
	if got, counts := buildAll(t, b, NewCorpus(100), 1); len(got) != 0 || counts != (Counts{}) {
		t.Errorf("got %d examples, %+v", len(got), counts)
	}
}

func TestWholeWordsThatDoNotFitLeaveNoPrediction(t *testing.T) {
	o := DefaultOptions()
	o.DoWholeWordMask, o.DupeFactor = true, 1
	v := smallVocab(100)
	// Words of four pieces in examples of 11 tokens: two predictions at most.
	c := corpusOf(t, v.Size, [][][]int32{{{4, 6, 6, 6}, {4, 6, 6, 6}}})
	got, counts := buildAll(t, mustBuilder(t, o, v, Scratch{}), c, 1)
	if counts.Examples == 0 || counts.NoPredictions != counts.Examples || counts.Predictions != 0 {
		t.Fatalf("got %+v", counts)
	}
	var e records.Example
	if err := e.Decode(got[0]); err != nil || e.Predictions() != 0 {
		t.Errorf("got %d predictions, %v", e.Predictions(), err)
	}
}

// Shares of a large run, seeded: no chance is left in them.
func TestSharesAreThoseOfTheMethod(t *testing.T) {
	o := DefaultOptions()
	o.DupeFactor = 2
	v := benchVocab()
	got, counts := buildAll(t, mustBuilder(t, o, v, Scratch{}), proseCorpus(t, 500), 1)
	var masked, same, other float64
	var e records.Example
	rules := records.Rules{MaxSeqLength: 128, MaxPredictionsPerSeq: 20, VocabSize: v.Size, CLS: v.CLS, SEP: v.SEP}
	for _, payload := range got {
		if err := errors.Join(e.Decode(payload), rules.Check(&e)); err != nil {
			t.Fatal(err)
		}
		for i, p := range e.MaskedLMPositions[:e.Predictions()] {
			switch e.InputIDs[p] {
			case v.Mask:
				masked++
			case e.MaskedLMIDs[i]:
				same++
			default:
				other++
			}
		}
	}
	all := masked + same + other
	if int64(all) != counts.Predictions {
		t.Errorf("got %v predictions, counted %d", all, counts.Predictions)
	}
	within := func(what string, got, want, tolerance float64) {
		if math.Abs(got-want) > tolerance {
			t.Errorf("%s: got %.4f, want %.3f ± %.3f", what, got, want, tolerance)
		}
	}
	within("masked", masked/all, 0.8, 0.01)
	within("kept", same/all, 0.1, 0.01)
	within("replaced", other/all, 0.1, 0.01)
	within("predicted of all tokens", all/float64(counts.Tokens), 0.15, 0.003)
	// More than a half: what is left at a document's end is often one sentence.
	within("random next", float64(counts.RandomNext)/float64(counts.Examples), 0.57, 0.02)
}

func TestSteadyStateAllocatesNothingARecord(t *testing.T) {
	b := mustBuilder(t, DefaultOptions(), benchVocab(), Scratch{})
	c := proseCorpus(t, 20)
	n := 0
	build := func() {
		if _, err := b.Build(context.Background(), c, 1, func(Record) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	build()
	n = 0
	if allocs := testing.AllocsPerRun(3, build); allocs > 10 {
		t.Errorf("got %v allocations for %d records", allocs, n/4)
	}
}
