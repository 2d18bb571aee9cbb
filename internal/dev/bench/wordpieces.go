package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"strings"

	"pretext/tokenize"
)

// A lineSet is a set of lines and the tokenizer settings for it.
type lineSet struct {
	name  string // name of the work
	units []string
	vocab string // path of the vocabulary
	lower bool
}

// lineSets returns the input for WordPiece: English sentences, and lines of
// other languages, both uncased and cased.
func (b *peerBench) lineSets() ([]lineSet, error) {
	var english []string
	for _, s := range b.sentences {
		english = append(english, string(s))
	}
	english = thin(english, lineSample)
	others, err := b.o.lines()
	if err != nil {
		return nil, err
	}
	sets := []lineSet{{"WordPiece", english, b.o.vocab, true}, {"WordPiece, cased", english, besides(b.o.vocab, "cased"), false}}
	if len(others) > 0 {
		name := fmt.Sprintf("WordPiece, %d languages", len(b.o.languages))
		sets = append(sets, lineSet{name, others, b.o.vocab, true},
			lineSet{name + ", cased", others, besides(b.o.vocab, "multilingual-cased"), false})
	}
	return sets, nil
}

// wordPieces compares tokenizers.
func (b *peerBench) wordPieces() error {
	sets, err := b.lineSets()
	if err != nil {
		return err
	}
	for _, set := range sets {
		enc, err := set.encoder(tokenize.ProfileGoogle)
		if err != nil {
			return err
		}
		hf, err := set.encoder(tokenize.ProfileHF)
		if err != nil {
			return err
		}
		var ids []int32
		ours := work{name: set.name, of: "text", bytes: sizeOf(set.units)}.inside(func() (int64, error) {
			for _, u := range set.units {
				ids = enc.AppendIDs(ids[:0], u)
			}
			return 0, nil
		})
		b.all = append(b.all, ours)
		mode := "cased"
		if set.lower {
			mode = "uncased"
		}
		for _, p := range []struct {
			name, script string
			args         []string
			must         float64
			like         *tokenize.Encoder
			as           string
		}{
			{"WordPiece in Python", "wordpiece.py", nil, 120, enc, ""},
			{"HF tokenizers, encode_batch_fast", "hf.py", []string{"batch"}, 30, hf, "profile hf: "},
			{"HF tokenizers, encode", "hf.py", []string{"line"}, 30, hf, "profile hf: "},
		} {
			same := &verdict{Text: "not measured", Before: p.as}
			sum := func(u string) uint32 { return idSum(p.like, u) }
			peer, err := b.prepare(script{work: work{name: p.name + strings.TrimPrefix(set.name, "WordPiece"), of: "text"}, file: p.script,
				args: append([]string{set.vocab, mode}, p.args...), units: set.units, same: same, sum: sum})
			if err != nil {
				return err
			}
			b.all = append(b.all, peer)
			b.list = append(b.list, pair{set.name + " / " + p.name, ours.name, peer.name, p.must, same})
		}

	}
	return nil
}

func (s lineSet) encoder(p tokenize.Profile) (*tokenize.Encoder, error) {
	raw, err := os.ReadFile(s.vocab)
	if err != nil {
		return nil, err
	}
	v, err := tokenize.ReadVocab(s.vocab, raw)
	if err != nil {
		return nil, err
	}
	tok, err := tokenize.New(v, tokenize.Options{DoLowerCase: s.lower, Profile: p})
	if err != nil {
		return nil, err
	}
	return tok.NewEncoder(), nil
}

// An encoder turns text into ids.
type encoder interface {
	AppendIDs(dst []int32, text string) []int32
}

func idSum(enc encoder, u string) uint32 {
	var raw []byte
	for _, id := range enc.AppendIDs(nil, u) {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(id))
	}
	return crc32.ChecksumIEEE(raw)
}
