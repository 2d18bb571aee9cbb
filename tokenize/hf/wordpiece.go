package hf

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"pretext/tokenize/internal/bytetrie"
)

// wordPiece is a model of type WordPiece with options that package tokenize does not
// support.
type wordPiece struct {
	vocab    map[string]int32
	unk      int32
	prefix   string // prefix of every piece except the first of a word
	maxChars int    // maximum length of a word
	trie     *bytetrie.Trie
	inside   int32 // node of the prefix in trie; negative if no token begins with it
}

func newWordPiece(m *modelFile) (*wordPiece, error) {
	vocab, err := m.ids()
	if err != nil {
		return nil, err
	}
	if m.UnkToken == nil || m.SubwordPrefix == nil || m.MaxCharsPerWord == nil {
		return nil, errors.New("unk_token, continuing_subword_prefix or max_input_chars_per_word: missing")
	}
	if *m.MaxCharsPerWord < 0 {
		return nil, fmt.Errorf("max_input_chars_per_word %d: must not be negative", *m.MaxCharsPerWord)
	}
	w := &wordPiece{inside: bytetrie.Root, vocab: vocab, prefix: *m.SubwordPrefix, maxChars: *m.MaxCharsPerWord}
	if w.unk, err = unknown(vocab, *m.UnkToken); err != nil {
		return nil, err
	}
	w.trie = bytetrie.New(vocab)
	for i := 0; i < len(w.prefix) && w.inside >= 0; i++ {
		w.inside = w.trie.Next(w.inside, w.prefix[i])
	}
	return w, nil
}

// unknown returns the id of the unknown token. A model without byte fallback must have it.
func unknown(vocab map[string]int32, token string) (int32, error) {
	id, ok := vocab[token]
	if !ok {
		return 0, fmt.Errorf("unk_token %q: not in the vocabulary", token)
	}
	return id, nil
}

func (m *wordPiece) appendIDs(w *worker, dst []int32, word string) []int32 {
	if utf8.RuneCountInString(word) > m.maxChars {
		return append(dst, m.unk)
	}
	before := len(dst)
	for start := 0; start < len(word); {
		id, n := m.longest(w, word[start:], start > 0)
		if n == 0 {
			return append(dst[:before], m.unk)
		}
		dst = append(dst, id)
		start += n
	}
	return dst
}

// longest returns the longest token at the beginning of s, and its length without the
// prefix; 0 if there is none. continues reports whether s is inside a word.
func (m *wordPiece) longest(w *worker, s string, continues bool) (id int32, n int) {
	node := bytetrie.Root
	if continues {
		node = m.inside
	}
	i := 0
	for i < len(s) && node >= 0 {
		if node = m.trie.Next(node, s[i]); node < 0 {
			break
		}
		i++
		if value := m.trie.Value(node); value != bytetrie.None {
			id, n = value, i
		}
	}
	if !w.budget.take(i + 1) {
		return 0, 0
	}
	return id, n
}

// wordLevel is a model of type WordLevel, in which every token is a whole word.
type wordLevel struct {
	vocab map[string]int32
	unk   int32
}

func newWordLevel(m *modelFile) (*wordLevel, error) {
	vocab, err := m.ids()
	if err != nil {
		return nil, err
	}
	if m.UnkToken == nil {
		return nil, errors.New("unk_token: missing")
	}
	unk, err := unknown(vocab, *m.UnkToken)
	return &wordLevel{vocab, unk}, err
}

func (m *wordLevel) appendIDs(_ *worker, dst []int32, word string) []int32 {
	if id, ok := m.vocab[word]; ok {
		return append(dst, id)
	}
	return append(dst, m.unk)
}
