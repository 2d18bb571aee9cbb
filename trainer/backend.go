package trainer

import (
	"errors"
	"fmt"
	"iter"
)

// ErrUnavailable is wrapped by the error of [Backend.Open] if this machine or
// this build lacks the device.
var ErrUnavailable = errors.New("device unavailable")

// A Backend computes models on one kind of device.
type Backend interface {
	// Open creates a model with all weights zero. Every batch must fit the
	// limits in o ([Options.Fits]). If the device is missing, the error wraps
	// [ErrUnavailable].
	Open(c Config, h Heads, o Options) (Model, error)

	// AutoTokens returns a maximum number of tokens per micro-batch that suits the
	// device and its memory. It is the default for runs without their own setting,
	// unless the longest example is longer. AutoTokens ignores the limits in o. If
	// the device is missing, the error wraps [ErrUnavailable].
	AutoTokens(c Config, h Heads, o Options) (int, error)
}

// A Model is a model on a device, with its gradients and optimizer state. It
// must not be used by several goroutines at once. A batch may be reused as soon
// as the method that took it has returned.
type Model interface {
	// Forward computes b without dropout and gradients. It fills the outputs
	// that out asks for (none if out is nil) and returns the sums over b.
	Forward(b *Batch, out *Outputs) (Sums, error)

	// Accumulate computes b with dropout and adds the gradient of its loss to
	// the model's gradients; coef weights the loss terms. last marks this rank's
	// last micro-batch of the step: the model may then start to sum gradients
	// over the ranks while the backward pass runs. Accumulate may return before
	// the device is done. Apply returns the sums and any error.
	Accumulate(b *Batch, coef Coef, last bool) error

	// Prepare announces b as the batch of the next Accumulate, so that a backend may send
	// it to its device while that computes earlier ones. b must not change before Accumulate
	// gets it. It changes no result: Accumulate may get another batch, and Forward may come
	// before. nil takes the announcement back. Errors are those of Accumulate.
	Prepare(b *Batch)

	// Apply ends a step: it sums the gradients over the ranks, clips them,
	// updates the weights and clears the gradients. The learning rate is the one of
	// schedule s at the model's own step counter. If a gradient is not finite on
	// any rank, Apply changes only the loss scale and reports the step as
	// skipped. All ranks must call Apply. A rank without a micro-batch calls it
	// without Accumulate; Apply then makes the same collective calls as the
	// other ranks since their last micro-batch began, in the same order.
	Apply(s Schedule) (StepInfo, error)

	// Snapshot returns a copy of the weights, moments and counters as they are
	// now. It must be called on all ranks; the tensors are complete on rank 0,
	// and those of other ranks may be missing.
	Snapshot() (Snapshot, error)

	// Tensors yields all tensors of a kind in the order of [Tensors]. Data is
	// valid until the next tensor. It yields at most one error, as the last
	// element.
	Tensors(k Kind) iter.Seq2[Tensor, error]

	// Load replaces tensors of a kind by name. The report lists given names
	// that the model does not have, and tensors of the model that were not
	// given, which keep their values. A wrong shape is an error.
	Load(k Kind, tensors iter.Seq2[Tensor, error]) (LoadReport, error)

	// State and SetState access the counters that resuming needs.
	State() State
	SetState(State)

	// Close frees the device's memory. No method may be called after it. Close
	// the snapshots first.
	Close() error
}

// A Snapshot is a frozen copy of a model. Another goroutine may read it while
// the model computes further steps. It may share memory with the model until
// the model changes, so close it as soon as it has been read: an open snapshot
// may cost a second copy of the weights and moments.
type Snapshot interface {
	// Tensors yields all tensors of a kind other than Gradients, in the order of
	// [Tensors]. Data is valid until the next tensor. It yields at most one
	// error, as the last element.
	Tensors(k Kind) iter.Seq2[Tensor, error]

	// State returns the model's counters when the snapshot was taken.
	State() State

	// Close frees the copy. Further calls do nothing.
	Close() error
}

// Options are fixed when a model is opened, so that a backend can prepare
// memory, plans and launch shapes.
type Options struct {
	Tokens    int       // maximum tokens in a batch
	Sequences int       // maximum sequences in a batch
	Masked    int       // maximum masked tokens in a batch
	Precision Precision // of weights and activations in computations; master weights are at least float32
	Train     bool      // keep gradients and optimizer state; without it Accumulate and Apply are errors
	Seed      uint64    // key of the dropout masks
	Optimizer Optimizer // ignored without Train

	// Comm connects the ranks that train the model together; nil: this process
	// trains it alone.
	Comm Comm

	// ShardOptimizer divides the optimizer's state over the ranks of Comm
	// (ZeRO-1, Rajbhandari et al. 2020): each rank stores the moments of only
	// 1/Size of the parameters. Apply sums the gradients of these parameters on
	// that rank (reduce-scatter), updates their weights, and copies the weights
	// to all ranks (all-gather). If false, every rank stores all moments. Results
	// are the same within rounding, and checkpoints hold whole tensors either
	// way. If true, with several ranks, [Model.Load] stores only this rank's part
	// of the moments, and [Model.Tensors] of moments is an error: use
	// [Model.Snapshot]. It has no effect with one rank or without Train.
	ShardOptimizer bool

	// Deterministic makes results bit-for-bit reproducible for the same batches,
	// options, [State.Plans] and kind of device, at a lower speed. CPU results
	// are always reproducible.
	Deterministic bool
}

// MaxBatchTokens is the maximum of each limit in [Options].
const MaxBatchTokens = 1 << 24

// Validate reports every problem of o at once.
func (o Options) Validate() error {
	var errs []error
	if o.Tokens < 1 || o.Sequences < 1 || o.Masked < 0 || max(o.Tokens, o.Sequences, o.Masked) > MaxBatchTokens {
		errs = append(errs, fmt.Errorf("batch limits of %d tokens, %d sequences, %d masked: must be from 1, 1 and 0 to %d",
			o.Tokens, o.Sequences, o.Masked, MaxBatchTokens))
	}
	if o.Train {
		errs = append(errs, o.Optimizer.Validate())
	}
	return errors.Join(errs...)
}

// Fits returns an error if b exceeds the limits in o.
func (o Options) Fits(b *Batch) error {
	if b.Tokens() > o.Tokens || b.Sequences() > o.Sequences || b.Masked() > o.Masked {
		return fmt.Errorf("batch too large: %d tokens, %d sequences, %d masked tokens; the model was opened for at most %d tokens, %d sequences, %d masked tokens",
			b.Tokens(), b.Sequences(), b.Masked(), o.Tokens, o.Sequences, o.Masked)
	}
	return nil
}

// Precision is the number format of a model's computations.
type Precision string

// The precisions. Float64 exists only on the CPU, for gradient tests by finite
// differences.
const (
	Float32  Precision = "fp32"
	Float64  Precision = "fp64"
	BFloat16 Precision = "bf16"
	Float16  Precision = "fp16"
	Float8   Precision = "fp8" // products of the encoder's layers in 8 bits, the rest in bf16
)

// Kind selects what is stored for every parameter of a model: weights, first or
// second moments, or gradients.
type Kind int

// The kinds.
const (
	Weights      Kind = iota // master weights
	FirstMoment              // the optimizer's m
	SecondMoment             // the optimizer's v
	Gradients                // sum of the gradients since the last Apply
)

// String returns the kind's name.
func (k Kind) String() string {
	names := [...]string{"weights", "first moment", "second moment", "gradients"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return names[k]
}

// A Tensor holds the weights, a moment or the gradient of one named parameter.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32 // row-major
}

// A LoadReport lists what [Model.Load] could not match.
type LoadReport struct {
	Missing    []string // tensors of the model that were not given
	Unexpected []string // given tensors that the model does not have
}

// Complete returns an error if a tensor was missing or unexpected.
func (r LoadReport) Complete() error {
	if len(r.Missing) == 0 && len(r.Unexpected) == 0 {
		return nil
	}
	return fmt.Errorf("tensors missing %q, unexpected %q", r.Missing, r.Unexpected)
}

// State holds a model's counters.
type State struct {
	Step      int64   `json:"step"`       // updates in this phase; argument of the schedule
	LossScale float64 `json:"loss_scale"` // fp16: factor of the loss; otherwise 1
	GoodSteps int64   `json:"good_steps"` // fp16: updates since the loss scale last changed

	// Carried is the number of updates, in phases before this one, that the moments have
	// seen: the bias correction counts Carried + Step.
	Carried int64 `json:"carried,omitempty"`

	// Amax are the largest sizes of a tensor in the last steps, the oldest step first, by the
	// name of the tensor: fp8 chooses the factors of the next step by them.
	Amax map[string][]float32 `json:"amax,omitempty"`

	// Plans are choices that a backend made by measurement, such as the
	// algorithm of a matrix product. Keys name the device and the library
	// versions. A backend uses the entries for its own device and versions, and
	// keeps all other entries.
	Plans map[string]string `json:"plans,omitempty"`
}

// Counts are the denominators of a step's mean losses.
type Counts struct {
	MaskedWeight float64 // sum of the weights of masked tokens
	NSP          float64 // sequences with a next-sentence label
	Labels       float64 // sequences with a label, score or span
}

// Add returns the sum of c and d.
func (c Counts) Add(d Counts) Counts {
	return Counts{c.MaskedWeight + d.MaskedWeight, c.NSP + d.NSP, c.Labels + d.Labels}
}

// Coef returns the coefficients of the loss terms for a step with these counts.
func (c Counts) Coef() Coef {
	inverse := func(n float64) float64 {
		if n == 0 {
			return 0
		}
		return 1 / n
	}
	return Coef{MLM: 1 / (c.MaskedWeight + mlmEpsilon), NSP: inverse(c.NSP), Label: inverse(c.Labels)}
}

// mlmEpsilon is added to the denominator of the masked-LM loss, as in
// run_pretraining.py.
const mlmEpsilon = 1e-5

// Coef are the coefficients of a step's summed loss terms.
type Coef struct {
	MLM   float64 // of Σ w·l
	NSP   float64 // of the next-sentence losses
	Label float64 // of the classification, regression or span losses
}

// Sums are results summed over batches and ranks. The counts are whole numbers.
type Sums struct {
	Tokens, Sequences                   float64
	MLMLoss, MLMWeight, MLMCorrect      float64 // Σ w·l, Σ w, Σ w where the largest logit is correct
	NSPLoss, NSPCount, NSPCorrect       float64
	LabelLoss, LabelCount, LabelCorrect float64 // a span is correct if its start and its end are
}

// Add returns the sum of s and t.
func (s Sums) Add(t Sums) Sums {
	v, w := s.Vector(), t.Vector()
	for i := range v {
		v[i] += w[i]
	}
	return SumsOf(v)
}

// Vector returns the sums as a vector, so that ranks can add them up.
func (s Sums) Vector() [11]float64 {
	return [11]float64{s.Tokens, s.Sequences, s.MLMLoss, s.MLMWeight, s.MLMCorrect, s.NSPLoss, s.NSPCount, s.NSPCorrect,
		s.LabelLoss, s.LabelCount, s.LabelCorrect}
}

// SumsOf returns the sums in v, a result of [Sums.Vector].
func SumsOf(v [11]float64) Sums {
	return Sums{Tokens: v[0], Sequences: v[1], MLMLoss: v[2], MLMWeight: v[3], MLMCorrect: v[4], NSPLoss: v[5], NSPCount: v[6],
		NSPCorrect: v[7], LabelLoss: v[8], LabelCount: v[9], LabelCorrect: v[10]}
}

// MLM returns the mean masked-LM loss, defined as in run_pretraining.py.
func (s Sums) MLM() float64 { return s.MLMLoss / (s.MLMWeight + mlmEpsilon) }

// NSP returns the mean next-sentence loss; 0 without labels.
func (s Sums) NSP() float64 { return ratio(s.NSPLoss, s.NSPCount) }

// Label returns the mean loss of the fine-tuning head; 0 without labels.
func (s Sums) Label() float64 { return ratio(s.LabelLoss, s.LabelCount) }

// Loss returns the total loss.
func (s Sums) Loss() float64 { return s.MLM() + s.NSP() + s.Label() }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Output is a bit set of the results that [Model.Forward] can return.
type Output uint

// The outputs. The fields of [Outputs] describe them.
const (
	OutputHidden Output = 1 << iota
	OutputPooled
	OutputMLMLogits
	OutputNSPLogits
	OutputLogits
	OutputSpans
	OutputMLMLosses
)

// Outputs receives the results selected by Want. Slices are grown as needed and
// reused. T tokens, S sequences, M masked tokens, V vocabulary entries.
type Outputs struct {
	Want      Output
	Hidden    []float32 // (T, H) output of the encoder's last layer
	Pooled    []float32 // (S, H)
	MLMLogits []float32 // (M, V)
	NSPLogits []float32 // (S, 2)
	Logits    []float32 // (S, labels) of the classifier, or (S, 1) of the regression
	Spans     []float32 // (T, 2) start and end logit of each token

	// OutputMLMLosses selects MLMLosses and MLMBest. If several logits are the
	// largest, MLMBest is the smallest of their ids.
	MLMLosses []float64 // (M) cross entropy of each masked token, without its weight
	MLMBest   []int32   // (M) id with the largest logit
}

// StepInfo describes one update.
type StepInfo struct {
	Sums      Sums    // of the whole step, over all ranks
	Rate      float64 // learning rate
	GradNorm  float64 // before clipping
	LossScale float64 // during the step
	Skipped   bool    // nothing was updated, because gradients were not finite
	Saturated float64 // fp8: elements that became the largest number, over all ranks
}
