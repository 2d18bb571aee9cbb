package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/internal/survey"
)

// errDiffer says that two data sets are not the same: exit code 1, as of diff(1).
var errDiffer = errors.New("differ")

func newDiff() *cobra.Command {
	var o survey.CompareOptions
	var asJSON bool
	memory := byteSize(64e6)
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Tell what two runs, folders or files of records differ in",
		Long: `Compares two runs, two folders of a stage, or two files or folders of records:
options, inputs, counts and files by their manifests; where files differ, their
records one by one (the first that differs is shown feature by feature, and how many
the other side has nowhere) and their documents by ID.

Exit code 0 when they are the same, 1 when they differ.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Most < 1 {
				return usagef("--most %d: must be at least 1", o.Most)
			}
			o.Memory = int64(memory)
			d, err := survey.Compare(cmd.Context(), args[0], args[1], o)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), d)
			} else {
				err = printDifference(cmd.OutOrStdout(), d, o.Most)
			}
			if err == nil && !d.Equal {
				err = fmt.Errorf("%s and %s %w", args[0], args[1], errDiffer)
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&asJSON, "json", false, "write the result as JSON")
	fs.IntVar(&o.Most, "most", 20, "differences of a kind to list; all are counted")
	fs.Var(&memory, "memory", "memory for comparing records and documents; what does not fit goes to a temporary file")
	return cmd
}

func printDifference(w io.Writer, d *survey.Difference, most int) error {
	var b strings.Builder
	for _, f := range d.Folders {
		name := f.Folder
		if name == "." {
			name = d.A + " and " + d.B
		}
		if f.Only != "" {
			fmt.Fprintf(&b, "%s: only in %s\n", name, map[string]string{"a": d.A, "b": d.B}[f.Only])
			continue
		}
		fmt.Fprintf(&b, "%s\n", name)
		printChanges(&b, "option", f.Options, most)
		printChanges(&b, "input", f.Inputs, most)
		printChanges(&b, "count", f.Counts, most)
		printChanges(&b, "file", f.Files, most)
		printRecordDifference(&b, f.Records)
		printDocumentDifference(&b, f.Documents)
	}
	if d.Equal {
		fmt.Fprintf(&b, "%s and %s are the same\n", d.A, d.B)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printChanges(b *strings.Builder, what string, list []survey.Change, most int) {
	for _, c := range list[:min(len(list), most)] {
		switch {
		case c.A == "":
			fmt.Fprintf(b, "  %s %s: only in b: %s\n", what, cli.OneLine(c.Name), cli.OneLine(c.B))
		case c.B == "":
			fmt.Fprintf(b, "  %s %s: only in a: %s\n", what, cli.OneLine(c.Name), cli.OneLine(c.A))
		default:
			fmt.Fprintf(b, "  %s %s: %s, %s\n", what, cli.OneLine(c.Name), cli.OneLine(c.A), cli.OneLine(c.B))
		}
	}
	if more := len(list) - most; more > 0 {
		fmt.Fprintf(b, "  and %d more %ss\n", more, what)
	}
}

func printRecordDifference(b *strings.Builder, r *survey.RecordDifference) {
	if r == nil {
		return
	}
	fmt.Fprintf(b, "  records: %d and %d; %d differ in their places, %d stand in a alone, %d in b alone\n", r.A, r.B, r.Differ, r.OnlyA, r.OnlyB)
	for _, f := range r.First {
		if f.Only != "" {
			fmt.Fprintf(b, "    %s record %d: only in %s\n", f.File, f.Record, f.Only)
			continue
		}
		fmt.Fprintf(b, "    %s record %d at byte %d and %d\n", f.File, f.Record, f.OffsetA, f.OffsetB)
		for _, v := range f.Fields {
			fmt.Fprintf(b, "      %s: %d values differ, value %d is %s and %s\n", v.Feature, v.Differ, v.At, v.A, v.B)
		}
		if len(f.Fields) == 0 {
			fmt.Fprintf(b, "      the same values, written in other bytes\n")
		}
	}
}

func printDocumentDifference(b *strings.Builder, d *survey.DocumentDifference) {
	if d == nil {
		return
	}
	fmt.Fprintf(b, "  documents: %d and %d; %d removed, %d added, %d changed\n", d.A, d.B, d.Removed, d.Added, d.Changed)
	for _, list := range d.First {
		for _, id := range list.IDs {
			fmt.Fprintf(b, "    %s %s\n", list.What, cli.OneLine(id))
		}
	}
}
