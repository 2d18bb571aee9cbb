package command

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/internal/survey"
)

// surveyFlags are the flags of commands that read a data set to describe it.
type surveyFlags struct {
	options survey.Options
	memory  byteSize
}

func (f *surveyFlags) add(fs *pflag.FlagSet) {
	f.options = survey.Options{Workers: runtime.GOMAXPROCS(0), Top: 50}
	f.memory = 64e6
	fs.IntVar(&f.options.Workers, "workers", f.options.Workers, "files read at a time; decides nothing of the result")
	fs.StringVar(&f.options.Vocab, "vocab", "", "vocab.txt of records that have none beside them")
	fs.IntVar(&f.options.Top, "top", f.options.Top, "most frequent tokens, templates and sources to list")
	fs.Var(&f.memory, "memory", "memory for finding duplicates; what does not fit goes to a temporary file")
}

// survey returns the options.
func (f *surveyFlags) survey() (survey.Options, error) {
	if f.options.Workers < 1 {
		return f.options, usagef("--workers %d: must be at least 1", f.options.Workers)
	}
	if f.options.Top < 1 {
		return f.options, usagef("--top %d: must be at least 1", f.options.Top)
	}
	f.options.Memory = int64(f.memory)
	return f.options, nil
}

func newStats() *cobra.Command {
	var flags surveyFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats PATH",
		Short: "Count what is in a run, a folder or a file of records",
		Long: `Reads everything at PATH (a run, a stage's folder, a folder of TFRecord files of
anyone's or one such file) and counts: lengths and padding, predictions, what
predicted tokens became, labels, tokens, how even the shards are, duplicates;
of documents their lengths, languages, sources and what was rejected.

Where the manifest says how the records were made, shares stand beside what they
must be; ! marks one outside its limits, which chance gives once in 16,000 times.
"prepare-data verify" finds damage, this finds what is odd.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.survey()
			if err != nil {
				return err
			}
			s, err := survey.Collect(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), s)
			}
			return printStats(cmd.OutOrStdout(), s)
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the result as JSON")
	return cmd
}

func printStats(w io.Writer, s *survey.Stats) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range s.Documents {
		printDocumentStats(t, d)
	}
	if s.Records != nil {
		printRecordStats(t, s.Records)
	}
	if len(s.Documents) == 0 && s.Records == nil {
		for _, stage := range s.Stages {
			fmt.Fprintf(t, "%s: stage %s, %d files, %s; neither documents nor records\n", s.Path, stage.Stage, stage.Files, size(stage.Bytes))
		}
	}
	return t.Flush()
}

func printDocumentStats(t io.Writer, d *survey.DocumentStats) {
	fmt.Fprintf(t, "documents in %s\t%d\t%s of text in %d files, %s\n", d.Folder, d.Documents, size(d.TextBytes), d.Files, size(d.Bytes))
	if d.Pages > 0 {
		fmt.Fprintf(t, "  pages\t%d\t\n", d.Pages)
	}
	for _, r := range d.Rejects {
		fmt.Fprintf(t, "  rejected: %s\t%d\t\n", r.Name, r.Count)
	}
	if d.Documents > 0 {
		fmt.Fprintf(t, "  text, on average\t%s\tlongest %s: %s\n", size(d.TextBytes/d.Documents), size(d.Longest), d.LongestID)
	}
	printNames(t, "language", d.Languages)
	printNames(t, "source", d.Sources)
	printBars(t, "  bytes of text, from", d.Lengths, d.Documents)
	for _, n := range d.Dropped {
		fmt.Fprintf(t, "  template without text: %s\t%d\t\n", n.Name, n.Count)
	}
	if d.Notes > 0 {
		fmt.Fprintf(t, "  notes in side-cars\t%d\t\n", d.Notes)
	}
}

func printNames(t io.Writer, what string, names []survey.Name) {
	for _, n := range names {
		name := n.Name
		if name == "" {
			name = "not known"
		}
		fmt.Fprintf(t, "  %s %s\t%d\t%s of text\n", what, name, n.Count, size(n.Bytes))
	}
}

func printRecordStats(t io.Writer, r *survey.RecordStats) {
	fmt.Fprintf(t, "records\t%d\tin %d files, %s\n", r.Records, r.Files, size(r.Bytes))
	fmt.Fprintf(t, "  max_seq_length\t%d\t\n  max_predictions_per_seq\t%d\t\n", r.MaxSeqLength, r.MaxPredictionsPerSeq)
	fmt.Fprintf(t, "  tokens\t%d\tpadding %.2f %%\n", r.Tokens, 100*r.Padding)
	printShare(t, "predicted", r.MaskRate)
	printShare(t, "  became [MASK]", r.BecameMask)
	printShare(t, "  stayed", r.Kept)
	printShare(t, "  became another word", r.Replaced)
	printShare(t, "next sentence is random", r.RandomNext)
	if r.Unknown != nil {
		printShare(t, "[UNK]", *r.Unknown)
	}
	if r.Vocab.Size > 0 {
		fmt.Fprintf(t, "  vocabulary\t%d\t%d entries occur\n", r.Vocab.Size, r.Vocab.Used)
	} else {
		fmt.Fprintf(t, "  different tokens\t%d\t\n", r.Vocab.Used)
	}
	fmt.Fprintf(t, "  records that repeat\t%d\t%d of them in another file\n", r.Duplicates.Records, r.Duplicates.Between)
	for _, d := range r.Duplicates.First {
		fmt.Fprintf(t, "    %s record %d\t\tis %s record %d\n", d.File, d.Record, d.Earlier, d.Of)
	}
	for _, s := range r.Splits {
		name := s.Split
		if name == "" {
			name = "all"
		}
		fmt.Fprintf(t, "  %s\t%d\trecords in %d files: %d to %d, CV %.2f %%\n", name, s.Records.Total, s.Files, s.Records.Min, s.Records.Max, 100*s.Records.CV)
	}
	printBars(t, "  tokens of a record", grouped(r.Lengths, r.MaxSeqLength), r.Records)
	for _, token := range r.Top[:min(len(r.Top), 20)] {
		fmt.Fprintf(t, "  token %d %s\t%d\t%.2f %%\n", token.ID, token.Token, token.Count, 100*token.Share)
	}
}

func printShare(t io.Writer, what string, s survey.Share) {
	fmt.Fprintf(t, "  %s\t%d\t%.3f %%", what, s.Count, 100*s.Share)
	if l := s.Limits; l != nil {
		mark := ""
		if !l.Within {
			mark = " !"
		}
		fmt.Fprintf(t, ", must be %.3f to %.3f %%%s", 100*l.Low, 100*l.High, mark)
	}
	fmt.Fprintln(t)
}

// grouped puts lengths into about 16 bins of equal width.
func grouped(bins []survey.Bin, most int) (groups []survey.Bin) {
	width := max(1, (most+15)/16)
	for _, b := range bins {
		from := b.Value / width * width
		if n := len(groups); n > 0 && groups[n-1].Value == from {
			groups[n-1].Count += b.Count
		} else {
			groups = append(groups, survey.Bin{Value: from, Count: b.Count})
		}
	}
	return groups
}

// printBars draws a histogram.
func printBars(t io.Writer, what string, bins []survey.Bin, total int64) {
	const width = 40
	most := int64(1)
	for _, b := range bins {
		most = max(most, b.Count)
	}
	for _, b := range bins {
		bar := strings.Repeat("█", int((b.Count*width+most-1)/most))
		fmt.Fprintf(t, "%s %d\t%d\t%5.1f %% %s\n", what, b.Value, b.Count, 100*float64(b.Count)/float64(max(total, 1)), bar)
	}
}
