package hf_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/tokenize"
	"pretext/tokenize/hf"
)

// TestABERTFileHasTheIDsOfItsVocabulary is that of every option of BERT's tokenizer.
func TestABERTFileHasTheIDsOfItsVocabulary(t *testing.T) {
	v, err := tokenize.NewVocab([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "be", "##ta", "Be", "ete", "été", "Ete", "Été", "<a&b>", "中", "##中", "x", "##x"})
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	long := make([]byte, 150)
	for i := range long {
		long[i] = 'x'
	}
	for _, o := range []tokenize.Options{
		{DoLowerCase: true}, {}, {DoLowerCase: true, StripAccents: &no}, {StripAccents: &yes}, {DoLowerCase: true, TokenizeChineseChars: &no},
		{DoLowerCase: true, Profile: tokenize.ProfileHF}, {Profile: tokenize.ProfileNVIDIA},
	} {
		file, err := hf.Load("tokenizer.json", hf.BERTFiles(v, o)[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := tokenize.New(v, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"Beta Été中 beta", "a中b été", string(long), ""} {
			got, want := file.NewEncoder().AppendIDs(nil, text), ours.NewEncoder().AppendIDs(nil, text)
			if !slices.Equal(got, want) {
				t.Errorf("%+v: %.20q: got %v, want %v", o, text, got, want)
			}
		}
	}
}

func TestTheFilesOfAVocabularyNameItsTokens(t *testing.T) {
	v, err := tokenize.ReadVocabWith("vocab.txt", []byte("a\n[UNK]\n[SEP]\n[CLS]\n"), tokenize.UnkToken)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]any{}
	for _, f := range hf.BERTFiles(v, tokenize.Options{}) {
		var content map[string]any
		if err := json.Unmarshal(f.Data, &content); err != nil {
			t.Fatal(err)
		}
		got[f.Name] = content
	}
	special := map[string]any{"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
	config := map[string]any{"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": false, "clean_up_tokenization_spaces": false,
		"model_input_names": []any{"input_ids", "token_type_ids", "attention_mask"}}
	for name, token := range special {
		config[name] = token
	}
	if d := cmp.Diff(special, got[hf.SpecialsName]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(config, got[hf.ConfigName]); d != "" {
		t.Error(d)
	}
	ids := got[hf.FileName]["post_processor"].(map[string]any)["special_tokens"].(map[string]any)["[CLS]"].(map[string]any)["ids"]
	if d := cmp.Diff([]any{3.0}, ids); d != "" {
		t.Error(d)
	}
}

func TestAPrefixSpaceIsSaid(t *testing.T) {
	for file, want := range map[string]bool{`{"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true}}`: true, `{"pre_tokenizer":{"add_prefix_space":false}}`: false, `{"pre_tokenizer":null}`: false, ``: false} {
		if got := hf.PrefixSpace([]byte(file)); got != want {
			t.Errorf("%s: got %t", file, got)
		}
	}
}

// The vocabulary is written without encoding/json, but as that writes it.
func TestABERTFileIsWrittenAsAnyJSON(t *testing.T) {
	v, err := tokenize.NewVocab([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", `"`, `\`, "<", ">", "&", "~", "\x7f",
		"\u00e9", "\u2028", "\u4e2d", "##a", "a", "abcdefghi", "abcdefgh", "abcdefghia"})
	if err != nil {
		t.Fatal(err)
	}
	file := hf.BERTFiles(v, tokenize.DefaultOptions())[0].Data
	var content map[string]any
	if err := json.Unmarshal(file, &content); err != nil {
		t.Fatalf("%v: %s", err, file)
	}
	want, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want)+"\n", string(file)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A BERT file is encoded by package tokenize, any other by its parts, which is slower.
func TestOnlyABERTFileIsEncodedAsOne(t *testing.T) {
	v, err := tokenize.NewVocab([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "be", "##ta"})
	if err != nil {
		t.Fatal(err)
	}
	special := 0
	for _, a := range addedTokens(t, hf.BERTFile(v, tokenize.Options{})) {
		if a.Special && !a.SingleWord && !a.LStrip && !a.RStrip && !a.Normalized {
			special++
		}
	}
	if special != len(tokenize.SpecialTokens()) {
		t.Errorf("%d special tokens, want %d", special, len(tokenize.SpecialTokens()))
	}
	sound := string(hf.BERTFiles(v, tokenize.Options{DoLowerCase: true})[0].Data)
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"", "", true},
		{`"max_input_chars_per_word": 200`, `"max_input_chars_per_word": 256`, true},
		{`"max_input_chars_per_word": 200`, `"max_input_chars_per_word": 257`, false},
		{`"clean_text": true`, `"clean_text": false`, false},
		{`"type": "BertPreTokenizer"`, `"type": "Whitespace"`, false},
		{`"type": "BertNormalizer"`, `"type": "Lowercase"`, false},
		{`"continuing_subword_prefix": "##"`, `"continuing_subword_prefix": "@@"`, false},
	} {
		file := strings.Replace(sound, c.from, c.to, 1)
		if c.from != "" && file == sound {
			t.Fatalf("no %s in\n%s", c.from, sound)
		}
		got, err := hf.Load("tokenizer.json", []byte(file))
		if err != nil {
			t.Errorf("%s: %v", c.to, err)
			continue
		}
		if (got.WordPiece() != nil) != c.want {
			t.Errorf("%s: encoded by package tokenize: %v, want %v", c.to, !c.want, c.want)
		}
	}
}

// An addedToken is an entry of added_tokens in a tokenizer.json.
type addedToken struct {
	SingleWord bool `json:"single_word"`
	LStrip     bool
	RStrip     bool
	Normalized bool
	Special    bool
}

func addedTokens(t *testing.T, file []byte) []addedToken {
	t.Helper()
	var f struct {
		AddedTokens []addedToken `json:"added_tokens"`
	}
	if err := json.Unmarshal(file, &f); err != nil {
		t.Fatal(err)
	}
	return f.AddedTokens
}
