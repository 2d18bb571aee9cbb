package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/cmd/internal/onefile"
	"pretext/extract/wiki/learn"
	"pretext/internal/humanize"
	"pretext/internal/store"
)

// learnFlags are the flags of templates learn.
type learnFlags struct {
	pages      htmlPages
	out, pairs onefile.Output
	options    learn.Options
	json       bool
}

func newLearn() *cobra.Command {
	f := learnFlags{options: learn.DefaultOptions(), out: onefile.Output{Kind: onefile.Learned}, pairs: onefile.Output{Kind: onefile.Pairs, Flag: "pairs"}}
	cmd := &cobra.Command{
		Use:   "learn --wiki-html PATH --out FILE",
		Short: "Propose lines for --templates, from pages of a wiki as HTML",
		Long: `Reads pages of a wiki as HTML, which has each template with its arguments beside
the text that it shows, and writes a file for --templates with the lines that
explain what the pages show:

  [elwikivoyage]
  # 45 of 45 uses, 12 different; elwikivoyage:7: {{ύψος|12}} → "12 μ."
  template ύψος | arg-after 1 " μ."

Only templates inside sentences, list items and definitions count. A line must
explain the fraction --min-explained of at least --min-uses uses with at least two
different argument lists. Templates whose text is known already are left out.
Where known data give another text than the pages, the line is commented out. --pairs writes the
uses that were compared, at most 64 for each template. Read the file before you use
it: a line holds for the pages that were read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd.Context()); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	f.pages.addTo(fs)
	addOutFile(fs, &f.out, "file to write")
	fs.StringVar(&f.pairs.Path, "pairs", "", "`file` for the uses that were compared, as JSON lines")
	fs.Int64Var(&f.options.MinUses, "min-uses", f.options.MinUses, "uses that a template must have")
	fs.Float64Var(&f.options.MinExplained, "min-explained", f.options.MinExplained, "fraction of its uses that a line must explain, over 0.5 to 1")
	fs.BoolVar(&f.json, "json", false, "write counts, lines and templates without a line as JSON")
	return cmd
}

func (f *learnFlags) check(ctx context.Context) error {
	if len(f.pages.html) == 0 || f.out.Path == "" {
		return usagef("give --wiki-html PATH and --out FILE")
	}
	if err := f.pages.check(); err != nil {
		return err
	}
	if err := f.options.Validate(); err != nil {
		return misuse(err)
	}
	f.pairs.Overwrite = f.out.Overwrite
	for _, out := range []*onefile.Output{&f.out, &f.pairs} {
		out.Inputs = slices.Concat(f.pages.html, f.pages.templates)
		if out.Path == "" {
			continue
		}
		if err := out.Check(ctx); err != nil {
			return err
		}
	}
	if f.pairs.Path != "" && store.Absolute(f.pairs.Path) == store.Absolute(f.out.Path) {
		return usagef("--pairs %s: the file of --out: give another name", f.pairs.Path)
	}
	return nil
}

// learned is the JSON output of templates learn.
type learned struct {
	File   string       `json:"file"`
	Counts learn.Counts `json:"counts"`
	*learn.Result
}

func (f *learnFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	known, table, counts, err := f.pages.read(ctx, stderr)
	if err != nil {
		return err
	}
	f.options.Known = known
	res := table.Propose(f.options)
	if err := f.out.Write(ctx, res.AppendFile(nil, f.pages.names())); err != nil {
		return err
	}
	if f.pairs.Path != "" {
		if err := writePairs(ctx, &f.pairs, table); err != nil {
			return err
		}
	}
	if f.json {
		return printJSON(stdout, learned{f.out.Path, counts, res})
	}
	return printLearned(stdout, learned{f.out.Path, counts, res})
}

// writePairs writes the pairs in table to out as JSON lines.
func writePairs(ctx context.Context, out *onefile.Output, table *learn.Table) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, t := range table.Templates() {
		for _, p := range t.Pairs {
			if err := enc.Encode(struct {
				Wiki string `json:"wiki"`
				Name string `json:"name"`
				learn.Pair
			}{t.Wiki, t.Name, p}); err != nil {
				return err
			}
		}
	}
	return out.Write(ctx, b.Bytes())
}

func printLearned(w io.Writer, l learned) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, n int64, note string) { fmt.Fprintf(t, "%s\t%s\t%s\n", name, humanize.Count(n), note) }
	row("pages", l.Counts.Pages, "")
	row("uses of templates", l.Counts.Elements.Elements, "")
	row("  in sentences", l.Uses, "")
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"elsewhere: boxes, headings, lines of their own", l.Counts.Elements.Elsewhere}, {"of several templates at once", l.Counts.Elements.Several},
		{"of functions and variables", l.Counts.Elements.Functions}, {"malformed", l.Counts.Elements.Malformed}, {"too long", l.Counts.Elements.TooLong},
		{"without end", l.Counts.Elements.Unclosed}, {"on pages that are not read", l.Counts.Elements.OtherPage},
	} {
		if c.n > 0 {
			row("  "+c.name, c.n, "")
		}
	}
	row("templates in sentences", l.Templates, "")
	row("  known", l.Known, "")
	row("  proposed", l.Proposed, "in "+l.File)
	row("  known otherwise", l.Disputed, "commented out")
	row("  too rare", l.Rare, "")
	row("  not explained", l.Open, "")
	if l.Unsampled > 0 {
		row("uses not compared", l.Unsampled, "beyond the sample of each template")
	}
	for _, o := range l.OpenTemplates[:min(len(l.OpenTemplates), droppedShown)] {
		fmt.Fprintf(t, "  {{%s}}\t%s\t%s → %q\n", cli.OneLine(o.Name), humanize.Count(o.Uses), cli.OneLine(o.Example.Call), o.Example.Text)
	}
	return t.Flush()
}
