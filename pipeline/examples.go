package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"pretext/internal/store"
	"pretext/sharding"
	"pretext/tokenize/sentence"
)

// examplesAlgorithm is raised when the same documents give other records.
const examplesAlgorithm = 1

// ExamplesConfig says what the examples stage makes of what, and where.
type ExamplesConfig struct {
	Documents []string // documents folders, or JSON lines of others
	Texts     []string // files in BERT's text form
	Vocab     string   // path of a vocab.txt
	Tokenizer string   // path of a tokenizer.json, in place of Vocab
	Options   sharding.ExamplesOptions
	Import    ExtractOptions // for what is not ours
	// MaxRejects is the share of the lines of others that may be unreadable.
	MaxRejects float64
	Memory     int64 // bytes that the process may use
	Out        string
	Overwrite  bool
}

// ExamplesSpec is what an examples worker needs beyond its task.
type ExamplesSpec struct {
	Documents []string // locations of the documents folders
	Options   sharding.ExamplesOptions
	Scratch   int64 // bytes of instances that a task may hold in memory
}

// Examples makes shards of documents: OUT/train-NNNNN-of-NNNNN.tfrecord.
func Examples(ctx context.Context, r Runner, c ExamplesConfig) (*sharding.Manifest, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	tokens, err := c.tokens().read(c.Options)
	if err != nil {
		return nil, err // before documents are imported
	}
	r.note(tokens.tokenizer.Warning)
	folders, foreign, err := sortDocuments(c.Documents, c.Texts)
	if err != nil {
		return nil, err
	}
	if len(foreign) == 0 {
		return makeExamples(ctx, r, c, tokens, folders, drive)
	}
	// The lock is held while foreign documents are imported too: no other run
	// may replace them below this one.
	return locked(c.Out, func(folder store.Folder) (*sharding.Manifest, error) {
		imported := filepath.Join(c.Out, sharding.ImportedFolder)
		if _, err := Extract(ctx, r, ExtractConfig{Sources: foreign, Options: c.Import, MaxRejects: c.MaxRejects, Out: imported, Overwrite: c.Overwrite}); err != nil {
			return nil, err
		}
		return makeExamples(ctx, r, c, tokens, append(folders, imported), func(ctx context.Context, r Runner, d driveConfig) (*sharding.Manifest, error) {
			return driveIn(ctx, folder, r, d)
		})
	})
}

// makeExamples makes shards of documents folders of ours.
func makeExamples(ctx context.Context, r Runner, c ExamplesConfig, tokens *tokens, folders []string,
	drive func(context.Context, Runner, driveConfig) (*sharding.Manifest, error)) (*sharding.Manifest, error) {
	inputs, err := sharding.OpenDocuments(ctx, folders)
	if err != nil {
		return nil, err
	}
	plan, err := sharding.AssignShards(inputs, tokens.options)
	if err != nil {
		return nil, err
	}
	spec := Spec{Stage: "examples", Out: c.Out, Examples: &ExamplesSpec{Documents: plan.Locations, Options: plan.Options}}
	tasks := make([]any, len(plan.Tasks))
	memory := exampleMemory{wide: tokens.tokenizer.Wide()}
	for i, t := range plan.Tasks {
		tasks[i] = t
		memory.sizes = append(memory.sizes, sizeOf(t.Blocks))
	}
	if spec.Examples.Scratch, err = memory.scratch(c.Memory, r.Workers); err != nil {
		return nil, err
	}
	options, err := json.Marshal(plan.Options)
	if err != nil {
		return nil, err
	}
	name := c.tokens().name()
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "examples", Algorithm: examplesAlgorithm, Options: options,
		Inputs: append(plan.Inputs, sharding.Input{Name: name, Bytes: int64(len(tokens.raw)), SHA256: sharding.Hash(tokens.raw)})}
	m, err := drive(ctx, r, driveConfig{spec: spec, recipe: recipe, tasks: tasks, total: 2 * plan.TextBytes, overwrite: c.Overwrite,
		prepare: func(ctx context.Context, folder store.Folder) error {
			return store.WriteFile(ctx, folder, name, tokens.raw)
		}})
	if err != nil {
		return nil, err
	}
	if m.Counts["records"] == 0 {
		return nil, fmt.Errorf("%w could be made of the %d documents in %v", ErrNoRecords, m.Counts["documents"], folders)
	}
	return m, nil
}

func (c ExamplesConfig) validate() error {
	err := c.Options.Validate()
	if len(c.Texts) > 0 && c.Options.SentenceSplitter != sentence.Newline {
		err = errors.Join(err, fmt.Errorf("sentence_splitter %s: in BERT's text form a line is a sentence, so it must be newline", c.Options.SentenceSplitter))
	}
	if len(c.Texts) > 0 && len(c.Documents) > 0 {
		err = errors.Join(err, errors.New("documents and BERT text cannot be read in one run: make documents of the text first, or two runs"))
	}
	if len(c.Texts)+len(c.Documents) == 0 {
		err = errors.Join(err, errors.New("nothing to read: give a documents folder, JSON lines or --text"))
	}
	if err != nil {
		return &ConfigError{err}
	}
	return nil
}

func (c ExamplesConfig) tokens() tokenFile { return tokenFile{c.Vocab, c.Tokenizer} }
