package command

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	"pretext/sharding"
	"pretext/sharding/export"
)

// exportOptions are the flags of export.
type exportOptions struct {
	export.Config
	to, vocab string
	json      bool
}

func newExport() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export PATH --to text --out DIR",
		Short: "Export the text of shards",
		Long: `--to text writes the documents of every shard as text, one file per split, in the
input format of create_pretraining_data.py. From a file and its seed that script
makes the records of the shard; so does

  prepare-data examples --text FILE --shards 1 --random-seed SEED ... --out DIR

TFRecord files without a manifest have no known documents. Their examples are
written instead: one segment per line, a blank line after each example, with the
original words in place of masks and the pieces of words joined. This needs their
vocabulary: vocab.txt in their directory, or --vocab.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.to, "to", "text", "format to export to: text")
	fs.StringVarP(&o.Out, "out", "o", "", "folder to write to (required)")
	fs.StringArrayVar(&o.Documents, "documents", nil, "documents `folder` from which the shards were made; may be repeated; default: the one of the same run")
	fs.StringVar(&o.vocab, "vocab", "", "vocabulary (vocab.txt) of records without a manifest; default: the one in their directory")
	fs.BoolVar(&o.json, "json", false, "write the result as JSON")
	return cmd
}

// run exports the data at a path: the text of shards, or the examples of TFRecord
// files without a manifest.
func (o *exportOptions) run(cmd *cobra.Command, path string) error {
	switch {
	case o.to != "text":
		return usagef("--to %q: must be text", o.to)
	case o.Out == "":
		return usagef("no output folder: give --out DIR")
	}
	if err := cli.CheckFolder("out", o.Out); err != nil {
		return err
	}
	d, err := sharding.Open(cmd.Context(), path)
	if err != nil {
		return err
	}
	o.Shards = path
	shards, err := d.Shards(cmd.Context())
	if err == nil {
		o.Shards = shards.String()
	} else if len(d.Records) > 0 {
		list, err := export.Records(cmd.Context(), d.Records, o.vocab, o.Out)
		if err != nil {
			return err
		}
		if o.json {
			return printJSON(cmd.OutOrStdout(), list)
		}
		for _, f := range list {
			fmt.Fprintf(cmd.OutOrStdout(), "%s\t%d examples\t%d segments\n", cli.OneLine(f.Name), f.Examples, f.Segments)
		}
		return nil
	}
	if err != nil {
		stages, err := d.Stages(cmd.Context())
		if err != nil {
			return err
		}
		if slices.ContainsFunc(stages, func(s *sharding.Stage) bool { return s.Stage == sharding.StageConvert }) {
			return usagef("%s has no shards of TFRecord: export those from which its examples were converted", path)
		}
	}
	if o.vocab != "" {
		return usagef("--vocab: only for records without a manifest")
	}
	files, err := export.Text(cmd.Context(), o.Config)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(cmd.OutOrStdout(), files)
	}
	for _, f := range files {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\tseed %d\t%s\t%s\n", cli.OneLine(f.Name), f.RandomSeed, humanize.Things(f.Documents, "document"), humanize.Things(f.Sentences, "sentence"))
	}
	return nil
}
