// Package quality rejects documents that are not worth training on, by the
// rules of Gopher, C4 and FineWeb for web text, with the limits published in
// their papers.
//
//	limits, err := quality.SetLimits("gopher", "c4") // the published limits
//	...
//	limits["min-words"] = 20
//	f, err := quality.New(quality.Options{Limits: limits})
//	...
//	if v := f.Check(doc); v.Rule != "" {
//		fmt.Println(doc.ID, "rejected:", v.Rule, v.Value)
//	}
//
// A rule compares a measure of the text with a limit: "min-…" rejects values
// below it, "max-…" values above it. [Rules] lists all rules in the order of
// evaluation; the first rule that rejects a document is the reason. A rule does not
// reject a document for which its measure is undefined, such as stop words in a
// language without a list, or the script of a document without a language.
//
// # Measures
//
// A word is a maximal run of characters that are not white space; in scripts
// written without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar)
// each character is a word; the length of words is undefined where more than half of them
// are such characters. In the length of short lines such a character counts as three: 31 %
// of the lines of English articles have at most 30 characters, 31 % of the lines of Japanese
// and Chinese ones at most 6 to 9. A line ends at a line feed; surrounding white space
// and blank lines are ignored. Paragraphs are separated by blank lines. Our own
// documents have no blank lines, so the paragraph measures are 0 for them;
// their paragraphs are lines, which the line measures cover. Lengths are in
// characters; fractions are between 0 and 1.
//
// Repetition is counted as in datatrove: the first occurrence is not a
// duplicate, later occurrences are. The top n-gram is the most frequent n-gram
// (of equally frequent n-grams, the longest); it counts only if it occurs at least
// twice. Its fraction is its length, with spaces between words, times its
// occurrences, divided by the length of the text. Duplicate n-grams are counted
// from left to right: an n-gram seen before adds its length without spaces and
// is then skipped, so that no word counts twice. Words are compared without
// normalization.
//
// C4's sentences are counted in the lines that C4 keeps: at least three words,
// none longer than 1000 characters, a sentence mark but no ellipsis at the end,
// and no mention of JavaScript, cookies, terms or policies. A sentence ends at
// a run of . ! ? (or their forms in other scripts), quotes and brackets,
// followed by white space or the end of the line.
//
// # Limits
//
// Time is linear in the text. Repetition is measured in the first [maxUnits]
// words, lines or paragraphs, about 6 MB of prose. This bounds memory to about
// 45 MB, which is kept for the next document.
//
// A [Filter] is not safe for concurrent use.
package quality

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"pretext/extract"
)

// Options configures a [Filter].
type Options struct {
	// Limits maps the names of the rules to apply to their limits. A name with a prefix,
	// "ja:max-short-lines" or "no-spaces:max-short-lines", is a limit for documents in a
	// language or in scripts without spaces ([NoSpaces]), instead of that for all.
	Limits map[string]float64 `json:"limits,omitempty"`
}

// Validate reports every field whose value is invalid, in one error.
func (o Options) Validate() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.Limits)) {
		lang, bare := SplitLimit(name)
		if _, ok := find(bare); !ok {
			errs = append(errs, fmt.Errorf("unknown rule %q%s", bare, hint(bare)))
		} else if strings.Contains(name, ":") && !isPrefix(lang) {
			errs = append(errs, fmt.Errorf("rule %s: %q is not the code of a language, such as ja, and not %s", name, lang, NoSpaces))
		} else if l := o.Limits[name]; math.IsNaN(l) || math.IsInf(l, 0) || l < 0 {
			errs = append(errs, fmt.Errorf("rule %s: limit %g must be a number of at least 0", name, l))
		}
	}
	return errors.Join(errs...)
}

// hint returns ", did you mean …?" with the known rules that are similar to an unknown
// name. It returns "" if none is similar.
func hint(name string) string {
	var like []string
	bare := strings.TrimPrefix(strings.TrimPrefix(name, "min-"), "max-")
	for _, r := range rules {
		if bare != "" && strings.Contains(r.Name, bare) {
			like = append(like, r.Name)
		}
	}
	if len(like) == 0 {
		return ""
	}
	return ", did you mean " + strings.Join(like, " or ") + "?"
}

// SetLimits returns the published limits of all rules in the given sets, and those for
// scripts without spaces. [Sets] lists the names of sets.
func SetLimits(sets ...string) (map[string]float64, error) {
	limits := map[string]float64{}
	for _, set := range sets {
		if !slices.Contains(Sets, set) {
			return nil, fmt.Errorf("unknown set of quality rules %q, want one of %s", set, strings.Join(Sets, ", "))
		}
		for _, r := range rules {
			if r.in(set) {
				limits[r.Name] = r.Limit
				if limit, ok := withoutSpaces()[r.Name]; ok {
					limits[NoSpaces+":"+r.Name] = limit
				}
			}
		}
	}
	return limits, nil
}

// A Verdict is the result of checking a document.
type Verdict struct {
	Rule  string  // name of the rule that rejects the document, "" if it is kept
	Value float64 // value of the rule's measure
}

// A Filter checks documents. It reuses its buffers for all documents.
type Filter struct {
	asked []asked
	text  profile
}

type asked struct {
	rule  *rule
	limit float64            // for all documents
	all   bool               // there is a limit for all documents
	langs map[string]float64 // limits by language, or NoSpaces; nil if there are none
}

// New returns a filter with the rules for which o has a limit.
func New(o Options) (*Filter, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	f := new(Filter)
	for i := range rules {
		a := asked{rule: &rules[i]}
		for name, limit := range o.Limits {
			switch lang, bare := SplitLimit(name); {
			case bare != rules[i].Name:
			case lang == "":
				a.limit, a.all = limit, true
			default:
				if a.langs == nil {
					a.langs = map[string]float64{}
				}
				a.langs[lang] = limit
			}
		}
		if a.all || a.langs != nil {
			f.asked = append(f.asked, a)
		}
	}
	return f, nil
}

// Check returns a Verdict with the first rule that rejects a document. If the document
// is kept, it returns the zero Verdict.
func (f *Filter) Check(d *extract.Document) Verdict {
	f.text.reset(d)
	for i := range f.asked {
		a := &f.asked[i]
		limit, ok := a.limitFor(&f.text)
		if !ok {
			continue
		}
		if v, ok := a.rule.measure(&f.text); ok && a.rule.rejects(v, limit) {
			return Verdict{a.rule.Name, v}
		}
	}
	return Verdict{}
}

// Measure returns a rule's measure of a document; ok is false if the measure is
// undefined for the document or the rule is unknown.
func (f *Filter) Measure(d *extract.Document, rule string) (value float64, ok bool) {
	r, ok := find(rule)
	if !ok {
		return 0, false
	}
	f.text.reset(d)
	return r.measure(&f.text)
}
