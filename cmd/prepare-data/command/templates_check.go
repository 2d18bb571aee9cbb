package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/cmd/internal/onefile"
	"pretext/extract/wiki/learn"
	"pretext/extract/wiki/rendering"
	"pretext/internal/humanize"
)

// checkFlags are the flags of templates check.
type checkFlags struct {
	pages htmlPages
	out   onefile.Output
	json  bool
}

func newCheck() *cobra.Command {
	f := checkFlags{out: onefile.Output{Kind: onefile.Checked}}
	cmd := &cobra.Command{
		Use:   "check --wiki-html PATH",
		Short: "Compare the texts that templates show with pages of a wiki as HTML",
		Long: `Reads pages of a wiki as HTML and compares what they show for each template with
what the rules that prepare-data knows, or those of --templates, give for it. A rule
is confirmed if it gives the text of at least 95 % of at least three uses, otherwise
contradicted. The list begins with the contradicted rules, each with a use that the
rule does not explain. --out writes lines of kind evidence for --templates: with
them, extract and run count the confirmed rules apart and do not use the others.

Only templates inside sentences, list items and definitions are compared, at most 64
different uses of each.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(f.pages.html) == 0 {
				return usagef("give --wiki-html PATH")
			}
			if err := f.pages.check(); err != nil {
				return err
			}
			if f.out.Inputs = slices.Concat(f.pages.html, f.pages.templates); f.out.Path != "" {
				if err := f.out.Check(cmd.Context()); err != nil {
					return err
				}
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	f.pages.addTo(fs)
	addOutFile(fs, &f.out, "file for the lines of kind evidence")
	fs.BoolVar(&f.json, "json", false, "write counts and rules as JSON")
	return cmd
}

func (f *checkFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	known, table, counts, err := f.pages.read(ctx, stderr)
	if err != nil {
		return err
	}
	checks := table.Check(known)
	if f.out.Path != "" {
		if err := f.out.Write(ctx, learn.AppendEvidence(nil, f.pages.names(), checks)); err != nil {
			return err
		}
	}
	if f.json {
		return printJSON(stdout, struct {
			Counts learn.Counts  `json:"counts"`
			Rules  []learn.Check `json:"rules"`
		}{counts, checks})
	}
	return printChecks(stdout, counts, checks)
}

// printChecks prints the numbers of rules by verdict, and the contradicted rules.
func printChecks(w io.Writer, counts learn.Counts, checks []learn.Check) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "pages\t%s\nrules compared\t%d\n", humanize.Count(counts.Pages), len(checks))
	for _, v := range []rendering.Verdict{rendering.Confirmed, rendering.Wrong, rendering.TooFew} {
		n := 0
		for _, c := range checks {
			if c.Verdict == v {
				n++
			}
		}
		fmt.Fprintf(t, "  %s\t%d\n", v, n)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range checks {
		if c.Verdict != rendering.Wrong {
			continue
		}
		if _, err := fmt.Fprintf(w, "[%s] {{%s}}: %d of %d uses are equal\n  in use: %s\n  %s: %s shows %q, the rule gives %q\n",
			c.Scope, cli.OneLine(c.Name), c.Equal, c.Uses, cli.OneLine(c.Rule), cli.OneLine(c.Example.Page), cli.OneLine(c.Example.Call), c.Example.Text, c.Gives); err != nil {
			return err
		}
	}
	return nil
}
