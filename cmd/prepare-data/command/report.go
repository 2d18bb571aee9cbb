package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pretext/internal/humanize"
	"pretext/internal/store"
	"pretext/sharding/survey"
	"pretext/sharding/survey/report"
)

func newReport() *cobra.Command {
	var flags surveyFlags
	var out string
	var asJSON bool
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
			if out == "" {
				return usagef("no output file: give --out FILE.html")
			}
			s, err := survey.Collect(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			var page bytes.Buffer
			if err := report.Write(&page, s); err != nil {
				return err
			}
			return writeOut(cmd, out, page.Bytes(), asJSON)
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the name of the file as JSON")
	return cmd
}

// writeOut writes a report or card to path atomically and prints the path on standard
// output, as JSON if asJSON is set.
func writeOut(cmd *cobra.Command, path string, content []byte, asJSON bool) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("--out %s: a folder: give the file to write", path)
	}
	folder, err := store.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	if err := store.WriteFile(cmd.Context(), folder, filepath.Base(path), content); err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), struct {
			File  string `json:"file"`
			Bytes int    `json:"bytes"`
		}{path, len(content)})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\n", path, humanize.Bytes(int64(len(content))))
	return err
}
