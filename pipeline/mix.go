package pipeline

import (
	"cmp"
	"context"
	"encoding/json"

	"pretext/counts"
	"pretext/extract"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// mixAlgorithm is the version of the stage that counts tokens for a mix. It is raised if
// the same documents would result in different counts.
const mixAlgorithm = 1

func init() {
	stage.Register(stage.Definition{
		Name:      sharding.MixFolder,
		Algorithm: mixAlgorithm,
		New: stage.New(func(env *stage.Env, work examplesWork) stage.Worker {
			return &mixWorker{examplesWorker: &examplesWorker{env, work}}
		}),
		Counts: []counts.Count{extract.Documents, sharding.Tokens},
	})
}

// mixOptions are the options that determine the number of tokens of a document.
type mixOptions struct {
	DoLowerCase      bool                    `json:"do_lower_case"`
	TokenizerProfile string                  `json:"tokenizer_profile,omitempty"`
	Tokenizer        *sharding.TokenizerInfo `json:"tokenizer,omitempty"`
	SentenceSplitter string                  `json:"sentence_splitter"`
	WholeTexts       bool                    `json:"whole_texts,omitempty"`
	sharding.Split                           // which documents are marked as held out
}

// mixTask is the plan of a task: the blocks of documents to count.
type mixTask struct {
	Blocks sharding.BlockList `json:"blocks"`
}

// countTokens runs the stage that counts the tokens of all documents in inputs, and
// returns its directory. The stage writes OUT/mix/tokens-NNNNN.bin. The files are kept,
// so that later runs with another mix can reuse them.
func (c ExamplesConfig) countTokens(ctx context.Context, r stage.Runner, inputs []sharding.DocumentsInput, tokens *tokens) (store.Folder, error) {
	target := c.In(sharding.MixFolder)
	target.Overwrite = isStage(ctx, target.Out, sharding.MixFolder) // counts of other documents or another tokenizer may be replaced, but never files that are not pretext's
	o := c.Examples
	run := stage.Config{Target: target, Stage: sharding.MixFolder, Work: examplesWork{Examples: o}, Loaded: tokens.tokenizer,
		Options: mixOptions{o.DoLowerCase, string(o.TokenizerProfile), o.Tokenizer, o.SentenceSplitter, o.How().WholeTexts, o.Split},
		Prepare: func(ctx context.Context, folder store.Folder) error {
			return store.WriteFile(ctx, folder, c.name(), tokens.raw)
		}}
	var tasks []mixTask
	var sizes []int64
	for _, blocks := range sharding.CountTasks(inputs) {
		tasks = append(tasks, mixTask{blocks})
		sizes = append(sizes, taskMemory+3*blocks.LargestBlock())
		run.Total += blocks.TextBytes()
	}
	if need := stage.PeakMemory(sizes, min(max(1, r.Workers), len(sizes))); need > c.Memory {
		return nil, &stage.MemoryError{Need: need, Have: c.Memory, Why: "counting tokens for the mix", Less: " or fewer --workers"}
	}
	run.Tasks = stage.Tasks(tasks)
	for _, in := range inputs {
		run.Paths, run.Inputs = append(run.Paths, in.Location), append(run.Inputs, in.Input)
	}
	run.Inputs = append(run.Inputs, tokens.input(c.name()))
	if _, err := stage.Run(ctx, r, run); err != nil {
		return nil, err
	}
	return store.Open(target.Out)
}

// checkMix returns a usage error if the mix does not match the documents directories. It
// is called before anything is written.
func (c *ExamplesConfig) checkMix(ctx context.Context, in documentInputs) error {
	if !c.Examples.Mix.Enabled() {
		c.Examples.Mix = nil
		return nil
	}
	if len(in.foreign) > 0 {
		return nil // source names are unknown until the documents are imported
	}
	names, err := sharding.ReadSourceNames(ctx, in.folders)
	if err != nil {
		return err
	}
	return c.Examples.Mix.CheckNames(names)
}

// assign assigns the documents to shards. For a mix, it first counts tokens and computes
// the table of the mix.
func (c *ExamplesConfig) assign(ctx context.Context, r stage.Runner, inputs []sharding.DocumentsInput, tokens *tokens) (*sharding.Assignment, error) {
	if c.Examples.Mix == nil {
		return abandon(ctx, func() (*sharding.Assignment, error) { return sharding.Assign(inputs, c.Examples) })
	}
	if err := c.Examples.Mix.CheckNames(sharding.SourceNames(inputs)); err != nil {
		return nil, err
	}
	if err := c.claim(ctx, inputs, tokens); err != nil {
		return nil, err
	}
	counts, err := c.countTokens(ctx, r, inputs, tokens)
	if err != nil {
		return nil, err
	}
	return sharding.ResolveMix(ctx, counts, inputs, &c.Examples)
}

// claim claims the directory before tokens are counted. The options that depend on the
// counts are not yet known; claim uses their values from the earlier run.
func (c *ExamplesConfig) claim(ctx context.Context, inputs []sharding.DocumentsInput, tokens *tokens) error {
	folder, err := store.Open(c.Out)
	if err != nil {
		return err
	}
	o := c.Examples
	if plan, err := sharding.ReadPlan(ctx, folder); err == nil && plan.Stage == sharding.StageExamples {
		var old sharding.ExamplesOptions
		if json.Unmarshal(plan.Options, &old) == nil && old.Mix != nil {
			mix := *o.Mix
			mix.Table = old.Mix.Table
			o.Mix, o.Shards = &mix, cmp.Or(o.Shards, old.Shards)
		}
	}
	run := stage.Config{Stage: sharding.StageExamples, Options: o}
	for _, in := range inputs {
		run.Inputs = append(run.Inputs, in.Input)
	}
	run.Inputs = append(run.Inputs, tokens.input(c.name()))
	recipe, err := run.Recipe()
	if err != nil {
		return err
	}
	return stage.Claim(ctx, folder, recipe, c.Overwrite)
}

// mixWorker counts the tokens of documents. It reads documents like examplesWorker.
type mixWorker struct{ *examplesWorker }

// mixTools are the buffers of a running task. The next task reuses them.
type mixTools struct {
	encoder *sharding.Encoder
	corpus  *sharding.Corpus
	counts  sharding.TokenCounts
}

// SideCars names the side-car of a task, for helpers on a cluster.
func (w *mixWorker) SideCars(index int, _ func(to any) error) ([]string, error) {
	return []string{sharding.TokenCountsName(index) + sharding.SideCarSuffix}, nil
}

func (w *mixWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t mixTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	name := sharding.TokenCountsName(index) + sharding.TokenCountsSuffix
	return w.WriteFile(ctx, stage.TaskFile{Task: index, Name: name, Size: t.Blocks.TextBytes()}, func(out *stage.Output) (sharding.Counts, error) {
		tok, err := w.load(ctx)
		if err != nil {
			return nil, err
		}
		tools, ok := w.Take().(*mixTools)
		if !ok {
			tools = &mixTools{encoder: tok.NewEncoder(), corpus: tok.NewCorpus()}
		}
		defer w.Give(tools)
		tools.counts.Reset()
		totals := sharding.Counts{extract.Documents.Key: 0, sharding.Tokens.Key: 0}
		for doc, err := range w.Documents(ctx, t.Blocks) {
			if err != nil {
				return nil, err
			}
			n, err := tools.count(doc)
			if err != nil {
				return nil, err
			}
			tools.counts.Add(doc, n, w.Examples.HeldOut(doc.SplitID()))
			extract.Documents.Add(totals, 1)
			sharding.Tokens.Add(totals, n)
		}
		_, err = tools.counts.WriteTo(out)
		return totals, err
	})
}

// count returns the number of tokens of a document.
func (t *mixTools) count(doc *extract.Document) (int64, error) {
	t.corpus.Reset()
	err := t.encoder.Add(t.corpus, doc)
	return sharding.Tokens.Of(t.corpus.Counts), err
}
