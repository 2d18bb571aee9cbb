package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strconv"
	"time"

	"pretext/internal/store"
	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/finetune"
)

// A finetuneTask is the data and the head of a task.
type finetuneTask struct {
	heads   trainer.Heads
	labels  []string          // class names
	train   finetune.Examples // nil: no training
	count   int               // number of examples in an epoch
	data    string            // hash of the training data
	options map[string]string // options that affect the results

	// evaluate returns the metrics of the model on held-out data by name, and as
	// "examples" the number of examples. It is nil without held-out data.
	evaluate func(ctx context.Context) (map[string]float64, error)
}

// A finetuneRun is a fine-tuning run with its open resources.
type finetuneRun struct {
	o         FinetuneOptions
	log       io.Writer
	device    *Opened
	init      *ModelFiles // nil: a new model
	config    trainer.Config
	tokenizer checkpoint.Tokenizer
	tok       *tokenize.Tokenizer

	task   finetuneTask
	tokens int // maximum number of tokens in a micro-batch
	state  checkpoint.State
	from   *checkpoint.Checkpoint // checkpoint to resume from; nil: none
	model  trainer.Model
	step   int64 // number of steps done
	runLog
}

// runFinetune opens the model to start from and calls work with the output directory
// locked.
func runFinetune(o FinetuneOptions, work func(*finetuneRun) error) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	r := &finetuneRun{o: o, log: discardNil(o.Log)}
	defer func() { err = errors.Join(err, r.Close()) }() // if hold has not closed it
	if r.device, err = o.Device.Open(); err != nil {
		return err
	}
	r.add(r.device)
	if err := r.openInit(); err != nil {
		return err
	}
	return hold(o.Out, func() error { return errors.Join(work(r), r.Close()) })
}

// openInit opens the model that --init or --model names, and its vocabulary.
func (r *finetuneRun) openInit() error {
	folder := ""
	if r.o.Init != "" {
		m, err := OpenModel(r.o.Init)
		if err != nil {
			return fmt.Errorf("--init: %w", err)
		}
		r.init, r.config, folder = &m, m.Config, m.Folder
		r.add(m)
	}
	var err error
	if r.tokenizer, err = TokenizerFor(folder, r.o.VocabFile, r.o.DoLowerCase); err != nil {
		return err
	}
	if r.tok, err = NewTokenizer(r.tokenizer); err != nil {
		return err
	}
	n := r.tok.Vocab().Len()
	if r.init == nil {
		if r.config, err = NamedConfig(r.o.Model, n); err != nil {
			return err
		}
	}
	warnOf(r.config, r.log)
	if size := r.config.VocabSize; n != size {
		return usagef("the vocabulary has %d tokens, the model's vocab_size is %d", n, size)
	}
	if n := r.config.MaxPositions; r.o.MaxSeqLength > n {
		return usagef("--max-seq-length %d: the model has %d positions", r.o.MaxSeqLength, n)
	}
	return nil
}

// labels returns the class names of the initial model.
func (r *finetuneRun) labels() []string {
	if r.init == nil {
		return nil
	}
	return r.init.Labels
}

// run trains the task's model to its last step. Without training data it loads
// the initial model, which must then have the task's head.
func (r *finetuneRun) run(ctx context.Context, task finetuneTask) (err error) {
	r.task = task
	r.tokenizer.Labels = task.labels
	if err := r.sameHead(); err != nil {
		return err
	}
	r.tokens = max(r.o.MicroBatchTokens, r.o.MaxSeqLength)
	if r.o.MicroBatchTokens == 0 {
		if r.tokens, err = r.device.AutoTokens(r.config, task.heads, r.o.MaxSeqLength); err != nil {
			return err
		}
	}
	if task.train == nil {
		if r.init == nil {
			return usagef("--model starts a new model, which needs training data")
		}
		if err := r.openModel(false); err != nil {
			return err
		}
		return r.init.Load(r.model, task.heads, r.o.Init)
	}
	if err := r.settle(); err != nil {
		return err
	}
	if err := r.resume(); err != nil {
		return err
	}
	if err := r.openModel(true); err != nil {
		return err
	}
	if r.from != nil {
		err = restore(r.from, r.model, r.state.Precision)
	} else {
		err = loadInitial(r.model, r.init, r.o.Init, r.config, task.heads, r.o.Seed, r.log)
	}
	if err != nil {
		return err
	}
	steps := r.state.Schedule.Steps
	if err := r.runLog.open(r.o.Out, r.from, steps); err != nil {
		return err
	}
	r.logResumed(r.log, r.from, steps)
	source, err := finetune.NewSource(task.train, finetune.SourceOptions{Seed: r.o.Seed, MicroBatchTokens: r.state.Tokens, MicroBatchMultiple: r.state.Multiple, Heads: task.heads})
	if err != nil {
		return err
	}
	r.meter = &meter{log: r.log, first: progressOf(r.from).Step, last: steps, at: time.Now(), notify: r.o.Progress,
		losses: func(s trainer.Sums) string { return fmt.Sprintf("loss %.4f", s.Label()) }}
	if step := progressOf(r.from).Step; r.due(step) && r.metrics.evaluated != step { // a signal stopped the run before this evaluation
		if err := r.evaluate(ctx, step); err != nil {
			return err
		}
	}
	progress, err := trainer.Train(ctx, r.loop(ctx, source))
	r.step = progress.Step
	return err
}

// openModel opens the model without weights. Evaluation puts as many
// sequences into a batch as have room for their tokens.
func (r *finetuneRun) openModel(train bool) (err error) {
	r.model, err = r.device.Model(r.config, r.task.heads, trainer.Options{
		Tokens: r.tokens, Sequences: r.tokens/minTokens + 1, Train: train, Seed: r.o.Seed, Optimizer: r.o.updateRule(),
	})
	if err == nil {
		r.add(r.model)
	}
	return err
}

// sameHead returns an error if the initial model's classifier has another
// number of classes than the task.
func (r *finetuneRun) sameHead() error {
	if r.init == nil {
		return nil
	}
	h, err := r.init.Heads()
	if err != nil {
		return err
	}
	if has, want := h.ClassifierWidth(), r.task.heads.ClassifierWidth(); has != want && has > 0 && want > 0 {
		return usagef("--init %s classifies into %d classes, the task has %d: begin with the model it was trained from", r.o.Init, has, want)
	}
	return nil
}

// settle sets the fields of the checkpoints' state that stay the same during the run.
func (r *finetuneRun) settle() error {
	schedule, err := r.o.rateSchedule(r.task.count)
	if err != nil {
		return err
	}
	options := map[string]string{"do_lower_case": strconv.FormatBool(r.tokenizer.LowerCase), "vocab_sha256": r.tok.Vocab().SHA256()}
	maps.Copy(options, r.task.options)
	r.state = checkpoint.State{
		Phase: 1, Heads: r.task.heads, Batch: r.o.Recipe.Batch, Tokens: r.tokens, Multiple: 1, Ranks: 1, Seed: r.o.Seed, Device: r.device.Kind, Precision: r.device.Precision,
		Data: r.task.data, Schedule: schedule, Optimizer: r.o.updateRule(), Options: options,
	}
	return nil
}

// resume looks for a checkpoint of this run.
func (r *finetuneRun) resume() error {
	c, err := newest(r.o.Out)
	if err != nil || c == nil {
		return err
	}
	if r.o.MicroBatchTokens == 0 {
		r.tokens = c.State.Tokens
		r.state.Tokens = r.tokens
	}
	if err := c.State.Check(r.state); err != nil {
		return usagef("%s was made by another run: %w: give its options again, or another --out", c.Dir, err)
	}
	if diff := configDiff(c.Config, r.config); diff != "" {
		return usagef("%s is a checkpoint of another model than %s: %s", c.Dir, r.o.Init+r.o.Model, diff)
	}
	r.from, r.state.Multiple = c, multipleOf(c.State, r.log)
	logPrecision(r.log, c.State, r.state)
	return nil
}

// trained returns the folder of the last checkpoint; "" without training.
func (r *finetuneRun) trained() string {
	if r.task.train == nil {
		return ""
	}
	return checkpoint.Folder(r.o.Out, r.step)
}

// write writes a file of the output directory atomically.
func (r *finetuneRun) write(name string, write func(io.Writer) error) error {
	folder, err := store.Open(r.o.Out)
	if err != nil {
		return err
	}
	w, err := folder.Create(context.Background(), name)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := write(w); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(r.o.Out, name), err)
	}
	return w.Replace(nil)
}

// hashOf returns the SHA-256 of data in hexadecimal.
func hashOf(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// readTaskFile reads a file of a task's data.
func readTaskFile(path string) ([]byte, error) {
	b, err := store.ReadSmall(context.Background(), path, store.Rows)
	if err != nil {
		return nil, fmt.Errorf("read task data: %w", err)
	}
	return b, nil
}
