package hf_test

import (
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/tokenize/hf"
)

func TestDecodeJoinsTokensAsTheModelCutThem(t *testing.T) {
	added := `"added_tokens": [{"id": 0, "content": "[CLS]", "special": true, "normalized": false}, {"id": 1, "content": "[SEP]", "special": true, "normalized": false}]`
	for name, c := range map[string]struct {
		file string
		ids  []int32
		want string
	}{
		"wordpiece":  {`"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "ri": 3, "##ver": 4, "runs": 5}}`, []int32{0, 3, 4, 5, 2, 1}, "river runs [UNK]"},
		"byte level": {`"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"[CLS]": 0, "[SEP]": 1, "a": 2, "Ġ": 3, "Ã": 4, "©": 5, "Ċ": 6}, "merges": []}`, []int32{0, 2, 3, 4, 5, 6, 4, 1}, "a é\n\ufffd"},
		"spaces":     {`"model": {"type": "Unigram", "unk_id": 2, "vocab": [["[CLS]", 0], ["[SEP]", 0], ["<unk>", 0], ["▁the", -1], ["▁ri", -2], ["ver", -2], ["<0xC3>", -9], ["<0xA9>", -9]]}`, []int32{0, 3, 4, 5, 6, 7, 1}, "the riveré"},
		"suffix":     {`"model": {"type": "BPE", "end_of_word_suffix": "</w>", "vocab": {"[CLS]": 0, "[SEP]": 1, "ri": 2, "ver</w>": 3, "runs</w>": 4}, "merges": []}`, []int32{2, 3, 4}, "river runs"},
		"words":      {`"model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "river": 3}}`, []int32{3, 2, 3}, "river [UNK] river"},
	} {
		tok, err := hf.Load(name, []byte(`{"version": "1.0", `+added+`, `+c.file+`}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Decode(c.ids); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Byte-level BPE loses nothing, so that the text of the ids is the text.
func TestByteLevelTextIsDecodedAsItWas(t *testing.T) {
	tok, err := hf.Load("roberta", realdata.Read(t, "tokenizers/roberta-base/tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"The river  runs\nto the sea.", "naïve – 東京 😀\t<x>", strings.Repeat("é", 99)} {
		if got := tok.Decode(tok.NewEncoder().AppendIDs(nil, text)); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}
