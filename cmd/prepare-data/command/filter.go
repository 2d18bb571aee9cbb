package command

import (
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
}

func (f *filterFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.dedup, "dedup", filter.DedupNone, "drop duplicates of earlier documents: none, exact (same words) or minhash (also near duplicates)")
	fs.Float64Var(&f.threshold, "dedup-threshold", dedup.Options{}.WithDefaults().Threshold, "with minhash: minimum similarity of the shingles (word sequences) of near duplicates")
	fs.Float64Var(&f.containment, "dedup-containment", 0, "with minhash: also drop a long document if at least this fraction of its shingles is in one other document; 0: off")
	fs.StringSliceVar(&f.quality, "quality", nil, "published `rules` that documents must pass: "+strings.Join(quality.Sets, ", "))
	fs.IntVar(&f.minWords, "min-words", 0, "minimum number of words in a document; 0: no limit")
	fs.Float64Var(&f.minScriptShare, "min-script-share", 0, "minimum fraction of a document's letters that belong to the scripts of its language; 0: no limit")
	fs.StringArrayVar(&f.rules, "rule", nil, "`NAME=LIMIT` sets the limit of a rule, NAME=off disables it; may be repeated; filter --list-rules shows all")
}

// options checks the flags and returns them as options of the filter stage.
func (f *filterFlags) options() (o filter.Options, err error) {
	o.Dedup = f.dedup
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
		o.Limits[name] = v
		if err := o.Options.Validate(); err != nil {
			return o, misuse(fmt.Errorf("--rule: %w", err))
		}
		if limit == "off" {
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
			if list {
				return printRules(cmd.OutOrStdout(), run.json)
			}
			if len(args) == 0 {
				return usagef("no documents: give a documents folder or JSON lines")
			}
			r, err := run.pipeline(cmd.ErrOrStderr())
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
	cmd.Flags().BoolVar(&list, "list-rules", false, "list the rules with their published limits, and stop")
	return cmd
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
