package sharding

import (
	"hash/crc32"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pretext/extract"
	"pretext/internal/dev/realdata"
	"pretext/tokenize/hf"
	"pretext/tokenize/sentence"
)

// wordsAndStops tokenizes like the pattern of Llama 3: white space goes with the
// word after it, but the end of a line with a full stop before it.
type wordsAndStops struct{}

var wordOrStop = regexp.MustCompile(`[.!?]+\n*|[ \n]*[a-z]+|[ \n]+`)

func (wordsAndStops) AppendIDs(dst []int32, text string) []int32 {
	for _, token := range wordOrStop.FindAllString(text, -1) {
		dst = append(dst, int32(crc32.ChecksumIEEE([]byte(token))>>3))
	}
	return dst
}

// The ends of sentences are found although tokens differ where two sentences meet.
func TestEndsOfSentencesAreFoundAmongTheTokensOfTheText(t *testing.T) {
	var found sentenceEnds
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(0, 12).Draw(t, "sentences") {
			words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ferry", "left", "nobody", "waved", "it", "rains", "at", "nine"}), 4, 12).Draw(t, "words")
			text.WriteString(strings.Join(words, " ") + rapid.SampledFrom([]string{". ", ".\n", "?\n\n", "! "}).Draw(t, "stop"))
		}
		splitter := stops{}
		ids := wordsAndStops{}.AppendIDs(nil, text.String())
		got := found.find(wordsAndStops{}, wholeText{text.String(), ids}, splitter)
		var want []int
		for _, span := range splitter.AppendSpans(nil, text.String()) {
			n := 0
			for _, at := range wordOrStop.FindAllStringIndex(text.String(), -1) {
				if at[0] < span.End {
					n++
				}
			}
			want = append(want, n)
		}
		if len(want) == 0 {
			want = []int{len(ids)}
		}
		want[len(want)-1] = len(ids)
		if !slices.Equal(got, want) {
			t.Fatalf("%q: sentences end at %v, want %v", text.String(), got, want)
		}
	})
}

// stops is a splitter for the text of the test.
type stops struct{}

func (stops) AppendSpans(dst []sentence.Span, text string) []sentence.Span {
	from := 0
	for i := range len(text) {
		if strings.IndexByte(".?!", text[i]) >= 0 {
			dst = append(dst, sentence.Span{Start: from, End: i + 1})
			from = i + 1
		}
	}
	return dst
}

// The recipes of today's encoders have the ids that the tokenizer gives for the
// text of a document, with all white space; google has those of its sentences.
func TestIDsOfDocumentsAreThoseOfTheirTexts(t *testing.T) {
	raw := realdata.Read(t, "tokenizers/roberta-base/tokenizer.json")
	file, err := hf.Load("tokenizer.json", raw)
	if err != nil {
		t.Fatal(err)
	}
	doc := &extract.Document{ID: "x:1", Lang: "en", Text: strings.Repeat("The ferry left at nine; nobody waved.  It's 2000, naïve 世界 😀 and we'll see.\n\nMotivation\nIt ends here, don't it? Yes.\n", 20)}
	want := file.NewEncoder().AppendIDs(nil, doc.Text)
	for _, recipe := range []string{"google", "mlm", "tokens", "packed", "pieces"} {
		o := DefaultExamplesOptions()
		o.Recipe, o.MaxSeqLength, o.DoWholeWordMask = recipe, 512, recipe == "mlm"
		if o, err = TokenizerOptions("tokenizer.json", raw, o); err != nil {
			t.Fatal(err)
		}
		tok, err := NewTokenizer("tokenizer.json", raw, o)
		if err != nil {
			t.Fatal(err)
		}
		c := tok.NewCorpus()
		if err := tok.NewEncoder().Add(c, doc); err != nil {
			t.Fatal(err)
		}
		if same := c.Tokens() == int64(len(want)); same != (recipe != "google") {
			t.Errorf("%s: %d tokens, those of the text are %d", recipe, c.Tokens(), len(want))
		}
		if c.Sentences() != 100 && recipe != "tokens" || Tokens.Of(c.Counts) != c.Tokens() {
			t.Errorf("%s: %d sentences, want 100; counts %v", recipe, c.Sentences(), c.Counts)
		}
	}
}
