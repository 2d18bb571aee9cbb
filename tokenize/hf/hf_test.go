package hf_test

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/tokenize/hf"
)

// What Hugging Face's tokenizers 0.23.3 give, see testdata/roberta.py.
//
//go:embed testdata/roberta_cases.jsonl
var robertaCases []byte

// smallBPE returns a byte-level tokenizer.json of our own in which the merges
// make "th", "the" and " the", and "<end>" is added.
func smallBPE(change map[string]any) []byte {
	vocab, next := map[string]int{}, 0
	add := func(token string) { vocab[token] = next; next++ }
	for b := range 256 {
		switch {
		case b <= ' ':
			add(string(rune(0x100 + b)))
		case 0x7f <= b && b <= 0xa0:
			add(string(rune(0x121 + b - 0x7f)))
		case b == 0xad:
			add("\u0143")
		default:
			add(string(rune(b)))
		}
	}
	for _, token := range []string{"th", "the", "Ġthe", "00"} {
		add(token)
	}
	model := map[string]any{"type": "BPE", "vocab": vocab, "merges": []any{"t h", []string{"th", "e"}, "Ġ the", "0 0"}}
	file := map[string]any{
		"added_tokens":  []any{map[string]any{"id": 260, "content": "<end>", "lstrip": true}},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false},
		"model":         model,
	}
	for key, value := range change {
		if rest, ok := strings.CutPrefix(key, "model."); ok {
			model[rest] = value
		} else {
			file[key] = value
		}
	}
	data, err := json.Marshal(file)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return data
}

func load(tb testing.TB, data []byte) *hf.Tokenizer {
	tb.Helper()
	tok, err := hf.Load("tokenizer.json", data)
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

func ExampleLoad() {
	tok, err := hf.Load("tokenizer.json", smallBPE(nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tok.NewEncoder().AppendIDs(nil, "the the  <end>000"))
	// Output: [257 258 260 259 48]
}

func TestRobertaGivesTheIDsOfHuggingFace(t *testing.T) {
	tok := load(t, realdata.Read(t, "tokenizers/roberta-base/tokenizer.json"))
	if tok.Len() != 50265 || tok.Model() != "byte-level-bpe" {
		t.Errorf("%d ids, model %s", tok.Len(), tok.Model())
	}
	checkCases(t, tok, robertaCases, 500)
}

func TestABERTFileGivesTheIDsOfHuggingFace(t *testing.T) {
	tok := load(t, realdata.Read(t, "tokenizers/bert-base-uncased/tokenizer.json"))
	if tok.Len() != 30522 || tok.WordPiece() == nil {
		t.Errorf("%d ids, not encoded by package tokenize", tok.Len())
	}
	cases, err := os.ReadFile("../testdata/hf_cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	checkCases(t, tok, cases, 600)
}

func checkCases(t *testing.T, tok *hf.Tokenizer, cases []byte, atLeast int) {
	t.Helper()
	e, n := tok.NewEncoder(), 0
	for line := range bytes.Lines(cases) {
		var c struct {
			Text  string
			IDs   []int32
			Words []int // the number of each id's word
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		n++
		for range 2 { // the second time from the cache
			if got := e.AppendIDs([]int32{}, c.Text); !slices.Equal(got, c.IDs) {
				t.Errorf("%+q:\ngot  %d\nwant %d", c.Text, got, c.IDs)
			}
			if got, starts := e.AppendWords([]int32{}, nil, c.Text); c.Words != nil && (!slices.Equal(got, c.IDs) || !slices.Equal(wordsOf(starts), c.Words)) {
				t.Errorf("%+q:\ngot  %d, words %d\nwant %d, words %d", c.Text, got, wordsOf(starts), c.IDs, c.Words)
			}
		}
	}
	if n < atLeast {
		t.Errorf("%d cases, want at least %d", n, atLeast)
	}
}

// wordsOf numbers the words that begin at starts.
func wordsOf(starts []bool) []int {
	words, n := []int{}, -1
	for _, start := range starts {
		if start {
			n++
		}
		words = append(words, n)
	}
	return words
}

func TestSpecialTokensAreFoundByName(t *testing.T) {
	for _, test := range []struct {
		file string
		want hf.Specials
	}{
		{"roberta-base", hf.Specials{Pad: 1, Unk: 3, CLS: 0, SEP: 2, Mask: 50264}},
		{"bert-base-uncased", hf.Specials{Pad: 0, Unk: 100, CLS: 101, SEP: 102, Mask: 103}},
	} {
		tok := load(t, realdata.Read(t, "tokenizers/"+test.file+"/tokenizer.json"))
		got, err := tok.Specials()
		if got != test.want || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", test.file, got, err, test.want)
		}
	}
}

func TestWithoutSpecialTokensTextIsEncodedButNoExamplesAreMade(t *testing.T) {
	specials := func(names ...string) []any {
		var out []any
		for i, name := range names {
			out = append(out, map[string]any{"id": 260 + i, "content": name})
		}
		return out
	}
	all := specials("<s>", "</s>", "<pad>", "<mask>")
	for _, test := range []struct {
		change map[string]any
		want   string // of the error; "" for none
	}{
		{map[string]any{"added_tokens": specials("<s>", "</s>")}, "f: no examples can be made with it: no token [PAD] or <pad>, no [MASK] or <mask>: add it with add_special_tokens of the Python package tokenizers, or train a tokenizer with prepare-data vocab"},
		{map[string]any{"added_tokens": all, "post_processor": map[string]any{"type": "BertProcessing", "cls": []any{"<t>", 261}, "sep": []any{"</s>", 261}}},
			`f: no examples can be made with it: post_processor: its token "<t>" is not in the vocabulary`},
		{map[string]any{"added_tokens": all, "post_processor": map[string]any{"type": "RobertaProcessing", "cls": []any{"<s>", 260}, "sep": []any{"</s>", 261}}}, ""},
		{map[string]any{"added_tokens": all, "post_processor": map[string]any{"cls": "odd", "sep": []any{1, 2}}}, ""},
	} {
		tok, err := hf.Load("f", smallBPE(test.change))
		if err != nil {
			t.Fatal(err)
		}
		s, err := tok.Specials()
		if test.want == "" {
			if want := (hf.Specials{Pad: 262, Unk: -1, CLS: 260, SEP: 261, Mask: 263}); err != nil || s != want {
				t.Errorf("%v: got %+v, %v, want %+v", test.change, s, err, want)
			}
		} else if err == nil || err.Error() != test.want {
			t.Errorf("%v: got %v, want %s", test.change, err, test.want)
		} else if strings.Contains(test.want, "post_processor") && (s.CLS != -1 || s.SEP != -1) {
			t.Errorf("%v: got %+v, want no [CLS] and no [SEP]: recipes that need only these would take them", test.change, s)
		}
	}
}

func TestLoadRefusesWhatItWouldGetWrong(t *testing.T) {
	for _, test := range []struct {
		change map[string]any
		want   string
	}{
		{map[string]any{"version": "2.0"}, `version "2.0": not supported`},
		{map[string]any{"normalizer": map[string]any{"type": "Odd"}}, `normalizer "Odd": not supported`},
		{map[string]any{"normalizer": map[string]any{"type": "Replace", "pattern": map[string]any{"Regex": `(a)\1`}, "content": ""}}, `normalizer "Replace": regular expression: byte 5: \1: back references`},
		{map[string]any{"normalizer": map[string]any{"type": "Replace", "pattern": map[string]any{"String": "a"}}}, `normalizer "Replace": content: missing`},
		{map[string]any{"normalizer": map[string]any{"type": "Precompiled", "precompiled_charsmap": "AAAA"}}, `normalizer "Precompiled": precompiled_charsmap: truncated`},
		{map[string]any{"normalizer": map[string]any{"type": "Sequence", "normalizers": []any{map[string]any{"type": "Odd"}}}}, `normalizer "Sequence": normalizer "Odd": not supported`},
		{map[string]any{"pre_tokenizer": map[string]any{"type": "Odd"}}, `pre_tokenizer "Odd": not supported`},
		{map[string]any{"pre_tokenizer": map[string]any{"type": "ByteLevel"}}, `pre_tokenizer "ByteLevel": add_prefix_space: missing`},
		{map[string]any{"pre_tokenizer": map[string]any{"type": "Split", "pattern": map[string]any{"String": "a"}, "behavior": "Odd", "invert": false}}, `pre_tokenizer "Split": behavior "Odd"`},
		{map[string]any{"pre_tokenizer": map[string]any{"type": "Metaspace", "replacement": "ab"}}, `pre_tokenizer "Metaspace": replacement: want one character`},
		{map[string]any{"model.dropout": 0.1}, "dropout: not supported"},
		{map[string]any{"model.unk_token": "<odd>"}, `unk_token "<odd>": not in the vocabulary`},
		{map[string]any{"model.type": "Unigram", "model.vocab": []any{[]any{"a", -1.5}}}, `unk_id: missing`},
		{map[string]any{"model.type": "Unigram", "model.vocab": []any{[]any{"a", -1.5}}, "model.unk_id": 1}, `unk_id 1: the vocabulary has 1 tokens`},
		{map[string]any{"model.type": "Odd"}, `model "Odd": not supported, only BPE, Unigram, WordPiece and WordLevel are`},
		{map[string]any{"model.type": "WordPiece"}, "unk_token, continuing_subword_prefix or max_input_chars_per_word: missing"},
		{map[string]any{"model.vocab": map[string]int{"a": 1 << 24}}, `vocab: id 16777216 of "a" is not between 0 and`},
		{map[string]any{"model.vocab": map[string]int{"a": 1 << 23}, "model.merges": []any{}, "added_tokens": nil}, "vocabulary of 1 tokens: the highest id is 8388608, want no sparse ids"},
		{map[string]any{"model.merges": []any{"t"}}, "merge 0: want two tokens, got 1"},
		{map[string]any{"model.merges": []any{7}}, "merge 0: want a string or a list of two strings"},
		{map[string]any{"model.merges": []any{"h t"}}, `merge 0: "ht" is not in the vocabulary`},
		{map[string]any{"model.merges": []any{[]any{"h", " t"}}}, `merge 0: "h" and " t" are not both in the vocabulary`},
		{map[string]any{"added_tokens": []any{map[string]any{"content": ""}}}, `added token ""`},
		{map[string]any{"added_tokens": []any{map[string]any{"content": "<x>", "id": 1 << 17}}}, `added token "<x>": its id is 131072, but by its place in the file 260`},
		{map[string]any{"added_tokens": []any{map[string]any{"content": "<x>", "id": 260}, map[string]any{"content": "<x>", "id": 260}}}, `added token "<x>": given twice`},
	} {
		_, err := hf.Load("f", smallBPE(test.change))
		if err == nil || !strings.HasPrefix(err.Error(), "f: "+test.want) && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %s", test.change, err, test.want)
		}
	}
	for _, data := range []string{"", "[]", "{}", "null", `{"model":null}`, `{"model":{"type":"BPE"}}`} {
		if _, err := hf.Load("f", []byte(data)); err == nil || !strings.HasPrefix(err.Error(), "f: ") {
			t.Errorf("%q: got %v", data, err)
		}
	}
}

// Components of a hostile file are not read to any depth.
func TestSequencesAreNestedUpToALimit(t *testing.T) {
	for field, list := range map[string]string{"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors"} {
		part := map[string]any{"type": "Sequence", list: []any{}}
		for range 31 {
			part = map[string]any{"type": "Sequence", list: []any{part}}
		}
		load := func(part any) error {
			tok, err := hf.Load("f", smallBPE(map[string]any{field: part}))
			if err == nil {
				_, err = tok.Specials()
			}
			return err
		}
		if err := load(part); err != nil && strings.Contains(err.Error(), "inside each other") {
			t.Errorf("%s of 32 in each other: %v", field, err)
		}
		err := load(map[string]any{"type": "Sequence", list: []any{part}})
		if err == nil || !strings.Contains(err.Error(), "more than 32 inside each other") {
			t.Errorf("%s of 33 in each other: got %v", field, err)
		}
	}
}

func TestAWordOfAMillionLettersIsNotSlow(t *testing.T) {
	e := load(t, smallBPE(nil)).NewEncoder()
	if got := len(e.AppendIDs(nil, strings.Repeat("the", 300_000))); got != 300_000 {
		t.Errorf("%d ids, want 300000", got)
	}
	if got := len(e.AppendIDs(nil, strings.Repeat("0", 999_999))); got != 500_000 {
		t.Errorf("%d ids, want 500000", got)
	}
	if got := len(e.AppendIDs(nil, strings.Repeat("<end", 250_000))); got != 1_000_000 {
		t.Errorf("%d ids, want 1000000", got)
	}
}

// FuzzAppendIDs checks that ids spell the text: without added tokens and
// invalid bytes, the bytes of all tokens are those of the text.
func FuzzAppendIDs(f *testing.F) {
	for _, s := range []string{"the the 000", "a\xffb <end", " \u00a0 'll the\n\n x", "世界 é"} {
		f.Add(s)
	}
	spell := map[int32]string{256: "th", 257: "the", 258: " the", 259: "00"}
	for b := range 256 {
		spell[int32(b)] = string([]byte{byte(b)})
	}
	tok := load(f, smallBPE(map[string]any{"added_tokens": nil}))
	shared := tok.NewEncoder()
	f.Fuzz(func(t *testing.T, s string) {
		ids := shared.AppendIDs(nil, s)
		var got strings.Builder
		for _, id := range ids {
			got.WriteString(spell[id])
		}
		if want := strings.ToValidUTF8(s, ""); got.String() != want {
			t.Errorf("%+q: the ids spell %+q", want, got.String())
		}
		if again, starts := shared.AppendWords(nil, nil, s); !slices.Equal(ids, again) || len(starts) != len(ids) || len(starts) > 0 && !starts[0] {
			t.Errorf("%+q: %d, with words %d, which begin at %t", s, ids, again, starts)
		}
		if fresh := tok.NewEncoder().AppendIDs(nil, s); !slices.Equal(ids, fresh) {
			t.Errorf("%+q: %d, from a new encoder %d", s, ids, fresh)
		}
	})
}

// FuzzLoad checks that what is loaded gives ids below Len, each the start of a
// word or not, and has its special tokens. A file is given by what it changes in
// a small one ("model." before the fields of the model), so that inputs are short,
// or, where that is no object of JSON, as it is.
// precompiledA is a character map in base64 that replaces A by "a": a trie of
// two units, and the replacements.
var precompiledA = base64.StdEncoding.EncodeToString(charsmapA())

// charsmapA returns a charsmap: the size of the trie in bytes, its units, and the
// replacements, each ended by a zero byte.
func charsmapA() []byte {
	units := make([]uint32, 256)
	units[0] = 1 << 10                // its children are at 1 XOR their byte
	units[1^'A'] = 'A' | 1<<8 | 2<<10 // ends a key; its value is at 1^'A'^2
	units[1^'A'^2] = 1 << 31          // value: replacements from byte 0
	var b []byte
	b = binary.LittleEndian.AppendUint32(b, uint32(4*len(units)))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint32(b, u)
	}
	return append(b, "a\x00"...)
}

// The character map of the fuzz target's seed is one that replaces.
func TestThePrecompiledSeedReplaces(t *testing.T) {
	tok := load(t, smallBPE(map[string]any{"normalizer": map[string]any{"type": "Precompiled", "precompiled_charsmap": precompiledA}}))
	enc := tok.NewEncoder()
	if got, want := enc.AppendIDs(nil, "A bA"), enc.AppendIDs(nil, "a ba"); !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{}`), "the <end> 00")
	f.Add([]byte(`{"added_tokens": [{"id": 999, "content": "the", "rstrip": true}]}`), "at the  end")
	f.Add([]byte(`{"added_tokens": [{"id": 260, "content": "<s>"}, {"id": 261, "content": "</s>"}, {"id": 262, "content": "<pad>"},
		{"id": 263, "content": "<mask>", "lstrip": true}], "post_processor": {"cls": ["<s>", 260], "sep": ["</s>", 261]}}`), "a <mask> b")
	f.Add([]byte(`{"model.merges": ["t h", "h e", "Ġ t"], "pre_tokenizer": {"type": "ByteLevel"}}`), " the")
	f.Add([]byte(`{"model": {"type": "WordPiece", "vocab": {"a": 0}}, "normalizer": {"type": "BertNormalizer"}}`), "x")
	f.Add([]byte(`{"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁", -2.5], ["a", -3], ["▁a", -2.25], ["<0x78>", -9e0]], "byte_fallback": true},
		"normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}]}, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}}`), "a ａ xa")
	f.Add([]byte(`{"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["é", -1]]}, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "`+precompiledA+`"}, "pre_tokenizer": null}`), "Ae\u0301")
	f.Add([]byte(`{"model": {"type": "BPE", "vocab": {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3}, "merges": ["▁ a"], "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true},
		"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}, "pre_tokenizer": null}`), "a a xx a aaaa a a a a a")
	f.Add([]byte(` {"model":`), "x")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		var change map[string]any
		if json.Unmarshal(data, &change) == nil {
			data = smallBPE(change)
		}
		tok, err := hf.Load("f", data)
		if err != nil {
			return
		}
		ids, starts := tok.NewEncoder().AppendWords(nil, nil, text)
		for _, id := range ids {
			if id < 0 || int(id) >= tok.Len() {
				t.Errorf("id %d, Len %d", id, tok.Len())
			}
		}
		if len(starts) != len(ids) {
			t.Errorf("%d ids, %d word starts", len(ids), len(starts))
		}
		s, err := tok.Specials()
		for _, id := range []int32{s.Pad, s.CLS, s.SEP, s.Mask} {
			if err == nil && (id < 0 || int(id) >= tok.Len() || tok.Token(id) == "") {
				t.Errorf("special id %d of %d", id, tok.Len())
			}
		}
	})
}

func BenchmarkAppendIDs(b *testing.B) {
	text := string(realdata.Read(b, "books/txt/36_the_war_of_the_worlds.txt"))
	for _, name := range []string{"roberta-base", "bert-base-uncased"} {
		e := load(b, realdata.Read(b, "tokenizers/"+name+"/tokenizer.json")).NewEncoder()
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var ids []int32
			for b.Loop() {
				ids = e.AppendIDs(ids[:0], text)
			}
		})
	}
}
