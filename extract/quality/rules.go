package quality

import (
	"fmt"
	"slices"
	"strings"
)

// Sets are the names of the rule sets that [SetLimits] accepts. "gopher" stands
// for both "gopher-quality" and "gopher-repetition".
var Sets = []string{"gopher", "gopher-quality", "gopher-repetition", "c4", "fineweb"}

// A Rule is a measure of a document with a limit.
type Rule struct {
	Name  string  `json:"name"`  // also the reject reason, such as "min-words"
	Set   string  `json:"set"`   // set of the rule; "" if it belongs to none
	Limit float64 `json:"limit"` // published limit; 0 if there is none
	What  string  `json:"what"`  // description of the measure
}

// rejects reports whether a value violates the limit.
func (r Rule) rejects(value, limit float64) bool {
	if strings.HasPrefix(r.Name, "min-") {
		return value < limit
	}
	return value > limit
}

// in reports whether the rule belongs to the named set of [Sets].
func (r Rule) in(set string) bool {
	return r.Set != "" && (r.Set == set || strings.HasPrefix(r.Set, set+"-"))
}

type rule struct {
	Rule
	measure func(*profile) (float64, bool)
}

// Rules returns all rules in the order of evaluation.
func Rules() (all []Rule) {
	for _, r := range rules {
		all = append(all, r.Rule)
	}
	return all
}

func find(name string) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.Name == name })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

const (
	gopherQuality    = "gopher-quality"
	gopherRepetition = "gopher-repetition"
	c4               = "c4"
	fineweb          = "fineweb"
)

// rules are all rules, those that take the least time first. The limits are from
//
//   - Gopher: Rae et al. 2021, arXiv 2112.11446, appendix A.1.1 and table A1;
//   - C4: Raffel et al. 2020, arXiv 1910.10683, section 2.2, with the numbers
//     of its published code (five sentences, three words a line);
//   - FineWeb: Penedo et al. 2024, arXiv 2406.17557, section 3.5, and
//     datatrove's FineWebQualityFilter.
//
// Some of these tools reject a value equal to the limit. Here a value equal to the
// limit is always accepted.
var rules = slices.Concat([]rule{
	{Rule{"min-characters", "", 0, "characters"}, (*profile).characterCount},
	{Rule{"max-characters", "", 0, "characters"}, (*profile).characterCount},
	{Rule{"min-words", gopherQuality, 50, "words"}, (*profile).wordCount},
	{Rule{"max-words", gopherQuality, 100_000, "words"}, (*profile).wordCount},
	{Rule{"min-script-share", "", 0, "share of the letters in the scripts of the document's language"}, (*profile).scriptShare},
	{Rule{"min-mean-word-length", gopherQuality, 3, "mean length of words of scripts with spaces"}, (*profile).meanWordLength},
	{Rule{"max-mean-word-length", gopherQuality, 10, "mean length of words of scripts with spaces"}, (*profile).meanWordLength},
	{Rule{"max-hash-ratio", gopherQuality, 0.1, "hash signs a word"}, (*profile).hashRatio},
	{Rule{"max-ellipsis-ratio", gopherQuality, 0.1, "ellipses a word"}, (*profile).ellipsisRatio},
	{Rule{"max-bullet-lines", gopherQuality, 0.9, "share of lines that begin with a bullet"}, (*profile).bulletLines},
	{Rule{"max-ellipsis-lines", gopherQuality, 0.3, "share of lines that end in an ellipsis"}, (*profile).ellipsisLines},
	{Rule{"min-alphabetic-words", gopherQuality, 0.8, "share of words with a letter"}, (*profile).alphabeticWords},
	{Rule{"min-stop-words", gopherQuality, 2, "how many of the, be, to, of, and, that, have, with occur (English)"}, (*profile).stopWordCount},
	{Rule{"max-lorem-ipsum", c4, 0, `"lorem ipsum"`}, (*profile).loremIpsum},
	{Rule{"max-curly-brackets", c4, 0, "opening curly brackets"}, (*profile).curlyBrackets},
	{Rule{"min-sentences", c4, 5, "sentences in lines that C4 keeps"}, (*profile).c4Sentences},
	{Rule{"min-punctuated-lines", fineweb, 0.12, "share of lines that end in sentence punctuation or a quotation mark"}, (*profile).punctuatedLines},
	{Rule{"max-short-lines", fineweb, 0.67, "share of lines of at most 30 characters"}, (*profile).shortLines},
	{Rule{"max-line-breaks", fineweb, 0.3, "line feeds a word"}, (*profile).lineBreaks},
	{Rule{"max-repeated-line-characters", fineweb, 0.01, "share of the characters in repeated lines, without line feeds"}, (*profile).repeatedLineCharacters},
	{Rule{"max-duplicate-lines", gopherRepetition, 0.30, "share of lines that repeat an earlier one"}, (*profile).duplicateLines},
	{Rule{"max-duplicate-line-characters", gopherRepetition, 0.20, "share of the characters in lines that repeat an earlier one"}, (*profile).duplicateLineCharacters},
	{Rule{"max-duplicate-paragraphs", gopherRepetition, 0.30, "share of paragraphs that repeat an earlier one"}, (*profile).duplicateParagraphs},
	{Rule{"max-duplicate-paragraph-characters", gopherRepetition, 0.20, "share of the characters in paragraphs that repeat an earlier one"}, (*profile).duplicateParagraphCharacters},
}, gramRules())

// gramRules returns the n-gram rules of Gopher's table A1.
func gramRules() (grams []rule) {
	for i, limit := range []float64{0.20, 0.18, 0.16} {
		n := 2 + i
		grams = append(grams, rule{Rule{fmt.Sprintf("max-top-%d-gram", n), gopherRepetition, limit,
			fmt.Sprintf("share of the characters in the most frequent run of %d words", n)},
			func(p *profile) (float64, bool) { return p.topGram(n) }})
	}
	for i, limit := range []float64{0.15, 0.14, 0.13, 0.12, 0.11, 0.10} {
		n := 5 + i
		grams = append(grams, rule{Rule{fmt.Sprintf("max-duplicate-%d-grams", n), gopherRepetition, limit,
			fmt.Sprintf("share of the characters in runs of %d words that repeat earlier ones", n)},
			func(p *profile) (float64, bool) { return p.duplicateGrams(n) }})
	}
	return grams
}
