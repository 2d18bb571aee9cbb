package command

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/cmd/internal/onefile"
	"pretext/internal/humanize"
	"pretext/sharding/survey"
	"pretext/sharding/survey/report"
)

func newReport() *cobra.Command {
	var flags surveyFlags
	out := outFile{Output: onefile.Output{Kind: onefile.Report}}
	cmd := &cobra.Command{
		Use:   "report PATH --out FILE.html",
		Short: "Write what is in a data set as one HTML page",
		Long: `Writes one HTML page about a run, a folder or a file of records: fractions of masks
and labels with their expected ranges, lengths and padding, shards, words,
documents, rejects, sources and options. The page loads no other file.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.survey()
			if err != nil {
				return err
			}
			if out.Path == "" {
				return usagef("no output file: give --out FILE.html")
			}
			if ext := strings.ToLower(filepath.Ext(out.Path)); !slices.Contains([]string{"", ".html", ".htm"}, ext) {
				return usagef("--out %s: a report is HTML: give --out FILE.html", out.Path)
			}
			if err := out.Check(cmd.Context()); err != nil {
				return err
			}
			s, err := survey.Collect(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			var page bytes.Buffer
			if err := report.Write(&page, s); err != nil {
				return err
			}
			return out.write(cmd, page.Bytes())
		},
	}
	flags.add(cmd.Flags())
	out.add(cmd.Flags())
	return cmd
}

// outFile holds the flags of report and card for the file to write.
type outFile struct {
	onefile.Output
	json bool // print the file's name and size as JSON
}

func (f *outFile) add(fs *pflag.FlagSet) {
	addOutFile(fs, &f.Output, "file to write (required)")
	fs.BoolVar(&f.json, "json", false, "print the name of the file as JSON")
}

// addOutFile adds the flags of a command that writes one file.
func addOutFile(fs *pflag.FlagSet, o *onefile.Output, usage string) {
	o.Flag = "out"
	fs.StringVarP(&o.Path, o.Flag, "o", "", usage)
	fs.BoolVar(&o.Overwrite, "overwrite", false, "replace a file that this command did not write; never one of a data set")
}

// write writes a report or card and prints its path and size.
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
