package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"pretext/internal/store"
	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/comm"
	"pretext/trainer/loader"
)

// A Result summarizes a run.
type Result struct {
	Steps    int64 // completed steps, including those before resuming
	Examples int64 // number of examples in these steps
	Epochs   float64
	Eval     *Evaluation // after the last step; nil: there is no held-out data
	Model    string      // directory of the last checkpoint
	Skipped  Skipped
}

// A run is a training run with its open resources.
type run struct {
	o      Options
	log    io.Writer
	group  *comm.Group // the ranks of the run, perhaps only this one
	device *Opened
	inputs
	origin
	config   trainer.Config
	state    checkpoint.State // without progress
	model    trainer.Model
	last     *Evaluation
	step     int64    // step of the evaluation in last
	stopped  bool     // all ranks stop by agreement
	skipping skipping // of the step that runs
	pace     *pace    // nil: the schedule gives the rates
	runLog
}

// Train pre-trains a model up to the last step of the options. It resumes from
// the newest checkpoint in o.Out. When ctx is done it saves a checkpoint and
// returns the cause. It returns a usage error if options contradict each other,
// the data or the checkpoint.
func Train(ctx context.Context, o Options) (end *Result, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.ofThisRank()
	group, err := o.join(ctx)
	if err != nil {
		return nil, err
	}
	r := run{o: o, group: group}
	if r.device, err = o.Device.Open(); err == nil {
		end, err = r.train(ctx)
		err = errors.Join(err, r.device.Close())
	}
	if !r.stopped {
		group.Abort(err)
	}
	return end, errors.Join(verdict(err), group.Close())
}

// train opens the data, which must be the same on all ranks, and trains. Rank 0 locks
// the output directory meanwhile.
func (r *run) train(ctx context.Context) (end *Result, err error) {
	r.log = discardNil(r.o.Log)
	r.device.warnBy(func(message string) { fmt.Fprintln(r.log, message) }) // read r.log at each warning: it may change
	if err := r.inputs.open(ctx, &r.o.DataOptions, &r.o.StepOptions); err != nil {
		return nil, err
	}
	same := map[string]string{"data manifest": r.data.hash, "vocabulary": r.data.vocab.SHA256(), "eval data manifest": "(none)"}
	if r.evalData != nil {
		same["eval data manifest"] = r.evalData.hash
	}
	if err := r.group.Agree(same); err != nil {
		return nil, err
	}
	work := func() error {
		end, err = r.work(ctx)
		return errors.Join(err, r.Close())
	}
	if r.leads() {
		err = hold(r.o.Out, work)
		return end, err
	}
	if err := r.openLog(); err != nil {
		return nil, err
	}
	err = work()
	return end, err
}

// hold checks the output directory ([CheckOut]), locks it, removes the temporary files
// of an interrupted run and calls work. It returns a [*store.RemovedError] if the
// directory was removed meanwhile.
func hold(out string, work func() error) error {
	if err := CheckOut(out); err != nil {
		return err
	}
	folder, err := store.Open(out)
	if err != nil {
		return err
	}
	return store.Hold(folder, func() error {
		if err := store.Sweep(folder); err != nil {
			return err
		}
		return work()
	})
}

// work trains in the output directory, which rank 0 has locked.
func (r *run) work(ctx context.Context) (end *Result, err error) {
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	first := r.first.Step
	r.meter = &meter{log: r.log, first: first, last: r.o.NumTrainSteps, at: time.Now(), losses: pretrainingLosses,
		silent: r.o.Brief && r.eval != nil, notify: r.o.Progress}
	if r.pace, err = r.openPace(); err != nil {
		return nil, err
	}
	if r.pace != nil {
		r.meter.budget = r.pace.left
	}
	if r.due(first) { // a signal may have stopped the run before this evaluation
		if err := r.evaluateOnce(ctx, first); err != nil {
			return nil, err
		}
	}
	progress, err := trainer.Train(ctx, r.loop(ctx))
	if err != nil {
		// If the context is done, all ranks have stopped after the same step.
		r.stopped = errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))
		return nil, err
	}
	if r.pace != nil && r.eval != nil && r.step != progress.Step { // with a budget, the last step is known only now
		if err := r.evaluateOnce(ctx, progress.Step); err != nil {
			return nil, err
		}
	}
	end, err = r.end(ctx, progress)
	r.stopped = errors.Is(err, errInterrupted)
	return end, err
}

// open starts a new run or resumes one: it opens model, order and metrics.
func (r *run) open(ctx context.Context) error {
	if err := r.settings(); err != nil {
		return err
	}
	for _, data := range []*Corpus{r.data, r.evalData} {
		if data == nil {
			continue
		}
		if err := Fits(ctx, r.config, data); err != nil {
			return err
		}
	}
	if r.seqLength() > r.config.MaxPositions {
		return usagef("--max-seq-length %d: the model has %d positions", r.seqLength(), r.config.MaxPositions)
	}
	if n := r.longest(r.seqLength()); r.state.Tokens < n {
		return usagef("--micro-batch-tokens %d: the data has examples of up to %d", r.state.Tokens, n)
	}
	if err := r.inTurn(func() error { return r.cacheData(ctx) }); err != nil {
		return err
	}
	if err := r.openSources(ctx); err != nil {
		return err
	}
	if err := r.checkTails(); err != nil {
		return err
	}
	if err := r.openModel(); err != nil || !r.leads() {
		return err
	}
	if err := r.runLog.open(r.o.Out, r.from, r.o.NumTrainSteps); err != nil {
		return err
	}
	if r.state.Schedule.ByTime() && r.board != nil {
		r.board.every = 1 // the number of steps is not known
	}
	if r.logResumed(r.log, r.from, r.o.NumTrainSteps); r.from != nil && !r.branch {
		return nil
	}
	for _, tail := range r.tails() {
		if err := r.metrics.append(damageLine{Damage: tail}); err != nil {
			return err
		}
	}
	return nil
}

// cacheData fills the caches of both splits, for random access.
func (r *run) cacheData(ctx context.Context) error {
	dir := r.o.Cache
	if dir == "" {
		dir = filepath.Join(r.o.Out, cacheName)
		for _, split := range []string{sharding.Train, sharding.Eval} {
			if !r.leads() { // only rank 0 has locked the directory
				break
			}
			folder, err := store.Open(cacheBelow(dir, split))
			if err == nil {
				err = store.Sweep(folder) // temporary files of killed runs
			}
			if err != nil {
				return err
			}
		}
	}
	if err := r.data.cached(ctx, cacheBelow(dir, sharding.Train), r.o.skips(), r.log); err != nil || r.evalData == nil {
		return err
	}
	return r.evalData.cached(ctx, cacheBelow(dir, sharding.Eval), r.o.skips(), r.log)
}

// openSources opens the training examples in their order, and the evaluator.
func (r *run) openSources(ctx context.Context) error {
	options := loader.SourceOptions{Seed: int64(r.o.Seed), MicroBatchTokens: r.state.Tokens, MicroBatchMultiple: r.state.Multiple, Heads: r.state.Heads,
		MaxSeqLength: r.seqLength(), Positions: r.config.MaxPositions, AttendAcross: r.o.AttendAcross, Readers: r.o.Readers, Rank: r.group.Rank(), Ranks: r.group.Size()}
	// After a signal the current step is finished, so its examples must stay readable.
	err := r.inputs.openSources(context.WithoutCancel(ctx), options, r.o.skips(), r.log)
	if r.source != nil {
		r.add(r.source)
	}
	if err != nil || r.eval == nil {
		return err
	}
	r.eval.comm, r.eval.examples, r.eval.single = r.group, r.o.EvalExamples, r.config.Modern != nil
	if r.leads() {
		r.eval.baseline = func(ctx context.Context) (*unigram, error) {
			return countUnigram(ctx, r.data.shards, r.data.vocab)
		}
	}
	return nil
}

// openModel opens the model and loads the state that training begins with: the
// checkpoint's or the initial model's.
func (r *run) openModel() (err error) {
	limits := DataLimits(r.state.Tokens, max(r.state.Batch, loader.SweepSequences), r.predictions(), r.data, r.evalData)
	limits.Train, limits.Seed, limits.Optimizer, limits.Comm, limits.ShardOptimizer = true, r.o.Seed, r.state.Optimizer, r.group, r.o.Zero1
	if r.model, err = r.device.Model(r.config, r.state.Heads, limits); err != nil {
		return err
	}
	r.add(r.model)
	return r.shareModel(func(m trainer.Model) error {
		if r.from != nil {
			return restore(r.from, m, r.state.Precision)
		}
		if err := loadInitial(m, r.start.init, r.o.Init, r.config, r.state.Heads, r.o.Seed, r.log); err != nil {
			return err
		}
		if r.start.init == nil || r.start.init.Phase == nil {
			return nil
		}
		fmt.Fprintf(r.log, "phase %d, after %s\n", r.state.Phase, r.start.init.Phase.Dir)
		return r.start.init.Phase.LoadMoments(m, r.state.Heads)
	})
}
