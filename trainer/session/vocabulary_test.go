package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/store"
	"pretext/sharding"
)

// smallTokenizer is a tokenizer.json as far as train-bert reads it: the special
// tokens stand where tinydata has those of BERT.
const smallTokenizer = `{"added_tokens": [{"id": 2, "content": "<s>"}, {"id": 3, "content": "</s>"}, {"id": 4, "content": "<mask>"}],
"model": {"type": "BPE", "vocab": {"<pad>": 0, "a": 1}}}`

// withTokenizer makes of a folder of shards what prepare-data makes with a
// tokenizer.json: the file, no vocab.txt, and the ids in the manifest.
func withTokenizer(t *testing.T, dir string, info map[string]int) {
	t.Helper()
	ctx := context.Background()
	folder, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := sharding.ReadManifest(ctx, folder)
	if err != nil {
		t.Fatal(err)
	}
	var options map[string]any
	if err := json.Unmarshal(m.Options, &options); err != nil {
		t.Fatal(err)
	}
	options["tokenizer"] = info
	if m.Options, err = json.Marshal(options); err != nil {
		t.Fatal(err)
	}
	m.Fingerprint = m.Recipe.Fingerprint()
	m.Files = slices.DeleteFunc(m.Files, func(e sharding.FileEntry) bool { return e.Name == sharding.VocabName })
	m.Files = append(m.Files, sharding.FileEntry{Name: sharding.TokenizerName, Bytes: int64(len(smallTokenizer)), SHA256: sharding.Hash([]byte(smallTokenizer))})
	slices.SortFunc(m.Files, func(a, b sharding.FileEntry) int { return strings.Compare(a.Name, b.Name) })
	if err := os.Remove(filepath.Join(dir, sharding.VocabName)); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{sharding.TokenizerName: []byte(smallTokenizer), sharding.ManifestName: sharding.Marshal(m)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRecordsOfATokenizerFileAreTrainedOn(t *testing.T) {
	plain, other := testOptions(t), testOptions(t)
	withTokenizer(t, other.Data, map[string]int{"vocab_size": testVocab, "pad": 0, "unk": -1, "cls": 2, "sep": 3, "mask": 4})
	want, got := mustTrain(t, plain), mustTrain(t, other)
	a, err := os.ReadFile(filepath.Join(want.Model, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(got.Model, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("the same ids give other weights when they are a tokenizer.json's")
	}
	tokenizer, err := tokenizerBeside(got.Model)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
	if diff := cmp.Diff(names, tokenizer.Special); diff != "" || string(tokenizer.File) != smallTokenizer {
		t.Errorf("the model's tokenizer: %s\n%s", diff, tokenizer.File)
	}
}

func TestATokenizerFileThatDoesNotFitIsRefused(t *testing.T) {
	for _, test := range []struct {
		name string
		info map[string]int
		spec string // --vocab
		want string
		is   error
	}{
		{"an id without a token", map[string]int{"vocab_size": testVocab, "pad": 0, "unk": 17, "cls": 2, "sep": 3, "mask": 4}, "", "no token of id 17", errDamaged},
		{"records of another padding", map[string]int{"vocab_size": testVocab, "pad": 1, "unk": -1, "cls": 2, "sep": 3, "mask": 4}, "", "want padding", nil},
		{"a vocabulary as well", map[string]int{"vocab_size": testVocab, "unk": -1}, "other.txt", "is not the vocabulary that the data was made with", nil},
		{"a vocabulary that does not exist", map[string]int{"vocab_size": testVocab, "unk": -1}, "absent.txt", "no such file", fs.ErrNotExist},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := testOptions(t)
			withTokenizer(t, o.Data, test.info)
			if o.Vocab = test.spec; o.Vocab == "other.txt" {
				o.Vocab = filepath.Join(fastDir(t), o.Vocab)
				if err := os.WriteFile(o.Vocab, []byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Train(context.Background(), o)
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
