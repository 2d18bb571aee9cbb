package hf

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// wordPiece is a model of type WordPiece with options that package tokenize
// does not have.
type wordPiece struct {
	vocab    map[string]int32
	unk      int32
	prefix   string // of every piece but the first of a word
	maxChars int    // of a word
	longest  int    // bytes of the longest token
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
	w := &wordPiece{vocab: vocab, prefix: *m.SubwordPrefix, maxChars: *m.MaxCharsPerWord}
	if w.unk, err = unknown(vocab, *m.UnkToken); err != nil {
		return nil, err
	}
	for token := range vocab {
		w.longest = max(w.longest, len(token))
	}
	return w, nil
}

// unknown returns the id of the unknown token, which a model without byte
// fallback needs.
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
		w.buffer = w.buffer[:0]
		if start > 0 {
			w.buffer = append(w.buffer, m.prefix...)
		}
		head := len(w.buffer)
		w.buffer = append(w.buffer, word[start:]...)
		end := len(w.buffer)
		for end > max(head, m.longest) {
			_, size := utf8.DecodeLastRune(w.buffer[:end])
			end -= size
		}
		id, found := int32(0), false
		for end > head {
			if id, found = m.vocab[string(w.buffer[:end])]; found {
				break
			}
			_, size := utf8.DecodeLastRune(w.buffer[:end])
			end -= size
		}
		if !found {
			return append(dst[:before], m.unk)
		}
		dst = append(dst, id)
		start += end - head
	}
	return dst
}

// wordLevel is a model of type WordLevel: a token for each word.
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
