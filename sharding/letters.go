package sharding

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"pretext/counts"
	"pretext/tokenize/hf"
)

// spelledScripts are scripts with letters and with spaces between words. A vocabulary for
// a language in one of these scripts has many tokens of several letters. Hangul is
// included for its jamo, the parts into which an uncased vocabulary splits syllables.
var spelledScripts = []string{"Latin", "Greek", "Cyrillic", "Armenian", "Hebrew", "Arabic", "Syriac", "Thaana", "Georgian", "Ethiopic", "Hangul",
	"Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala"}

// Limits for [spelling].
const (
	minJudgedVocab = 1000 // minimum number of tokens; smaller vocabularies split every language into letters
	tokensALetter  = 4    // minimum ratio of tokens with several letters to tokens with one letter, for a script that the vocabulary covers
)

// SpelledLetters is the number of tokens that [Tokenizer.spelling] selects. Side-cars of
// shards contain it only above [limitSpelled], so that side-cars below the limit have the
// same bytes as before this count existed.
var SpelledLetters = counts.Declare("spelled_letters", counts.About{Meaning: "tokens of one letter of a script in which the vocabulary has few longer ones, in shards above the limit of the warning spelled-out"})

// keepSpelled removes SpelledLetters if it is within the limit.
func keepSpelled(c Counts) {
	if !exceeds(Warning{Count: SpelledLetters.Of(c), Of: Tokens.Of(c), Limit: limitSpelled}) {
		delete(c, SpelledLetters.Key)
	}
}

// spelling returns a list indexed by token id. An element is true if the token is a
// single letter, or part of one, in a script for which the vocabulary has few longer
// tokens. The list is nil if there is no such script.
func (t *Tokenizer) spelling() []bool {
	if t.Vocab.Size < minJudgedVocab {
		return nil
	}
	scripts := make([]int8, t.Vocab.Size) // by id: 1 + script of a single letter
	single, longer := make([]int, len(spelledScripts)), make([]int, len(spelledScripts))
	text := t.tokenText()
	for id := range scripts {
		switch script, letters := lettersOf(text(int32(id))); {
		case script < 0:
		case letters > 1:
			longer[script]++
		default:
			single[script]++
			scripts[id] = int8(script) + 1
		}
	}
	var out []bool
	for id, script := range scripts {
		if script > 0 && longer[script-1] < tokensALetter*single[script-1] {
			if out == nil {
				out = make([]bool, len(scripts))
			}
			out[id] = true
		}
	}
	return out
}

// tokenText returns a function from an id to its text, which may end in the middle of a
// character.
func (t *Tokenizer) tokenText() func(id int32) string {
	if t.WordPiece != nil {
		v := t.WordPiece.Vocab()
		return func(id int32) string { return strings.TrimPrefix(v.Token(id), "##") }
	}
	if t.file.Model() != "byte-level-bpe" {
		return func(id int32) string { return strings.TrimPrefix(t.file.Token(id), "▁") }
	}
	return func(id int32) string { return strings.TrimPrefix(hf.RawBytes(t.file.Token(id)), " ") }
}

// lettersOf returns the script of a token and the number of its letters and marks, or
// -1 if the token is not a word of one of spelledScripts. A truncated character
// counts as one letter if its script is known.
func lettersOf(token string) (script, letters int) {
	script = -1
	for i := 0; i < len(token); {
		r, size := utf8.DecodeRuneInString(token[i:])
		if r == utf8.RuneError {
			r, size = cutRune(token[i:]), len(token)-i
		}
		i += size
		if letters++; letters > 1 && unicode.IsMark(r) {
			continue
		}
		s := scriptOf(r)
		if s < 0 || script >= 0 && s != script {
			return -1, 0
		}
		script = s
	}
	return script, letters
}

// cutRune returns any character of the script of the truncated character s, or -1 if the
// script is unknown. The first of three bytes fits many scripts.
func cutRune(s string) rune {
	fill := ""
	switch c := s[0]; {
	case 0xc3 <= c && c < 0xe0 && len(s) == 1:
		fill = "\x90"
	case 0xe0 <= c && c < 0xf0 && len(s) == 2:
		fill = "\x95"
	}
	if r, size := utf8.DecodeRuneInString(s + fill); fill != "" && size == len(s)+1 {
		return r
	}
	return -1
}

// scriptOf returns the index of a letter's script in spelledScripts, or -1. Syllables
// of Hangul and modifiers do not count as letters.
func scriptOf(r rune) int {
	if r < 0 || !unicode.IsLetter(r) || unicode.Is(unicode.Lm, r) || 0xac00 <= r && r <= 0xd7a3 {
		return -1
	}
	return slices.IndexFunc(scriptTables(), func(t *unicode.RangeTable) bool { return unicode.Is(t, r) })
}

// scriptTables returns the characters of spelledScripts.
var scriptTables = sync.OnceValue(func() (tables []*unicode.RangeTable) {
	for _, name := range spelledScripts {
		tables = append(tables, unicode.Scripts[name])
	}
	return tables
})
