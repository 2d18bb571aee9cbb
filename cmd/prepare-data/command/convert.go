package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/pipeline"
	"pretext/pipeline/convert"
	"pretext/pipeline/stage"
	"pretext/records/columns/consumers"
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
		Use:   "convert SHARDS (--to FORMAT | --for CONSUMER) --out DIR",
		Short: "Stage: shards to the format of another library",
		Long: `Writes the examples of finished shards in a format that other training libraries
read, with the same values in the same order:

` + usages + `
With --for, the columns, types, compression and directories are those that the loader
of a training program takes; examples that it would misread are refused:

` + usersOf() + `
TFRecord files without a manifest, such as those of Google's script, are converted
too: the train split, unless they are named eval-NNNNN-of-NNNNN.

Each shard becomes files of the same name. If the shards have two splits and a
directory of the format has one (` + strings.Join(oneSplit, ", ") + `), they are written to DIR/train and
DIR/eval. Like every stage, an interrupted conversion resumes where it stopped,
and verify checks the result, value by value.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := run.pipeline(cmd)
			if err != nil {
				return err
			}
			if c.Format == "" && c.For == "" {
				return usagef("no format: give --to FORMAT, one of %s, or --for CONSUMER, one of %s", strings.Join(formats.Names(), ", "), strings.Join(consumers.Names(), ", "))
			}
			c.Shards = args[0]
			stages, err := convertTo(cmd.Context(), r, c)
			return run.report(cmd, err, stages...)
		},
	}
	run.add(cmd.Flags(), &c.Target, &maxRejects)
	cmd.Flags().StringVar(&c.Format, "to", "", "format to write: "+strings.Join(formats.Names(), ", "))
	cmd.Flags().StringVar(&c.For, "for", "", "write what the loader of this consumer takes: "+strings.Join(consumers.Names(), ", "))
	cmd.Flags().StringVar(&c.Compression, "compression", "", "compression of the files: "+compressions()+"; default: the first, or that of the consumer")
	cmd.Flags().StringVar(&c.Int, "int", "", "type of integers: int32, int64 or uint16; default: int32")
	cmd.Flags().StringVar(&c.Split, "split", "", "the only split to convert: train or eval; default: all")
	return cmd
}

// usersOf returns the lines of a help text that describe the consumers.
func usersOf() (text string) {
	for _, name := range consumers.Names() {
		c, _ := consumers.Get(name)
		text += fmt.Sprintf("  %-13s %s\n", name, strings.ReplaceAll(c.About, "\n", "\n"+strings.Repeat(" ", 16)))
	}
	return text
}

// compressions describes the formats whose files have a choice of compression.
func compressions() string {
	var list []string
	for _, name := range formats.Names() {
		if f, _ := formats.Get(name); len(f.About().Compressions) > 0 {
			list = append(list, strings.Join(f.About().Compressions, " or ")+" for "+name)
		}
	}
	return strings.Join(list, ", ")
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

// outputFlags are the values of --format and --for: what a command converts its finished
// shards to in addition.
type outputFlags struct{ formats, consumers []string }

func (f *outputFlags) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.formats, "format", nil, "also write the examples in other `formats`, to OUT/FORMAT, as convert --to does: "+
		strings.Join(formats.Names(), ", ")+"; may be repeated")
	fs.StringSliceVar(&f.consumers, "for", nil, "also write the examples for the loaders of these `consumers`, to OUT/CONSUMER, as convert --for does: "+
		strings.Join(consumers.Names(), ", ")+"; the first one determines --recipe if it is not given")
}

// choose sets the recipe to that of the first consumer, unless the user has given one.
func (f outputFlags) choose(fs *pflag.FlagSet, o *sharding.ExamplesOptions) error {
	if len(f.consumers) == 0 || fs.Changed("recipe") {
		return nil
	}
	c, err := consumers.Get(f.consumers[0])
	if err == nil {
		o.Recipe = c.Recipes[0]
	}
	return err
}

// configs returns the conversions of finished shards, each to a directory below out.
func (f outputFlags) configs(out stage.Target, shards string) (list []convert.Config) {
	for _, name := range f.formats {
		list = append(list, convert.Config{Target: out.In(name), Shards: shards, Format: name})
	}
	for _, name := range f.consumers {
		if c, _ := consumers.Get(name); c.Format != "" {
			list = append(list, convert.Config{Target: out.In(name), Shards: shards, For: name})
		}
	}
	return list
}

// check returns a usage error if a format cannot represent the examples of a recipe, or a
// consumer would misread them. It is called before the run, which would otherwise fail only
// at the conversion. tokenizer is true if the token ids come from a tokenizer.json, that of
// file or one that the run trains.
func (f outputFlags) check(o sharding.ExamplesOptions, file pipeline.TokenFile, tokenizer bool) error {
	for i, name := range f.formats {
		if slices.Contains(f.formats[:i], name) {
			return usagef("--format %s: given twice", name)
		}
		if err := convert.Check(name, o, tokenizer); err != nil {
			return misuse(fmt.Errorf("--format: %w", err))
		}
	}
	for i, name := range f.consumers {
		if slices.Contains(f.consumers[:i], name) {
			return usagef("--for %s: given twice", name)
		}
		err := convert.CheckFor(name, o, cmp.Or(file.Vocab, file.Tokenizer), tokenizer)
		if err != nil {
			return misuse(fmt.Errorf("--for: %w", err))
		}
	}
	return nil
}

// convert converts finished shards to each format and for each consumer, in a directory
// below out.
func (f outputFlags) convert(ctx context.Context, r stage.Runner, out stage.Target, shards string) (stages []pipeline.StageSummary, err error) {
	for _, c := range f.configs(out, shards) {
		more, err := convertTo(ctx, r, c)
		stages = append(stages, more...)
		if err != nil {
			return stages, err
		}
	}
	return stages, nil
}
