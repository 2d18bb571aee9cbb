// Package quality tells documents that are worth training on by the rules with
// which web corpora were cleaned, under the names and limits of their papers.
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
// A rule is a measure of the text and a bound: "min-…" rejects what is below
// the limit, "max-…" what is above it. [Rules] lists all of them in the order in
// which they are asked; the first that rejects a document is the reason. A
// measure that says nothing of a document (stop words of a language without a
// list, the script of a document without a language) does not reject it.
//
// # Measures
//
// A word is a maximal run of characters that are not white space; in scripts
// written without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar)
// each character is a word. A line ends at a line feed; white space at its ends
// does not count, and blank lines do not. Paragraphs are separated by blank
// lines: documents of ours have none inside, so that for them these measures
// are 0 (a paragraph there is a line, and the measures of lines do the work).
// Lengths are characters; shares are between 0 and 1.
//
// Repetition is counted as datatrove does: what was there before is a
// duplicate, the first time is not. A top n-gram is the one that occurs most
// often (of equals, the one that covers most), and counts only where it occurs
// twice; its share is its characters, with a space between words, times its
// occurrences, of those of the text. For duplicate n-grams the words are walked
// from the left: an n-gram seen before adds its characters without spaces, and
// the walk goes on behind it, so that nothing counts twice. Words are compared
// as they stand.
//
// The sentences of C4 are counted in the lines that C4 keeps: three words or
// more, none above 1000 characters, a mark of end and no ellipsis at the end,
// no mention of JavaScript, cookies, terms or policies. A sentence ends at a run
// of . ! ? (or their forms in other scripts), quotes and brackets, before white
// space or the end of the line.
//
// # Limits
//
// Time is linear in the text. Repetition is measured in the first [MaxUnits]
// words, lines or paragraphs, some 6 MB of prose, so that memory is bounded
// (about 45 MB at the worst, kept for the next document).
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
	// Limits gives the limit of each rule that is asked, by its name.
	Limits map[string]float64 `json:"limits,omitempty"`
}

// Validate returns all that is wrong with the options.
func (o Options) Validate() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.Limits)) {
		if _, ok := find(name); !ok {
			errs = append(errs, fmt.Errorf("rule %q: not known%s", name, hint(name)))
		} else if l := o.Limits[name]; math.IsNaN(l) || math.IsInf(l, 0) || l < 0 {
			errs = append(errs, fmt.Errorf("rule %s: limit %g must be a number of at least 0", name, l))
		}
	}
	return errors.Join(errs...)
}

// hint names rules that look like a name that is not known.
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

// SetLimits returns the published limits of the rules of some sets.
func SetLimits(sets ...string) (map[string]float64, error) {
	limits := map[string]float64{}
	for _, set := range sets {
		if !slices.Contains(Sets, set) {
			return nil, fmt.Errorf("quality rules %q: not known, must be of %s", set, strings.Join(Sets, ", "))
		}
		for _, r := range rules {
			if r.in(set) {
				limits[r.Name] = r.Limit
			}
		}
	}
	return limits, nil
}

// A Verdict says why a document is rejected.
type Verdict struct {
	Rule  string  // name of the rule, "" for a document that is kept
	Value float64 // of the measure
}

// A Filter checks documents. Its buffers are used again from document to
// document.
type Filter struct {
	asked []asked
	text  profile
}

type asked struct {
	rule  *rule
	limit float64
}

// New returns a filter that asks the rules that have a limit.
func New(o Options) (*Filter, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	f := new(Filter)
	for i := range rules {
		if limit, ok := o.Limits[rules[i].Name]; ok {
			f.asked = append(f.asked, asked{&rules[i], limit})
		}
	}
	return f, nil
}

// Check returns the first rule that rejects a document, or the zero Verdict.
func (f *Filter) Check(d *extract.Document) Verdict {
	f.text.reset(d)
	for _, a := range f.asked {
		if v, ok := a.rule.measure(&f.text); ok && a.rule.rejects(v, a.limit) {
			return Verdict{a.rule.Name, v}
		}
	}
	return Verdict{}
}

// Measure returns what a rule measures in a document; ok is false where the
// measure says nothing of it, and for a rule that is not known.
func (f *Filter) Measure(d *extract.Document, rule string) (value float64, ok bool) {
	r, ok := find(rule)
	if !ok {
		return 0, false
	}
	f.text.reset(d)
	return r.measure(&f.text)
}
