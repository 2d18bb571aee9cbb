package vocab_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
	"pretext/tokenize"
	"pretext/tokenize/vocab"
)

// sequence yields words and then err, if not nil.
func sequence(words []vocab.WordCount, err error) iter.Seq2[vocab.WordCount, error] {
	return func(yield func(vocab.WordCount, error) bool) {
		for _, w := range words {
			if !yield(w, nil) {
				return
			}
		}
		if err != nil {
			yield(vocab.WordCount{}, err)
		}
	}
}

// plainTrain is the algorithm of the package comment, word for word: after every
// merge all pairs are counted anew.
func plainTrain(words []vocab.WordCount, o vocab.Options) []string {
	letters := map[string]int64{}
	for _, w := range words {
		for _, r := range w.Word {
			letters[string(r)] += w.Count
		}
	}
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(a, b vocab.WordCount) int { return cmp.Compare(b.Count, a.Count) })
	words = words[:min(len(words), o.MaxWords)]
	alphabet := sortedKeys(letters)
	slices.SortStableFunc(alphabet, func(a, b string) int { return cmp.Compare(letters[b], letters[a]) })
	alphabet = alphabet[:min(len(alphabet), o.LimitAlphabet)]
	slices.Sort(alphabet)

	tokens := slices.Concat(tokenize.SpecialTokens(), alphabet)
	later := map[string]int64{}
	split := make([][]string, len(words))
	for i, w := range words {
		for j, r := range w.Word {
			switch s := string(r); {
			case !slices.Contains(alphabet, s):
			case j == 0:
				split[i] = append(split[i], s)
			default:
				split[i] = append(split[i], "##"+s)
				later["##"+s]++
			}
		}
	}
	// A word "##x" makes no token twice.
	for _, s := range sortedKeys(later) {
		if !slices.Contains(tokens, s) {
			tokens = append(tokens, s)
		}
	}
	for len(tokens) < o.VocabSize {
		left, right, count := plainBest(words, split, tokens)
		if count < o.MinFrequency {
			break
		}
		joined := left + strings.TrimPrefix(right, "##")
		if !slices.Contains(tokens, joined) {
			tokens = append(tokens, joined)
		}
		for i, s := range split {
			var out []string
			for k := 0; k < len(s); k++ {
				if k+1 < len(s) && s[k] == left && s[k+1] == right {
					out = append(out, joined)
					k++
				} else {
					out = append(out, s[k])
				}
			}
			split[i] = out
		}
	}
	return tokens
}

// plainBest returns the pair that is next.
func plainBest(words []vocab.WordCount, split [][]string, tokens []string) (left, right string, count int64) {
	pairs := map[[2]string]int64{}
	for i, s := range split {
		for k := 1; k < len(s); k++ {
			pairs[[2]string{s[k-1], s[k]}] += words[i].Count
		}
	}
	best := [2]int{}
	for p, n := range pairs {
		at := [2]int{slices.Index(tokens, p[0]), slices.Index(tokens, p[1])}
		if n > count || n == count && slices.Compare(at[:], best[:]) < 0 {
			left, right, count, best = p[0], p[1], n, at
		}
	}
	return left, right, count
}

func sortedKeys(m map[string]int64) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// drawWords draws words over a few characters, so that pairs tie, overlap and
// repeat.
func drawWords(t *rapid.T) []vocab.WordCount {
	counts := rapid.MapOfN(rapid.StringMatching(`[abcé界#]{1,9}`), rapid.Int64Range(1, 4), 0, 30).Draw(t, "words")
	var words []vocab.WordCount
	for _, w := range sortedKeys(counts) {
		words = append(words, vocab.WordCount{Word: w, Count: counts[w]})
	}
	return words
}

// temp returns a function that creates temporary files.
func temp() func() (vocab.TempFile, error) {
	return func() (vocab.TempFile, error) {
		f, err := os.CreateTemp("", "words-*")
		if err != nil {
			return nil, err
		}
		return f, os.Remove(f.Name())
	}
}

func TestTrainEqualsThePlainAlgorithm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := drawWords(t)
		o := vocab.Options{
			VocabSize:     rapid.IntRange(18, 60).Draw(t, "size"),
			LimitAlphabet: rapid.IntRange(1, 6).Draw(t, "alphabet"),
			MinFrequency:  rapid.Int64Range(1, 4).Draw(t, "frequency"),
			MaxWords:      rapid.IntRange(1, 30).Draw(t, "words"),
		}
		trainer := vocab.Trainer{Options: o, Temp: temp()}
		trainer = trainer.Small(rapid.IntRange(0, 60).Draw(t, "symbols"), rapid.IntRange(0, 60).Draw(t, "memory"))
		got, err := trainer.Vocabulary(t.Context(), sequence(words, nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(plainTrain(words, o), got); diff != "" {
			t.Errorf("(-plain +got):\n%s", diff)
		}
	})
}

// TestTrainEqualsThePlainAlgorithmOnLongWordsOfTwoLetters has pairs that overlap
// and hundreds of merges that depend on each other.
func TestTrainEqualsThePlainAlgorithmOnLongWordsOfTwoLetters(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		counts := map[string]int64{}
		for range 60 {
			w := make([]byte, 1+random.IntN(16))
			for i := range w {
				w[i] = "ab"[random.IntN(2)]
			}
			counts[string(w)] = 1 + random.Int64N(5)
		}
		var words []vocab.WordCount
		for _, w := range sortedKeys(counts) {
			words = append(words, vocab.WordCount{Word: w, Count: counts[w]})
		}
		o := vocab.DefaultOptions()
		o.VocabSize, o.MinFrequency = 400, 1
		trainer := vocab.Trainer{Options: o, Temp: temp()}.Small(int(seed*40), int(seed*10))
		got, err := trainer.Vocabulary(t.Context(), sequence(words, nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(plainTrain(words, o), got); diff != "" {
			t.Fatalf("seed %d (-plain +got):\n%s", seed, diff)
		}
	}
}

func TestTheVocabularyDoesNotDependOnHowCountingIsDivided(t *testing.T) {
	texts := []string{
		realText(t, 0), realText(t, 1),
		"Naïve café, naïve cafés: café! 界世 déjà-vu", strings.Repeat("lower slower slowest ", 50),
	}
	o := vocab.DefaultOptions()
	o.VocabSize = 3000
	var want []byte
	for _, parts := range []int{1, 2, 7} {
		var files []io.Reader
		for part := range parts {
			c := newCounts(t, o)
			for i, text := range slices.Backward(texts) {
				for j, line := range strings.Split(text, "\n") {
					if (i+j)%parts == part {
						c.Add(line)
					}
				}
			}
			var file bytes.Buffer
			if _, err := c.WriteTo(&file); err != nil {
				t.Fatal(err)
			}
			files = append(files, &file)
		}
		tokens, err := vocab.Train(t.Context(), vocab.Merge(files...), o)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := vocab.Write(&got, tokens); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got.Bytes()
		}
		if !bytes.Equal(want, got.Bytes()) {
			t.Errorf("the vocabulary from %d files of counts differs from that of one", parts)
		}
	}
	if lines := bytes.Count(want, []byte("\n")); lines < 150 {
		t.Errorf("%d tokens learned, want 150 at least", lines)
	}
}

// realText returns a book of the test data, or some words where it is absent.
func realText(t *testing.T, n int) string {
	t.Helper()
	names := []string{"11_alices_adventures_in_wonderland.txt", "209_the_turn_of_the_screw.txt"}
	return string(realdata.Read(t, "books/txt/"+names[n]))
}

func newCounts(tb testing.TB, o vocab.Options) *vocab.Counts {
	tb.Helper()
	c, err := vocab.NewCounts(o)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestATrainedVocabularyIsOneThatTokenizeReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := vocab.DefaultOptions()
		c, err := vocab.NewCounts(o)
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.String().Draw(t, "text")
		c.Add(text)
		var file, list bytes.Buffer
		if _, err := c.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		tokens, err := vocab.Train(t.Context(), vocab.Merge(&file), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := vocab.Write(&list, tokens); err != nil {
			t.Fatal(err)
		}
		v, err := tokenize.ReadVocab("trained", list.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		tok, err := tokenize.New(v, tokenize.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		// All characters are in the alphabet, so nothing is unknown.
		if ids := tok.NewEncoder().AppendIDs(nil, text); slices.Contains(ids, v.UNK()) {
			t.Errorf("%+q has unknown words: %d", text, ids)
		}
	})
}

func TestAWordIsLearnedWholeWhenThereIsRoom(t *testing.T) {
	words := []vocab.WordCount{{"lower", 5}, {"lowest", 2}, {"newer", 6}, {"wider", 3}}
	got, err := vocab.Train(t.Context(), sequence(words, nil), vocab.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range words {
		if !slices.Contains(got, w.Word) {
			t.Errorf("%q is not in %q", w.Word, got)
		}
	}
	if len(got) >= vocab.DefaultOptions().VocabSize {
		t.Errorf("%d tokens from four words", len(got))
	}
}

func TestTrainLearnsFromTheMostFrequentWordsOnly(t *testing.T) {
	var words []vocab.WordCount
	for _, w := range []string{"aa", "ab", "ac", "ad", "ae", "af", "ag", "ah"} {
		words = append(words, vocab.WordCount{Word: w, Count: 3})
	}
	words[6].Count = 9
	o := vocab.DefaultOptions()
	o.MaxWords = 3
	got, err := vocab.Train(t.Context(), sequence(words, nil), o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ag", "aa", "ab"}
	if diff := gocmp.Diff(want, got[len(got)-3:]); diff != "" {
		t.Errorf("learned (-want +got):\n%s", diff)
	}
}

func TestTrainRefuses(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name  string
		words []vocab.WordCount
		err   error
		o     func(*vocab.Options)
		want  string
	}{
		{"an error of its input", nil, broken, nil, "train vocabulary: broken"},
		{"words out of order", []vocab.WordCount{{"b", 1}, {"a", 1}}, nil, nil, `train vocabulary: word "a": not sorted after "b"`},
		{"a word twice", []vocab.WordCount{{"a", 1}, {"a", 1}}, nil, nil, `train vocabulary: word "a": not sorted after "a"`},
		{"an empty word", []vocab.WordCount{{"", 1}}, nil, nil, `train vocabulary: word "": empty word`},
		{"white space", []vocab.WordCount{{"a\u00a0b", 1}}, nil, nil, `train vocabulary: word "a\u00a0b": white space or control character`},
		{"invalid UTF-8", []vocab.WordCount{{"a\xff", 1}}, nil, nil, `train vocabulary: word "a\xff": invalid UTF-8`},
		{"a count of zero", []vocab.WordCount{{"a", 0}}, nil, nil, `train vocabulary: word "a": count 0: must be between 1 and 17592186044416`},
		{"an endless word", []vocab.WordCount{{strings.Repeat("a", 5000), 1}}, nil, nil, `train vocabulary: word "` + strings.Repeat("a", 5000) + `": too long`},
		{"an alphabet without room", []vocab.WordCount{{"abc", 1}}, nil, func(o *vocab.Options) { o.VocabSize = 9 },
			"train vocabulary: vocab_size 9: too small for the special tokens and the characters of the text, 10 together (limit_alphabet 1000)"},
		{"bad options", nil, nil, func(o *vocab.Options) { *o = vocab.Options{} },
			"train vocabulary: vocab_size 0: must be between 6 and 2000000\nlimit_alphabet 0: must be at least 1\nmin_frequency 0: must be at least 1\nmax_words 0: must be between 1 and 16777216"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := vocab.DefaultOptions()
			if test.o != nil {
				test.o(&o)
			}
			tokens, err := vocab.Train(t.Context(), sequence(test.words, test.err), o)
			if err == nil {
				t.Fatalf("got %q, want an error", tokens)
			}
			if err.Error() != test.want {
				t.Errorf("got  %q\nwant %q", err, test.want)
			}
			if test.err != nil && !errors.Is(err, test.err) {
				t.Errorf("%v does not wrap %v", err, test.err)
			}
		})
	}
}

func TestCountsThatDoNotFitAreAnError(t *testing.T) {
	words := func(yield func(vocab.WordCount, error) bool) {
		for a := 'a'; a <= 'z'; a++ {
			for b := 'a'; b <= 'z'; b++ {
				w := vocab.WordCount{Word: strings.Repeat(string(a)+string(b), 500), Count: vocab.MaxCount}
				if !yield(w, nil) {
					return
				}
			}
		}
	}
	if _, err := vocab.Train(t.Context(), words, vocab.DefaultOptions()); err == nil || !strings.Contains(err.Error(), "exceed 62 bits") {
		t.Errorf("got %v, want an error that there is too much text", err)
	}
}

func TestTrainingEndsWithItsContext(t *testing.T) {
	var words []vocab.WordCount
	for a := 'a'; a <= 'z'; a++ {
		for b := 'a'; b <= 'z'; b++ {
			words = append(words, vocab.WordCount{Word: string([]rune{a, b, 'e'}), Count: 10})
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	read := 0
	tokens, err := vocab.Train(ctx, func(yield func(vocab.WordCount, error) bool) {
		for _, w := range words {
			read++
			if !yield(w, nil) {
				return
			}
		}
		cancel() // all words are read: only the learning is left
	}, vocab.DefaultOptions())
	if !errors.Is(err, context.Canceled) || tokens != nil {
		t.Errorf("cancelled while learning: got %d tokens, %v", len(tokens), err)
	}
	read = 0
	_, err = vocab.Train(ctx, func(yield func(vocab.WordCount, error) bool) {
		for _, w := range words {
			if read++; !yield(w, nil) {
				return
			}
		}
	}, vocab.DefaultOptions())
	if !errors.Is(err, context.Canceled) || read != 1 {
		t.Errorf("cancelled before: got %v after %d words, want 1", err, read)
	}
}
