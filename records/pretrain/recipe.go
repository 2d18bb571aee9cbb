package pretrain

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"pretext/records"
)

// A Recipe is an algorithm that makes records from documents, with everything that the
// programs need to know about it for flags, plans, checks and descriptions. Each recipe is
// in its own file; [Recipes] lists all.
type Recipe struct {
	Name   string       // value of --recipe and of the manifest's option recipe
	About  string       // description of its records, for help texts
	Record string       // name of one record, in the singular
	Form   records.Form // the features of its records

	Defaults Options
	Options  []string // names of those [SomeOptions] that the recipe has
	Least    int      // minimum max_seq_length
	Most     int      // maximum max_seq_length

	// Specials are the special tokens in its records.
	Specials []string

	// WholeTexts means that a tokenizer.json tokenizes the text of a document as a whole,
	// including white space between sentences. Otherwise it tokenizes each sentence alone.
	WholeTexts bool

	// Unsplit means that a document of at most max_seq_length tokens is not split into
	// sentences, whatever the tokenizer.
	Unsplit bool

	// Original means that, without nsp_negatives, the examples are those of the original
	// script.
	Original bool

	// New returns the maker of the records, or an error that lists all problems of the
	// options and the vocabulary. If the recipe shuffles its examples, they wait in the
	// Scratch.
	New func(Options, Vocab, Scratch) (Maker, error)

	// Expect returns the approximate number of records from one pass over the given number
	// of documents, which have the given number of tokens in all.
	Expect func(o Options, tokens, documents float64) float64

	// Check returns why New's maker cannot have made a record that passed the rules, or
	// nil. If Check itself is nil, there are no such conditions.
	Check func(o Options, rules records.Rules, e *records.Example) error
}

// A Maker makes the records of a corpus and calls yield for each. seed seeds the draws like
// Python's random.Random(seed). Equal arguments give equal records.
type Maker interface {
	Build(ctx context.Context, corpus *Corpus, seed int64, yield func(Record) error) (Counts, error)
}

// Recipes returns all recipes. The first one is the default. Where only the form of records
// is known, the first recipe of that form is assumed; see [RecipeOf].
var Recipes = sync.OnceValue(func() []Recipe {
	return []Recipe{googleRecipe(), mlmRecipe(), tokensRecipe(), packedRecipe(), piecesRecipe(), sentencesRecipe()}
})

// RecipeNames returns the names of the recipes for which has returns true, or of all
// recipes if has is nil.
func RecipeNames(has func(Recipe) bool) (names []string) {
	for _, r := range Recipes() {
		if has == nil || has(r) {
			names = append(names, r.Name)
		}
	}
	return names
}

// RecipeByName returns the recipe with the given name. If there is none, known is false and
// the recipe is the default one.
func RecipeByName(name string) (r Recipe, known bool) {
	i := slices.IndexFunc(Recipes(), func(r Recipe) bool { return r.Name == name })
	return Recipes()[max(0, i)], i >= 0
}

// RecipeOf returns the first recipe whose records have the given form.
func RecipeOf(f records.Form) Recipe {
	i := slices.IndexFunc(Recipes(), func(r Recipe) bool { return r.Form == f })
	return Recipes()[max(0, i)]
}

// An Option is an option that not every recipe has.
type Option struct {
	Name string // as in JSON
	Lack string // reason why other recipes do not have it
}

// SomeOptions are the options that not every recipe has.
var SomeOptions = []Option{
	{"max_predictions_per_seq", "it makes no masks"},
	{"masked_lm_prob", "it makes no masks"},
	{"short_seq_prob", "it makes no short examples"},
	{"dupe_factor", "it makes each record once: the reader repeats and masks"},
	{"do_whole_word_mask", "it makes no masks"},
	{"span_mask", "it makes no masks"},
	{"replace", "it makes no masks"},
	{"length_bins", "it pads no examples"},
	{"cross_documents", "it does not join sentences of documents"},
	{"nsp_negatives", "it makes no pairs of segments"},
	{"pack_slack", "it fills no rows or pieces"},
}

// maskOptions are the options of recipes whose records have masks.
var maskOptions = []string{"max_predictions_per_seq", "masked_lm_prob", "short_seq_prob", "dupe_factor", "do_whole_word_mask", "span_mask", "replace", "length_bins"}

// Lacks reports whether an option is one of [SomeOptions] and r does not have it.
func (r Recipe) Lacks(option string) bool {
	return !slices.Contains(r.Options, option) && slices.ContainsFunc(SomeOptions, func(o Option) bool { return o.Name == option })
}

// Complete sets the options in o that were not given, and those that r lacks, to the
// defaults of r.
func (r Recipe) Complete(o *Options, given func(option string) bool) {
	eachOption(o, &r.Defaults, func(name string, value, ours reflect.Value) {
		if r.Lacks(name) || !given(name) {
			value.Set(ours)
		}
	})
}

// Validate returns all problems of o as options of r, joined by [errors.Join].
func (r Recipe) Validate(o Options) error {
	var p problems
	if o.MaxSeqLength < r.Least || o.MaxSeqLength > r.Most {
		p.add("max_seq_length %d: must be from %d to %d", o.MaxSeqLength, r.Least, r.Most)
	}
	eachOption(&o, &r.Defaults, func(name string, value, ours reflect.Value) {
		empty := value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0
		if r.Lacks(name) && !empty && !reflect.DeepEqual(value.Interface(), ours.Interface()) {
			i := slices.IndexFunc(SomeOptions, func(o Option) bool { return o.Name == name })
			p.add("%s: the recipe %s does not have it: %s", name, r.Name, SomeOptions[i].Lack)
		}
	})
	if r.Form.Masks() {
		o.validateMasks(&p)
	}
	if o.NSPNegatives != "" && o.NSPNegatives != NegativesCorpus {
		p.add("nsp_negatives %q: must be %s, or empty", o.NSPNegatives, NegativesCorpus)
	}
	if !(o.PackSlack >= 0 && o.PackSlack < 1) {
		p.add("pack_slack %v: must be at least 0 and below 1", o.PackSlack)
	}
	if len(o.LengthBins) > 0 && !r.Lacks("length_bins") {
		o.validateBins(&p, r.Least)
	}
	return errors.Join(p...)
}

// validate checks options and vocabulary.
func (r Recipe) validate(o Options, v Vocab) error {
	return errors.Join(r.Validate(o), v.validate(o, r.Specials))
}

// eachOption calls do for each field of o, with the same field of ours and the field's name
// in JSON.
func eachOption(o, ours *Options, do func(name string, value, ours reflect.Value)) {
	a, b := reflect.ValueOf(o).Elem(), reflect.ValueOf(ours).Elem()
	for i := range a.NumField() {
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
		do(name, a.Field(i), b.Field(i))
	}
}

// fillOfExample is the fraction of an example's positions that hold tokens if documents are
// long: 0.83 to 0.94, measured. In addition, each document makes one partly filled example.
const fillOfExample = 0.85

// expectExamples is [Recipe.Expect] for recipes that pad their examples.
func expectExamples(o Options, tokens, documents float64) float64 {
	return tokens/(fillOfExample*float64(o.MaxSeqLength)) + documents
}

// checkPredictions is [Recipe.Check] for recipes whose masks a [Builder] makes. The options
// and the length of the example determine the number of predictions exactly; with
// whole-word masking the number may be lower.
func checkPredictions(o Options, rules records.Rules, e *records.Example) error {
	want, got := o.Predictions(e.Tokens()), e.Predictions()
	if got > want {
		return fmt.Errorf("%d masked positions, want %d for %d tokens", got, want, e.Tokens())
	}
	if got == want || o.WholeWords() {
		return nil
	}
	candidates := got // the rules ensure that no special token is predicted
	next := 0
	for i, id := range e.InputIDs[:e.Tokens()] {
		if next < got && int(e.MaskedLMPositions[next]) == i {
			next++
		} else if id != rules.CLS && id != rules.SEP {
			candidates++
		}
	}
	if got != min(want, candidates) {
		return fmt.Errorf("%d masked positions, want %d for %d tokens", got, min(want, candidates), e.Tokens())
	}
	return nil
}
