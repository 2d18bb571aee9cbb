package command

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	"pretext/pipeline"
	"pretext/sharding"
)

func newExtract() *cobra.Command {
	var run runFlags
	var src sourceFlags
	cmd := &cobra.Command{
		Use:   "extract --wiki-dump FILE --books PATH --out DIR",
		Short: "Stage: dumps and books to documents",
		Long: `Reads MediaWiki dumps and books and writes their plain text as documents: JSON
lines in zstd files, a document a line, with its ID and title. What cannot be
used is rejected with a reason and counted.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := run.pipeline(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if len(src.sources) == 0 {
				return usagef("no sources: give --wiki-dump FILE or --books PATH")
			}
			s, err := pipeline.Summarize("extract", run.out, func() (*sharding.Manifest, error) {
				return pipeline.Extract(cmd.Context(), r, pipeline.ExtractConfig{Sources: src.sources, Options: src.extract(),
					Out: run.out, Overwrite: run.overwrite, MaxRejects: run.maxRejects})
			})
			return run.report(cmd, err, s)
		},
	}
	run.add(cmd.Flags())
	src.add(cmd.Flags())
	return cmd
}

func newVocab() *cobra.Command {
	var run runFlags
	var field string
	o := pipeline.DefaultVocabOptions()
	cmd := &cobra.Command{
		Use:   "vocab DOCUMENTS... --out DIR",
		Short: "Stage: documents to a WordPiece vocabulary",
		Long: `Trains a WordPiece vocabulary from documents folders and writes vocab.txt.
Documents that are held out (--eval-fraction) take no part.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := run.pipeline(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			s, err := pipeline.Summarize("vocab", run.out, func() (*sharding.Manifest, error) {
				return pipeline.Vocab(cmd.Context(), r, pipeline.VocabConfig{Documents: args, TextField: field, MaxRejects: run.maxRejects, Options: o, Out: run.out, Overwrite: run.overwrite})
			})
			return run.report(cmd, err, s)
		},
	}
	run.add(cmd.Flags())
	fs := cmd.Flags()
	addTextField(fs, &field)
	fs.IntVar(&o.VocabSize, "vocab-size", o.VocabSize, "entries of the vocabulary")
	addLimitAlphabet(fs, &o.LimitAlphabet)
	fs.BoolVar(&o.DoLowerCase, "do-lower-case", o.DoLowerCase, "lower-case and drop accents")
	addProfile(fs, &o.TokenizerProfile)
	fs.Float64Var(&o.Split.Fraction, "eval-fraction", o.Split.Fraction, "fraction of documents held out for evaluation")
	fs.Uint64Var(&o.Split.Seed, "split-seed", o.Split.Seed, "seed of the held-out split")
	return cmd
}

// addLimitAlphabet adds the flag that bounds the characters of a trained vocabulary.
func addLimitAlphabet(fs *pflag.FlagSet, n *int) {
	fs.IntVar(n, "limit-alphabet", *n, "characters of a trained vocabulary at most, the most frequent; Chinese and Japanese need more")
}

func newExamples() *cobra.Command {
	var run runFlags
	var ex exampleFlags
	var texts []string
	var tokens tokenFlags
	var lang, field string
	cmd := &cobra.Command{
		Use:   "examples DOCUMENTS... --vocab FILE --out DIR",
		Short: "Stage: documents to shards of examples",
		Long: `Makes masked-LM and next-sentence examples of documents: folders that the stage
before wrote, JSON lines of other tools (.jsonl, .gz or .zst; "text" and perhaps
"id"), or, with --text, files in the text form of create_pretraining_data.py.
Files given with --text are one stream of lines, as in that script.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := run.pipeline(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := tokens.check(cmd); err != nil {
				return err
			}
			if tokens == (tokenFlags{}) {
				return usagef("no vocabulary: give --vocab FILE (prepare-data vocab trains one) or --tokenizer FILE")
			}
			if len(texts) > 0 && !cmd.Flags().Changed("sentence-splitter") {
				ex.options.SentenceSplitter = "newline" // a line is a sentence there
			}
			opts := pipeline.DefaultExtractOptions()
			opts.Text.Lang, opts.Text.Field = lang, field
			s, err := pipeline.Summarize("examples", run.out, func() (*sharding.Manifest, error) {
				return pipeline.Examples(cmd.Context(), r, pipeline.ExamplesConfig{Documents: args, Texts: texts, Vocab: tokens.vocab, Tokenizer: tokens.tokenizer,
					Options: ex.options, Import: opts, MaxRejects: run.maxRejects, Memory: int64(run.memory), Out: run.out, Overwrite: run.overwrite})
			})
			return run.report(cmd, err, s)
		},
	}
	run.add(cmd.Flags())
	ex.add(cmd.Flags())
	cmd.Flags().StringArrayVar(&texts, "text", nil, "`file` with a sentence a line and a blank line between documents; may be repeated")
	tokens.add(cmd.Flags(), "vocab.txt (required without --tokenizer)")
	cmd.Flags().StringVar(&lang, "language", "", "language of JSON lines that do not name theirs")
	addTextField(cmd.Flags(), &field)
	return cmd
}

// report prints the summaries of the stages that were run, warnings and notes
// on standard error, and passes the error on. With --strict a warning is an error.
func (f *runFlags) report(cmd *cobra.Command, err error, stages ...pipeline.StageSummary) error {
	for _, s := range stages {
		for _, w := range s.Warnings {
			fmt.Fprintf(cmd.ErrOrStderr(), "prepare-data: %s: warning: %s\n", s.Stage, cli.OneLine(w.Text))
		}
		for _, n := range s.Notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "prepare-data: %s: note: %s\n", s.Stage, n)
		}
	}
	if err != nil {
		return err
	}
	if f.json {
		err = printJSON(cmd.OutOrStdout(), struct {
			Out    string                  `json:"out"`
			Stages []pipeline.StageSummary `json:"stages"`
		}{f.out, stages})
	} else {
		err = printSummary(cmd.OutOrStdout(), stages)
	}
	if err != nil || !f.strict {
		return err
	}
	return pipeline.CheckWarnings(stages)
}

func printSummary(w io.Writer, stages []pipeline.StageSummary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range stages {
		fmt.Fprintf(t, "%s\t%s\t%s, %s\t%s\n", s.Stage, s.Folder, files(s.Files), humanize.Bytes(s.Bytes), humanize.Duration(s.Elapsed))
		for _, line := range s.Lines() {
			fmt.Fprintf(t, "\t%s\t%s\t\n", line.Name, humanize.Count(line.Count))
		}
	}
	return t.Flush()
}
