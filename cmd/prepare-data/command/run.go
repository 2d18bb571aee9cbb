package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/pipeline"
)

// runSettings are the flags of run, which plan takes too.
type runSettings struct {
	run       runFlags
	src       sourceFlags
	get       downloadFlags
	keep      filterFlags
	ex        exampleFlags
	tokens    tokenFlags
	preset    string
	vocabSize int
	alphabet  int
}

func (s *runSettings) add(fs *pflag.FlagSet) {
	s.vocabSize, s.alphabet = pipeline.DefaultVocabOptions().VocabSize, pipeline.DefaultVocabOptions().LimitAlphabet
	s.run.add(fs)
	s.src.add(fs)
	s.get.add(fs)
	s.keep.add(fs)
	s.ex.add(fs)
	s.tokens.add(fs, "vocab.txt; default: train one")
	fs.StringVar(&s.preset, "preset", "", "sources and settings under one name: "+strings.Join(presetNames(), ", ")+"; flags that are given win")
	fs.IntVar(&s.vocabSize, "vocab-size", s.vocabSize, "entries of the vocabulary, when it is trained")
	addLimitAlphabet(fs, &s.alphabet)
}

// config returns what the flags ask for, those of the preset among them, and
// the preset's name.
func (s *runSettings) config(cmd *cobra.Command, stderr io.Writer) (c pipeline.RunConfig, preset string, err error) {
	if preset, err = usePreset(cmd.Flags(), s.preset); err != nil {
		return c, preset, err
	}
	if err := s.tokens.check(cmd); err != nil {
		return c, preset, err
	}
	sources, err := s.get.wanted(stderr)
	if err != nil {
		return c, preset, err
	}
	filter, err := s.keep.options()
	if err != nil {
		return c, preset, err
	}
	return pipeline.RunConfig{Sources: s.src.sources, Download: sources, Extract: s.src.extract(), Filter: filter, Vocab: s.tokens.vocab,
		Tokenizer: s.tokens.tokenizer, VocabSize: s.vocabSize, LimitAlphabet: s.alphabet, Examples: s.ex.options, Memory: int64(s.run.memory),
		MaxRejects: s.run.maxRejects, Out: s.run.out, Overwrite: s.run.overwrite}, preset, nil
}

func newRun() *cobra.Command {
	var s runSettings
	cmd := &cobra.Command{
		Use:   "run --wiki-dump FILE --books PATH --vocab FILE --out DIR",
		Short: "All stages: dumps and books to shards",
		Long: `Runs all stages: OUT/documents, OUT/vocab, OUT/shards; with --dedup, --quality
or another rule also OUT/filtered after the first. Without --vocab a vocabulary
is trained. The same command resumes an interrupted run.

With --wiki, --gutenberg or --url it downloads to OUT/sources first. Without any
source it takes those of --preset, which is small unless given: prepare-data plan
shows what that means.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := s.run.pipeline(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			c, preset, err := s.config(cmd, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if preset != "" && s.preset == "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "prepare-data: run: note: no sources given: preset %s, %s\n", preset, presets().Presets[preset].About)
			}
			stages, err := pipeline.Run(cmd.Context(), r, c)
			return s.run.report(cmd, err, stages...)
		},
	}
	s.add(cmd.Flags())
	return cmd
}
