package squad

import (
	"slices"
	"strings"
	"unicode/utf8"

	"pretext/tokenize"
)

// longestWord is the maximum length of a word that the aligner compares.
const longestWord = 1 << 16

// An aligner finds the part of a paragraph from which a sequence of pieces was made.
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

// joinPieces joins pieces to text; pieces that continue a word lose their "##".
func joinPieces(pieces []string) string {
	s := strings.Join(pieces, " ")
	s = strings.ReplaceAll(s, " ##", "")
	s = strings.ReplaceAll(s, "##", "")
	return strings.Join(fields(s), " ")
}

// find implements get_final_text of run_squad.py. predicted is a part of original,
// lower-cased and split at punctuation. find returns the byte range of this part in
// original. It tokenizes original and compares both character by character, without
// blanks. If it cannot find the part, it returns all of original.
//
// "steve smith" in "Steve Smith's" gives "Steve Smith".
func (a *aligner) find(predicted, original string) (start, stop int) {
	a.basic = a.words.AppendWords(a.basic[:0], original)
	text := strings.Join(a.basic, " ")
	at := strings.Index(text, predicted)
	if at < 0 {
		return 0, len(original)
	}
	from := utf8.RuneCountInString(text[:at])
	to := from + utf8.RuneCountInString(predicted) - 1
	tokens, source := []rune(text), []rune(original)
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

// solid returns the indexes of all characters of a text that are not blanks.
func solid(s []rune) []int {
	at := make([]int, 0, len(s))
	for i, r := range s {
		if r != ' ' {
			at = append(at, i)
		}
	}
	return at
}

// counterpart converts the index of a character in the tokenized text to an index in the
// source: the character with the same number of non-blank characters before it.
func counterpart(tokensAt, sourceAt []int, place int) (int, bool) {
	i, ok := slices.BinarySearch(tokensAt, place)
	if !ok {
		return 0, false
	}
	return sourceAt[i], true
}
