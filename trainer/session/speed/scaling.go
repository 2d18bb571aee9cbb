package speed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/trainer"
	"pretext/trainer/session"
)

// Figures are the input of [Simulate]: the measured speed of one GPU and of the links,
// and the settings of a run. They are read from a JSON file.
type Figures struct {
	Model     string `json:"model"`          // preset, or path of a config.json
	VocabSize int    `json:"vocab_size"`     // with a preset
	Length    int    `json:"max_seq_length"` // of most examples
	Masked    int    `json:"max_predictions_per_seq"`

	// ShortSeqProb is the fraction of shorter examples, of any length from 5 on,
	// as create_pretraining_data.py makes them.
	ShortSeqProb float64 `json:"short_seq_prob"`

	Batch  int   `json:"train_batch_size"`   // examples per step, over all GPUs
	Tokens int   `json:"micro_batch_tokens"` // maximum of a micro-batch
	GPUs   []int `json:"gpus"`               // numbers of GPUs to simulate
	Zero1  bool  `json:"zero1"`

	// Speed of one GPU, as bench measures it with examples of Length tokens.
	TokensPerSecond float64 `json:"tokens_per_second"`
	OptimizerMillis float64 `json:"optimizer_ms"` // update of all weights
	LaunchMillis    float64 `json:"launch_ms"`    // fixed time of each micro-batch
	Jitter          float64 `json:"jitter"`       // standard deviation of a rank's time for a step, as a fraction

	// Links, in 10^9 bytes per second and one direction. A ring over several
	// machines is as fast as its slowest link.
	GPUsPerMachine int     `json:"gpus_per_machine"`
	Link           float64 `json:"link_gb_per_second"`    // between two GPUs of a machine
	Network        float64 `json:"network_gb_per_second"` // between two machines
	LatencyMicros  float64 `json:"latency_us"`            // of one message between two ranks

	Steps int    `json:"steps"` // simulated for each number of GPUs
	Seed  uint64 `json:"seed"`
}

// LeftOut lists what [Simulate] does not model, for reports.
const LeftOut = "one ring over all GPUs, no trees; no other traffic, congestion or lost packets; no slower kernels while gradients are sent; " +
	"no reading of data, checkpoints, evaluations, failures and restarts; GPUs differ by jitter alone; memory is not checked"

// DefaultFigures returns the settings of a run of BERT-base, phase 1. The figures that
// must be measured are zero.
func DefaultFigures() Figures {
	return Figures{Model: "base", VocabSize: 30522, Length: 128, Masked: 20, ShortSeqProb: 0.1, Batch: 8192, Tokens: 16384,
		GPUs: []int{8, 64, 1000}, Jitter: 0.02, GPUsPerMachine: 8, LatencyMicros: 10, Steps: 20, Seed: 1}
}

// ReadFigures reads figures from a JSON file. Missing fields have the values of
// [DefaultFigures]. Unknown fields, and values outside their range, are usage errors.
func ReadFigures(path string) (Figures, error) {
	f := DefaultFigures()
	b, err := store.ReadSmall(context.Background(), path, store.Settings)
	if err != nil {
		return f, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, failure.Usagef("%s is not the JSON that docs/multi-gpu.md describes: %w", path, err)
	}
	if err := f.validate(); err != nil {
		return f, failure.Usagef("%s: %w", path, err)
	}
	return f, nil
}

// Limits of a simulation, which takes seconds within them.
const (
	maxGPUs       = 1 << 12
	maxSimulation = 1 << 26 // examples
)

func (f *Figures) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	positive := func(name string, v float64) {
		want(v > 0 && v < math.MaxFloat32, "%s %v: must be above 0", name, v)
	}
	positive("tokens_per_second", f.TokensPerSecond)
	positive("link_gb_per_second", f.Link)
	positive("network_gb_per_second", f.Network)
	for name, v := range map[string]float64{"optimizer_ms": f.OptimizerMillis, "launch_ms": f.LaunchMillis, "latency_us": f.LatencyMicros} {
		want(v >= 0 && v < 1e9, "%s %v: must be at least 0 and below 1e9", name, v)
	}
	want(f.Jitter >= 0 && f.Jitter < 1, "jitter %v: must be at least 0 and below 1", f.Jitter)
	want(f.ShortSeqProb >= 0 && f.ShortSeqProb <= 1, "short_seq_prob %v: must be from 0 to 1", f.ShortSeqProb)
	want(f.Length >= 5 && f.Length <= trainer.MaxBatchTokens, "max_seq_length %d: must be at least 5", f.Length)
	want(f.Masked >= 1 && f.Masked <= f.Length, "max_predictions_per_seq %d: must be from 1 to max_seq_length", f.Masked)
	want(f.Tokens >= f.Length && f.Tokens <= trainer.MaxBatchTokens, "micro_batch_tokens %d: must be from max_seq_length to %d", f.Tokens, trainer.MaxBatchTokens)
	want(f.GPUsPerMachine >= 1, "gpus_per_machine %d: must be at least 1", f.GPUsPerMachine)
	want(f.Steps >= 1 && f.Batch >= 1 && f.Batch <= maxSimulation/max(1, f.Steps), "steps %d of train_batch_size %d: must be at least 1, and %d examples in all at most", f.Steps, f.Batch, maxSimulation)
	want(len(f.GPUs) > 0, "gpus: none")
	for _, n := range f.GPUs {
		want(n >= 1 && n <= maxGPUs, "gpus %d: must be from 1 to %d", n, maxGPUs)
	}
	return errors.Join(errs...)
}

// A Scaling is the result of [Simulate] for one number of GPUs. Times are means over
// the steps, in milliseconds.
type Scaling struct {
	GPUs       int     `json:"gpus"`
	Step       float64 `json:"step_ms"`
	Tokens     float64 `json:"tokens_per_second"`
	Efficiency float64 `json:"efficiency"` // tokens per second and GPU, relative to one GPU with the same settings

	// Parts of Step, as means over the GPUs.
	Compute       float64 `json:"compute_ms"`
	Waiting       float64 `json:"waiting_ms"`       // for the GPU with the most work
	Communication float64 `json:"communication_ms"` // time not hidden by computation
	Optimizer     float64 `json:"optimizer_ms"`
}

// A simulator holds the figures, and derived values that do not depend on the number
// of GPUs.
type simulator struct {
	Figures
	config  trainer.Config
	flops   float64   // operations per second of one GPU
	layer   float64   // fraction of a backward pass that one layer takes
	buckets []float64 // bytes of gradients, in the order in which they are complete: heads, layers, embeddings
}

// Simulate estimates the speed of training on several GPUs. Lengths and jitter are
// random, with a fixed seed. Micro-batches are cut and assigned as in training. The
// time of a micro-batch is proportional to its [Operations], plus LaunchMillis. The
// gradients of a bucket are summed once all GPUs have them, one bucket after the
// other, while the rest of the backward pass runs. A ring of R GPUs sends 2(R−1)/R of a
// bucket over its slowest link, in 2(R−1) messages one after the other.
func Simulate(f Figures) ([]Scaling, error) {
	if err := f.validate(); err != nil {
		return nil, failure.Usage(err)
	}
	config, err := session.NamedConfig(f.Model, f.VocabSize)
	if err != nil {
		return nil, err
	}
	s := &simulator{Figures: f, config: config}
	whole := s.operations([]int32{int32(f.Length)})
	s.flops = f.TokensPerSecond * whole / float64(f.Length)
	layers := whole - 3*float64(f.Masked)*ofMasked(config)
	s.layer = layers / whole / float64(config.Layers)
	s.buckets = make([]float64, config.Layers+2)
	for _, t := range trainer.Tensors(config, config.PretrainHeads()) {
		s.buckets[config.Layers-t.Layer] += 4 * float64(t.Size())
	}
	one, err := s.run(1)
	if err != nil {
		return nil, err
	}
	var all []Scaling
	for _, n := range f.GPUs {
		r, err := s.run(n)
		if err != nil {
			return nil, err
		}
		r.Efficiency = r.Tokens / float64(n) / one.Tokens
		all = append(all, r)
	}
	return all, nil
}

// operations is [Operations] for sequences of the given lengths.
func (s *simulator) operations(lengths []int32) float64 {
	sum := 0.0
	for _, n := range lengths {
		masked := max(1, math.Round(float64(s.Masked)*float64(n)/float64(s.Length)))
		sum += masked*ofMasked(s.config) + ofSequence(s.config, int(n))
	}
	return 3 * sum
}

// run simulates training on n GPUs.
func (s *simulator) run(n int) (Scaling, error) {
	random := rand.New(rand.NewPCG(s.Seed, 0))
	total, tokens := Scaling{GPUs: n}, 0.0
	for range s.Steps {
		lengths := make([]int32, s.Batch)
		for i := range lengths {
			lengths[i] = int32(s.Length)
			if random.Float64() < s.ShortSeqProb {
				lengths[i] = int32(5 + random.IntN(s.Length-4))
			}
			tokens += float64(lengths[i])
		}
		ranks, err := s.work(lengths, n)
		if err != nil {
			return total, err
		}
		for r := range ranks {
			ranks[r].slow(max(0.5, 1+s.Jitter*random.NormFloat64()))
		}
		total.add(s.step(ranks), float64(s.Steps))
	}
	total.Tokens = tokens / float64(s.Steps) / total.Step * 1e3
	return total, nil
}

// add adds a step to the means over n steps.
func (t *Scaling) add(s Scaling, n float64) {
	t.Step += s.Step / n
	t.Compute += s.Compute / n
	t.Waiting += s.Waiting / n
	t.Communication += s.Communication / n
	t.Optimizer += s.Optimizer / n
}

// work is the computing time of a rank in a step, in milliseconds: in total, and for the
// backward pass of its last micro-batch.
type work struct{ all, backward float64 }

func (w *work) slow(by float64) { w.all, w.backward = w.all*by, w.backward*by }

// work returns the work of n ranks in a step.
func (s *simulator) work(lengths []int32, n int) ([]work, error) {
	bounds, err := trainer.Cut(lengths, s.Tokens, n)
	if err != nil {
		return nil, err
	}
	ranks := make([]work, n)
	for r, mine := range trainer.Deal(lengths, bounds, n) {
		for _, j := range mine {
			t := 1e3*s.operations(lengths[bounds[j]:bounds[j+1]])/s.flops + s.LaunchMillis
			ranks[r].all += t
			ranks[r].backward = t * 2 / 3 // the backward pass has two of the three products of each layer
		}
	}
	return ranks, nil
}

// step returns the times of one step.
func (s *simulator) step(ranks []work) Scaling {
	n := len(ranks)
	t := Scaling{Optimizer: s.OptimizerMillis}
	slowest := slices.MaxFunc(ranks, func(a, b work) int { return cmp.Compare(a.all, b.all) })
	for _, w := range ranks {
		t.Compute += w.all / float64(n)
	}
	t.Waiting = slowest.all - t.Compute
	half := make([]float64, len(s.buckets)) // of a reduce-scatter, or of an all-gather
	for i, size := range s.buckets {
		half[i] = s.ring(size, n)
	}
	done := 0.0
	for i := range s.buckets {
		begin := done
		for _, w := range ranks {
			begin = max(begin, w.all-w.backward*s.rest(i))
		}
		done = begin + half[i]
		if !s.Zero1 {
			done += half[i]
		}
	}
	t.Communication = max(0, done-slowest.all)
	if s.Zero1 {
		t.Optimizer /= float64(n)
		for _, h := range half {
			t.Communication += h
		}
	}
	t.Step = t.Compute + t.Waiting + t.Communication + t.Optimizer
	return t
}

// rest returns the remaining fraction of the backward pass when bucket i is complete.
func (s *simulator) rest(i int) float64 {
	if i == len(s.buckets)-1 {
		return 0
	}
	return s.layer * float64(s.config.Layers-i)
}

// ring returns the time, in milliseconds, of a reduce-scatter or an all-gather of the
// given number of bytes over n ranks.
func (s *simulator) ring(bytes float64, n int) float64 {
	if n == 1 {
		return 0
	}
	speed := s.Link
	if n > s.GPUsPerMachine {
		speed = min(speed, s.Network)
	}
	hops := float64(n - 1)
	return bytes*hops/float64(n)/speed/1e6 + hops*s.LatencyMicros/1e3
}
