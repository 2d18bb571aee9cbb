package session

import (
	"errors"
	"fmt"
	"io"

	"pretext/internal/failure"
	"pretext/trainer"
	"pretext/trainer/comm"
)

// Options configure a pre-training run. Start from [DefaultOptions]. Fields are named
// after the flags of train-bert train. They are grouped by the part of the run that
// uses them.
type Options struct {
	DataOptions
	ModelOptions
	StepOptions
	trainer.ScheduleOptions
	OptimizerOptions
	OutputOptions

	EvalExamples int64  // examples of an evaluation; 0: all
	ReplayRates  string // with a schedule by time: [MetricsFile] of the run whose learning rates are taken; "": the clock decides
	Device       Device

	// Ranks makes this process one of several that train the model together; the
	// zero value means a single process. All other options except paths must be the
	// same on all ranks. Only rank 0 reads Model, Init and the checkpoints in Out, and
	// writes to Out. Other ranks write only Out/log/rank-NNNN.log. [Train] sets the
	// fingerprints.
	Ranks comm.Options

	Brief  bool         // log evaluations in a short line and no steps
	Saving func(Saving) // called on rank 0 while it writes a checkpoint, by one goroutine at a time; may be nil
}

// DataOptions select the examples of a run.
type DataOptions struct {
	Data     string // run of prepare-data, folder of shards, or of BERT's TFRecord files
	EvalData string // held-out data; "": the eval shards of Data
	Vocab    string // vocab.txt for records whose folder has none
	Cache    string // directory for indexes of third-party records and uncompressed copies of compressed records; "": Out/cache
	Masking  MaskOptions
	NoNSP    bool // train without a next-sentence head; records without labels never have one

	MaxSeqLength   int  // length in tokens to which documents are cut; 0: UsualSeqLength
	UsualSeqLength int  // default of MaxSeqLength, ignored for other records; 0: the model's positions
	AttendAcross   bool // tokens of a packed row attend to all its pieces

	OnDamage string // "stop" or "skip" corrupt records
	Readers  int    // threads that read ahead; 0: none
}

// Validate reports every wrong option.
func (o *DataOptions) Validate() error {
	var c checks
	c.want(o.Data != "", "no data: give --data DIR")
	c.want(o.Readers >= 0 && o.Readers <= 256, "--readers %d: must be from 0 to 256", o.Readers)
	c.want(o.MaxSeqLength >= 0, "--max-seq-length %d: must not be negative", o.MaxSeqLength)
	c.want(o.Masking.MaxPredictionsPerSeq >= 0, "--max-predictions-per-seq %d: must not be negative", o.Masking.MaxPredictionsPerSeq)
	c.want(o.OnDamage == "stop" || o.OnDamage == "skip", "--on-damage %q: must be stop or skip", o.OnDamage)
	if r := o.Masking.replacement(); r != nil {
		c = append(c, r.Validate())
	}
	return errors.Join(c...)
}

// skips reports whether corrupt records are skipped.
func (o *DataOptions) skips() bool { return o.OnDamage == "skip" }

// ModelOptions name the model that a run begins with.
type ModelOptions struct {
	Model   string   // preset, or path of a config.json; may be "" with Init
	Init    string   // model to start from: a path that [OpenModel] takes
	Dropout *float64 // of hidden units and attention probabilities; nil: the value in the model's configuration

	// ResumeFrom is a checkpoint or a run. If Out has no checkpoint, the new run
	// resumes from it, as a branch of another run.
	ResumeFrom string
}

// Validate reports every wrong option.
func (o *ModelOptions) Validate() error {
	var c checks
	c.want(o.ResumeFrom == "" || o.Init == "", "--resume-from %s and --init %s: give one of them", o.ResumeFrom, o.Init)
	c.want(o.Dropout == nil || *o.Dropout >= 0 && *o.Dropout < 1, "--dropout: must be at least 0 and below 1")
	return errors.Join(c...)
}

// StepOptions set the size of a step and the order of the examples.
type StepOptions struct {
	TrainBatchSize   int    // examples per step
	MicroBatchTokens int    // maximum tokens of a micro-batch; 0: chosen by the device
	Seed             uint64 // of initial weights, order and dropout
}

// Validate reports every wrong option.
func (o *StepOptions) Validate() error {
	var c checks
	c.want(o.TrainBatchSize >= 1 && o.TrainBatchSize <= 1<<20, "--train-batch-size %d: must be from 1 to %d", o.TrainBatchSize, 1<<20)
	c.want(o.MicroBatchTokens <= trainer.MaxBatchTokens, "--micro-batch-tokens %d: must be at most %d", o.MicroBatchTokens, trainer.MaxBatchTokens)
	return errors.Join(c...)
}

// OptimizerOptions select the rule by which a step updates the weights.
type OptimizerOptions struct {
	Optimizer      trainer.OptimizerName
	WeightDecay    float64
	AdamBeta1      float64 // decay of the first moment
	AdamBeta2      float64 // decay of the second moment
	AdamEpsilon    float64
	MaxGradNorm    float64 // clip gradients to this global norm; 0: do not clip
	BiasCorrection *bool   // of the moments; nil: true for lamb only, as in the original implementations

	// Zero1 divides the optimizer's state over the ranks:
	// [trainer.Options.ShardOptimizer]. An error with one rank.
	Zero1 bool
}

// rule returns the update rule.
func (o *OptimizerOptions) rule() trainer.Optimizer {
	u := trainer.DefaultOptimizer(o.Optimizer)
	u.WeightDecay, u.Beta1, u.Beta2, u.Epsilon, u.ClipNorm = o.WeightDecay, o.AdamBeta1, o.AdamBeta2, o.AdamEpsilon, o.MaxGradNorm
	if o.BiasCorrection != nil {
		u.BiasCorrection = *o.BiasCorrection
	}
	return u
}

// OutputOptions configure checkpoints, the log and progress reports.
type OutputOptions struct {
	Out                  string // output directory
	SaveCheckpointsSteps int64  // steps between checkpoints; 0: only at the end
	Keep                 int    // newest checkpoints to keep; 0: all

	Log      io.Writer      // receives log lines, each in one Write; nil: no log
	Progress func(Progress) // called after every step; may be nil
}

// Validate reports every wrong option.
func (o *OutputOptions) Validate() error {
	var c checks
	c.want(o.Out != "", "no output folder: give --out DIR")
	c.want(o.SaveCheckpointsSteps >= 0, "--save-checkpoints-steps %d: must not be negative", o.SaveCheckpointsSteps)
	c.want(o.Keep >= 0, "--keep %d: must not be negative", o.Keep)
	return errors.Join(c...)
}

// Saving is the progress of writing a checkpoint.
type Saving struct {
	Written, Total int64 // bytes; Total is approximate
	Done           bool  // the checkpoint is complete, or has failed
}

// DefaultOptions returns run_pretraining.py's defaults where it has the option.
func DefaultOptions() Options {
	rule := trainer.DefaultOptimizer(trainer.AdamW) // LAMB has the same constants
	return Options{
		DataOptions:     DataOptions{OnDamage: "stop", Readers: 1},
		StepOptions:     StepOptions{TrainBatchSize: 32, Seed: 1},
		ScheduleOptions: trainer.DefaultScheduleOptions(),
		OptimizerOptions: OptimizerOptions{Optimizer: rule.Name, WeightDecay: rule.WeightDecay, AdamBeta1: rule.Beta1, AdamBeta2: rule.Beta2,
			AdamEpsilon: rule.Epsilon, MaxGradNorm: rule.ClipNorm},
		OutputOptions: OutputOptions{SaveCheckpointsSteps: 1000, Keep: 3},
		EvalExamples:  2048,
	}
}

// checks are the errors of wrong options.
type checks []error

func (c *checks) want(ok bool, format string, args ...any) {
	if !ok {
		*c = append(*c, fmt.Errorf(format, args...))
	}
}

// err joins the errors in c and in more into one usage error; nil without errors.
func (c checks) err(more ...error) error {
	if err := errors.Join(append(c, more...)...); err != nil {
		return failure.Usage(err)
	}
	return nil
}

// Validate reports every wrong option at once.
func (o *Options) Validate() error {
	var c checks
	c.want(o.ReplayRates == "" || o.rates().ByTime(), "--replay-rates applies only with a --schedule by time")
	c.want(o.EvalExamples >= 0, "--eval-examples %d: must not be negative", o.EvalExamples)
	c.want(!o.Zero1 || o.Ranks.Ranks > 1, "--zero1 divides the optimizer's state over several ranks, and this run has one: start more (--nproc N, or RANK and WORLD_SIZE), or run without it")
	return c.err(o.DataOptions.Validate(), o.ModelOptions.Validate(), o.StepOptions.Validate(), o.OutputOptions.Validate(),
		o.Device.Validate(), o.ScheduleOptions.Validate(o.Optimizer), o.rule().Validate())
}

// rates returns the schedule of the learning rate.
func (o *Options) rates() trainer.Schedule { return o.ScheduleOptions.For(o.Optimizer) }

// discardNil returns w, or [io.Discard] if w is nil.
func discardNil(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
