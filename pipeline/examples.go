package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/stage"
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

// examplesWork is what an examples worker needs beyond its task.
type examplesWork struct {
	Documents []string // locations of the documents folders
	Options   sharding.ExamplesOptions
	Scratch   int64 // bytes of instances that a task may hold in memory
}

func init() {
	stage.Register(stage.Definition{
		Name:     "examples",
		New:      stage.New(func(env *stage.Env, work examplesWork) stage.Worker { return &examplesWorker{env, work} }),
		Warnings: sharding.DeriveWarnings,
		Counts: [][2]string{{"documents", "documents"}, {"sentences", "sentences"}, {"tokens", "tokens"}, {"unknown_tokens", "unknown tokens"},
			{"records", "examples"}, {"masked", "masked positions"}, {"random_next", "random next sentences"}},
	})
}

// An sharding.ShardTask is the plan of one shard.
// Examples makes shards of documents: OUT/train-NNNNN-of-NNNNN.tfrecord.
func Examples(ctx context.Context, r stage.Runner, c ExamplesConfig) (*sharding.Manifest, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	tokens, err := c.tokens().read(c.Options)
	if err != nil {
		return nil, err // before documents are imported
	}
	r.Tell(tokens.tokenizer.Warning)
	folders, foreign, err := sortDocuments(c.Documents, c.Texts)
	if err != nil {
		return nil, err
	}
	if len(foreign) == 0 {
		d, err := c.plan(ctx, folders, tokens, r.Workers)
		if err != nil {
			return nil, err
		}
		m, err := stage.Run(ctx, r, d)
		return m, haveRecords(m, folders, err)
	}
	// The lock is held while foreign documents are imported too: no other run
	// may replace them below this one.
	return stage.Locked(c.Out, func(folder store.Folder) (*sharding.Manifest, error) {
		imported := filepath.Join(c.Out, sharding.ImportedFolder)
		if _, err := Extract(ctx, r, ExtractConfig{Sources: foreign, Options: c.Import, MaxRejects: c.MaxRejects, Out: imported, Overwrite: c.Overwrite}); err != nil {
			return nil, err
		}
		folders := append(folders, imported)
		d, err := c.plan(ctx, folders, tokens, r.Workers)
		if err != nil {
			return nil, err
		}
		m, err := stage.RunIn(ctx, folder, r, d)
		return m, haveRecords(m, folders, err)
	})
}

// plan plans the shards of documents folders of ours.
func (c ExamplesConfig) plan(ctx context.Context, folders []string, tokens *tokens, workers int) (stage.Config, error) {
	inputs, err := sharding.OpenDocuments(ctx, folders)
	if err != nil {
		return stage.Config{}, err
	}
	plan, err := sharding.Assign(inputs, tokens.options)
	if err != nil {
		return stage.Config{}, err
	}
	scratch, err := exampleScratch(plan.Tasks, tokens.tokenizer.Wide(), workers, c.Memory)
	if err != nil {
		return stage.Config{}, err
	}
	tasks := make([]any, len(plan.Tasks))
	for i, t := range plan.Tasks {
		tasks[i] = t
	}
	options, err := json.Marshal(plan.Options)
	if err != nil {
		return stage.Config{}, err
	}
	name := c.tokens().name()
	vocabulary := sharding.Input{Name: name, Bytes: int64(len(tokens.raw)), SHA256: sharding.Hash(tokens.raw)}
	return stage.Config{
		Spec: stage.NewSpec("examples", c.Out, plan.Locations, examplesWork{Documents: plan.Locations, Options: plan.Options, Scratch: scratch}),
		Recipe: sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "examples", Algorithm: examplesAlgorithm, Options: options,
			Inputs: append(plan.Inputs, vocabulary)},
		Tasks: tasks, Total: 2 * plan.TextBytes, Reads: 2, // text counts when it is read and when it is written
		Overwrite: c.Overwrite,
		Prepare: func(ctx context.Context, folder store.Folder) error {
			return store.WriteFile(ctx, folder, name, tokens.raw)
		},
	}, nil
}

// haveRecords returns the error of the stage, or one for a stage without records.
func haveRecords(m *sharding.Manifest, folders []string, err error) error {
	if err == nil && m.Counts["records"] == 0 {
		return fmt.Errorf("%w could be made of the %d documents in %v", sharding.ErrNoRecords, m.Counts["documents"], folders)
	}
	return err
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
		return failure.Usage(err)
	}
	return nil
}

func (c ExamplesConfig) tokens() tokenFile { return tokenFile{c.Vocab, c.Tokenizer} }
