package squad

import (
	"strings"

	"pretext/tokenize"
)

// longestWord is the longest word that finding a text in a paragraph can see.
const longestWord = 1 << 16

// An aligner finds the text of a paragraph that pieces stand for.
type aligner struct {
	words *tokenize.WordSplitter
	basic []string // scratch
}

// newAligner returns an aligner for text that was tokenized with o.
func newAligner(o tokenize.Options) (*aligner, error) {
	o.Profile, o.MaxCharsPerWord = tokenize.ProfileGoogle, longestWord
	w, err := tokenize.NewWordSplitter(o)
	return &aligner{words: w}, err
}

// joinPieces makes text of pieces: those that continue a word lose their marks.
func joinPieces(pieces []string) string {
	s := strings.Join(pieces, " ")
	s = strings.ReplaceAll(s, " ##", "")
	s = strings.ReplaceAll(s, "##", "")
	return strings.Join(fields(s), " ")
}

// find returns the part of original, by its bytes, that predicted, which was
// lower-cased and split at punctuation, stands for: get_final_text of run_squad.py.
// Both are compared as the tokenizer sees them, and then, blanks left out, character
// by character; where that fails all of original is the answer.
//
// "steve smith" in "Steve Smith's" gives "Steve Smith".
func (a *aligner) find(predicted, original string) (start, stop int) {
	a.basic = a.words.AppendWords(a.basic[:0], original)
	tokens := []rune(strings.Join(a.basic, " "))
	from := indexRunes(tokens, predicted)
	if from < 0 {
		return 0, len(original)
	}
	to := from + len([]rune(predicted)) - 1
	source := []rune(original)
	sourceAt, tokensAt := solid(source), solid(tokens)
	if len(sourceAt) != len(tokensAt) {
		return 0, len(original)
	}
	begin, ok := counterpart(tokensAt, sourceAt, from)
	if !ok {
		return 0, len(original)
	}
	end, ok := counterpart(tokensAt, sourceAt, to)
	if !ok || end < begin {
		return 0, len(original)
	}
	start = len(string(source[:begin]))
	return start, start + len(string(source[begin:end+1]))
}

// indexRunes returns where in s, in characters, the text t first stands.
func indexRunes(s []rune, t string) int {
	text := string(s)
	at := strings.Index(text, t)
	if at < 0 {
		return -1
	}
	return len([]rune(text[:at]))
}

// solid returns the places of all characters but blanks.
func solid(s []rune) []int {
	at := make([]int, 0, len(s))
	for i, r := range s {
		if r != ' ' {
			at = append(at, i)
		}
	}
	return at
}

// counterpart returns the place in the source of the character at a place in the
// tokens: the one with as many solid characters before it.
func counterpart(tokensAt, sourceAt []int, place int) (int, bool) {
	lo, hi := 0, len(tokensAt)
	for lo < hi {
		if mid := (lo + hi) / 2; tokensAt[mid] < place {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(tokensAt) || tokensAt[lo] != place {
		return 0, false
	}
	return sourceAt[lo], true
}
