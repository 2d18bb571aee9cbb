package pipeline

import (
	"context"
	"errors"
	"fmt"

	"pretext/counts"
	"pretext/extract"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/tokenize/sentence"
)

// examplesAlgorithm is the version of the examples stage. It is raised if the same
// documents would result in different records. Version 2 makes more shards by default.
const examplesAlgorithm = 2

// ExamplesConfig configures [Examples].
type ExamplesConfig struct {
	stage.Target
	Reading // options for third-party documents
	TokenFile
	Documents []string // documents directories, or files of third-party JSON lines
	Texts     []string // files in BERT's text format
	Examples  sharding.ExamplesOptions

	// FixedCase reports whether the user chose Examples.DoLowerCase. If not, DoLowerCase
	// is set to false for a vocabulary that was trained with case and marks, see
	// [VocabConfig].
	FixedCase bool
}

// examplesWork contains the options of examples workers.
type examplesWork struct {
	Examples sharding.ExamplesOptions
	Scratch  int64 // bytes of examples that a task may hold in memory
}

func init() {
	stage.Register(stage.Definition{
		Name:      "examples",
		Algorithm: examplesAlgorithm,
		New:       stage.New(newExamplesWorker),
		Warnings:  sharding.Known.Warnings,
		Counts: []counts.Count{extract.Documents, sharding.Sentences, sharding.Tokens, sharding.UnknownTokens, sharding.SpelledLetters,
			sharding.Records, sharding.Pieces, sharding.CutDocuments, sharding.Masked, sharding.RandomNext, sharding.RecordTokens, sharding.WithoutPredictions},
	})
}

// Examples makes shards from documents: OUT/train-NNNNN-of-NNNNN.tfrecord.
func Examples(ctx context.Context, r stage.Runner, c ExamplesConfig) (*sharding.Manifest, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.keepCase(ctx, &c.Examples, c.FixedCase)
	tokens, err := c.read(&c.Examples)
	if err != nil {
		return nil, err // checked before documents are imported
	}
	in := documentInputs{Target: c.Target, Reading: c.Reading, locked: c.Examples.Mix.Enabled()}
	if err := in.sort(c.Documents, c.Texts); err != nil {
		return nil, err
	}
	if err := c.checkMix(ctx, in); err != nil {
		return nil, err
	}
	var read []string
	m, err := in.run(ctx, r, func(folders []string) (stage.Config, error) {
		read = folders
		return c.plan(ctx, folders, tokens, r)
	})
	if err == nil && sharding.Records.Of(m.Counts) == 0 {
		err = fmt.Errorf("%w could be made of the %d documents in %v", sharding.ErrNoRecords, extract.Documents.Of(m.Counts), read)
	}
	return m, err
}

// plan returns the configuration of the stage for the given documents directories.
func (c ExamplesConfig) plan(ctx context.Context, folders []string, tokens *tokens, r stage.Runner) (none stage.Config, err error) {
	inputs, err := sharding.OpenDocuments(ctx, folders)
	if err != nil {
		return none, err
	}
	if c.Examples.LostMarks, err = lostMarks(ctx, inputs, tokens.tokenizer); err != nil {
		return none, err
	}
	plan, err := c.assign(ctx, r, inputs, tokens)
	if err != nil {
		return none, err
	}
	c.Examples.Shards = plan.Shards
	scratch, err := c.scratch(plan.Sizes(), tokens.tokenizer.Wide(), r.Workers)
	if err != nil {
		return none, err
	}
	algorithm := examplesAlgorithm
	if c.Examples.NSPNegatives != "" {
		algorithm = sharding.NegativesAlgorithm
	}
	return stage.Config{Target: c.Target, Stage: "examples", Algorithm: algorithm, Options: c.Examples, Inputs: append(plan.Inputs, tokens.input(c.name())), Paths: plan.Locations,
		Work:  examplesWork{c.Examples, scratch},
		Tasks: plan.Tasks(), Total: 2 * plan.ReadBytes, Reads: 2, // text is counted when it is read and again when its records are written
		Loaded: tokens.tokenizer,
		Prepare: func(ctx context.Context, folder store.Folder) error {
			if c.Examples.Mix == nil && c.Overwrite {
				if err := removeBelow(ctx, folder, sharding.MixFolder); err != nil {
					return err
				}
			}
			return store.WriteFile(ctx, folder, c.name(), tokens.raw)
		},
	}, nil
}

func (c ExamplesConfig) validate() error {
	err := c.Examples.Validate()
	if len(c.Texts) > 0 && c.Examples.SentenceSplitter != sentence.Newline {
		err = errors.Join(err, fmt.Errorf("sentence_splitter %s: in BERT's text form a line is a sentence, so it must be newline", c.Examples.SentenceSplitter))
	}
	if len(c.Texts) > 0 && len(c.Documents) > 0 {
		err = errors.Join(err, errors.New("documents and BERT text cannot be read in one run: make documents of the text first, or two runs"))
	}
	if len(c.Texts)+len(c.Documents) == 0 {
		err = errors.Join(err, errors.New("nothing to read: give a documents folder, JSON lines or --text"))
	}
	if err != nil {
		return failure.Usage(err)
	}
	return nil
}
