package command

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/cmd/internal/onefile"
	"pretext/counts"
	"pretext/internal/humanize"
	"pretext/sharding"
	"pretext/sharding/survey"
	"pretext/sharding/survey/report"
)

// surveyFlags are the flags shared by the commands that describe a data set.
type surveyFlags struct {
	options survey.Options
	memory  byteSize
}

func (f *surveyFlags) add(fs *pflag.FlagSet) {
	f.options = survey.Options{Workers: runtime.GOMAXPROCS(0), Top: 50}
	f.memory = 64e6
	fs.IntVar(&f.options.Workers, "workers", f.options.Workers, "files read concurrently; does not affect the result")
	fs.StringVar(&f.options.Vocab, "vocab", "", "vocabulary (vocab.txt), if the directory of the records has none")
	fs.IntVar(&f.options.Top, "top", f.options.Top, "how many of the most frequent tokens, templates and sources to list")
	fs.Var(&f.memory, "memory", "memory for finding duplicates; what does not fit goes to a temporary file")
}

// survey checks the flags and returns the options that they set.
func (f *surveyFlags) survey() (survey.Options, error) {
	if f.options.Workers < 1 {
		return f.options, usagef("--workers %d: must be at least 1", f.options.Workers)
	}
	if f.options.Top < 1 {
		return f.options, usagef("--top %d: must be at least 1", f.options.Top)
	}
	f.options.Memory = int64(f.memory)
	if f.options.Vocab != "" {
		return f.options, cli.CheckVocab("vocab", f.options.Vocab, "vocab")
	}
	return f.options, nil
}

func newStats() *cobra.Command {
	var flags surveyFlags
	out := outFile{Output: onefile.Output{Kind: onefile.Report}}
	cmd := &cobra.Command{
		Use:     "stats PATH",
		Aliases: []string{oldReport},
		Short:   "Count what is in a run, a folder or a file of records; also as an HTML page",
		Long: `Reads everything at PATH (a run, a stage's folder, one TFRecord file or a folder of
them, also from other tools). For records it prints lengths and padding, masked
tokens and what replaced them, labels, tokens, sizes of shards and duplicates. For
documents it prints lengths, languages, sources and rejects. Of a run with an eval
split it also prints how many held-out documents are mostly in training documents:
over 60 % of their runs of eight words; and whether clusters of similar documents are
known, which are in one split.

If a manifest has the options of the records, fractions are printed with their
expected ranges. ! marks a fraction outside its range; chance alone causes that once
in 16,000 times. "prepare-data verify" finds corrupt data, stats finds unusual data.

With --out FILE.html it writes all that as one page, with charts, sources and options.
The page loads no other file.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.survey()
			if err != nil {
				return err
			}
			if ext := strings.ToLower(filepath.Ext(out.Path)); !slices.Contains([]string{"", ".html", ".htm"}, ext) {
				return usagef("--out %s: a report is HTML: give --out FILE.html", out.Path)
			}
			if out.Path != "" {
				if err := out.Check(cmd.Context()); err != nil {
					return err
				}
			} else if cmd.CalledAs() == oldReport || out.Overwrite {
				return usagef("no output file: give --out FILE.html")
			}
			s, err := survey.Collect(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			switch {
			case out.Path != "":
				var page bytes.Buffer
				if err := report.Write(&page, s); err != nil {
					return err
				}
				return out.write(cmd, page.Bytes())
			case out.json:
				return printJSON(cmd.OutOrStdout(), s)
			}
			return printStats(cmd.OutOrStdout(), s)
		},
	}
	flags.add(cmd.Flags())
	out.add(cmd.Flags(), "HTML `file` to write, instead of text", "print the result as JSON; with --out, print only the name and size of the written file, as JSON")
	return cmd
}

// oldReport is the former name of the flag --out of stats.
const oldReport = "report"

// outFile is the output file of stats and card, as their flags describe it.
type outFile struct {
	onefile.Output
	json bool // print the file's name and size as JSON
}

func (f *outFile) add(fs *pflag.FlagSet, usage, asJSON string) {
	addOutFile(fs, &f.Output, usage)
	fs.BoolVar(&f.json, "json", false, asJSON)
}

// addOutFile adds the flags of a command that writes one file.
func addOutFile(fs *pflag.FlagSet, o *onefile.Output, usage string) {
	o.Flag = "out"
	fs.StringVarP(&o.Path, o.Flag, "o", "", usage)
	fs.BoolVar(&o.Overwrite, "overwrite", false, "replace a file that this command did not write; never one of a data set")
}

// write writes a page or card and prints its path and size.
func (f *outFile) write(cmd *cobra.Command, content []byte) error {
	if err := f.Write(cmd.Context(), content); err != nil {
		return err
	}
	if f.json {
		return printJSON(cmd.OutOrStdout(), struct {
			File  string `json:"file"`
			Bytes int    `json:"bytes"`
		}{f.Path, len(content)})
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\n", cli.OneLine(f.Path), humanize.Bytes(int64(len(content))))
	return err
}

// printStats writes warnings, counts, histograms of lengths, and the most frequent
// tokens and templates.
func printStats(w io.Writer, s *survey.Stats) error {
	for _, warning := range s.Warnings() {
		fmt.Fprintf(w, "warning: %s: %s\n", warning.Stage, line(warning.Text))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range s.Documents {
		printDocumentStats(t, d)
	}
	if s.Records != nil {
		printRecordStats(t, s.Records)
	}
	if h := s.HeldOut; h != nil {
		fmt.Fprintf(t, "held-out documents\t%s\n", humanize.Count(h.Documents))
		fmt.Fprintf(t, "  mostly in training documents\t%s\tover 60 %% of their runs of 8 words\n", humanize.Count(h.Similar))
		if h.Clusters {
			fmt.Fprintf(t, "  kept with a similar document\t%s\tin both splits\n", humanize.Count(h.Tied))
		} else {
			fmt.Fprintf(t, "  clusters of similar documents\tunknown\tknown with --dedup minhash\n")
		}
	}
	if len(s.Documents) == 0 && s.Records == nil {
		for _, stage := range s.Stages {
			fmt.Fprintf(t, "%s: stage %s, %s, %s; neither documents nor records\n", s.Path, stage.Stage, files(stage.Files), humanize.Bytes(stage.Bytes))
		}
	}
	for _, d := range s.Documents {
		printBars(t, "bytes of text of a document, from", d.Lengths)
	}
	if s.Records != nil {
		printBars(t, "tokens of a record, from", grouped(s.Records.Lengths, s.Records.MaxSeqLength))
		printTokens(t, s.Records.Top)
	}
	for _, d := range s.Documents {
		printTemplates(t, d)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, stage := range s.Stages {
		if err := printMix(w, sharding.MixTable(stage.Options)); err != nil {
			return err
		}
	}
	return nil
}

func files(n int) string { return humanize.Things(int64(n), "file") }

func printDocumentStats(t io.Writer, d *survey.DocumentStats) {
	name := "documents"
	if d.Folder != "." {
		name += " in " + d.Folder
	}
	fmt.Fprintf(t, "%s\t%s\t%s of text in %s, %s\n", name, humanize.Count(d.Documents), humanize.Bytes(d.TextBytes), files(d.Files), humanize.Bytes(d.Bytes))
	for _, f := range d.Figures(counts.Stats) {
		fmt.Fprintf(t, "  %s\t%s\t\n", f.Name, f.Value)
	}
	for _, r := range d.Rejects {
		fmt.Fprintf(t, "  rejected: %s\t%s\t\n", r.Name, humanize.Count(r.Count))
	}
	if d.Documents > 0 {
		fmt.Fprintf(t, "  text, on average\t%s\tlongest %s: %s\n", humanize.Bytes(d.TextBytes/d.Documents), humanize.Bytes(d.Longest), cli.OneLine(d.LongestID))
	}
	printNames(t, "language", d.Languages)
	printNames(t, "source", d.Sources)
	if d.Notes > 0 {
		fmt.Fprintf(t, "  notes in side-cars\t%s\t\n", humanize.Count(d.Notes))
	}
}

func printNames(t io.Writer, what string, names []survey.Name) {
	for _, n := range names {
		name := cli.OneLine(n.Name)
		if name == "" {
			name = "not known"
		}
		fmt.Fprintf(t, "  %s %s\t%s\t%s of text\n", what, name, humanize.Count(n.Count), humanize.Bytes(n.Bytes))
	}
}

func printRecordStats(t io.Writer, r *survey.RecordStats) {
	fmt.Fprintf(t, "records\t%s\tin %s, %s\n", humanize.Count(r.Records), files(r.Files), humanize.Bytes(r.Bytes))
	for _, f := range r.Forms {
		fmt.Fprintf(t, "  form\t%s\t\n", f)
	}
	fmt.Fprintf(t, "  max_seq_length\t%d\t\n", r.MaxSeqLength)
	if r.Masks() {
		fmt.Fprintf(t, "  max_predictions_per_seq\t%d\t\n", r.MaxPredictionsPerSeq)
	}
	if r.Pieces > 0 {
		fmt.Fprintf(t, "  pieces\t%s\t%.3g a record\n", humanize.Count(r.Pieces), float64(r.Pieces)/float64(max(1, r.Records)))
	}
	fmt.Fprintf(t, "  tokens\t%s\tpadding %s\n", humanize.Count(r.Tokens), humanize.Percent(r.Padding))
	if r.Masks() {
		printShare(t, "predicted", r.MaskRate)
		printShare(t, "  became [MASK]", r.BecameMask)
		printShare(t, "  stayed", r.Kept)
		printShare(t, "  became another word", r.Replaced)
	}
	if r.Pairs() {
		printShare(t, "next sentence is random", r.RandomNext)
		if r.LabelGuess != nil {
			printShare(t, "label told by second document", *r.LabelGuess)
		}
	}
	if r.Unknown != nil {
		printShare(t, "[UNK]", *r.Unknown)
	}
	if r.Vocab.Size > 0 {
		fmt.Fprintf(t, "  vocabulary\t%s\t%s entries occur\n", humanize.Count(int64(r.Vocab.Size)), humanize.Count(int64(r.Vocab.Used)))
	} else {
		fmt.Fprintf(t, "  different tokens\t%s\t\n", humanize.Count(int64(r.Vocab.Used)))
	}
	fmt.Fprintf(t, "  records that repeat\t%s\t%s of them in another file\n", humanize.Count(r.Duplicates.Records), humanize.Count(r.Duplicates.Between))
	for _, d := range r.Duplicates.First {
		fmt.Fprintf(t, "    %s record %s\t\tis %s record %s\n", d.File, humanize.Count(d.Record), d.Earlier, humanize.Count(d.Of))
	}
	for _, s := range r.Splits {
		name := s.Split
		if name == "" {
			name = "all"
		}
		fmt.Fprintf(t, "  %s\t%s\trecords in %s: %s to %s, CV %s\n", name, humanize.Count(s.Records.Total), files(s.Files),
			humanize.Count(s.Records.Min), humanize.Count(s.Records.Max), humanize.Percent(s.Records.CV))
	}
}

func printShare(t io.Writer, what string, s survey.Share) {
	fmt.Fprintf(t, "  %s\t%s\t%s", what, humanize.Count(s.Count), humanize.Percent(s.Share))
	if l := s.Limits; l != nil {
		mark := ""
		if !l.Within {
			mark = " !"
		}
		fmt.Fprintf(t, ", must be %s to %s%s", humanize.Percent(l.Low), humanize.Percent(l.High), mark)
	}
	fmt.Fprintln(t)
}

// shownNames is the maximum number of tokens or templates in the text output; --json
// lists as many as --top.
const shownNames = 20

func printTokens(t io.Writer, top []survey.Token) {
	if len(top) > 0 {
		fmt.Fprintf(t, "most frequent tokens\n")
	}
	for _, token := range top[:min(len(top), shownNames)] {
		fmt.Fprintf(t, "  %d %s\t%s\t%s\n", token.ID, cli.OneLine(token.Token), humanize.Count(token.Count), humanize.Percent(token.Share))
	}
}

func printTemplates(t io.Writer, d *survey.DocumentStats) {
	for _, h := range d.Holes {
		printHoles(t, h)
	}
	if d.FromHTML {
		fmt.Fprintf(t, "  holes in pages as HTML\t0\tthe wiki rendered all templates\n")
	}
	if len(d.Dropped) == 0 {
		return
	}
	fmt.Fprintf(t, "templates without text\n")
	for _, n := range d.Dropped[:min(len(d.Dropped), shownNames)] {
		fmt.Fprintf(t, "  %s\t%s\t\n", cli.OneLine(n.Name), humanize.Count(n.Count))
	}
	if more := len(d.Dropped) - shownNames; more > 0 {
		fmt.Fprintf(t, "  and %s more: see --json\n", humanize.Count(int64(more)))
	}
}

// grouped merges length bins into about 16 bins of equal width. most is the largest length.
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

// printBars draws a histogram of bins under the heading what. Percentages are relative to
// the sum of all bins.
func printBars(t io.Writer, what string, bins []survey.Bin) {
	const width = 30
	most, total := int64(1), int64(0)
	for _, b := range bins {
		most, total = max(most, b.Count), total+b.Count
	}
	if len(bins) > 0 {
		fmt.Fprintf(t, "%s\n", what)
	}
	for _, b := range bins {
		bar := strings.Repeat("█", int((b.Count*width+most-1)/most))
		share := humanize.Percent(float64(b.Count) / float64(max(total, 1)))
		fmt.Fprintf(t, "  %s\t%s\t%9s %s\n", humanize.Count(int64(b.Value)), humanize.Count(b.Count), share, bar)
	}
}
