package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"pretext/tokenize/hf"
)

// tokenizerKinds are the kinds of tokenizer.json that train_tokenizers.py makes, with
// the minimum ratio of our speed to that of Hugging Face's library on English text.
var tokenizerKinds = []struct {
	kind, name string
	must       float64
}{
	{"gpt2", "BPE as GPT-2's", 8},
	{"llama3", "BPE as Llama 3's", 8},
	{"llama2", "BPE as Llama 2's, the text as one word", 8},
	{"unigram", "Unigram as XLM-R's", 5},
}

// sixMust is the minimum ratio for each kind on text of six languages.
const sixMust = 6

// tokenizers compares encoding with tokenizers that Hugging Face's library
// trains on the same text.
func (b *peerBench) tokenizers() error {
	sets, err := b.lineSets()
	if err != nil {
		return err
	}
	for _, set := range sets {
		if !set.lower {
			continue // the same lines as the set before
		}
		if err := b.trained(strings.TrimPrefix(set.name, "WordPiece"), set.units); err != nil {
			return err
		}
	}
	return nil
}

// trained compares all kinds of tokenizers on some lines. The works' names end in of.
func (b *peerBench) trained(of string, units []string) error {
	dir := filepath.Join(b.dir, fmt.Sprintf("%d.tokenizers", len(b.all)))
	lines := dir + ".input"
	text := strings.ReplaceAll(strings.Join(units, "\x00"), "\n", "\x01")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(lines, []byte(strings.ReplaceAll(text, "\x00", "\n")+"\n"), 0o644)); err != nil {
		return err
	}
	if out, err := exec.Command(b.o.python, filepath.Join(b.dir, "peers", "train_tokenizers.py"), dir, lines).CombinedOutput(); err != nil {
		return fmt.Errorf("train tokenizers: %w: %s", err, out)
	}
	for _, k := range tokenizerKinds {
		path := filepath.Join(dir, k.kind+".json")
		ours, peer, same, err := b.withFile(path, k.name+of, units)
		if err != nil {
			return err
		}
		b.all = append(b.all, ours, peer)
		must := k.must
		if of != "" {
			must = sixMust
		}
		b.list = append(b.list, pair{ours.name + " / HF tokenizers", ours.name, peer.name, must, same})
	}
	return nil
}

// withFile returns the works of encoding units with a tokenizer.json, ours and
// the library's.
func (b *peerBench) withFile(path, name string, units []string) (ours, peer *work, same *verdict, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, nil, err
	}
	tok, err := hf.Load(path, data)
	if err != nil {
		return nil, nil, nil, err
	}
	var ids []int32
	ours = work{name: name, of: "text", bytes: sizeOf(units)}.inside(func() (int64, error) {
		enc := tok.NewEncoder() // its cache is empty, as the peer's is
		for _, u := range units {
			ids = enc.AppendIDs(ids[:0], u)
		}
		return 0, nil
	})
	same, check := &verdict{Text: "not measured"}, tok.NewEncoder()
	peer, err = b.prepare(script{work: work{name: "HF tokenizers, " + name, of: "text"}, file: "hf.py",
		args: []string{path, "cased", "batch"}, units: units, same: same, sum: func(u string) uint32 { return idSum(check, u) }})
	return ours, peer, same, err
}
