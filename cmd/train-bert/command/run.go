package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"pretext/internal/store"
	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/cpu"
	"pretext/trainer/loader"
)

// An ending is what a run left.
type ending struct {
	progress trainer.Progress
	epochs   float64
	eval     *evaluation // nil: there was none
	model    string      // folder of the last checkpoint
	left     losses
}

// A run is a training run with everything it holds open.
type run struct {
	o       trainOptions
	stderr  *console
	data    *corpus
	held    *corpus // nil: no evaluation
	config  trainer.Config
	state   checkpoint.State // without progress
	from    *checkpoint.Checkpoint
	start   *start // nil when from is not
	model   trainer.Model
	masking *loader.Masking // nil: as the records have it
	source  *loader.Source
	damage  *quarantine // of the source; nil: damage ends the run
	eval    *evaluator
	last    *evaluation
	step    int64 // of last
	record
	closers
}

// train runs to the last step, going on from the newest checkpoint in o.out.
func train(ctx context.Context, o trainOptions, stderr io.Writer) (end *ending, err error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.quiet {
		stderr = io.Discard
	}
	r := &run{o: o, stderr: newConsole(stderr)}
	defer r.stderr.clear()
	if err := r.openData(ctx); err != nil {
		return nil, err
	}
	folder, err := store.Open(o.out)
	if err != nil {
		return nil, err
	}
	unlock, err := store.Lock(folder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := store.Sweep(folder); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	r.meter = newMeter(r.stderr, r.o.steps, r.progress().Step)
	r.meter.silent = r.o.brief && r.eval != nil
	if err := r.catchUp(ctx); err != nil {
		return nil, err
	}
	progress, err := trainer.Train(ctx, r.loop(ctx))
	if err != nil {
		return nil, err
	}
	return r.end(ctx, progress)
}

func (r *run) openData(ctx context.Context) (err error) {
	if r.data, err = openCorpus(ctx, r.o.data, sharding.Train, r.o.vocab); err != nil {
		return err
	}
	if r.masking, err = r.o.masking.masking(r.o.seed, r.data); err != nil {
		return err
	}
	if r.held, err = openEval(ctx, &r.o); err != nil || r.held == nil {
		return err
	}
	if r.held.vocab.SHA256() != r.data.vocab.SHA256() {
		return usagef("--eval-data %s has another vocabulary than --data %s", r.held.path, r.data.path)
	}
	return nil
}

// open decides between a new run and going on, and opens model, order and
// metrics.
func (r *run) open(ctx context.Context) error {
	if err := r.resume(); err != nil {
		return err
	}
	if r.from == nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	if err := fits(r.config, r.data); err != nil {
		return err
	}
	if n := r.longest(); r.state.Tokens < n {
		return usagef("--micro-batch-tokens %d: the data has examples of up to %d", r.state.Tokens, n)
	}
	if err := r.cacheData(ctx); err != nil {
		return err
	}
	if err := r.openSources(ctx); err != nil {
		return err
	}
	if err := r.checkTails(); err != nil {
		return err
	}
	if err := r.openModel(); err != nil {
		return err
	}
	return r.openRecords()
}

// openRecords opens what the run writes beside its checkpoints.
func (r *run) openRecords() error {
	if err := r.record.open(r.o.out, r.from, r.o.steps, &r.closers); err != nil {
		return err
	}
	if sayResumed(r.stderr, r.from, r.o.steps, r.metrics); r.from != nil {
		return nil
	}
	for _, tail := range r.tails() {
		if err := r.metrics.append(damageLine{Damage: tail}); err != nil {
			return err
		}
	}
	return nil
}

// progress is where the run begins or goes on.
func (r *run) progress() trainer.Progress { return progressOf(r.from) }

// cacheData makes what the data needs to be read in any order.
func (r *run) cacheData(ctx context.Context) error {
	dir := r.o.cache
	if dir == "" {
		dir = filepath.Join(r.o.out, cacheName)
		if err := sweepCache(dir); err != nil {
			return err
		}
	}
	if err := r.data.cached(ctx, cacheBelow(dir, sharding.Train), r.o.skips(), r.stderr); err != nil || r.held == nil {
		return err
	}
	return r.held.cached(ctx, cacheBelow(dir, sharding.Eval), r.o.skips(), r.stderr)
}

func (r *run) openSources(ctx context.Context) (err error) {
	// A signal lets the step at hand end: it must be able to read its examples.
	ctx = context.WithoutCancel(ctx)
	options := loader.SourceOptions{Seed: int64(r.o.seed), MicroBatchTokens: r.state.Tokens, Heads: r.state.Heads, Rules: r.data.rules(),
		Readers: r.o.readers, Masking: r.masking}
	var heldDamage *quarantine
	if r.o.skips() {
		r.damage, heldDamage = newQuarantine(r.stderr, ""), newQuarantine(r.stderr, sharding.Eval)
		options.Quarantine = r.damage.skip
	}
	if r.source, err = loader.NewSource(ctx, r.data.shards, options); err != nil {
		return err
	}
	if r.hold(r.source); r.held == nil {
		return nil
	}
	options.Seed, options.Readers, options.Masking = 0, 0, nil // every run is asked the same questions
	if heldDamage != nil {
		options.Quarantine = heldDamage.skip
	}
	held, err := loader.NewSource(ctx, r.held.shards, options)
	if err != nil {
		return err
	}
	r.eval = &evaluator{source: held, examples: r.o.evalExamples, mask: r.data.vocab.MASK(), vocab: r.data.vocab.Len(), damage: heldDamage, spoil: r.o.spoil,
		baseline: func(ctx context.Context) (*unigram, error) {
			return countUnigram(ctx, r.data.shards, r.data.vocab.Len())
		}}
	return nil
}

// minTokens is the length of the shortest example that the rules let pass:
// [CLS] [SEP] [SEP].
const minTokens = 3

func (r *run) openModel() (err error) {
	tokens := r.state.Tokens
	r.model, err = cpu.Backend{Threads: r.o.threads}.Open(r.config, r.state.Heads, trainer.Options{
		Tokens: tokens, Sequences: tokens/minTokens + 1, Masked: tokens,
		Precision: trainer.Float32, Train: true, Seed: r.o.seed, Optimizer: r.state.Optimizer,
	})
	if err != nil {
		return err
	}
	r.hold(r.model)
	switch {
	case r.from != nil:
		return r.from.Restore(r.model)
	case r.start.init == nil:
		_, err = r.model.Load(trainer.Weights, trainer.InitialWeights(r.config, r.state.Heads, r.o.seed))
		return err
	}
	return r.loadInit()
}

// loadInit loads the model that --init names, and of an earlier phase the
// optimizer's moments too.
func (r *run) loadInit() error {
	report, err := r.start.init.Initialize(r.model, r.state.Heads, r.o.seed)
	if err != nil {
		return err
	}
	for _, name := range report.Missing {
		fmt.Fprintf(r.stderr, "train-bert: %s is not in %s and starts anew\n", name, r.o.init)
	}
	if r.start.init.phase == nil {
		return nil
	}
	fmt.Fprintf(r.stderr, "train-bert: phase %d, after %s\n", r.state.Phase, r.start.init.phase.Dir)
	return r.start.init.phase.LoadMoments(r.model)
}
