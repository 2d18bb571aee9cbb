package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/pipeline"
	"pretext/pipeline/convert"
	"pretext/pipeline/stage"
	"pretext/records/columns/formats"
	"pretext/sharding"
)

func newConvert() *cobra.Command {
	var run runFlags
	var c convert.Config
	var maxRejects float64
	usages := ""
	var oneSplit []string
	for _, name := range formats.Names() {
		format, _ := formats.Get(name)
		about := format.About()
		usages += fmt.Sprintf("  %-10s  %s\n", name, strings.ReplaceAll(about.Usage, "\n", "\n"+strings.Repeat(" ", 14)))
		if about.OneSplit {
			oneSplit = append(oneSplit, name)
		}
	}
	cmd := &cobra.Command{
		Use:   "convert SHARDS --to FORMAT --out DIR",
		Short: "Stage: shards to the format of another library",
		Long: `Writes the examples of finished shards in a format that other training libraries
read, with the same values in the same order:

` + usages + `
TFRecord files without a manifest, such as those of Google's script, are converted
too: the train split, unless they are named eval-NNNNN-of-NNNNN.

Each shard becomes files of the same name. If the shards have two splits and a
directory of the format has one (` + strings.Join(oneSplit, ", ") + `), they are written to DIR/train and
DIR/eval. Like every stage, an interrupted conversion resumes where it stopped,
and verify checks the result, value by value.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := run.pipeline(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if c.Format == "" {
				return usagef("no format: give --to FORMAT, one of %s", strings.Join(formats.Names(), ", "))
			}
			c.Shards = args[0]
			stages, err := convertTo(cmd.Context(), r, c)
			return run.report(cmd, err, stages...)
		},
	}
	run.add(cmd.Flags(), &c.Target, &maxRejects)
	cmd.Flags().StringVar(&c.Format, "to", "", "format to write: "+strings.Join(formats.Names(), ", ")+" (required)")
	cmd.Flags().StringVar(&c.Split, "split", "", "the only split to convert: train or eval; default: all")
	return cmd
}

// convertTo converts shards to one format, into one directory or into one for each
// split.
func convertTo(ctx context.Context, r stage.Runner, c convert.Config) (stages []pipeline.StageSummary, err error) {
	dirs, err := c.Directories(ctx)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		s, err := pipeline.Summarize(sharding.StageConvert, dir.Out, func() (*sharding.Manifest, error) { return convert.Run(ctx, r, dir) })
		if err != nil {
			return stages, err
		}
		stages = append(stages, s)
	}
	return stages, nil
}

// formatFlag is the value of --format: the formats to which a command converts its
// finished shards in addition.
type formatFlag []string

func (f *formatFlag) add(fs *pflag.FlagSet) {
	fs.StringSliceVar((*[]string)(f), "format", nil, "also write the examples in other `formats`, to OUT/FORMAT, as convert --to does: "+
		strings.Join(formats.Names(), ", ")+"; may be repeated")
}

// check returns a usage error if a format cannot represent the examples of a recipe. It is
// called before the run, which would otherwise fail only at the conversion. tokenizer is
// true if the token ids come from a tokenizer.json.
func (f formatFlag) check(recipe string, tokenizer bool) error {
	for i, name := range f {
		if slices.Contains(f[:i], name) {
			return usagef("--format %s: given twice", name)
		}
		if err := convert.Check(name, recipe, tokenizer); err != nil {
			return misuse(fmt.Errorf("--format: %w", err))
		}
	}
	return nil
}

// convert converts finished shards to each format, in a directory below out.
func (f formatFlag) convert(ctx context.Context, r stage.Runner, out stage.Target, shards string) (stages []pipeline.StageSummary, err error) {
	for _, name := range f {
		more, err := convertTo(ctx, r, convert.Config{Target: out.In(name), Shards: shards, Format: name})
		stages = append(stages, more...)
		if err != nil {
			return stages, err
		}
	}
	return stages, nil
}
