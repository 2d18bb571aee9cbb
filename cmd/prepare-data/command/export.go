package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"pretext/internal/humanize"
	"pretext/pipeline"
	"pretext/sharding"
)

func newExport() *cobra.Command {
	var c pipeline.ExportConfig
	var to string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "export SHARDS --to text --out DIR",
		Short: "Write shards in another form",
		Long: `--to text writes the documents of every shard, one side a file, in the text form
of create_pretraining_data.py. That script, given such a file and its seed, makes
the records of the shard; so does

  prepare-data examples --text FILE --shards 1 --random-seed SEED ... --out DIR`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case to != "text":
				return usagef("--to %q: must be text", to)
			case c.Out == "":
				return usagef("no output folder: give --out DIR")
			}
			place, err := sharding.Locate(args[0])
			if err != nil {
				return err
			}
			c.Shards = args[0]
			if folder, ok := place.Shards(); ok {
				c.Shards = folder.Path
			}
			files, err := pipeline.ExportText(cmd.Context(), c)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), files)
			}
			for _, f := range files {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\tseed %d\t%s\t%s\n", f.Name, f.RandomSeed, humanize.Things(f.Documents, "document"), humanize.Things(f.Sentences, "sentence"))
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&to, "to", "text", "form: text")
	fs.StringVarP(&c.Out, "out", "o", "", "folder to write to (required)")
	fs.StringArrayVar(&c.Documents, "documents", nil, "documents `folder` that the shards were made of; may be repeated; default: the neighbour in a run's folder")
	fs.BoolVar(&asJSON, "json", false, "write the result as JSON")
	return cmd
}
