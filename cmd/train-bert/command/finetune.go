package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"pretext/internal/store"
	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/finetune"
)

// A fineTask is what a kind of task brings to a run.
type fineTask struct {
	heads   trainer.Heads
	labels  []string          // names of classes
	train   finetune.Examples // nil: nothing is trained
	count   int               // examples an epoch counts
	data    string            // hash of the training data
	options map[string]string // that decide numbers

	// evaluate measures the model on held-out data: names of measures, "loss" among
	// them where there is one, and the number of "examples"; nil: there is no such
	// data.
	evaluate func(ctx context.Context) (map[string]float64, error)
}

// A fineRun is a fine-tuning run with everything it holds open.
type fineRun struct {
	o         fineOptions
	stderr    io.Writer
	init      *opened // nil: a new model
	config    trainer.Config
	tokenizer checkpoint.Tokenizer
	tok       *tokenize.Tokenizer

	task  fineTask
	state checkpoint.State
	from  *checkpoint.Checkpoint // nil: the run begins
	model trainer.Model
	step  int64 // steps done
	record
	closers
}

// openFine opens the model to begin with and the output folder. Close the run
// after use.
func openFine(o fineOptions, stderr io.Writer) (*fineRun, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	r := &fineRun{o: o, stderr: stderr}
	if o.quiet {
		r.stderr = io.Discard
	}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *fineRun) open() error {
	if err := r.openInit(); err != nil {
		return err
	}
	if n := r.config.MaxPositions; r.o.length > n {
		return usagef("--max-seq-length %d: the model has %d positions", r.o.length, n)
	}
	folder, err := store.Open(r.o.out)
	if err != nil {
		return err
	}
	unlock, err := store.Lock(folder)
	if err != nil {
		return err
	}
	r.hold(closerFunc(unlock))
	return store.Sweep(folder)
}

// openInit opens what --init or --model names, and its vocabulary.
func (r *fineRun) openInit() error {
	folder := ""
	if r.o.init != "" {
		m, err := openModelPath(r.o.init)
		if err != nil {
			return fmt.Errorf("--init: %w", err)
		}
		r.init, r.config, folder = &m, m.Config, m.folder
		r.hold(m)
	}
	var err error
	if r.tokenizer, err = tokenizerFor(folder, r.o.vocab, r.o.lower); err != nil {
		return err
	}
	if r.tok, err = newTokenizer(r.tokenizer); err != nil {
		return err
	}
	n := r.tok.Vocab().Len()
	if r.init == nil {
		if r.config, err = namedConfig(r.o.model, n); err != nil {
			return err
		}
	}
	if size := r.config.VocabSize; n != size {
		return usagef("the vocabulary has %d tokens, the model's vocab_size is %d", n, size)
	}
	return nil
}

// labels are the names of classes that the model to begin with has.
func (r *fineRun) labels() []string {
	if r.init == nil {
		return nil
	}
	return r.init.Labels
}

// A closerFunc is an io.Closer that cannot fail.
type closerFunc func()

// Close implements io.Closer.
func (f closerFunc) Close() error {
	f()
	return nil
}

// run trains the task's model to its last step, or without training data loads
// the one to begin with, which must have the head then.
func (r *fineRun) run(ctx context.Context, task fineTask) error {
	r.task = task
	r.tokenizer.Labels = task.labels
	if err := r.sameHead(); err != nil {
		return err
	}
	if task.train == nil {
		return r.load()
	}
	schedule, err := r.o.schedule(task.count)
	if err != nil {
		return err
	}
	r.settle(schedule)
	if err := r.resume(); err != nil {
		return err
	}
	if err := r.openModel(); err != nil {
		return err
	}
	if err := r.record.open(r.o.out, r.from, schedule.Steps, &r.closers); err != nil {
		return err
	}
	sayResumed(r.stderr, r.from, schedule.Steps, r.metrics)
	source, err := finetune.NewSource(task.train, finetune.SourceOptions{Seed: r.o.seed, MicroBatchTokens: r.state.Tokens, Heads: task.heads})
	if err != nil {
		return err
	}
	r.meter = newMeter(r.stderr, schedule.Steps, progressOf(r.from).Step)
	r.meter.describe = func(s trainer.Sums) string { return fmt.Sprintf("loss %.4f", s.Label()) }
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	progress, err := trainer.Train(ctx, r.loop(ctx, source))
	r.step = progress.Step
	return err
}

// sameHead refuses a model whose classifier has another width than the task's.
func (r *fineRun) sameHead() error {
	if r.init == nil {
		return nil
	}
	h, err := r.init.Heads()
	if err != nil {
		return err
	}
	if has, want := h.ClassifierWidth(), r.task.heads.ClassifierWidth(); has != want && has > 0 && want > 0 {
		return usagef("--init %s classifies into %d classes, the task has %d: begin with the model it was trained from", r.o.init, has, want)
	}
	return nil
}

// settle fixes what must not change before the run's last step.
func (r *fineRun) settle(schedule trainer.Schedule) {
	options := map[string]string{"do_lower_case": strconv.FormatBool(r.tokenizer.LowerCase), "vocab_sha256": r.tok.Vocab().SHA256()}
	for name, value := range r.task.options {
		options[name] = value
	}
	r.state = checkpoint.State{
		Phase: 1, Heads: r.task.heads, Batch: r.o.recipe.Batch, Tokens: r.microBatch(), Ranks: 1, Seed: r.o.seed,
		Data: r.task.data, Schedule: schedule, Optimizer: r.o.updateRule(), Options: options,
	}
}

// microBatch is the number of tokens computed at a time.
func (r *fineRun) microBatch() int {
	if r.o.tokens > 0 {
		return max(int(r.o.tokens), r.o.length)
	}
	return autoTokens(r.config, r.o.length)
}

// resume looks for a checkpoint of this run.
func (r *fineRun) resume() error {
	c, err := newest(r.o.out)
	if err != nil || c == nil {
		return err
	}
	if err := c.State.Check(r.state); err != nil {
		return usagef("%s was made by another run: %w: give its options again, or another --out", c.Dir, err)
	}
	if diff := configDiff(c.Config, r.config); diff != "" {
		return usagef("%s is a checkpoint of another model than %s: %s", c.Dir, r.o.init+r.o.model, diff)
	}
	r.from = c
	return nil
}

// trained is the folder of the last checkpoint, "" where nothing was trained.
func (r *fineRun) trained() string {
	if r.task.train == nil {
		return ""
	}
	return filepath.Join(r.o.out, fmt.Sprintf("step-%08d", r.step))
}

// write writes a file of the output folder, whole or not at all.
func (r *fineRun) write(name string, write func(io.Writer) error) error {
	folder, err := store.Open(r.o.out)
	if err != nil {
		return err
	}
	w, err := folder.Create(context.Background(), name)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := write(w); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(r.o.out, name), err)
	}
	return w.Commit()
}

// hashOf is the hash of a file's content.
func hashOf(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// readTaskFile reads a file of a task's data.
func readTaskFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read task data: %w", err)
	}
	return b, nil
}
