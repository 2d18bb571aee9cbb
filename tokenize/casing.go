package tokenize

import "strings"

// maxCapitals is the fraction of its tokens with letters above which a vocabulary is
// cased. BERT's cased vocabularies have a capital in 31 % (English) and 25 % (multilingual) of
// the tokens with ASCII letters, its uncased ones in none; a few
// may have been added by hand.
const maxCapitals = 0.01

// LooksUncased guesses from the tokens whether a vocabulary was made of text in lower
// case, so that text must be lower-cased before it is tokenized with it
// ([Options.DoLowerCase]). What a model's own files report about it comes first.
//
// ASCII letters decide: a vocabulary is cased if more than one in a hundred tokens
// with such letters has a capital. Letters beyond ASCII do not count, since
// lower-casing leaves some capitals as they are (ℝ is entry 1579 of
// bert-base-uncased) and others only under an old version of Unicode. If no token
// has ASCII letters, a vocabulary is cased if more than one in a hundred tokens
// cannot come from lower-cased text without accents: capitals, accents, Hangul
// syllables. Names in brackets such as [CLS], [unused7] and <S> are not counted.
//
// A vocabulary that gives no sign looks uncased: the default of BERT.
func (v *Vocab) LooksUncased() bool {
	if capitals, letters := v.Capitals(); letters > 0 {
		return float64(capitals) <= maxCapitals*float64(letters)
	}
	return v.reachableUncased()
}

// Capitals counts the tokens with ASCII letters and those of them with a capital.
// Names in brackets such as [CLS] are not counted.
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

// reachableUncased reports whether nearly all tokens can come from lower-cased text.
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
