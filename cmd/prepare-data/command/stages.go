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
	"pretext/tokenize/vocab"
)

func newExtract() *cobra.Command {
	var run runFlags
	var c pipeline.ExtractConfig
	cmd := &cobra.Command{
		Use:   "extract --wiki-dump FILE --books PATH --out DIR",
		Short: "Stage: dumps and books to documents",
		Long: `Reads MediaWiki dumps and books and writes their plain text as documents: JSON
lines in zstd files, one document per line, with its ID and title. A page or book
that cannot be used is rejected with a reason and counted.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := run.pipeline(cmd)
			if err != nil {
				return err
			}
			if len(c.Sources) == 0 {
				return usagef("no sources: give --wiki-dump FILE or --books PATH")
			}
			shareLanguage(&c.Extract)
			return run.stage(cmd, "extract", func() (*sharding.Manifest, error) { return pipeline.Extract(cmd.Context(), r, c) })
		},
	}
	run.add(cmd.Flags(), &c.Target, &c.MaxRejects)
	addSources(cmd.Flags(), &c.Sources, &c.Reading)
	return cmd
}

func newVocab() *cobra.Command {
	var run runFlags
	c := pipeline.VocabConfig{Training: pipeline.DefaultVocabOptions()}
	cmd := &cobra.Command{
		Use:   "vocab DOCUMENTS... --out DIR",
		Short: "Stage: documents to a vocabulary or a tokenizer",
		Long: `Trains a WordPiece vocabulary from documents directories and writes vocab.txt, or,
with --model bpe or unigram, a tokenizer and writes tokenizer.json for examples
--tokenizer. Documents that are held out (--eval-fraction) are not used.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := run.pipeline(cmd)
			if err != nil {
				return err
			}
			c.Documents = args
			if err := checkModel(cmd, &c.Training.Options); err != nil {
				return err
			}
			c.FixedCase = cmd.Flags().Changed(lowerCaseFlag)
			return run.stage(cmd, "vocab", func() (*sharding.Manifest, error) { return pipeline.Vocab(cmd.Context(), r, c) })
		},
	}
	fs := cmd.Flags()
	run.add(fs, &c.Target, &c.MaxRejects)
	addTextField(fs, &c.Extract)
	o := &c.Training
	addModel(fs, &o.Model)
	fs.IntVar(&o.VocabSize, "vocab-size", o.VocabSize, "number of tokens in the vocabulary")
	addLimitAlphabet(fs, &o.LimitAlphabet)
	fs.BoolVar(&o.DoLowerCase, lowerCaseFlag, o.DoLowerCase, "")
	describeTrainedCase(fs)
	addProfile(fs, &o.TokenizerProfile)
	fs.Float64Var(&o.Split.Fraction, "eval-fraction", o.Split.Fraction, "fraction of documents held out for evaluation")
	fs.Uint64Var(&o.Split.Seed, "split-seed", o.Split.Seed, "seed that selects the held-out documents")
	return cmd
}

const (
	lowerCaseFlag = "do-lower-case"
	caseUsage     = "lower-case and drop accents, for uncased vocabularies; false by default if the vocabulary was trained with case (vocab)"
)

// describeTrainedCase sets the help of --do-lower-case for commands that may train a
// vocabulary.
func describeTrainedCase(fs *pflag.FlagSet) {
	f := fs.Lookup(lowerCaseFlag)
	f.Usage = caseUsage + "; a trained vocabulary is uncased by default only if hardly any word of the text has marks, as in English"
}

// addModel adds the flag that names the kind of tokenizer to train.
func addModel(fs *pflag.FlagSet, model *string) {
	fs.StringVar(model, "model", vocab.WordPiece, "what to train: wordpiece, bpe (byte-level) or unigram")
}

// checkModel returns a usage error for a flag that does not apply to the tokenizer model.
// It clears o.Model if that is the default.
func checkModel(cmd *cobra.Command, o *vocab.Options) error {
	without := map[string][]string{vocab.BPE: {"limit-alphabet", "do-lower-case", "tokenizer-profile"}, vocab.Unigram: {"do-lower-case", "tokenizer-profile"}}
	for _, name := range without[o.Model] {
		if cmd.Flags().Changed(name) {
			return usagef("--%s and --model %s: only %s has that option", name, o.Model, vocab.WordPiece)
		}
	}
	switch o.Model {
	case vocab.WordPiece:
		o.Model = "" // so that manifests equal those of versions with one model
	case vocab.BPE, vocab.Unigram:
		o.DoLowerCase, o.TokenizerProfile = false, ""
	}
	return nil
}

// addLimitAlphabet adds the flag that limits the number of characters in a trained
// vocabulary.
func addLimitAlphabet(fs *pflag.FlagSet, n *int) {
	fs.IntVar(n, "limit-alphabet", *n, "maximum number of different characters in a trained vocabulary; the most frequent are kept; Chinese and Japanese need more")
}

// examplesOptions are the flags of examples.
type examplesOptions struct {
	run    runFlags
	c      pipeline.ExamplesConfig
	recipe recipeFlags
	format outputFlags
}

func newExamples() *cobra.Command {
	var o examplesOptions
	cmd := &cobra.Command{
		Use:   "examples DOCUMENTS... --vocab FILE --out DIR",
		Short: "Stage: documents to shards of examples",
		Long: `Makes masked-LM and next-sentence examples of documents or, with --recipe, records of
another form (docs/recipes.md).

DOCUMENTS are directories that extract or filter wrote, or JSON lines of other tools
(.jsonl, .gz or .zst; "text" and optionally "id"). With --text, the input is files in
the text form of create_pretraining_data.py; as in that script, they are one stream
of lines.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := o.run.pipeline(cmd)
			if err != nil {
				return err
			}
			if err := o.complete(cmd, args); err != nil {
				return err
			}
			s, err := pipeline.Summarize("examples", o.c.Out, func() (*sharding.Manifest, error) { return pipeline.Examples(cmd.Context(), r, o.c) })
			if err != nil {
				return o.run.report(cmd, err, s)
			}
			more, err := o.format.convert(cmd.Context(), r, o.c.Target, o.c.Out)
			return o.run.report(cmd, err, append([]pipeline.StageSummary{s}, more...)...)
		},
	}
	fs := cmd.Flags()
	o.run.add(fs, &o.c.Target, &o.c.MaxRejects)
	addExamples(fs, &o.c.Examples, &o.recipe)
	o.format.add(fs)
	fs.StringArrayVar(&o.c.Texts, "text", nil, "`file` with one sentence per line and a blank line between documents; may be repeated")
	addTokenFile(fs, &o.c.TokenFile, "vocabulary file (vocab.txt); required without --tokenizer")
	addTextField(fs, &o.c.Extract)
	fs.StringVar(&o.c.Extract.Text.Lang, "language", "", "language of JSON lines without the field lang")
	return cmd
}

// complete sets the options that depend on other options, and returns a usage error
// if flags contradict each other.
func (o *examplesOptions) complete(cmd *cobra.Command, documents []string) error {
	if err := o.format.choose(cmd.Flags(), &o.c.Examples); err != nil {
		return err
	}
	if err := o.recipe.complete(cmd, &o.c.Examples, ""); err != nil {
		return err
	}
	if err := checkTokenFile(cmd, o.c.TokenFile); err != nil {
		return err
	}
	if o.c.TokenFile == (pipeline.TokenFile{}) {
		return usagef("no vocabulary: give --vocab FILE (prepare-data vocab trains one) or --tokenizer FILE")
	}
	if len(o.c.Texts) > 0 && !cmd.Flags().Changed("sentence-splitter") {
		o.c.Examples.SentenceSplitter = "newline" // such a document has one sentence on each line
	}
	o.c.Documents, o.c.FixedCase = documents, cmd.Flags().Changed(lowerCaseFlag)
	return o.format.check(o.c.Examples, o.c.TokenFile, o.c.TokenFile.Tokenizer != "")
}

// stage runs one stage and reports it.
func (f *runFlags) stage(cmd *cobra.Command, name string, run func() (*sharding.Manifest, error)) error {
	s, err := pipeline.Summarize(name, f.Out, run)
	return f.report(cmd, err, s)
}

// report writes the summaries of the finished stages, with warnings and notes, to
// standard error and returns err. With --strict a warning becomes an error.
func (f *runFlags) report(cmd *cobra.Command, err error, stages ...pipeline.StageSummary) error {
	for _, s := range stages {
		for _, w := range s.Warnings {
			fmt.Fprintf(cmd.ErrOrStderr(), "prepare-data: %s: warning: %s\n", s.Stage, line(w.Text))
		}
		for _, n := range s.Notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "prepare-data: %s: note: %s\n", s.Stage, line(n))
		}
	}
	if err != nil {
		return err
	}
	if f.json {
		err = printJSON(cmd.OutOrStdout(), struct {
			Out    string                  `json:"out"`
			Stages []pipeline.StageSummary `json:"stages"`
		}{f.Out, stages})
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
		fmt.Fprintf(t, "%s\t%s\t%s, %s\t%s\n", s.Stage, cli.OneLine(s.Folder), files(s.Files), humanize.Bytes(s.Bytes), humanize.Duration(s.Elapsed))
		for _, line := range s.Lines() {
			fmt.Fprintf(t, "\t%s\t%s\t\n", line.Name, humanize.Count(line.Count))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range stages {
		if err := printMix(w, s.Mix); err != nil {
			return err
		}
	}
	return nil
}
