package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"pretext/internal/store"
	"pretext/records"
	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/comm"
	"pretext/trainer/loader"
)

// A Result summarizes a run.
type Result struct {
	Steps    int64 // of all processes of the run
	Examples int64 // in these steps
	Epochs   float64
	Eval     *Evaluation // after the last step; nil: there is no held-out data
	Model    string      // directory of the last checkpoint
	Skipped  Skipped
}

// A run is a training run with everything it holds open.
type run struct {
	o        Options
	log      io.Writer
	group    *comm.Group // the ranks of the run, perhaps only this one
	device   *Opened
	data     *Corpus
	evalData *Corpus // nil: no evaluation
	config   trainer.Config
	state    checkpoint.State       // without progress
	from     *checkpoint.Checkpoint // rank 0: what the run resumes from; nil: it begins
	branch   bool                   // rank 0: from is a checkpoint of another run
	start    *start                 // rank 0: nil when from is not
	first    trainer.Progress       // where the run begins or resumes
	model    trainer.Model
	masking  *loader.Masking // nil: as the records have it
	source   *loader.Source
	damage   *quarantine // of the source; nil: damage ends the run
	eval     *evaluator
	last     *Evaluation
	step     int64 // of last
	stopped  bool  // all ranks stop by agreement
	pace     *pace // nil: the schedule gives the rates
	runLog
}

// Train pre-trains a model up to the last step of the options. It resumes from
// the newest checkpoint in o.Out. When ctx is done it saves a checkpoint and
// returns the cause. It returns a usage error if options contradict each other,
// the data or the checkpoint.
func Train(ctx context.Context, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.ofThisRank()
	group, err := o.join(ctx)
	if err != nil {
		return nil, err
	}
	r := run{o: o, group: group}
	end, err := r.withDevice(ctx)
	if !r.stopped {
		group.Abort(err)
	}
	return end, errors.Join(verdict(err), group.Close())
}

func (r *run) withDevice(ctx context.Context) (end *Result, err error) {
	if r.device, err = r.o.Device.Open(); err != nil {
		return nil, err
	}
	end, err = r.train(ctx)
	return end, errors.Join(err, r.device.Close())
}

func (r *run) train(ctx context.Context) (end *Result, err error) {
	r.log = discardNil(r.o.Log)
	r.device.warnBy(func(message string) { fmt.Fprintln(r.log, message) }) // by then the log of this rank
	if err := r.openData(ctx); err != nil {
		return nil, err
	}
	if err := r.group.Agree(r.dataFingerprints()); err != nil {
		return nil, err
	}
	if !r.leads() {
		return r.follow(ctx)
	}
	err = hold(r.o.Out, func() error {
		end, err = r.work(ctx)
		return errors.Join(err, r.Close())
	})
	return end, err
}

// hold calls work with the output directory locked and without the temporary files of
// an interrupted run. It returns a [*store.RemovedError] if the directory was removed
// meanwhile.
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
	if err := r.catchUp(ctx); err != nil {
		return nil, err
	}
	progress, err := trainer.Train(ctx, r.loop(ctx))
	if err != nil {
		// If the context is done, all ranks have stopped after the same step.
		r.stopped = errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))
		return nil, err
	}
	if err := r.concludeBudget(ctx, progress.Step); err != nil {
		return nil, err
	}
	end, err = r.end(ctx, progress)
	r.stopped = errors.Is(err, errInterrupted)
	return end, err
}

func (r *run) openData(ctx context.Context) (err error) {
	if r.data, err = OpenCorpus(ctx, r.o.Data, sharding.Train, r.o.Vocab); err != nil {
		return err
	}
	if r.masking, err = r.o.Masking.masking(r.o.Seed, r.data, r.o.TrainBatchSize); err != nil {
		return err
	}
	if r.o.MaxSeqLength > 0 && r.data.shards.Form() != records.Tokens {
		return usagef("--max-seq-length applies only to records of documents (recipe tokens): the examples of %s have their length", r.data.path)
	}
	if err := r.data.suits(cmp.Or(r.o.MaxSeqLength, MinTokens), r.o.AttendAcross); err != nil {
		return err
	}
	if r.evalData, err = openEval(ctx, &r.o); err != nil || r.evalData == nil {
		return err
	}
	if r.evalData.vocab.SHA256() != r.data.vocab.SHA256() {
		return usagef("--eval-data %s has another vocabulary than --data %s", r.evalData.path, r.data.path)
	}
	return nil
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
	if n := r.longest(); r.state.Tokens < n {
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
	if err := r.openModel(); err != nil {
		return err
	}
	if !r.leads() {
		return nil
	}
	return r.openRecords()
}

// openRecords opens the metrics and the event file.
func (r *run) openRecords() error {
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

// cacheData prepares both splits for reading in any order.
func (r *run) cacheData(ctx context.Context) error {
	dir := r.o.Cache
	if dir == "" {
		dir = filepath.Join(r.o.Out, cacheName)
		if r.leads() {
			if err := sweepCache(dir); err != nil {
				return err
			}
		}
	}
	if err := r.data.cached(ctx, cacheBelow(dir, sharding.Train), r.o.skips(), r.log); err != nil || r.evalData == nil {
		return err
	}
	return r.evalData.cached(ctx, cacheBelow(dir, sharding.Eval), r.o.skips(), r.log)
}

func (r *run) openSources(ctx context.Context) (err error) {
	// After a signal the current step is finished, so its examples must stay readable.
	ctx = context.WithoutCancel(ctx)
	options := loader.SourceOptions{Seed: int64(r.o.Seed), MicroBatchTokens: r.state.Tokens, MicroBatchMultiple: r.state.Multiple, Heads: r.state.Heads, Rules: r.data.rules(),
		MaxSeqLength: r.seqLength(), Positions: r.config.MaxPositions, AttendAcross: r.o.AttendAcross, Readers: r.o.Readers, Masking: r.masking, Rank: r.group.Rank(), Ranks: r.group.Size()}
	var evalDamage *quarantine
	if r.o.skips() {
		r.damage, evalDamage = newQuarantine(r.log, ""), newQuarantine(r.log, sharding.Eval)
		options.Quarantine = r.damage.skip
	}
	if r.source, err = loader.NewSource(ctx, r.data.shards, options); err != nil {
		return err
	}
	if r.add(r.source); r.evalData == nil {
		return nil
	}
	options.Seed, options.Readers, options.MicroBatchMultiple = 0, 0, r.group.Size() // evaluations use the same examples in every run
	if options.Masking, err = evalMasking(r.evalData); err != nil {
		return err
	}
	options.Rules, options.AttendAcross = r.evalData.rules(), r.o.AttendAcross && r.evalData.shards.Form() == records.Packed
	if evalDamage != nil {
		options.Quarantine = evalDamage.skip
	}
	evalSource, err := loader.NewSource(ctx, r.evalData.shards, options)
	if err != nil {
		return err
	}
	r.eval = &evaluator{source: evalSource, comm: r.group, examples: r.o.EvalExamples, mask: r.data.vocab.MASK(), vocab: r.data.vocab.Len(), damage: evalDamage}
	if r.leads() {
		r.eval.baseline = func(ctx context.Context) (*unigram, error) {
			return countUnigram(ctx, r.data.shards, r.data.vocab)
		}
	}
	return nil
}

func (r *run) openModel() (err error) {
	limits := DataLimits(r.state.Tokens, max(r.state.Batch, loader.SweepSequences), r.predictions(), r.data, r.evalData)
	limits.Train, limits.Seed, limits.Optimizer, limits.Comm, limits.ShardOptimizer = true, r.o.Seed, r.state.Optimizer, r.group, r.o.Zero1
	if r.model, err = r.device.Model(r.config, r.state.Heads, limits); err != nil {
		return err
	}
	r.add(r.model)
	return r.shareModel(r.loadModel)
}

// loadModel loads the state that training begins with into m: the checkpoint's
// or the initial model's.
func (r *run) loadModel(m trainer.Model) error {
	switch {
	case r.from != nil:
		return restore(r.from, m, r.state.Precision)
	case r.start.init == nil:
		_, err := m.Load(trainer.Weights, trainer.InitialWeights(r.config, r.state.Heads, r.o.Seed))
		return err
	}
	return r.loadInit(m)
}

// predictions returns the maximum number of masked tokens of an example; 0 if
// it is unknown.
func (r *run) predictions() int {
	n := r.data.shards.MaxPredictionsPerSeq()
	if r.masking != nil {
		n = max(n, r.masking.MaxPredictions)
	}
	if r.evalData != nil {
		n = max(n, r.evalData.shards.MaxPredictionsPerSeq())
		if r.evalData.shards.MaxPredictionsPerSeq() == 0 {
			return 0
		}
	}
	if r.data.shards.MaxPredictionsPerSeq() == 0 {
		return 0
	}
	return n
}

// loadInit loads into m the model that --init names and, if it is a checkpoint of an
// earlier phase, the optimizer's moments.
func (r *run) loadInit(m trainer.Model) error {
	report, err := r.start.init.Initialize(m, r.state.Heads, r.o.Seed)
	if err != nil {
		return err
	}
	for _, name := range report.Missing {
		fmt.Fprintf(r.log, "%s is not in %s and is newly initialized\n", name, r.o.Init)
	}
	if r.start.init.Phase == nil {
		return nil
	}
	fmt.Fprintf(r.log, "phase %d, after %s\n", r.state.Phase, r.start.init.Phase.Dir)
	return r.start.init.Phase.LoadMoments(m, r.state.Heads)
}
