package command

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/onefile"
	"pretext/sharding/survey"
	"pretext/sharding/survey/card"
)

func newCard() *cobra.Command {
	var flags surveyFlags
	var o card.Options
	out := outFile{Output: onefile.Output{Kind: onefile.Card}}
	cmd := &cobra.Command{
		Use:   "card PATH --out README.md",
		Short: "Write a dataset card for Hugging Face",
		Long: `Writes the dataset card that Hugging Face shows: YAML for machines (license,
language, size, configs) and Markdown for people (sources with hashes and licences,
options, counts, how to make, check and read it).

Write it to PATH/README.md: its paths are relative to PATH. load_dataset of the
package datasets then reads the documents, from there or from the Hub. It cannot
read TFRecords; the card shows how TensorFlow does.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			so, err := flags.survey()
			if err != nil {
				return err
			}
			if out.Path == "" {
				return usagef("no output file: give --out README.md")
			}
			if err := out.Check(cmd.Context()); err != nil {
				return err
			}
			s, err := survey.Collect(cmd.Context(), args[0], so)
			if err != nil {
				return err
			}
			o.Command = reproduction(cmd.Root(), s)
			var text bytes.Buffer
			if err := card.Write(&text, s, o); err != nil {
				return err
			}
			if bytes.Contains(text.Bytes(), []byte("\n  - unknown\n")) {
				fmt.Fprintln(cmd.ErrOrStderr(), "prepare-data: note: the licence of a source is not known: give --license when you know it")
			}
			return out.write(cmd, text.Bytes())
		},
	}
	flags.add(cmd.Flags())
	fs := cmd.Flags()
	out.add(fs, "file to write (required)", "print the name and size of the written file as JSON")
	fs.StringVar(&o.Name, "name", "", "name of the data set; default: the name of its folder")
	fs.StringArrayVar(&o.Licences, "license", nil, "`licence` of the data as the Hugging Face Hub names it, such as cc-by-sa-4.0; may be repeated; default: the licences of the downloads")
	return cmd
}
