package cli

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pretext/internal/failure"
	"pretext/internal/recognize"
	"pretext/internal/store"
)

// modelName matches the name of a model on the Hugging Face Hub: bert-base-uncased, or
// with its publisher, google-bert/bert-base-uncased.
var modelName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$`)
})

// CheckVocab checks the path of a vocab.txt that was given with a flag. If the path is
// clearly something else, such as a directory or a SentencePiece model, CheckVocab returns
// a usage error with advice. tokenizer is the name of the flag for a tokenizer.json; if it
// equals flag, a tokenizer.json is accepted too.
func CheckVocab(flag, path, tokenizer string) error {
	if _, ok := store.Locate(path).Local(); !ok {
		return nil // its reader says what is wrong with it
	}
	info, err := os.Stat(path)
	if err != nil {
		plain := filepath.Ext(path) == "" || !strings.ContainsAny(filepath.Ext(path), "tj") // bert-base-v1.5, not vocab.txt
		if os.IsNotExist(err) && plain && modelName().MatchString(path) && strings.Contains(path, "-") {
			return failure.Usagef("--%s %s: no such file; if that is the name of a model, download vocab.txt from its page and give that file", flag, path)
		}
		return nil
	}
	if info.IsDir() {
		for name, cure := range map[string]string{"vocab.txt": "--" + flag, "tokenizer.json": "--" + tokenizer} {
			if _, err := os.Stat(filepath.Join(path, "vocab.txt")); err == nil && name == "tokenizer.json" {
				continue
			}
			if _, err := os.Stat(filepath.Join(path, name)); err == nil {
				return failure.Usagef("--%s %s is a folder: give the file in it, %s %s", flag, path, cure, filepath.Join(path, name))
			}
		}
		return failure.Usagef("--%s %s is a folder without a vocab.txt: give a file with a token a line", flag, path)
	}
	if !info.Mode().IsRegular() {
		return failure.Usagef("--%s %s: %s, not a regular file: give a file with a token a line", flag, path, store.ModeName(info.Mode()))
	}
	kind := recognize.Path(context.Background(), path)
	if err := notVocab.For("--"+flag+" "+path, kind); err != nil {
		return err
	}
	head := headOf(path)
	object := bytes.HasPrefix(bytes.TrimLeft(head, "\ufeff \t\r\n"), []byte("{"))
	switch {
	case object && flag == tokenizer:
		return nil
	case object && (bytes.Contains(head, []byte(`"added_tokens"`)) || bytes.Contains(head, []byte(`"normalizer"`)) || filepath.Base(path) == "tokenizer.json"):
		return failure.Usagef("--%s %s is a tokenizer.json: give it as --%s %s", flag, path, tokenizer, path)
	case object:
		return failure.Usagef("--%s %s is JSON, not a vocab.txt with a token a line: give the tokenizer.json beside it as --%s", flag, path, tokenizer)
	case bytes.HasPrefix(head, []byte("\n\x0e\n\x05<unk>")) || bytes.HasPrefix(head, []byte("\n\x0e\n\x05<pad>")) || filepath.Ext(path) == ".model":
		return failure.Usagef("--%s %s is a SentencePiece model, which is not supported: give a vocab.txt with a token a line", flag, path)
	case kind == recognize.Text && !hasToken(path):
		return failure.Usagef("--%s %s is plain text without the tokens [PAD], [UNK], [CLS], [SEP] and [MASK]: give a vocab.txt with a token a line; prepare-data vocab trains one", flag, path)
	}
	return nil
}

// notVocab is the advice for users who gave another kind of file as the vocabulary.
var notVocab = recognize.Each("give a vocab.txt with a token a line; prepare-data vocab trains one from documents",
	recognize.Dump, recognize.DumpIndex, recognize.SQL, recognize.XML, recognize.HTML, recognize.Tar, recognize.Zip, recognize.EPUB, recognize.SevenZip, recognize.RAR, recognize.Xz,
	recognize.Zstd, recognize.Gzip, recognize.Bzip2, recognize.PDF, recognize.Parquet, recognize.Arrow, recognize.SQLite, recognize.Office, recognize.Records, recognize.Weights, recognize.NumPy)

// notTokenizer is the advice for users who gave another kind of file as tokenizer.json.
var notTokenizer = recognize.Each("give a tokenizer.json, which Hugging Face's tokenizers save", append(slices.Collect(maps.Keys(notVocab)), recognize.Text)...)

// hasToken reports whether a file has a special token of BERT on a line of its own.
func hasToken(path string) bool {
	b, err := store.ReadSmall(context.Background(), path, store.Tokens)
	if err != nil {
		return true // its reader says what is wrong with it
	}
	for line := range bytes.Lines(b) {
		switch string(bytes.TrimRight(line, "\r\n")) {
		case "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]":
			return true
		}
	}
	return false
}

// CheckTokenizer checks the path of a tokenizer.json that was given with a flag. It
// returns a usage error if the path is a directory or a vocab.txt.
func CheckTokenizer(flag, path string) error {
	if _, ok := store.Locate(path).Local(); !ok {
		return nil // its reader says what is wrong with it
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(path, "tokenizer.json")); err == nil {
			return failure.Usagef("--%s %s is a folder: give the file in it, --%s %s", flag, path, flag, filepath.Join(path, "tokenizer.json"))
		}
		return failure.Usagef("--%s %s is a folder without a tokenizer.json", flag, path)
	case !info.Mode().IsRegular():
		return failure.Usagef("--%s %s: %s, not a regular file: give a tokenizer.json", flag, path, store.ModeName(info.Mode()))
	}
	if head := headOf(path); bytes.HasPrefix(head, []byte("[PAD]\n")) || bytes.HasPrefix(head, []byte("[PAD]\r\n")) {
		return failure.Usagef("--%s %s is a vocab.txt: give it as --vocab %s", flag, path, path)
	}
	return notTokenizer.For("--"+flag+" "+path, recognize.Path(context.Background(), path))
}

// headOf returns the first 4 KiB of a file, or nil if it cannot be read.
func headOf(path string) []byte {
	f, err := store.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 4<<10)
	n, _ := io.ReadFull(f, head)
	return head[:n]
}
