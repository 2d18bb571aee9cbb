package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"pretext/counts"
	"pretext/extract"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/tokenize/vocab"
)

// vocabAlgorithm is the version of the vocab stage. It is raised if the same documents
// would result in a different vocabulary.
const vocabAlgorithm = 1

// countsSuffix is the suffix of word count files.
const countsSuffix = ".txt"

// countTaskBytes is the size of the text in one counting task, in bytes.
const countTaskBytes = 32 << 20

// VocabOptions are the options that determine a trained vocabulary.
type VocabOptions struct {
	vocab.Options
	sharding.Split // held-out documents are not counted

	// Marks are the losses that an uncased vocabulary would cause. It is nil if there are
	// none, or if the vocabulary is uncased and the losses are usual for English text.
	Marks *sharding.LostMarks `json:"marks,omitempty"`
}

// DefaultVocabOptions returns the options for a vocabulary similar to that of
// bert-base-uncased.
func DefaultVocabOptions() VocabOptions { return VocabOptions{Options: vocab.DefaultOptions()} }

// VocabConfig configures [Vocab].
type VocabConfig struct {
	stage.Target
	Reading            // options for third-party JSON lines
	TokenFile          // file to copy; if empty, a vocabulary is trained
	Documents []string // documents directories, or third-party JSON lines
	Training  VocabOptions

	// FixedCase reports whether the user chose Training.DoLowerCase. If not, and if an
	// uncased vocabulary would lose too many marks, the stage trains a vocabulary with
	// case and marks, see [sharding.LostMarks].
	FixedCase bool
}

// vocabWork contains the options of vocab workers.
type vocabWork struct {
	Training VocabOptions
	Given    string                   // name of the copied vocabulary or tokenizer; "" if one is trained
	Tokens   int64                    // number of tokens in the copied file
	Options  sharding.ExamplesOptions // those of the copied file's tokenizer
}

// Counts of a vocabulary.
var (
	words   = counts.Declare("words", counts.About{Label: "distinct words, counted by task", In: counts.Summary, Meaning: "distinct words, task by task"})
	entries = counts.Declare("tokens", counts.About{Label: "tokens", In: counts.Summary, Meaning: "entries of vocab.txt or tokenizer.json"})
)

func init() {
	stage.Register(stage.Definition{
		Name:      "vocab",
		Algorithm: vocabAlgorithm,
		New:       stage.New(func(env *stage.Env, work vocabWork) stage.Worker { return &vocabWorker{env, work} }),
		Warnings:  sharding.Known.Warnings,
		Counts:    []counts.Count{extract.Documents, words, entries},
	})
}

// A vocabTask is the plan of one word count file: the blocks of documents to count.
type vocabTask struct {
	Blocks sharding.BlockList `json:"blocks,omitempty"`
}

// Vocab trains a vocabulary or tokenizer from documents, or copies the given one, to
// OUT/vocab.txt or OUT/tokenizer.json.
func Vocab(ctx context.Context, r stage.Runner, c VocabConfig) (*sharding.Manifest, error) {
	if c.given() {
		return c.copy(ctx, r)
	}
	if err := c.Training.Validate(); err != nil {
		return nil, failure.Usage(err)
	}
	in := documentInputs{Target: c.Target, Reading: c.Reading}
	if err := in.sort(c.Documents, nil); err != nil {
		return nil, err
	}
	return in.run(ctx, r, func(folders []string) (stage.Config, error) { return c.plan(ctx, folders) })
}

// plan returns the configuration of the stage. folders are the documents directories.
func (c VocabConfig) plan(ctx context.Context, folders []string) (none stage.Config, err error) {
	inputs, err := sharding.OpenDocuments(ctx, folders)
	if err != nil {
		return none, err
	}
	if err := c.chooseCase(ctx, inputs); err != nil {
		return none, err
	}
	run := stage.Config{Target: c.Target, Stage: "vocab", Options: c.Training, Work: vocabWork{Training: c.Training}, Refit: true}
	var tasks []vocabTask
	var open sharding.BlockList
	for i, in := range inputs {
		run.Paths, run.Inputs = append(run.Paths, in.Location), append(run.Inputs, in.Input)
		for _, f := range in.Files {
			if len(f.Blocks) == 0 {
				continue
			}
			blocks := sharding.FileBlocks{Folder: i, Name: f.Name, Blocks: f.Blocks}
			open = append(open, blocks)
			run.Total += sharding.BlockList{blocks}.TextBytes()
			if open.TextBytes() >= countTaskBytes {
				tasks, open = append(tasks, vocabTask{open}), nil
			}
		}
	}
	if len(open) > 0 || len(tasks) == 0 {
		tasks = append(tasks, vocabTask{open})
	}
	run.Tasks = stage.Tasks(tasks)
	if run.Total == 0 {
		return none, fmt.Errorf("%w in %v", sharding.ErrNoDocuments, c.Documents)
	}
	return run, nil
}

// copy runs the stage for a given vocabulary or tokenizer. It copies the file and does
// not train.
func (c VocabConfig) copy(ctx context.Context, r stage.Runner) (*sharding.Manifest, error) {
	o := c.options()
	tokens, err := c.read(&o)
	if err != nil {
		return nil, err
	}
	size := int64(len(tokens.raw))
	return stage.Run(ctx, r, stage.Config{Target: c.Target, Stage: "vocab", Options: json.RawMessage(`{"given":true}`),
		Inputs: []sharding.Input{{Name: store.Base(c.path()), Bytes: size, SHA256: sharding.Hash(tokens.raw)}},
		Work:   vocabWork{Given: c.name(), Tokens: int64(tokens.tokenizer.Vocab.Size), Options: tokens.tokenizer.Options},
		Tasks:  stage.Tasks([]vocabTask{{}}), Total: size,
		Prepare: func(ctx context.Context, folder store.Folder) error {
			return store.WriteFile(ctx, folder, c.name(), tokens.raw)
		}})
}

// vocabWorker counts words in its tasks and trains the vocabulary in Finish.
type vocabWorker struct {
	*stage.Env
	vocabWork
}

// SideCars names the side-car of a task, for helpers on a cluster.
func (w *vocabWorker) SideCars(index int, _ func(to any) error) ([]string, error) {
	if w.Given != "" {
		return nil, nil
	}
	return []string{stage.SideCarOf(countsName(index))}, nil
}

// countsName returns the name of the file with the words of a task.
func countsName(task int) string {
	return fmt.Sprintf("%s%05d%s", sharding.CountsPrefix, task, countsSuffix)
}

func (w *vocabWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	if w.Given != "" {
		return []stage.Result{{Task: index}}, nil
	}
	var t vocabTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	file := stage.TaskFile{Task: index, Name: countsName(index), Size: t.Blocks.TextBytes()}
	return w.WriteFile(ctx, file, func(out *stage.Output) (sharding.Counts, error) {
		counter, err := vocab.NewCounts(w.Training.Options)
		if err != nil {
			return nil, err
		}
		counts := sharding.Counts{extract.Documents.Key: 0}
		for doc, err := range w.Documents(ctx, t.Blocks) {
			if err != nil {
				return nil, err
			}
			if !w.Training.HeldOut(doc.SplitID()) {
				counter.Add(doc.Text)
				extract.Documents.Add(counts, 1)
			}
		}
		words.Add(counts, int64(counter.Len()))
		_, err = counter.WriteTo(out)
		return counts, err
	})
}

// Finish trains the vocabulary on the merged word counts of all tasks, and
// writes the manifest.
func (w *vocabWorker) Finish(ctx context.Context, results []stage.Result) error {
	if w.Given != "" {
		raw, err := store.ReadFile(ctx, w.Folder, w.Given)
		if err != nil {
			return err
		}
		files, err := w.WriteTokenizer(ctx, w.Options, raw)
		if err != nil {
			return err
		}
		return w.Manifest(ctx, nil, sharding.Manifest{Files: append(files, sharding.FileEntry{
			Name: w.Given, Bytes: int64(len(raw)), SHA256: sharding.Hash(raw), Counts: sharding.Counts{entries.Key: w.Tokens}})})
	}
	file, tokens, err := w.train(ctx, results)
	if err != nil {
		return fmt.Errorf("train vocabulary: %w", err)
	}
	name := sharding.VocabName
	if w.Training.TokenizerFile() {
		name = sharding.TokenizerName
	}
	entry, err := w.Write(ctx, name, file)
	if err != nil {
		return err
	}
	entry.Counts = sharding.Counts{entries.Key: int64(tokens)}
	o := sharding.DefaultExamplesOptions()
	o.DoLowerCase, o.TokenizerProfile = w.Training.DoLowerCase, w.Training.TokenizerProfile
	if w.Training.TokenizerFile() {
		o.Tokenizer = &sharding.TokenizerInfo{}
	}
	files, err := w.WriteTokenizer(ctx, o, file)
	if err != nil {
		return err
	}
	return w.Manifest(ctx, results, sharding.Manifest{Files: append(files, entry)})
}

// train returns the content of the trained vocab.txt or tokenizer.json, and the number of
// its tokens.
func (w *vocabWorker) train(ctx context.Context, results []stage.Result) (file []byte, tokens int, err error) {
	words := newCountsMerge(w.Env, results).words(ctx)
	trainer := vocab.Trainer{Options: w.Training.Options, Temp: func() (vocab.TempFile, error) { return w.TempFile() }}
	if w.Training.TokenizerFile() {
		return trainer.Tokenizer(ctx, words)
	}
	list, err := trainer.Vocabulary(ctx, words)
	if err != nil {
		return nil, 0, err
	}
	var out bytes.Buffer
	err = vocab.Write(&out, list)
	return out.Bytes(), len(list), err
}

// A TokenFile is the path of a vocab.txt or a tokenizer.json. At most one of its two
// paths is set.
type TokenFile struct {
	Vocab     string // path of a vocab.txt
	Tokenizer string // path of a tokenizer.json

	// last is what this run has read most recently, because a run reads the file and its
	// copies several times. It is nil for a stage that runs alone.
	last *tokens
}

// options returns the options with which the file was last read, or the default options.
func (f TokenFile) options() sharding.ExamplesOptions {
	if f.last != nil {
		return f.last.tokenizer.Options
	}
	return sharding.DefaultExamplesOptions()
}

// name returns the name of the file's copy in a stage's directory.
func (f TokenFile) name() string {
	if f.Tokenizer != "" {
		return sharding.TokenizerName
	}
	return sharding.VocabName
}

// in returns a TokenFile with the path of f's copy in the directory folder.
func (f TokenFile) in(folder string) TokenFile {
	copied := store.Join(folder, f.name())
	if f.Tokenizer != "" {
		return TokenFile{Tokenizer: copied, last: f.last}
	}
	return TokenFile{Vocab: copied, last: f.last}
}

// given reports whether f contains a path.
func (f TokenFile) given() bool { return f.path() != "" }

func (f TokenFile) path() string { return cmp.Or(f.Tokenizer, f.Vocab) }

// tokens contains the content of a TokenFile, and the tokenizer made from this content.
type tokens struct {
	raw       []byte
	tokenizer *sharding.Tokenizer
}

// input returns the file as an input of a stage. name is the name of the file's copy.
func (t *tokens) input(name string) sharding.Input {
	return sharding.Input{Name: name, Bytes: int64(len(t.raw)), SHA256: sharding.Hash(t.raw)}
}

// known returns f.last, adapted to the options o, if it was read from a file with the
// content raw and with compatible options. It then sets in o the options that a
// tokenizer.json determines. Otherwise it returns nil.
func (f TokenFile) known(raw []byte, o *sharding.ExamplesOptions) *tokens {
	if f.last == nil {
		return nil
	}
	want, have := *o, f.last.tokenizer.Options
	if f.Tokenizer != "" && have.Tokenizer != nil {
		want.Tokenizer, want.DoLowerCase, want.TokenizerProfile = have.Tokenizer, have.DoLowerCase, have.TokenizerProfile
	}
	t := f.last.tokenizer.For(raw, want)
	if t == nil {
		return nil
	}
	*o = want
	return &tokens{raw, t}
}

// read reads the file and creates its tokenizer with the options o. It sets in o the
// options that a tokenizer.json determines.
func (f TokenFile) read(o *sharding.ExamplesOptions) (*tokens, error) {
	if f.Vocab != "" && f.Tokenizer != "" {
		return nil, failure.Usagef("a vocabulary and a tokenizer are given: give one of them")
	}
	raw, err := store.ReadSmall(context.Background(), f.path(), store.Tokens)
	if err != nil {
		return nil, err
	}
	o.Tokenizer = nil
	if known := f.known(raw, o); known != nil {
		return known, nil
	}
	if f.Tokenizer != "" {
		if *o, err = sharding.TokenizerOptions(f.Tokenizer, raw, *o); err != nil {
			return nil, err
		}
	}
	t, err := sharding.NewTokenizer(f.path(), raw, *o)
	return &tokens{raw, t}, err
}
