package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/records/pretrain"
	"pretext/sharding"
)

// recipeFlags are the flags whose values depend on the recipe, besides those that
// are fields of the options.
type recipeFlags struct {
	replace   pretrain.Replacement
	bins      []int
	negatives string
}

// add adds the flags of recipes, with the defaults in o.
func (f *recipeFlags) add(fs *pflag.FlagSet, o *sharding.ExamplesOptions) {
	f.replace = o.Replacement()
	fs.StringVar(&o.Recipe, "recipe", o.Recipe, "algorithm that makes records: google (as create_pretraining_data.py does), mlm (sentences with masks, no pairs), "+
		"tokens (ids of documents, no masks) or packed (rows filled with pieces of documents)")
	fs.Float64Var(&f.replace.MaskTokenProb, "mask-token-prob", f.replace.MaskTokenProb, "fraction of the predicted tokens that become [MASK]")
	fs.Float64Var(&f.replace.RandomTokenProb, "random-token-prob", f.replace.RandomTokenProb, "fraction of the predicted tokens that become a random token; the rest stays")
	fs.BoolVar(&o.SpanMask, "span-mask", false, "mask spans of whole words, as SpanBERT does")
	fs.BoolVar(&o.CrossDocuments, "cross-documents", false, "fill an example with the next document when one ends, after a [SEP]; only --recipe mlm")
	fs.StringVar(&f.negatives, "nsp-negatives", negativesShard, "documents of random segments: shard (as create_pretraining_data.py does) or corpus (all equally often, never the document itself); only --recipe google")
	fs.IntSliceVar(&f.bins, "length-bins", nil, "`lengths` to which examples are padded, each in files of its own, such as 64,128,256; one number: the width of the bins; default: all are padded to --max-seq-length")
	fs.Float64Var(&o.PackSlack, "pack-slack", 0, "fraction of a row that may stay empty to cut a document at the end of a sentence; only --recipe packed, default there: 0.01")
}

// negativesShard is the default of --nsp-negatives.
const negativesShard = "shard"

// A recipeOption is a flag that only some recipes have.
type recipeOption struct {
	name    string
	recipes []string // the recipes that have it
	why     string   // what the other recipes do instead
}

var (
	maskRecipes   = []string{sharding.RecipeGoogle, sharding.RecipeMLM}
	recipeOptions = []recipeOption{
		{"max-predictions-per-seq", maskRecipes, "it makes no masks"},
		{"masked-lm-prob", maskRecipes, "it makes no masks"},
		{"short-seq-prob", maskRecipes, "it makes no short examples"},
		{"dupe-factor", maskRecipes, "it makes each record once: the reader repeats and masks"},
		{"do-whole-word-mask", maskRecipes, "it makes no masks"},
		{"span-mask", maskRecipes, "it makes no masks"},
		{"mask-token-prob", maskRecipes, "it makes no masks"},
		{"random-token-prob", maskRecipes, "it makes no masks"},
		{"length-bins", maskRecipes, "it pads no examples"},
		{"cross-documents", []string{sharding.RecipeMLM}, "only mlm joins sentences of documents"},
		{"nsp-negatives", []string{sharding.RecipeGoogle}, "it makes no pairs of segments"},
		{"pack-slack", []string{sharding.RecipePacked}, "only packed fills rows"},
	}
)

// lacksFlag reports whether a flag does not exist for a recipe.
func lacksFlag(recipe, flag string) bool {
	i := slices.IndexFunc(recipeOptions, func(r recipeOption) bool { return r.name == flag })
	return recipe != "" && i >= 0 && !slices.Contains(recipeOptions[i].recipes, recipe)
}

// complete sets the options that were not given to the defaults of the recipe. It
// returns a usage error for a flag that the recipe does not have. preset is the
// name of the preset in use, whose flags the recipe may lack.
func (f *recipeFlags) complete(cmd *cobra.Command, o *sharding.ExamplesOptions, preset string) error {
	if !slices.Contains(sharding.Recipes(), o.Recipe) {
		return usagef("--recipe %q: must be one of %s", o.Recipe, strings.Join(sharding.Recipes(), ", "))
	}
	fs := cmd.Flags()
	given := func(name string) bool {
		flag := fs.Lookup(name)
		return flag.Changed && !slices.Contains(presets().Presets[preset].Flags[name], flag.Value.String())
	}
	lacks := map[string]bool{}
	for _, r := range recipeOptions {
		if lacks[r.name] = !slices.Contains(r.recipes, o.Recipe); lacks[r.name] && given(r.name) {
			return usagef("--%s and --recipe %s: %s; leave it out, or give --recipe %s", r.name, o.Recipe, r.why, strings.Join(r.recipes, " or "))
		}
	}
	setDefaults(fs, lacks, o, sharding.RecipeOptions(o.Recipe))
	o.Replace = nil
	if f.replace != pretrain.DefaultReplacement {
		o.Replace = &f.replace
	}
	if err := f.setNegatives(o); err != nil {
		return err
	}
	if o.LengthBins = f.lengthBins(o.MaxSeqLength); len(f.bins) > 1 && !fs.Changed("max-seq-length") {
		o.MaxSeqLength = f.bins[len(f.bins)-1]
	}
	return checkReplacement(fs, f.replace)
}

// setNegatives sets the options that --nsp-negatives selects.
func (f *recipeFlags) setNegatives(o *sharding.ExamplesOptions) error {
	switch f.negatives {
	case negativesShard:
		o.NSPNegatives = ""
	case pretrain.NegativesCorpus:
		o.NSPNegatives = pretrain.NegativesCorpus
	default:
		return usagef("--nsp-negatives %q: must be %s or %s", f.negatives, negativesShard, pretrain.NegativesCorpus)
	}
	return nil
}

// lengthBins returns the upper limits of the length bins for examples of at most seq
// tokens.
func (f *recipeFlags) lengthBins(seq int) []int {
	if len(f.bins) != 1 || f.bins[0] < 1 || f.bins[0] >= seq {
		return f.bins
	}
	var bins []int
	for at := f.bins[0]; at < seq && len(bins) < 1000; at += f.bins[0] { // Validate says how many may be
		bins = append(bins, at)
	}
	return append(bins, seq)
}

// setDefaults sets the options to the defaults of the recipe if they were not given,
// or if the recipe does not have them.
func setDefaults(fs *pflag.FlagSet, lacks map[string]bool, o *sharding.ExamplesOptions, defaults sharding.ExamplesOptions) {
	set := func(name string) bool { return fs.Changed(name) && !lacks[name] }
	if !set("max-seq-length") {
		o.MaxSeqLength = defaults.MaxSeqLength
	}
	if !set("max-predictions-per-seq") {
		o.MaxPredictionsPerSeq = defaults.MaxPredictionsPerSeq
	}
	if !set("masked-lm-prob") {
		o.MaskedLMProb = defaults.MaskedLMProb
	}
	if !set("short-seq-prob") {
		o.ShortSeqProb = defaults.ShortSeqProb
	}
	if !set("dupe-factor") {
		o.DupeFactor = defaults.DupeFactor
	}
	if !set("pack-slack") {
		o.PackSlack = defaults.PackSlack
	}
}

// checkReplacement adds to an error that the fraction of random tokens has to be
// lowered as well.
func checkReplacement(fs *pflag.FlagSet, r pretrain.Replacement) error {
	if r.MaskTokenProb <= 1 && r.RandomTokenProb <= 1 && r.MaskTokenProb+r.RandomTokenProb > 1+1e-9 && !fs.Changed("random-token-prob") {
		return usagef("--mask-token-prob %v: with --random-token-prob %v it is more than 1: give --random-token-prob %s too", r.MaskTokenProb, r.RandomTokenProb,
			fmt.Sprintf("%.3g", 1-r.MaskTokenProb))
	}
	return nil
}
