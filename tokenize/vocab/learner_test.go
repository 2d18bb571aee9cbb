package vocab

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// randomWords are words of three to nine letters, in byte order.
func randomWords(n int) []WordCount {
	r := rand.New(rand.NewPCG(5, 6))
	var words []WordCount
	for range n {
		word := make([]byte, 3+r.IntN(7))
		for i := range word {
			word[i] = byte('a' + min(r.IntN(26), r.IntN(26)))
		}
		words = append(words, WordCount{string(word), 1 + r.Int64N(9)})
	}
	slices.SortFunc(words, func(a, b WordCount) int { return slices.Compare([]byte(a.Word), []byte(b.Word)) })
	return slices.CompactFunc(words, func(a, b WordCount) bool { return a.Word == b.Word })
}

func inOrder(words []WordCount) iter.Seq2[WordCount, error] {
	return func(yield func(WordCount, error) bool) {
		for _, w := range words {
			if !yield(w, nil) {
				return
			}
		}
	}
}

// A round holds the words of its limit, or of one pair, and all rounds together
// learn what one round learns.
func TestARoundHoldsAsManyWordsAsItsLimit(t *testing.T) {
	o := DefaultOptions()
	o.VocabSize, o.MinFrequency = 3000, 2
	words, ctx := randomWords(8000), context.Background()
	want, err := Trainer{Options: o}.Vocabulary(ctx, inOrder(words))
	if err != nil {
		t.Fatal(err)
	}
	const limit = 8000 // of about 45,000
	tr := Trainer{Options: o, symbols: limit}
	c, err := tr.corpus(ctx, inOrder(words))
	if err != nil {
		t.Fatal(err)
	}
	v := newVocabulary(want[:5])
	s, err := v.addAlphabet(ctx, c, o.LimitAlphabet)
	if err != nil {
		t.Fatal(err)
	}
	l := &learner{vocab: v, merger: newMerger(v, o.MinFrequency), limit: limit}
	if err := l.spell(ctx, c, s); err != nil {
		t.Fatal(err)
	}
	rounds := 0
	for {
		if err := l.load(ctx); err != nil {
			t.Fatal(err)
		}
		if rounds++; len(l.merger.symbols) > limit {
			t.Errorf("round %d holds %d characters, want at most %d", rounds, len(l.merger.symbols), limit)
		}
		if err := l.merger.run(ctx, o.VocabSize); err != nil {
			t.Fatal(err)
		}
		if !l.merger.partial || len(v.tokens) >= o.VocabSize || len(l.merger.words) == 0 {
			break
		}
		if err := l.store(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if rounds < 3 || !slices.Equal(v.tokens, want) {
		t.Errorf("%d rounds, %d tokens, want those of one round", rounds, len(v.tokens))
	}
}

// tempFile counts the files that are open.
type tempFile struct {
	*os.File
	open *int
}

func (f tempFile) Close() error {
	*f.open--
	return f.File.Close()
}

// Training leaves no temporary file open, whether it ends well or not.
func TestTrainingClosesItsTemporaryFiles(t *testing.T) {
	full := errors.New("no space left")
	for _, model := range []string{"", BPE, Unigram} {
		for fail := range 5 { // the file that cannot be made; the last exists in no run
			open, made := 0, 0
			temp := func() (TempFile, error) {
				if made++; made == 1+fail && fail < 4 {
					return nil, full
				}
				f, err := os.CreateTemp(t.TempDir(), "words-*")
				open++
				return tempFile{f, &open}, err
			}
			o := DefaultOptions()
			o.Model, o.VocabSize = model, 400
			tr := Trainer{Options: o, Temp: temp, symbols: 1500, memory: 1000}
			var err error
			if model == "" {
				_, err = tr.Vocabulary(context.Background(), inOrder(randomWords(900)))
			} else {
				_, _, err = tr.Tokenizer(context.Background(), inOrder(randomWords(900)))
			}
			if failed := made > fail && fail < 4; failed != (err != nil) || failed && !errors.Is(err, full) {
				t.Errorf("%q, file %d of %d: %v", model, fail, made, err)
			}
			if open != 0 || made == 0 {
				t.Errorf("%q, file %d: %d of %d files are open", model, fail, open, made)
			}
		}
	}
}
