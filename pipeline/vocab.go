package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/tokenize/vocab"
)

// vocabAlgorithm is raised when the same documents give another vocabulary.
const vocabAlgorithm = 1

// countsSuffix ends the names of files of word counts.
const countsSuffix = ".txt"

// countTaskBytes is the text whose words one task counts.
const countTaskBytes = 32 << 20

// VocabOptions are the options that decide a trained vocabulary.
type VocabOptions struct {
	vocab.Options
	sharding.Split // documents held out take no part
}

// DefaultVocabOptions returns the options for a vocabulary like that of
// bert-base-uncased.
func DefaultVocabOptions() VocabOptions { return VocabOptions{Options: vocab.DefaultOptions()} }

// VocabConfig says what the vocab stage makes of what, and where.
type VocabConfig struct {
	Documents []string // documents folders, or JSON lines of others
	Given     string   // path of a vocabulary to copy in place of training one
	Tokenizer string   // path of a tokenizer.json to copy
	TextField string   // of JSON lines, the field with the text; "" is "text"
	Options   VocabOptions
	// MaxRejects is the share of the lines of others that may be unreadable.
	MaxRejects float64
	Out        string
	Overwrite  bool
}

// vocabWork is what a vocab worker needs beyond its task.
type vocabWork struct {
	Documents []string
	Options   VocabOptions
	Given     string // name of the file that is there already, where none is trained
	Tokens    int64  // entries in it
}

func init() {
	stage.Register(stage.Definition{
		Name:     "vocab",
		New:      stage.New(func(env *stage.Env, work vocabWork) stage.Worker { return &vocabWorker{env, work} }),
		Warnings: sharding.DeriveWarnings,
		Counts:   [][2]string{{"documents", "documents"}, {"words", "distinct words, counted by task"}, {"tokens", "tokens"}},
	})
}

// A vocabTask is the plan of one file of word counts.
type vocabTask struct {
	Blocks sharding.BlockList `json:"blocks,omitempty"`
}

// Vocab trains a vocabulary from documents, or takes a given one into a folder
// of its own: OUT/vocab.txt.
func Vocab(ctx context.Context, r stage.Runner, c VocabConfig) (*sharding.Manifest, error) {
	if file := (tokenFile{c.Given, c.Tokenizer}); file.given() {
		return copyVocab(ctx, r, c, file)
	}
	if err := c.Options.Validate(); err != nil {
		return nil, failure.Usage(err)
	}
	folders, foreign, err := sortDocuments(c.Documents, nil)
	if err != nil {
		return nil, err
	}
	if len(foreign) == 0 {
		d, err := c.plan(ctx, folders)
		if err != nil {
			return nil, err
		}
		return stage.Run(ctx, r, d)
	}
	return stage.Locked(c.Out, func(folder store.Folder) (*sharding.Manifest, error) {
		imported := filepath.Join(c.Out, sharding.ImportedFolder)
		o := DefaultExtractOptions()
		o.Text.Field = c.TextField
		_, err := Extract(ctx, r, ExtractConfig{Sources: foreign, Options: o, MaxRejects: c.MaxRejects, Out: imported, Overwrite: c.Overwrite})
		if err != nil {
			return nil, err
		}
		d, err := c.plan(ctx, append(folders, imported))
		if err != nil {
			return nil, err
		}
		return stage.RunIn(ctx, folder, r, d)
	})
}

// plan plans counting words and training on documents folders of ours.
func (c VocabConfig) plan(ctx context.Context, folders []string) (none stage.Config, err error) {
	inputs, err := sharding.OpenDocuments(ctx, folders)
	if err != nil {
		return none, err
	}
	work := vocabWork{Options: c.Options}
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "vocab", Algorithm: vocabAlgorithm}
	if recipe.Options, err = json.Marshal(c.Options); err != nil {
		return none, err
	}
	var tasks []any
	var total int64
	var open sharding.BlockList
	for i, in := range inputs {
		work.Documents = append(work.Documents, in.Location)
		recipe.Inputs = append(recipe.Inputs, in.Input)
		for _, f := range in.Files {
			if len(f.Blocks) == 0 {
				continue
			}
			blocks := sharding.FileBlocks{Folder: i, Name: f.Name, Blocks: f.Blocks}
			open = append(open, blocks)
			total += sharding.BlockList{blocks}.TextBytes()
			if open.TextBytes() >= countTaskBytes {
				tasks, open = append(tasks, vocabTask{open}), nil
			}
		}
	}
	if len(open) > 0 || len(tasks) == 0 {
		tasks = append(tasks, vocabTask{open})
	}
	if total == 0 {
		return none, fmt.Errorf("%w in %v", sharding.ErrNoDocuments, c.Documents)
	}
	return stage.Config{Spec: stage.NewSpec("vocab", c.Out, work.Documents, work), Recipe: recipe, Tasks: tasks,
		Total: total, Overwrite: c.Overwrite}, nil
}

// copyVocab makes a vocab folder of a vocabulary or tokenizer that the user has.
func copyVocab(ctx context.Context, r stage.Runner, c VocabConfig, file tokenFile) (*sharding.Manifest, error) {
	tokens, err := file.read(sharding.DefaultExamplesOptions())
	if err != nil {
		return nil, err
	}
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "vocab", Algorithm: vocabAlgorithm,
		Options: json.RawMessage(`{"given":true}`),
		Inputs:  []sharding.Input{{Name: filepath.Base(file.path()), Bytes: int64(len(tokens.raw)), SHA256: sharding.Hash(tokens.raw)}}}
	work := vocabWork{Given: file.name(), Tokens: int64(tokens.tokenizer.Vocab.Size)}
	return stage.Run(ctx, r, stage.Config{Spec: stage.NewSpec("vocab", c.Out, nil, work), Recipe: recipe,
		Tasks: []any{vocabTask{}}, Total: int64(len(tokens.raw)), Overwrite: c.Overwrite,
		Prepare: func(ctx context.Context, folder store.Folder) error {
			return store.WriteFile(ctx, folder, file.name(), tokens.raw)
		}})
}

// vocabWorker counts words and trains.
type vocabWorker struct {
	*stage.Env
	vocabWork
}

func (w *vocabWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	if w.Given != "" {
		return []stage.Result{{Task: index}}, nil
	}
	name := fmt.Sprintf("%s%05d", sharding.CountsPrefix, index)
	sideCar := name + sharding.SideCarSuffix
	var t vocabTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	if results, ok, err := w.Proved(ctx, index, sideCar); err != nil || ok {
		w.Meter.Add(t.Blocks.TextBytes())
		return results, err
	}
	counts, err := vocab.NewCounts(w.Options.Options)
	if err != nil {
		return nil, err
	}
	documents := int64(0)
	for doc, err := range t.Blocks.Documents(ctx, w.Documents, w.Meter.Add) {
		if err != nil {
			return nil, err
		}
		if !w.Options.HeldOut(doc.ID) {
			counts.Add(doc.Text)
			documents++
		}
	}
	out, err := w.Create(ctx, name+countsSuffix)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	if _, err := counts.WriteTo(out); err != nil {
		return nil, err
	}
	if err := w.Commit(ctx, out); err != nil {
		return nil, err
	}
	entry := out.Entry(index, sharding.Counts{"documents": documents, "words": int64(counts.Len())})
	result, err := w.Prove(ctx, sideCar, sharding.SideCar{Task: index, File: entry})
	return []stage.Result{result}, err
}

// finish trains on the merged counts.
func (w *vocabWorker) Finish(ctx context.Context, results []stage.Result) error {
	if w.Given != "" {
		bytes, sum, err := sharding.HashFile(ctx, w.Folder, w.Given)
		if err != nil {
			return err
		}
		return w.Manifest(ctx, nil, sharding.Manifest{Files: []sharding.FileEntry{
			{Name: w.Given, Bytes: bytes, SHA256: sum, Counts: sharding.Counts{"tokens": w.Tokens}}}})
	}
	tokens, err := w.train(ctx, results)
	if err != nil {
		return fmt.Errorf("train vocabulary: %w", err)
	}
	var file bytes.Buffer
	if err := vocab.Write(&file, tokens); err != nil {
		return err
	}
	entry, err := w.Write(ctx, sharding.VocabName, file.Bytes())
	if err != nil {
		return err
	}
	entry.Counts = sharding.Counts{"tokens": int64(len(tokens))}
	return w.Manifest(ctx, results, sharding.Manifest{Files: []sharding.FileEntry{entry}})
}

func (w *vocabWorker) train(ctx context.Context, results []stage.Result) (tokens []string, err error) {
	var readers []io.Reader
	var files []store.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, r := range results {
		f, err := w.Folder.Open(ctx, r.SideCar[:len(r.SideCar)-len(sharding.SideCarSuffix)]+countsSuffix)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		readers = append(readers, store.NewReader(f, 0))
	}
	return vocab.Train(ctx, vocab.Merge(readers...), w.Options.Options)
}

// A tokenFile names the file that says how text becomes ids: a vocab.txt or a
// tokenizer.json. One of the two is set.
type tokenFile struct{ vocab, tokenizer string }

// name returns the name of the stages' own copies.
func (f tokenFile) name() string {
	if f.tokenizer != "" {
		return sharding.TokenizerName
	}
	return sharding.VocabName
}

// given reports whether a file is named.
func (f tokenFile) given() bool { return f.vocab != "" || f.tokenizer != "" }

func (f tokenFile) path() string {
	if f.tokenizer != "" {
		return f.tokenizer
	}
	return f.vocab
}

// tokens is a tokenFile that was read.
type tokens struct {
	raw       []byte
	tokenizer *sharding.Tokenizer
	options   sharding.ExamplesOptions // in force
}

// read reads the file from the local disk, under the options asked for.
func (f tokenFile) read(o sharding.ExamplesOptions) (*tokens, error) {
	if f.vocab != "" && f.tokenizer != "" {
		return nil, failure.Usagef("a vocabulary and a tokenizer are given: which of them?")
	}
	raw, err := os.ReadFile(f.path())
	if err != nil {
		return nil, err
	}
	o.Tokenizer = nil
	if f.tokenizer != "" {
		if o, err = sharding.TokenizerOptions(f.tokenizer, raw, o); err != nil {
			return nil, err
		}
	}
	t, err := sharding.NewTokenizer(f.path(), raw, o)
	return &tokens{raw, t, o}, err
}
