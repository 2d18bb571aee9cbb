package tokenize

import "strings"

// maxCapitals is the maximum fraction, in an uncased vocabulary, of the tokens with letters
// that contain a capital. In BERT's cased vocabularies, 31 % (English) and 25 %
// (multilingual) of the tokens with ASCII letters contain a capital. In the uncased ones
// none do; a user may have added a few.
const maxCapitals = 0.01

// LooksUncased guesses from the tokens whether a vocabulary was trained on lower-cased
// text, so that text must be lower-cased before tokenization ([Options.DoLowerCase]). If
// the model has configuration files, prefer their setting.
//
// ASCII letters decide: a vocabulary is cased if more than 1 % of the tokens with ASCII
// letters contain a capital. Letters beyond ASCII are ignored, because lower-casing leaves
// some capitals unchanged (ℝ is entry 1579 of bert-base-uncased) and others only under an
// old version of Unicode. If no token has ASCII letters, a vocabulary is cased if more than
// 1 % of the tokens cannot come from lower-cased text without accents: capitals, accents,
// Hangul syllables. Names in brackets such as [CLS], [unused7] and <S> are ignored.
//
// A vocabulary without such evidence is taken as uncased, the default of BERT.
func (v *Vocab) LooksUncased() bool {
	if capitals, letters := v.Capitals(); letters > 0 {
		return float64(capitals) <= maxCapitals*float64(letters)
	}
	return v.reachableUncased()
}

// Capitals returns the number of tokens with an ASCII capital, and the number of tokens
// with any ASCII letter. Names in brackets such as [CLS] are ignored.
func (v *Vocab) Capitals() (capitals, letters int) {
	for _, token := range v.tokens {
		if inBrackets(token) {
			continue
		}
		if strings.ContainsFunc(token, isASCIICapital) {
			letters++
			capitals++
		} else if strings.ContainsFunc(token, isASCIISmall) {
			letters++
		}
	}
	return capitals, letters
}

// reachableUncased reports whether at least 99 % of the tokens (see
// maxCapitals) can occur in text that was lower-cased and stripped of accents.
func (v *Vocab) reachableUncased() bool {
	o := Options{DoLowerCase: true, MaxCharsPerWord: maxMaxChars}
	w := newWordSplitter(o, newRules(o))
	tokens, changed := 0, 0
	for _, token := range v.tokens {
		if inBrackets(token) {
			continue
		}
		token = strings.TrimPrefix(token, subwordPrefix)
		tokens++
		if strings.Join(w.AppendWords(nil, token), "") != token {
			changed++
		}
	}
	return float64(changed) <= maxCapitals*float64(tokens)
}

// inBrackets reports whether a token is a name such as [CLS] or <s>.
func inBrackets(token string) bool {
	return len(token) > 2 && (token[0] == '[' && token[len(token)-1] == ']' || token[0] == '<' && token[len(token)-1] == '>')
}

func isASCIICapital(r rune) bool { return 'A' <= r && r <= 'Z' }
func isASCIISmall(r rune) bool   { return 'a' <= r && r <= 'z' }
