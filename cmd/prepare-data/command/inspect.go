package command

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/extract"
	"pretext/extract/wiki/facts"
	"pretext/internal/humanize"
	"pretext/sharding"
	"pretext/sharding/survey"
)

func newInspect() *cobra.Command {
	var asJSON, values bool
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Describe a run, a folder or a file of records",
		Long: `Describes a run, a stage's folder or a file of records. It reads the manifest or,
for a single file, the records. With --values it reads all records, and counts and
sums the values of each feature. "prepare-data head" shows the examples themselves.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := survey.Inspect(cmd.Context(), args[0], values)
			if err != nil {
				return err
			}
			if asJSON {
				if len(all) == 1 {
					return printJSON(cmd.OutOrStdout(), all[0])
				}
				return printJSON(cmd.OutOrStdout(), all)
			}
			return printInspections(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the result as JSON")
	cmd.Flags().BoolVar(&values, "values", false, "read all records, and count and sum the values of each feature")
	return cmd
}

func printInspections(w io.Writer, all []survey.Inspection) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, in := range all {
		fmt.Fprintf(t, "%s\t%s\t\n", in.Path, in.Stage)
		for _, w := range in.Warnings {
			fmt.Fprintf(t, "  warning: %s\n", line(w.Text))
		}
		if in.Fingerprint != "" {
			fmt.Fprintf(t, "  fingerprint\t%.16s\t\n", in.Fingerprint)
		}
		for _, i := range in.Inputs {
			fmt.Fprintf(t, "  input %s\t%s\t%.16s\n", i.Name, humanize.Bytes(i.Bytes), i.SHA256)
		}
		for reason, n := range extract.Rejects.Members(in.Counts) {
			fmt.Fprintf(t, "  rejected: %s\t%s\t\n", reason, humanize.Count(n))
		}
		printDropped(t, in.Dropped)
		for _, f := range in.Files {
			fmt.Fprintf(t, "  %s\t%s\t%s %s\n", f.Name, humanize.Bytes(f.Bytes), holds(f), f.Compression)
		}
		for _, f := range in.Features {
			fmt.Fprintf(t, "  %s\t%s[%d..%d]\t%s, sum %.0f\n", f.Name, f.Kind, f.Least, f.Most, humanize.Things(f.Records, "record"), f.Sum)
		}
	}
	return t.Flush()
}

// holds returns the content of a file as text, such as "3 records"; it is "" for a
// file without records or documents.
func holds(f survey.FileInspection) string {
	if documents, ok := f.Counts[extract.Documents.Key]; ok && f.Records == 0 {
		return humanize.Things(documents, "document")
	}
	if f.Records == 0 && sharding.Records.Of(f.Counts) == 0 && len(f.Counts) > 0 {
		return ""
	}
	return humanize.Things(f.Records, "record")
}

// droppedShown is the maximum number of templates in the text output; --json lists all.
const droppedShown = 10

// printDropped writes the most frequent wiki templates that gave no text.
func printDropped(w io.Writer, d *facts.DroppedTemplates) {
	if d == nil {
		return
	}
	for _, t := range d.Templates[:min(len(d.Templates), droppedShown)] {
		fmt.Fprintf(w, "  dropped {{%s}}\t%s\t\n", cli.OneLine(t.Name), humanize.Count(t.Uses))
	}
	if more := len(d.Templates) - droppedShown; more > 0 {
		fmt.Fprintf(w, "  dropped templates\t%d more\tsee --json\n", more)
	}
	for _, h := range d.Wikis {
		printHoles(w, h)
	}
	if d.Slack > 0 {
		fmt.Fprintf(w, "  dropped templates\tcounts may be too small by up to %d\t\n", d.Slack)
	}
}

// printHoles writes how many sentences of a wiki lack text because a template was not
// expanded.
func printHoles(w io.Writer, h facts.WikiHoles) {
	fmt.Fprintf(w, "  holes in %s\t%s\t%g per 1,000 sentences\n", cli.OneLine(h.Wiki), humanize.Count(h.Holes), h.PerThousand)
	for _, t := range h.Templates[:min(len(h.Templates), droppedShown)] {
		fmt.Fprintf(w, "  hole {{%s}}\t%s\tfirst in %s\n", cli.OneLine(t.Name), humanize.Count(t.Uses), cli.OneLine(t.First))
	}
	if n := h.Uses.Total(); n > 0 {
		fmt.Fprintf(w, "  templates in %s\t%s\t%s\n", cli.OneLine(h.Wiki), humanize.Count(n), h.Uses)
	}
	for _, t := range h.ByName[:min(len(h.ByName), droppedShown)] {
		fmt.Fprintf(w, "  use of {{%s}}\t%s\t%s\n", cli.OneLine(t.Name), humanize.Count(t.Uses.Total()), t.Uses)
	}
}
