package command

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	"pretext/sharding/survey"
)

// errDiffer reports that two data sets differ. The exit code is 1, as for diff(1).
var errDiffer = errors.New("differ")

func newDiff() *cobra.Command {
	var o survey.CompareOptions
	var asJSON, verbose bool
	memory := byteSize(64e6)
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two runs, folders or files of records",
		Long: `Compares two runs, two folders of a stage, or two files or folders of records:
options, inputs, counts and files by their manifests. Every file is read and compared
with the hash in its manifest; with --manifests-only, only its size. Where files differ,
diff compares their records one by one, shows the first difference feature by feature,
and counts the records that only one side has. Documents are compared by ID.

Exit code 0 when they are the same, 1 when they differ, 4 when a file is not what its
manifest says.`,
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
				err = printDifference(cmd.OutOrStdout(), d, changePrinter{o.Most, verbose})
			}
			if err == nil && !d.Equal {
				err = fmt.Errorf("%s and %s %w", args[0], args[1], errDiffer)
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&asJSON, "json", false, "write the result as JSON")
	fs.BoolVarP(&verbose, "verbose", "v", false, "show the SHA-256 of files that differ")
	fs.BoolVar(&o.ManifestsOnly, "manifests-only", false, "trust the hashes in the manifests: read no file that they say is equal")
	fs.IntVar(&o.Most, "most", 20, "maximum number of differences to list of each kind; all are counted")
	fs.Var(&memory, "memory", "memory for comparing records and documents; what does not fit goes to a temporary file")
	return cmd
}

func printDifference(w io.Writer, d *survey.Difference, p changePrinter) error {
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
		p.print(&b, "option", f.Options)
		p.print(&b, "input", f.Inputs)
		p.print(&b, "count", f.Counts)
		p.print(&b, "file", f.Files)
		printRecordDifference(&b, f.Records)
		printDocumentDifference(&b, f.Documents)
	}
	if d.Equal {
		fmt.Fprintf(&b, "%s and %s are the same\n", d.A, d.B)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A changePrinter prints the values that differ between two data sets.
type changePrinter struct {
	most    int  // maximum number of changes to list for each kind of change
	verbose bool // also print SHA-256 hashes
}

func (p changePrinter) print(b *strings.Builder, what string, list []survey.Change) {
	for _, c := range list[:min(len(list), p.most)] {
		fmt.Fprintf(b, "  %s %s: ", what, cli.OneLine(c.Name))
		switch va, vb := p.values(what, c); {
		case c.A == "":
			fmt.Fprintf(b, "only in b: %s\n", vb)
		case c.B == "":
			fmt.Fprintf(b, "only in a: %s\n", va)
		case va == vb:
			fmt.Fprintf(b, "%s, other content\n", va)
		default:
			fmt.Fprintf(b, "%s → %s\n", va, vb)
		}
	}
	if more := len(list) - p.most; more > 0 {
		fmt.Fprintf(b, "  and %s\n", humanize.Things(int64(more), "more "+what))
	}
}

// values returns the old and the new value of a change as text.
func (p changePrinter) values(what string, c survey.Change) (a, b string) {
	if sa, sb, ok := c.Sizes(); ok && !p.verbose {
		return humanize.Bytes(sa), humanize.Bytes(sb)
	}
	if what == "count" {
		return countOf(c.A), countOf(c.B)
	}
	return cli.OneLine(c.A), cli.OneLine(c.B)
}

// countOf returns a decimal number with commas between thousands.
func countOf(s string) string {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return cli.OneLine(s)
	}
	return humanize.Count(n)
}

func printRecordDifference(b *strings.Builder, r *survey.RecordDifference) {
	if r == nil {
		return
	}
	fmt.Fprintf(b, "  records: %s and %s; %s differ at the same place, %s are only in a, %s only in b\n",
		humanize.Count(r.A), humanize.Count(r.B), humanize.Count(r.Differ), humanize.Count(r.OnlyA), humanize.Count(r.OnlyB))
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
	fmt.Fprintf(b, "  documents: %s and %s; %s removed, %s added, %s changed\n",
		humanize.Count(d.A), humanize.Count(d.B), humanize.Count(d.Removed), humanize.Count(d.Added), humanize.Count(d.Changed))
	for _, list := range d.First {
		for _, id := range list.IDs {
			fmt.Fprintf(b, "    %s %s\n", list.What, cli.OneLine(id))
		}
	}
}
