package vocab_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pretext/tokenize"
	"pretext/tokenize/hf"
	"pretext/tokenize/vocab"
)

// trainTexts trains on texts that are counted in parts of the given number.
func trainTexts(tb testing.TB, o vocab.Options, texts []string, parts int) ([]byte, int) {
	tb.Helper()
	var files []io.Reader
	for part := range parts {
		counts, err := vocab.NewCounts(o)
		if err != nil {
			tb.Fatal(err)
		}
		for i := part; i < len(texts); i += parts {
			counts.Add(texts[i])
		}
		file := new(bytes.Buffer)
		if _, err := counts.WriteTo(file); err != nil {
			tb.Fatal(err)
		}
		files = append(files, file)
	}
	data, n, err := vocab.TrainTokenizer(context.Background(), vocab.Merge(files...), o)
	if err != nil {
		tb.Fatal(err)
	}
	return data, n
}

// somePages are texts with words that repeat and combine.
func somePages() (texts []string) {
	stems := strings.Fields("river ferry winter bread story village morning stone boat letter naïve 世界 Straße don't 2026")
	endings := strings.Fields("s ing ed er less ful 's , . !")
	for i := range 300 {
		texts = append(texts, fmt.Sprintf("The %s%s and the %s%s of %s %s.\n", stems[i%15], endings[i%10], stems[i*7%15], endings[i*3%10], stems[i*4%15], stems[i*11%15]))
	}
	return texts
}

func modelOptions(model string, size int) vocab.Options {
	o := vocab.DefaultOptions()
	o.Model, o.VocabSize, o.DoLowerCase, o.TokenizerProfile = model, size, false, ""
	return o
}

func TestATrainedTokenizerIsTheSameHoweverWordsAreCountedAndOnEveryProcessor(t *testing.T) {
	for model, pinned := range map[string]string{vocab.BPE: "a7152b936dee00d1", vocab.Unigram: "12d3d916b946f46b"} {
		want, _ := trainTexts(t, modelOptions(model, 340), somePages(), 1)
		if sum := fmt.Sprintf("%x", sha256.Sum256(want)); !strings.HasPrefix(sum, pinned) {
			t.Errorf("%s: the file has the hash %s, want %s", model, sum, pinned)
		}
		for _, parts := range []int{2, 7} {
			if got, _ := trainTexts(t, modelOptions(model, 340), somePages(), parts); !bytes.Equal(got, want) {
				t.Errorf("%s: other bytes from %d parts", model, parts)
			}
		}
	}
}

func TestATrainedTokenizerLoadsAndMakesExamples(t *testing.T) {
	for _, model := range []string{vocab.BPE, vocab.Unigram} {
		data, n := trainTexts(t, modelOptions(model, 330), somePages(), 1)
		tok, err := hf.Load("tokenizer.json", data)
		if err != nil {
			t.Fatal(err)
		}
		if tok.Len() != n || n > 330 || n < 100 {
			t.Errorf("%s: %d tokens, Len %d", model, n, tok.Len())
		}
		if _, err := tok.Specials(); err != nil {
			t.Error(err)
		}
		for id, name := range tokenize.SpecialTokens() {
			if tok.Token(int32(id)) != name {
				t.Errorf("%s: id %d is %s, want %s", model, id, tok.Token(int32(id)), name)
			}
		}
		text := "The river and the Straße of 世界"
		ids, starts := tok.NewEncoder().AppendWords(nil, nil, text)
		if len(ids) > 14 || slices.Contains(ids, 1) {
			t.Errorf("%s: %q becomes %d", model, text, ids)
		}
		words := 0
		for _, start := range starts {
			if start {
				words++
			}
		}
		if words != 7 {
			t.Errorf("%s: %d words, want 7", model, words)
		}
	}
}

func TestScoresOfUnigramAreLogarithmsOfProbabilities(t *testing.T) {
	data, n := trainTexts(t, modelOptions(vocab.Unigram, 110), somePages(), 1)
	var file struct {
		Model struct{ Vocab [][2]any }
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Model.Vocab) != n || n != 110 {
		t.Fatalf("%d tokens, %v", n, err)
	}
	total, last := 0.0, 0.0
	for i, entry := range file.Model.Vocab[5:] {
		score := entry[1].(float64)
		if i > 0 && score > last {
			t.Errorf("token %d %v: score above that before", i, entry)
		}
		last = score
		total += math.Exp(score)
	}
	if total < 0.8 || total > 1.2 {
		t.Errorf("probabilities add up to %g", total)
	}
}

// The text of a special token is a word like others while training, but no piece:
// its id is that of the special token, once.
func TestASpecialTokenInTheTextIsNoPieceOfUnigram(t *testing.T) {
	texts := somePages()
	for range 200 {
		texts = append(texts, "[MASK] and [PAD] stand [MASK] here [UNK]")
	}
	data, n := trainTexts(t, modelOptions(vocab.Unigram, 200), texts, 1)
	var file struct {
		Model struct{ Vocab [][2]any }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, entry := range file.Model.Vocab {
		seen[entry[0].(string)]++
	}
	for _, token := range tokenize.SpecialTokens() {
		if seen[token] != 1 {
			t.Errorf("%s is there %d times", token, seen[token])
		}
	}
	if seen["▁stand"] != 1 {
		t.Error("the text was not learned from")
	}
	tok, err := hf.Load("tokenizer.json", data)
	if err != nil || tok.Len() != n {
		t.Fatalf("%d tokens, want %d, %v", tok.Len(), n, err)
	}
	if ids := tok.NewEncoder().AppendIDs(nil, "[MASK]"); !slices.Equal(ids, []int32{4}) {
		t.Errorf("[MASK] becomes %d", ids)
	}
}

func TestTrainTokenizerRefusesASmallVocabulary(t *testing.T) {
	for model, want := range map[string]string{
		vocab.BPE:     "train vocabulary: vocab_size 100: too small for the special tokens and the bytes, 261 together",
		vocab.Unigram: "train vocabulary: vocab_size 10: too small for the special tokens and the characters of the text, ",
	} {
		o := modelOptions(model, map[string]int{vocab.BPE: 100, vocab.Unigram: 10}[model])
		counts, err := vocab.NewCounts(o)
		if err != nil {
			t.Fatal(err)
		}
		counts.Add(strings.Join(somePages(), " "))
		file := new(bytes.Buffer)
		if _, err := counts.WriteTo(file); err != nil {
			t.Fatal(err)
		}
		if _, _, err = vocab.TrainTokenizer(context.Background(), vocab.Merge(file), o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", model, err, want)
		}
	}
}

// FuzzTrainTokenizer trains on any text. What is trained loads, and BPE spells
// every text.
func FuzzTrainTokenizer(f *testing.F) {
	f.Add("the the river rivers", "river")
	f.Add("a\x00b \u2581\u2581 \n 世界", "世\t界")
	f.Fuzz(func(t *testing.T, text, other string) {
		for _, model := range []string{vocab.BPE, vocab.Unigram} {
			o := modelOptions(model, 300)
			o.MinFrequency = 1
			data, _ := trainTexts(t, o, []string{text, other}, 2)
			tok, err := hf.Load("f", data)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range tok.NewEncoder().AppendIDs(nil, other) {
				if id < 0 || int(id) >= tok.Len() || model == vocab.BPE && id == 1 {
					t.Errorf("%s: id %d of %d", model, id, tok.Len())
				}
			}
		}
	})
}
