package pretrain

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		MaxSeqLength:    rapid.IntRange(minSeqLength, 200).Draw(t, "max_seq_length"),
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
	c := NewCorpus(vocabSize)
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

func TestBuildIsThePlainAlgorithm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, seed := anyOptions(t), rapid.Int64().Draw(t, "seed")
		v := smallVocab(rapid.SampledFrom([]int{7, 200, 1 << 16, 70000}).Draw(t, "vocabulary"))
		documents := anyDocuments(t, v.Size)
		plain := plainBuilder{o, v, pyrandom.New(seed), withoutEmpties(documents)}
		want := plain.build()

		c := corpusOf(t, v.Size, documents)
		if got := c.Documents(); got != len(withoutEmpties(documents)) {
			t.Fatalf("got %d documents, want %d", got, len(withoutEmpties(documents)))
		}
		got, counts := buildAll(t, mustBuilder(t, o, v, Scratch{}), c, seed)
		if len(got) != len(want) || counts.Examples != int64(len(want)) {
			t.Fatalf("got %d examples and count %d, want %d", len(got), counts.Examples, len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i].Append(nil)) {
				var e records.Example
				if err := e.Decode(got[i]); err != nil {
					t.Fatal(err)
				}
				t.Fatalf("example %d (-want +got):\n%s", i, cmp.Diff(want[i], &e))
			}
		}
	})
}

// memoryFile is a ScratchFile that remembers whether it was closed.
type memoryFile struct {
	data   []byte
	closed bool
	fail   error // of WriteAt, ReadAt
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	if f.fail != nil {
		return 0, f.fail
	}
	if end := int(off) + len(p); end > len(f.data) {
		f.data = append(f.data, make([]byte, end-len(f.data))...)
	}
	return copy(f.data[off:], p), nil
}

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	if f.fail != nil {
		return 0, f.fail
	}
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) Close() error {
	f.closed = true
	return nil
}

func TestScratchFileAndMemoryGiveTheSame(t *testing.T) {
	o := DefaultOptions()
	c := proseCorpus(t, 250)
	want, wantCounts := buildAll(t, mustBuilder(t, o, benchVocab(), Scratch{}), c, 5)
	for _, budget := range []int64{-1, 0, 1, chunkBytes, chunkBytes + 1, 2 * chunkBytes, 1 << 30} {
		var files []*memoryFile
		b := mustBuilder(t, o, benchVocab(), Scratch{MemoryBytes: budget, Create: func() (ScratchFile, error) {
			files = append(files, new(memoryFile))
			return files[len(files)-1], nil
		}})
		for range 2 { // a Builder is used again
			got, counts := buildAll(t, b, c, 5)
			if counts != wantCounts {
				t.Errorf("budget %d: got %+v, want %+v", budget, counts, wantCounts)
			}
			if !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
				t.Errorf("budget %d: other examples", budget)
			}
		}
		if wantFiles := budget < 1<<30; wantFiles != (len(files) == 2) {
			t.Errorf("budget %d: %d files for two builds", budget, len(files))
		}
		for _, f := range files {
			if !f.closed {
				t.Errorf("budget %d: a scratch file was left open", budget)
			}
		}
	}
}

func TestARealScratchFileServes(t *testing.T) {
	c := proseCorpus(t, 100)
	o := DefaultOptions()
	want, _ := buildAll(t, mustBuilder(t, o, benchVocab(), Scratch{}), c, 5)
	path := filepath.Join(t.TempDir(), "scratch")
	got, _ := buildAll(t, mustBuilder(t, o, benchVocab(), Scratch{Create: func() (ScratchFile, error) {
		return os.Create(path)
	}}), c, 5)
	if !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
		t.Error("other examples")
	}
}

func TestErrorsOfTheScratchFileEndTheBuild(t *testing.T) {
	full := errors.New("disk full")
	c := proseCorpus(t, 100)
	build := func(create func() (ScratchFile, error), yield func(Record) error) error {
		b := mustBuilder(t, DefaultOptions(), benchVocab(), Scratch{Create: create})
		_, err := b.Build(context.Background(), c, 1, yield)
		return err
	}
	nothing := func(Record) error { return nil }
	if err := build(func() (ScratchFile, error) { return nil, full }, nothing); !errors.Is(err, full) {
		t.Errorf("create: got %v", err)
	}
	f := &memoryFile{fail: full}
	if err := build(func() (ScratchFile, error) { return f, nil }, nothing); !errors.Is(err, full) || !f.closed {
		t.Errorf("write: got %v, closed %v", err, f.closed)
	}
	f = new(memoryFile)
	err := build(func() (ScratchFile, error) { return f, nil }, func(Record) error { f.fail = full; return nil })
	if !errors.Is(err, full) || !f.closed {
		t.Errorf("read: got %v, closed %v", err, f.closed)
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

func TestACorpusMustFitTheBuilder(t *testing.T) {
	b := mustBuilder(t, DefaultOptions(), smallVocab(100), Scratch{})
	_, err := b.Build(context.Background(), NewCorpus(99), 1, nil)
	if want := "build examples: corpus for a vocabulary of 99, options for one of 100"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	open := NewCorpus(100)
	if err := open.AddSentence([]int32{5}); err != nil {
		t.Fatal(err)
	}
	_, err = b.Build(context.Background(), open, 1, nil)
	if want := "build examples: the last document of the corpus is not ended"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
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

func TestPredictionsAreRoundedHalfToEven(t *testing.T) {
	o := Options{MaxPredictionsPerSeq: 77, MaskedLMProb: 0.15}
	for tokens, want := range map[int]int{5: 1, 10: 2, 30: 4, 50: 8, 70: 10, 90: 14, 110: 16, 128: 19, 170: 26, 512: 77} {
		if got := o.predictions(tokens); got != want {
			t.Errorf("%d tokens: got %d, want %d", tokens, got, want)
		}
	}
	o.MaxPredictionsPerSeq = 20
	if got := o.predictions(512); got != 20 {
		t.Errorf("got %d, want the limit of 20", got)
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

func TestAllProblemsOfOptionsAndVocabularyAreReported(t *testing.T) {
	o := Options{MaxSeqLength: 4, MaxPredictionsPerSeq: 0, MaskedLMProb: math.NaN(), ShortSeqProb: 1.5, DoWholeWordMask: true}
	_, err := NewBuilder(o, Vocab{Size: 10, CLS: 10, SEP: -1, Mask: 3}, Scratch{})
	want := strings.Join([]string{
		"max_seq_length 4: must be from 5 to 65535",
		"max_predictions_per_seq 0: must be at least 1",
		"masked_lm_prob NaN: must be from 0 to 1",
		"short_seq_prob 1.5: must be from 0 to 1",
		"dupe_factor 0: must be at least 1 (the original script writes no examples with less)",
		"id 10 of [CLS] is not in a vocabulary of 10",
		"id -1 of [SEP] is not in a vocabulary of 10",
		"do_whole_word_mask needs Vocab.IsSubword",
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	o = DefaultOptions()
	o.MaxPredictionsPerSeq = 129
	want = "max_predictions_per_seq 129: more than max_seq_length 128 (the original script accepts it, and pads)"
	if err := o.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}

func TestTheLongestExamplesFitTheScratch(t *testing.T) {
	o := DefaultOptions()
	o.MaxSeqLength, o.MaxPredictionsPerSeq, o.MaskedLMProb, o.DupeFactor = maxSeqLength, maxSeqLength, 1, 1
	v := smallVocab(math.MaxInt32)
	sentence := make([]int32, 2*maxSeqLength)
	for i := range sentence {
		sentence[i] = math.MaxInt32 - 1 - int32(i)
	}
	c := corpusOf(t, v.Size, [][][]int32{{sentence, sentence}, {sentence}})
	b := mustBuilder(t, o, v, Scratch{})
	got, counts := buildAll(t, b, c, 1)
	if len(got) == 0 || counts.Tokens != counts.Examples*maxSeqLength {
		t.Errorf("got %+v", counts)
	}
	if n := maxCompactBytes(o, v); n > chunkBytes {
		t.Errorf("the longest instance has %d bytes", n)
	}
}

func TestCorpusRefusesIdsOutsideOfTheVocabulary(t *testing.T) {
	c := NewCorpus(100)
	for _, id := range []int32{-1, 100, math.MaxInt32, math.MinInt32} {
		if err := c.AddSentence([]int32{5, id}); err == nil {
			t.Errorf("id %d was accepted", id)
		}
	}
	if c.Tokens() != 0 || c.Sentences() != 0 {
		t.Errorf("got %d tokens in %d sentences, want none", c.Tokens(), c.Sentences())
	}
}

func TestCorpusGivesBackWhatItHolds(t *testing.T) {
	for _, size := range []int{1 << 16, 1<<16 + 1} {
		rapid.Check(t, func(t *rapid.T) {
			c := NewCorpus(size)
			for range 2 { // the second time after Reset
				var want []int32
				for range rapid.IntRange(0, 5).Draw(t, "sentences") {
					s := make([]int32, rapid.IntRange(0, 2*chunkIDs).Draw(t, "tokens"))
					for i := range s {
						s[i] = int32((len(want) + i*7) % size)
					}
					if err := c.AddSentence(s); err != nil {
						t.Fatal(err)
					}
					want = append(want, s...)
				}
				c.EndDocument()
				if int(c.Tokens()) != len(want) {
					t.Fatalf("got %d tokens, want %d", c.Tokens(), len(want))
				}
				from := rapid.IntRange(0, len(want)).Draw(t, "from")
				to := rapid.IntRange(from, len(want)).Draw(t, "to")
				got := make([]int32, to-from)
				c.read(got, span{uint32(from), uint32(to)})
				if !slices.Equal(got, want[from:to]) {
					t.Fatal("other tokens")
				}
				c.Reset()
			}
		})
	}
}

func TestCorpusTakesTwoBytesAToken(t *testing.T) {
	c := proseCorpus(t, 2000)
	if perToken := float64(c.MemoryBytes()) / float64(c.Tokens()); perToken > 2.5 {
		t.Errorf("got %.2f bytes a token", perToken)
	}
}
