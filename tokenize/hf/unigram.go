package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"pretext/tokenize/internal/bytetrie"
)

// unkPenalty is the difference between the lowest score of a token and the score of an
// unknown character, as in sentencepiece and in the library.
const unkPenalty = 10.0

// unigram is a model of type Unigram. It splits a word into the tokens whose scores have
// the highest sum.
type unigram struct {
	ids      map[string]int32
	scores   []float64 // by id
	unk      int32
	unkScore float64
	bytes    []int32 // with byte_fallback, by byte: the id of its token; else nil
	trie     *bytetrie.Trie
}

// A scoredToken is an entry of the vocabulary: a list of a token and its score.
type scoredToken struct {
	token string
	score float64
}

// UnmarshalJSON reads a list of a token and its score.
func (t *scoredToken) UnmarshalJSON(data []byte) error {
	var two []json.RawMessage
	if err := json.Unmarshal(data, &two); err != nil || len(two) != 2 {
		return errors.New("vocab: want lists of a token and its score")
	}
	if err := json.Unmarshal(two[0], &t.token); err != nil {
		return err
	}
	var err error
	t.score, err = parseScore(string(two[1]))
	return err
}

func newUnigram(m *modelFile) (*unigram, error) {
	var vocab []scoredToken
	if err := json.Unmarshal(m.Vocab, &vocab); err != nil {
		return nil, fmt.Errorf("vocab: %w", err)
	}
	if m.UnkID == nil {
		return nil, errors.New("unk_id: missing, an unknown character could not be encoded")
	}
	if *m.UnkID < 0 || *m.UnkID >= len(vocab) {
		return nil, fmt.Errorf("unk_id %d: the vocabulary has %d tokens", *m.UnkID, len(vocab))
	}
	if len(vocab) >= maxID {
		return nil, fmt.Errorf("vocab: more than %d tokens", maxID-1)
	}
	u := &unigram{ids: make(map[string]int32, len(vocab)), scores: make([]float64, len(vocab)), unk: int32(*m.UnkID)}
	lowest := math.Inf(1)
	for id, t := range vocab {
		u.ids[t.token], u.scores[id] = int32(id), t.score
		lowest = min(lowest, t.score)
	}
	u.unkScore = lowest - unkPenalty
	if m.ByteFallback {
		u.bytes = byteTokens(u.ids)
	}
	u.trie = bytetrie.New(u.ids)
	return u, nil
}

// A pathNode is the end of the best split of the beginning of a word, up to some byte.
type pathNode struct {
	score float64
	start int32 // start of the last token; -1 if the node was not reached
	id    int32 // id of the last token
}

// appendIDs finds the best split with the Viterbi algorithm. Of splits with equal scores,
// it chooses the first one found: scores are added from left to right, and shorter tokens
// are tried first.
func (u *unigram) appendIDs(w *worker, dst []int32, word string) []int32 {
	path := slices.Grow(w.path[:0], len(word)+1)[:len(word)+1]
	w.path = path
	for i := range path {
		path[i] = pathNode{start: -1}
	}
	for at, r := range word {
		if w.budget.spent() {
			return dst
		}
		size := utf8.RuneLen(r)
		single := false // whether the single character is a token
		walked := 0
		for node, i := bytetrie.Root, at; i < len(word); {
			if node = u.trie.Next(node, word[i]); node < 0 {
				break
			}
			i++
			walked = i - at
			if id := u.trie.Value(node); id != bytetrie.None {
				path[i].offer(path[at].score+u.scores[id], at, id)
				single = single || i == at+size
			}
		}
		w.budget.take(walked)
		if !single {
			path[at+size].offer(path[at].score+u.unkScore, at, u.unk)
		}
	}
	return u.appendPath(dst, path, word)
}

// appendPath appends the ids of the best split of word. It follows path from the end of
// word to the beginning.
func (u *unigram) appendPath(dst []int32, path []pathNode, word string) []int32 {
	first := len(dst)
	for end := len(word); end > 0; {
		start := int(path[end].start)
		if path[end].id != u.unk {
			dst = append(dst, path[end].id)
			end = start
			continue
		}
		for start > 0 && path[start].id == u.unk { // join adjacent unknown characters
			start = int(path[start].start)
		}
		before := len(dst)
		dst = u.appendUnknown(dst, word[start:end])
		slices.Reverse(dst[before:])
		end = start
	}
	slices.Reverse(dst[first:])
	return dst
}

// offer replaces the split that ends at n if the offered one, with the last token id, has a
// higher score.
func (n *pathNode) offer(score float64, start int, id int32) {
	if n.start < 0 || score > n.score {
		*n = pathNode{score, int32(start), id}
	}
}

// appendUnknown appends the ids of s, which consists of adjacent unknown characters: the id
// of s if that is a token, else the tokens of its bytes, else the unknown token.
func (u *unigram) appendUnknown(dst []int32, s string) []int32 {
	if id, ok := u.ids[s]; ok {
		return append(dst, id)
	}
	if u.bytes == nil {
		return append(dst, u.unk)
	}
	first := len(dst)
	for i := range len(s) {
		id := u.bytes[s[i]]
		if id == noToken {
			return append(dst[:first], u.unk)
		}
		dst = append(dst, id)
	}
	return dst
}
