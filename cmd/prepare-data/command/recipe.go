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

// recipeFlags holds the values of recipe flags that do not map directly to a field of
// [sharding.ExamplesOptions].
type recipeFlags struct {
	replace   pretrain.Replacement
	bins      []int
	negatives string
}

// add adds the flags of recipes, with the defaults in o.
func (f *recipeFlags) add(fs *pflag.FlagSet, o *sharding.ExamplesOptions) {
	f.replace = o.Replacement()
	var recipes []string
	for _, r := range pretrain.Recipes() {
		recipes = append(recipes, fmt.Sprintf("%s (%s)", r.Name, r.About))
	}
	last := len(recipes) - 1
	fs.StringVar(&o.Recipe, "recipe", o.Recipe, "algorithm that makes records: "+strings.Join(recipes[:last], ", ")+" or "+recipes[last])
	fs.Float64Var(&f.replace.MaskTokenProb, "mask-token-prob", f.replace.MaskTokenProb, "fraction of the predicted tokens that become [MASK]")
	fs.Float64Var(&f.replace.RandomTokenProb, "random-token-prob", f.replace.RandomTokenProb, "fraction of the predicted tokens that become a random token; the rest stays")
	fs.BoolVar(&o.SpanMask, "span-mask", false, "mask spans of whole words, as SpanBERT does")
	fs.BoolVar(&o.CrossDocuments, "cross-documents", false, "when a document ends, fill the example with a [SEP] and the next document"+exceptions("cross_documents", func(o pretrain.Options) any { return o.CrossDocuments }))
	fs.StringVar(&f.negatives, "nsp-negatives", negativesShard, "documents of random segments: shard (as create_pretraining_data.py does) or corpus (all equally often, never the document itself)"+exceptions("nsp_negatives", func(o pretrain.Options) any { return o.NSPNegatives }))
	fs.IntSliceVar(&f.bins, "length-bins", nil, "`lengths` to which examples are padded, such as 64,128,256, with separate files for each; one number: the width of the bins; default: pad all to --max-seq-length")
	fs.Float64Var(&o.PackSlack, "pack-slack", 0, "fraction of a row or piece that may stay empty to cut a document at the end of a sentence"+exceptions("pack_slack", func(o pretrain.Options) any { return o.PackSlack }))
}

// negativesShard is the default of --nsp-negatives.
const negativesShard = "shard"

// optionFlags maps recipe options to their flags, for options whose flags have different
// names.
var optionFlags = map[string][]string{"replace": {"mask-token-prob", "random-token-prob"}}

// flagsOf returns the flags that set a recipe option.
func flagsOf(option string) []string {
	if flags, ok := optionFlags[option]; ok {
		return flags
	}
	return []string{strings.ReplaceAll(option, "_", "-")}
}

// lacksFlag reports whether a recipe does not have the option that a flag sets.
func lacksFlag(recipe, flag string) bool {
	r, _ := pretrain.RecipeByName(recipe)
	return recipe != "" && slices.ContainsFunc(pretrain.SomeOptions, func(o pretrain.Option) bool {
		return r.Lacks(o.Name) && slices.Contains(flagsOf(o.Name), flag)
	})
}

// having returns the names of the recipes that have an option.
func having(option string) []string {
	return pretrain.RecipeNames(func(r pretrain.Recipe) bool { return !r.Lacks(option) })
}

// exceptions returns the end of the help text for an option's flag, which lists the
// differences between recipes: the recipe, if only one has the option, and each default
// that differs from the first recipe's.
func exceptions(option string, of func(pretrain.Options) any) (note string) {
	names := having(option)
	first := of(pretrain.Recipes()[0].Defaults)
	before := "; with --recipe %s %v"
	if len(names) == 1 {
		note, before = "; only --recipe "+names[0], ", default there: %[2]v"
	}
	for _, name := range names {
		if r, _ := pretrain.RecipeByName(name); of(r.Defaults) != first {
			note += fmt.Sprintf(before, name, of(r.Defaults))
			before = ", with %s %v"
		}
	}
	return note
}

// complete sets the options that were not given to the defaults of the recipe. It returns
// a usage error if the user gave a flag that the recipe does not have. Flags set by preset,
// the name of the preset in use, are ignored if the recipe does not have them.
func (f *recipeFlags) complete(cmd *cobra.Command, o *sharding.ExamplesOptions, preset string) error {
	recipe, known := pretrain.RecipeByName(o.Recipe)
	if !known {
		return usagef("--recipe %q: must be one of %s", o.Recipe, strings.Join(pretrain.RecipeNames(nil), ", "))
	}
	fs := cmd.Flags()
	for _, option := range pretrain.SomeOptions {
		for _, name := range flagsOf(option.Name) {
			flag := fs.Lookup(name)
			given := flag.Changed && !slices.Contains(presets().Presets[preset].Flags[name], flag.Value.String())
			if given && recipe.Lacks(option.Name) {
				return usagef("--%s and --recipe %s: %s; leave it out, or give --recipe %s", name, o.Recipe, option.Lack, strings.Join(having(option.Name), " or "))
			}
		}
	}
	recipe.Complete(&o.Options, func(option string) bool { return slices.ContainsFunc(flagsOf(option), fs.Changed) })
	o.Replace = nil
	if f.replace != pretrain.DefaultReplacement {
		o.Replace = &f.replace
	}
	switch f.negatives {
	case negativesShard:
		o.NSPNegatives = ""
	case pretrain.NegativesCorpus:
		o.NSPNegatives = pretrain.NegativesCorpus
	default:
		return usagef("--nsp-negatives %q: must be %s or %s", f.negatives, negativesShard, pretrain.NegativesCorpus)
	}
	if o.LengthBins = f.lengthBins(o.MaxSeqLength); len(f.bins) > 1 && !fs.Changed("max-seq-length") {
		o.MaxSeqLength = f.bins[len(f.bins)-1]
	}
	// If the two fractions exceed 1 together, name the other one that must be lowered.
	if r := f.replace; r.MaskTokenProb <= 1 && r.RandomTokenProb <= 1 && r.MaskTokenProb+r.RandomTokenProb > 1+1e-9 && !fs.Changed("random-token-prob") {
		return usagef("--mask-token-prob %v: with --random-token-prob %v it is more than 1: give --random-token-prob %s too", r.MaskTokenProb, r.RandomTokenProb,
			fmt.Sprintf("%.3g", 1-r.MaskTokenProb))
	}
	return nil
}

// lengthBins returns the upper limits of the length bins, for examples of at most seq
// tokens.
func (f *recipeFlags) lengthBins(seq int) []int {
	if len(f.bins) != 1 || f.bins[0] < 1 || f.bins[0] >= seq {
		return f.bins
	}
	var bins []int
	for at := f.bins[0]; at < seq && len(bins) < 1000; at += f.bins[0] { // Validate rejects too many bins
		bins = append(bins, at)
	}
	return append(bins, seq)
}
