package session

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/tokenize"
	"pretext/trainer/checkpoint"
)

// Vocabularies: capitals and accents are tokens of cased alone.
const (
	uncased = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nbe\n##ta\nete\nété\nℝ\n中\n##中\nβσ\nβς\n"
	cased   = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nBe\nbe\n##ta\nEte\nÉté\nete\nété\n中\n"
)

// tokenizerJSON returns a tokenizer.json of a vocabulary, as transformers saves it.
func tokenizerJSON(t *testing.T, vocab string, normalizer map[string]any) string {
	t.Helper()
	ids := map[string]int{}
	var added []map[string]any
	for i, token := range strings.Fields(vocab) {
		ids[token] = i
		if slices.Contains(tokenize.SpecialTokens(), token) {
			added = append(added, map[string]any{"id": i, "content": token, "special": true})
		}
	}
	settings := map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true}
	for name, value := range normalizer {
		settings[name] = value
	}
	b, err := json.Marshal(map[string]any{
		"added_tokens": added, "normalizer": settings, "pre_tokenizer": map[string]string{"type": "BertPreTokenizer"},
		"model": map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": ids},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTokenizersOfFolders tokenizes a text with what lies beside a model. The tokens
// are those of AutoTokenizer of transformers 4.40 and 5.23, but where a vocabulary lies
// alone: transformers lower-cases then, whatever the vocabulary.
func TestTokenizersOfFolders(t *testing.T) {
	file := func(vocab string, normalizer map[string]any) string { return tokenizerJSON(t, vocab, normalizer) }
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"an uncased vocabulary alone", map[string]string{"vocab.txt": uncased}, "be ##ta ete 中 βς"},
		{"a cased vocabulary alone", map[string]string{"vocab.txt": cased}, "Be ##ta Été 中 [UNK]"},
		{"a configuration that says nothing of it", map[string]string{"vocab.txt": cased, "tokenizer_config.json": `{"model_max_length":512}`}, "Be ##ta Été 中 [UNK]"},
		{"a configuration against the vocabulary", map[string]string{"vocab.txt": cased, "tokenizer_config.json": `{"do_lower_case":true}`}, "be ##ta ete 中 [UNK]"},
		{"and the other way round", map[string]string{"vocab.txt": uncased, "tokenizer_config.json": `{"do_lower_case":false}`}, "[UNK] [UNK] 中 [UNK]"},
		{"accents kept", map[string]string{"vocab.txt": uncased, "tokenizer_config.json": `{"do_lower_case":true,"strip_accents":false}`}, "be ##ta été 中 βς"},
		{"accents null", map[string]string{"vocab.txt": uncased, "tokenizer_config.json": `{"do_lower_case":true,"strip_accents":null}`}, "be ##ta ete 中 βς"},
		{"accents alone removed", map[string]string{"vocab.txt": cased, "tokenizer_config.json": `{"do_lower_case":false,"strip_accents":true}`}, "Be ##ta Ete 中 [UNK]"},
		{"ideographs in words", map[string]string{"vocab.txt": uncased, "tokenizer_config.json": `{"do_lower_case":true,"tokenize_chinese_chars":false}`}, "be ##ta ete ##中 βς"},
		{"tokenizer.json alone", map[string]string{"tokenizer.json": file(uncased, nil)}, "be ##ta ete 中 βσ"},
		{"a cased tokenizer.json", map[string]string{"tokenizer.json": file(cased, map[string]any{"lowercase": false})}, "Be ##ta Été 中 [UNK]"},
		{"a tokenizer.json that keeps accents", map[string]string{"tokenizer.json": file(uncased, map[string]any{"strip_accents": false})}, "be ##ta été 中 βσ"},
		{"a tokenizer.json with ideographs in words", map[string]string{"tokenizer.json": file(uncased, map[string]any{"handle_chinese_chars": false})}, "be ##ta ete ##中 βσ"},
		{"as transformers 5 saves", map[string]string{"tokenizer.json": file(cased, map[string]any{"lowercase": false}),
			"tokenizer_config.json": `{"backend":"tokenizers","do_lower_case":false,"strip_accents":null,"tokenize_chinese_chars":true,"tokenizer_class":"BertTokenizer"}`}, "Be ##ta Été 中 [UNK]"},
		{"as transformers 4 saves", map[string]string{"vocab.txt": uncased, "tokenizer.json": file(uncased, nil),
			"tokenizer_config.json": `{"do_lower_case":true,"strip_accents":null,"tokenizer_class":"BertTokenizer","cls_token":{"content":"[CLS]"}}`}, "be ##ta ete 中 βσ"},
		{"a configuration against tokenizer.json", map[string]string{"tokenizer.json": file(cased, nil),
			"tokenizer_config.json": `{"do_lower_case":false,"tokenizer_class":"BertTokenizer"}`}, "Be ##ta Été 中 [UNK]"},
		{"a configuration of no BERT class", map[string]string{"tokenizer.json": file(cased, map[string]any{"lowercase": false}),
			"tokenizer_config.json": `{"do_lower_case":true,"tokenizer_class":"PreTrainedTokenizerFast"}`}, "Be ##ta Été 中 [UNK]"},
		{"a tokenizer.json that is not read", map[string]string{"vocab.txt": uncased, "tokenizer.json": `{"model":{"type":"Unigram","vocab":[]}}`}, "be ##ta ete 中 βς"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := fastDir(t)
			writeFiles(t, dir, test.files)
			given, err := TokenizerFor(dir, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			tok, err := NewTokenizer(given)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(tok.NewEncoder().AppendTokens(nil, "Beta Été中 βΣ"), " ")
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTokenizersThatCannotBeUsed(t *testing.T) {
	file := tokenizerJSON(t, uncased, nil)
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string
		is    error
	}{
		{"none", nil, "no vocab.txt or tokenizer.json beside the model: give --vocab-file", nil},
		{"two that differ", map[string]string{"vocab.txt": cased, "tokenizer.json": file}, "hold different tokens", nil},
		{"another model", map[string]string{"tokenizer.json": `{"model":{"type":"Neural","vocab":[]}}`}, `model "Neural": not supported`, nil},
		{"no vocabulary", map[string]string{"vocab.txt": "a\nb\n"}, "[CLS] is missing", errDamaged},
		{"a configuration that is cut", map[string]string{"vocab.txt": uncased, "tokenizer_config.json": `{"do_lower`}, "tokenizer_config.json", errDamaged},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := fastDir(t)
			writeFiles(t, dir, test.files)
			_, err := TokenizerFor(dir, "", nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestAVocabularyGivenForAModel is that of --vocab-file: the configuration of the
// model's folder decides, or one beside the file.
func TestAVocabularyGivenForAModel(t *testing.T) {
	model, other := fastDir(t), fastDir(t)
	writeFiles(t, other, map[string]string{"vocab.txt": uncased, "t.json": tokenizerJSON(t, uncased, nil)})
	lower := func(file string) bool {
		t.Helper()
		got, err := TokenizerFor(model, filepath.Join(other, file), nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.LowerCase
	}
	if !lower("vocab.txt") || !lower("t.json") {
		t.Error("an uncased vocabulary is taken for cased")
	}
	writeFiles(t, other, map[string]string{"tokenizer_config.json": `{"do_lower_case":false}`})
	if lower("vocab.txt") {
		t.Error("the configuration beside the file is not read")
	}
	writeFiles(t, model, map[string]string{"tokenizer_config.json": `{"do_lower_case":true}`})
	if !lower("vocab.txt") {
		t.Error("the configuration beside the model is not read")
	}
}

// TestWrittenTokenizersAreReadBack takes a tokenizer through a folder of ours.
func TestWrittenTokenizersAreReadBack(t *testing.T) {
	m, err := OpenModel(mustTrain(t, testOptions(t)).Model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	heads, err := m.Heads()
	if err != nil {
		t.Fatal(err)
	}
	text := func(t checkpoint.Tokenizer) string { // with what pointers point to
		b, _ := json.Marshal(t)
		return string(b)
	}
	no := false
	for i, want := range []checkpoint.Tokenizer{
		{Vocab: []byte(uncased), LowerCase: true},
		{Vocab: []byte(uncased), LowerCase: true, StripAccents: &no},
		{Vocab: []byte(uncased), LowerCase: true, TokenizeChineseChars: &no},
		{Vocab: []byte(cased)},
		{Vocab: []byte(uncased), LowerCase: true, File: []byte(tokenizerJSON(t, uncased, nil))},
	} {
		out := filepath.Join(fastDir(t), "out")
		if err := m.Write(out, heads, want); err != nil {
			t.Fatal(err)
		}
		got, err := tokenizerBeside(out)
		if err != nil {
			t.Fatal(err)
		}
		got.Special = nil
		if text(got) != text(want) {
			t.Errorf("%d: got %s, want %s", i, text(got), text(want))
		}
	}
}

// TestTheVocabulariesOfBERTAlone is what predict --vocab-file, finetune and Google's
// zips have: vocab.txt, and nothing that says how it is used.
func TestTheVocabulariesOfBERTAlone(t *testing.T) {
	for name, want := range map[string]string{
		"bert-base-uncased":            "hello paris et ##e [UNK]",
		"bert-base-cased":              "Hello Paris É ##té [UNK]",
		"bert-base-multilingual-cased": "Hello Paris É ##té [UNK]",
		"bert-base-chinese":            "hello paris et ##e [UNK]",
	} {
		dir := fastDir(t)
		writeFiles(t, dir, map[string]string{"vocab.txt": string(realdata.Read(t, "vocab/"+name+"-vocab.txt"))})
		given, err := TokenizerFor(dir, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := NewTokenizer(given)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(tok.NewEncoder().AppendTokens(nil, "Hello Paris Été \U0001f9ff"), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
