package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/pipeline"
	"pretext/sharding"
)

// runSettings are the flags shared by the commands run and plan.
type runSettings struct {
	c      pipeline.RunConfig
	run    runFlags
	get    downloadFlags
	keep   filterFlags
	recipe recipeFlags
	format outputFlags
	preset string
}

func (s *runSettings) add(fs *pflag.FlagSet) {
	training := pipeline.DefaultVocabOptions()
	s.c.VocabSize, s.c.LimitAlphabet = training.VocabSize, training.LimitAlphabet
	s.run.add(fs, &s.c.Target, &s.c.MaxRejects)
	addSources(fs, &s.c.Sources, &s.c.Reading)
	s.get.add(fs)
	s.keep.add(fs)
	addExamples(fs, &s.c.Examples, &s.recipe)
	describeTrainedCase(fs)
	addTokenFile(fs, &s.c.TokenFile, "vocabulary file (vocab.txt); default: train a vocabulary")
	fs.StringVar(&s.preset, "preset", "", "named set of sources and settings: "+strings.Join(presetNames(), ", ")+"; other flags override it")
	addModel(fs, &s.c.Model)
	fs.IntVar(&s.c.VocabSize, "vocab-size", s.c.VocabSize, "number of tokens in the vocabulary, if it is trained")
	addLimitAlphabet(fs, &s.c.LimitAlphabet)
	s.format.add(fs)
}

// complete applies the preset to the flags and sets the fields of s.c that depend on
// several flags. It returns the preset's name, or "" if there is none.
func (s *runSettings) complete(cmd *cobra.Command, stderr io.Writer) (preset string, err error) {
	if preset, err = usePreset(cmd.Flags(), s.preset); err != nil {
		return preset, err
	}
	if err := s.format.choose(cmd.Flags(), &s.c.Examples); err != nil {
		return preset, err
	}
	if err := s.recipe.complete(cmd, &s.c.Examples, preset); err != nil {
		return preset, err
	}
	if err := checkTokenFile(cmd, s.c.TokenFile); err != nil {
		return preset, err
	}
	if err := s.checkModel(cmd); err != nil {
		return preset, err
	}
	shareLanguage(&s.c.Extract)
	if s.c.Download, err = s.get.wanted(stderr); err != nil {
		return preset, err
	}
	if s.c.Filter, err = s.keep.options(); err != nil {
		return preset, err
	}
	return preset, s.format.check(s.c.Examples, s.c.TokenFile, s.c.TokenFile.Tokenizer != "" || s.trainsTokenizer())
}

// trainsTokenizer reports whether the run trains a tokenizer.json.
func (s *runSettings) trainsTokenizer() bool {
	o := pipeline.DefaultVocabOptions().Options
	o.Model = s.c.Model
	return s.c.TokenFile == (pipeline.TokenFile{}) && o.TokenizerFile()
}

// checkModel returns a usage error if --model is given together with a vocabulary, or if
// another flag does not apply to that kind of tokenizer.
func (s *runSettings) checkModel(cmd *cobra.Command) error {
	if s.c.TokenFile != (pipeline.TokenFile{}) && cmd.Flags().Changed("model") {
		return usagef("--model and --vocab or --tokenizer: only a vocabulary that is not given is trained: leave out one of them")
	}
	o := pipeline.DefaultVocabOptions().Options
	o.Model = s.c.Model
	err := checkModel(cmd, &o)
	s.c.Model, s.c.FixedCase = o.Model, cmd.Flags().Changed(lowerCaseFlag)
	return err
}

func newRun() *cobra.Command {
	var s runSettings
	cmd := &cobra.Command{
		Use:   "run --wiki-dump FILE --books PATH --vocab FILE --out DIR",
		Short: "All stages: dumps and books to shards",
		Long: `Runs all stages: OUT/documents, OUT/vocab, OUT/shards; with --dedup, --quality
or another rule also OUT/filtered after OUT/documents. Without --vocab or
--tokenizer a vocabulary is trained, or the tokenizer that --model names. The same
command resumes an interrupted run.

With --wiki, --gutenberg or --url it downloads to OUT/sources first. Without any
source it uses the sources of --preset (default: small); "prepare-data plan" shows
what they are.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := s.run.whole(cmd)
			if err != nil {
				return err
			}
			preset, err := s.complete(cmd, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if preset != "" && s.preset == "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "prepare-data: run: note: no sources given: preset %s, %s\n", preset, presets().Presets[preset].About)
			}
			stages, err := pipeline.Run(cmd.Context(), r, s.c)
			if err == nil {
				var more []pipeline.StageSummary
				more, err = s.format.convert(cmd.Context(), r, s.c.Target, s.c.In(sharding.ShardsFolder).Out)
				stages = append(stages, more...)
			}
			return s.run.report(cmd, err, stages...)
		},
	}
	s.add(cmd.Flags())
	return cmd
}
