package tokenize_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/tokenize"
)

// vocabFile reads a vocabulary of the test data, or skips the test.
func vocabFile(tb testing.TB, name string) *tokenize.Vocab {
	tb.Helper()
	v, err := tokenize.ReadVocab(name, realdata.Read(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func newEncoder(tb testing.TB, v *tokenize.Vocab, lower bool) *tokenize.Encoder {
	tb.Helper()
	o := tokenize.DefaultOptions()
	o.DoLowerCase = lower
	tok, err := tokenize.New(v, o)
	if err != nil {
		tb.Fatal(err)
	}
	return tok.NewEncoder()
}

// checkEncoding compares ids and tokens with what the reference gave, for text
// as a string and as bytes.
func checkEncoding(t *testing.T, e *tokenize.Encoder, text string, ids []int32, tokens []string) {
	t.Helper()
	got := e.AppendIDs([]int32{}, text)
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("ids of %+q (-want +got):\n%s", text, diff)
	}
	if diff := cmp.Diff(got, e.AppendIDsBytes([]int32{}, []byte(text))); diff != "" {
		t.Errorf("ids of %+q as bytes (-string +bytes):\n%s", text, diff)
	}
	if diff := cmp.Diff(tokens, e.AppendTokens([]string{}, text)); diff != "" {
		t.Errorf("tokens of %+q (-want +got):\n%s", text, diff)
	}
}

// The cases of testdata/wordpiece.py need nothing but this repository.
func TestEncoderEqualsTheReferenceOnMadeText(t *testing.T) {
	vocab, err := os.ReadFile("testdata/wordpiece_vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := os.ReadFile("testdata/wordpiece_cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	v, err := tokenize.ReadVocab("wordpiece_vocab.txt", vocab)
	if err != nil {
		t.Fatal(err)
	}
	if n := checkCases(t, v, cases); n < 240 {
		t.Errorf("%d cases, want at least 240", n)
	}
}

func TestEncoderEqualsTheReferenceOnTheCases(t *testing.T) {
	cases := realdata.Read(t, "cases/wordpiece.jsonl")
	if n := checkCases(t, vocabFile(t, "vocab/bert-base-uncased-vocab.txt"), cases); n < 300 {
		t.Errorf("%d cases, want at least 300", n)
	}
}

// checkCases compares every case, a JSON object a line, and returns their
// number.
func checkCases(t *testing.T, v *tokenize.Vocab, cases []byte) (n int) {
	t.Helper()
	encoders := map[bool]*tokenize.Encoder{false: newEncoder(t, v, false), true: newEncoder(t, v, true)}
	for line := range bytes.Lines(cases) {
		var c struct {
			Text   string   `json:"text"`
			Bytes  string   `json:"bytes_b64"`
			Lower  bool     `json:"do_lower_case"`
			IDs    []int32  `json:"ids"`
			Tokens []string `json:"tokens"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Bytes != "" {
			raw, err := base64.StdEncoding.DecodeString(c.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			c.Text = string(raw)
		}
		checkEncoding(t, encoders[c.Lower], c.Text, c.IDs, c.Tokens)
		n++
	}
	return n
}

func TestEncoderEqualsTheReferenceWithFourVocabularies(t *testing.T) {
	data := realdata.Read(t, "golden/tokenization.jsonl.gz")
	encoders := map[string]*tokenize.Encoder{}
	for _, name := range []string{"uncased", "cased", "multilingual-cased", "chinese"} {
		v := vocabFile(t, "vocab/bert-base-"+name+"-vocab.txt")
		encoders[name] = newEncoder(t, v, name == "uncased" || name == "chinese")
	}
	words := map[string]*tokenize.WordSplitter{"basic_lower": splitter(t, true), "basic_cased": splitter(t, false)}
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(zr)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		var text string
		decode(t, c["text"], &text)
		for name, e := range encoders {
			var want struct {
				IDs    []int32  `json:"ids"`
				Tokens []string `json:"tokens"`
			}
			decode(t, c[name], &want)
			checkEncoding(t, e, text, want.IDs, want.Tokens)
		}
		for name, w := range words {
			want := []string{}
			decode(t, c[name], &want)
			if diff := cmp.Diff(want, w.AppendWords([]string{}, text)); diff != "" {
				t.Errorf("%s of %+q (-want +got):\n%s", name, text, diff)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// splitter returns a splitter that leaves no word out.
func splitter(tb testing.TB, lower bool) *tokenize.WordSplitter {
	tb.Helper()
	w, err := tokenize.NewWordSplitter(tokenize.Options{DoLowerCase: lower, MaxCharsPerWord: 1 << 16})
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

func decode(tb testing.TB, data json.RawMessage, into any) {
	tb.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		tb.Fatal(err)
	}
}
