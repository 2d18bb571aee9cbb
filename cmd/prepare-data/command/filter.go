package command

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/extract/dedup"
	"pretext/extract/quality"
	"pretext/pipeline"
	"pretext/pipeline/filter"
	"pretext/sharding"
)

// filterFlags are the flags that select the documents to keep.
type filterFlags struct {
	dedup          string
	threshold      float64
	containment    float64
	quality        []string
	minWords       int
	minScriptShare float64
	rules          []string
	lineDocuments  int
}

func (f *filterFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.dedup, "dedup", filter.DedupNone, "drop duplicates of earlier documents: none, exact (same words) or minhash (also near duplicates)")
	fs.Float64Var(&f.threshold, "dedup-threshold", dedup.Options{}.WithDefaults().Threshold, "with minhash: minimum similarity of the shingles (word sequences) of near duplicates")
	fs.Float64Var(&f.containment, "dedup-containment", 0, "with minhash: also drop a long document if at least this fraction of its shingles is in one other document; 0: off")
	fs.IntVar(&f.lineDocuments, "line-documents", 0, "remove the lines that more than this number of documents have, such as 20; 0: keep all")
	fs.StringSliceVar(&f.quality, "quality", nil, "published `rules` that documents must pass: "+strings.Join(quality.Sets, ", "))
	fs.IntVar(&f.minWords, "min-words", 0, "minimum number of words in a document; 0: no limit")
	fs.Float64Var(&f.minScriptShare, "min-script-share", 0, "minimum fraction of a document's letters that belong to the scripts of its language; 0: no limit")
	fs.StringArrayVar(&f.rules, "rule", nil, "`NAME=LIMIT` sets the limit of a rule, LANG:NAME=LIMIT for a language, NAME=off disables it; may be repeated; filter --list-rules shows all")
}

// options checks the flags and returns them as options of the filter stage.
func (f *filterFlags) options() (o filter.Options, err error) {
	o.Dedup, o.LineDocuments = f.dedup, f.lineDocuments
	if f.dedup != filter.DedupMinHash && f.containment != 0 {
		return o, usagef("--dedup-containment: needs --dedup minhash")
	}
	if f.dedup == filter.DedupMinHash {
		o.Nearly = &dedup.Options{Threshold: f.threshold, Containment: f.containment}
		if f.threshold == 0 { // in filter.Options, 0 means the default
			return o, usagef("--dedup-threshold 0: must be above 0 and at most 1")
		}
	}
	if o.Limits, err = quality.SetLimits(f.quality...); err != nil {
		return o, misuse(fmt.Errorf("--quality: %w", err))
	}
	if f.minWords != 0 {
		o.Limits["min-words"] = float64(f.minWords)
	}
	if f.minScriptShare != 0 {
		o.Limits["min-script-share"] = f.minScriptShare
	}
	for _, r := range f.rules {
		name, limit, ok := strings.Cut(r, "=")
		if !ok {
			return o, usagef("--rule %q: write NAME=LIMIT or NAME=off", r)
		}
		v, err := strconv.ParseFloat(limit, 64)
		if err != nil && limit != "off" {
			return o, usagef("--rule %q: %q is neither a number nor off", r, limit)
		}
		lang, rule := quality.SplitLimit(name)
		if lang != "" && limit == "off" {
			v = quality.NoLimit(rule)
		}
		o.Limits[name] = v
		if err := o.Options.Validate(); err != nil {
			return o, misuse(fmt.Errorf("--rule: %w", err))
		}
		if lang == "" { // a limit for all documents holds for scripts without spaces, too
			delete(o.Limits, quality.NoSpaces+":"+name)
		}
		if lang == "" && limit == "off" {
			delete(o.Limits, name)
		}
	}
	return o, nil
}

func newFilter() *cobra.Command {
	var run runFlags
	var keep filterFlags
	var c pipeline.FilterConfig
	var list bool
	cmd := &cobra.Command{
		Use:   "filter DOCUMENTS... --out DIR",
		Short: "Stage: documents without duplicates and low-quality text",
		Long: `Keeps the documents that pass the rules and are not duplicates of earlier
documents. Run it after extract, before vocab and examples. Its input is documents
folders or JSON lines of other tools; its output is a documents folder. Next to each
documents file it writes a list of the rejected documents, with reasons.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list && len(args) > 0 {
				return printLimits(cmd.Context(), cmd.OutOrStdout(), args, run.json)
			}
			if list {
				return printRules(cmd.OutOrStdout(), run.json)
			}
			if len(args) == 0 {
				return usagef("no documents: give a documents folder or JSON lines")
			}
			r, err := run.pipeline(cmd)
			if err != nil {
				return err
			}
			if c.Filter, err = keep.options(); err != nil {
				return err
			}
			c.Documents = args
			return run.stage(cmd, "filter", func() (*sharding.Manifest, error) { return pipeline.Filter(cmd.Context(), r, c) })
		},
	}
	run.add(cmd.Flags(), &c.Target, &c.MaxRejects)
	keep.add(cmd.Flags())
	addTextField(cmd.Flags(), &c.Extract)
	cmd.Flags().StringVar(&c.Extract.Text.Lang, "language", "", "language of JSON lines without the field lang")
	cmd.Flags().BoolVar(&list, "list-rules", false, "list the rules with their published limits, and stop; with DOCUMENTS: the limits that reject 1 % of them, by language")
	return cmd
}

// printLimits writes limits by language for which 1 % of the given documents are rejected.
func printLimits(ctx context.Context, w io.Writer, locations []string, asJSON bool) error {
	inputs, err := sharding.OpenDocuments(ctx, locations)
	if err != nil {
		return err
	}
	var reference quality.Reference
	for i, in := range inputs {
		for _, f := range in.Files {
			list := sharding.BlockList{{Folder: i, Name: f.Name, Blocks: f.Blocks}}
			for doc, err := range list.Documents(ctx, locations, func(int64) {}) {
				if err != nil {
					return err
				}
				reference.Add(doc)
			}
		}
	}
	limits := reference.Limits()
	if asJSON {
		return printJSON(w, limits)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range limits {
		fmt.Fprintf(t, "--rule %s=%g\tpublished %g\t%d documents\n", l.Key, l.Limit, l.Published, l.Documents)
	}
	return t.Flush()
}

func printRules(w io.Writer, asJSON bool) error {
	rules := quality.Rules()
	if asJSON {
		return printJSON(w, rules)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rules {
		limit := "-"
		if r.Set != "" {
			limit = strconv.FormatFloat(r.Limit, 'g', -1, 64)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.Name, limit, r.Set, r.What)
	}
	return t.Flush()
}
