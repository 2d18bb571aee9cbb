package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pretext/trainer"
	"pretext/trainer/cpu"
	"pretext/trainer/cuda"
	"pretext/trainer/cuda/device"
)

// A line is one thing that truth checks, and what it found.
type line struct {
	Kind    string  `json:"kind"` // "truth"
	Check   string  `json:"check"`
	OK      bool    `json:"ok"`
	Value   float64 `json:"value"`  // the worst of what is compared
	Limit   float64 `json:"limit"`  // the largest value that is allowed
	Median  float64 `json:"median"` // of what is compared
	Most    float64 `json:"median_limit,omitempty"`
	Tensor  string  `json:"tensor,omitempty"` // the worst tensor, with its layer
	Where   string  `json:"where,omitempty"`  // the part of the tensor, or of the batch, with the difference
	Seconds float64 `json:"seconds"`          // since the program began
}

// Tolerances: of fp32 against fp32, and of 16 bits against fp32. Those of loss and
// gradients are the backend's promise. Rows are in units of their typical norm.
type tolerance struct{ loss, worst, median, rows float64 }

var (
	single = tolerance{loss: 1e-5, worst: 1e-4, median: 1e-4, rows: 1e-3}
	half   = tolerance{loss: 1e-3, worst: 8e-2, median: 1e-2, rows: 0.1}
	// bf16 with sharp weights: see calm. The same kernels in fp16 keep those of half.
	coarse = tolerance{loss: 4e-3, worst: 0.25, median: 5e-2, rows: 0.25}
)

// tolerances returns what precision p may be off, with the weights of t.
func (t *truth) tolerances(p trainer.Precision) tolerance {
	switch {
	case p == trainer.Float32:
		return single
	case p == trainer.BFloat16 && t.temper == sharp:
		return coarse
	}
	return half
}

// truth compares what the device computes at full size with fp32, which has no tensor
// cores, and with PyTorch if o.torch names its program.
type truth struct {
	*options
	w      io.Writer
	device device.Device
	begin  time.Time
	broken []string

	config  trainer.Config // without dropout
	specs   []trainer.TensorSpec
	temper  temper
	weights tensors
	batch   *trainer.Batch
	places  []place // of each word
	probes  []int   // sequences that are looked at alone
	torch   map[string]*pass
}

// A pass is what a model computed of one batch.
type pass struct {
	loss      float64
	hidden    []float32 // (T, H) output of the encoder, without dropout
	gradients tensors
}

// allChecks are the names of the checks, in the order that finds faults soonest.
const allChecks = "small,torch,sharp,calm,alone,bits,accumulation,steps"

var pretraining = trainer.PretrainHeads()

// truth runs all checks, and returns an error that names those that are broken.
func (o *options) truth(w io.Writer, d device.Device) error {
	t := &truth{options: o, w: w, device: d, begin: time.Now()}
	if err := t.prepare(); err != nil {
		return err
	}
	checks := map[string]func() error{
		"small": t.small, "torch": t.pytorch, "sharp": func() error { return t.full(sharp) }, "calm": func() error { return t.full(calm) },
		"alone": t.alone, "bits": t.bits, "accumulation": t.accumulation, "steps": t.trained,
	}
	for name := range strings.SplitSeq(o.checks, ",") {
		check := checks[name]
		if check == nil {
			return fmt.Errorf("--checks %q: must be some of %s", name, allChecks)
		}
		if err := check(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(t.broken) > 0 {
		return fmt.Errorf("truth: %d broken: %s", len(t.broken), strings.Join(t.broken, "; "))
	}
	return nil
}

// prepare makes weights and batch: random lengths, and a sequence of 500 tokens, whose last
// tile is not full.
func (t *truth) prepare() error {
	var err error
	if t.config, err = trainer.Preset(t.model, t.vocab); err != nil {
		return err
	}
	t.config.HiddenDropout, t.config.AttentionDropout = 0, 0
	t.specs = trainer.Tensors(t.config, pretraining)
	d, err := readLengths(t.lengths)
	if err != nil {
		return err
	}
	lengths := []int{min(500, t.tokens)}
	if rest := t.tokens - lengths[0]; rest > 0 {
		lengths = append(d.draw(rest, rand.New(rand.NewPCG(1, 1))), lengths[0])
	}
	if t.batch, t.places, err = t.addressed(lengths, t.config.MaxPositions); err != nil {
		return err
	}
	t.probes = []int{len(lengths) - 1}
	if n := len(lengths); n > 2 {
		t.probes = append(t.probes, 0, n/2)
	}
	return nil
}

// become makes the weights those of a temper.
func (t *truth) become(how temper) {
	if t.temper != how {
		t.temper, t.weights = how, trainedWeights(t.config, t.specs, how, 1)
	}
}

// A variant is a way to compute a batch.
type variant struct {
	precision     trainer.Precision
	dropout       float64
	deterministic bool
	parts         int // micro-batches of a step; 0 counts as 1
}

// name returns the variant's name in lines and files.
func (v variant) name() string {
	name := string(v.precision)
	if v.dropout > 0 {
		name += " with dropout"
	}
	return name
}

// limitsOf returns options with the limits of batches.
func limitsOf(batches ...*trainer.Batch) (o trainer.Options) {
	for _, b := range batches {
		o.Tokens, o.Sequences, o.Masked = max(o.Tokens, b.Tokens()), max(o.Sequences, b.Sequences()), max(o.Masked, b.Masked())
	}
	return o
}

// open opens a model with weights on a backend, within the limits that o has.
func (t *truth) open(b trainer.Backend, v variant, o trainer.Options, optimizer trainer.OptimizerName) (trainer.Model, error) {
	c := t.config
	c.HiddenDropout, c.AttentionDropout = v.dropout, v.dropout
	o.Precision, o.Train, o.Seed, o.Deterministic = v.precision, true, dropoutSeed, v.deterministic
	o.Optimizer = trainer.DefaultOptimizer(optimizer)
	m, err := b.Open(c, pretraining, o)
	if err != nil {
		return nil, err
	}
	_, err = m.Load(trainer.Weights, t.weights.seq(t.specs))
	return m, err
}

const dropoutSeed = 0x5eed_0123_4567_89ab

// compute runs one step of a variant on a batch, without the update, on the device.
func (t *truth) compute(v variant, batch *trainer.Batch) (*pass, error) {
	return t.computeOn(cuda.New(t.device), v, batch)
}

func (t *truth) computeOn(b trainer.Backend, v variant, batch *trainer.Batch) (*pass, error) {
	parts := split(batch, max(v.parts, 1))
	m, err := t.open(b, v, limitsOf(parts...), trainer.AdamW)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	r := &pass{}
	for tries := 0; ; tries++ {
		for i, p := range parts {
			t.plantIn(p)
			if err := m.Accumulate(p, batch.Counts(pretraining).Coef(), i == len(parts)-1); err != nil {
				return nil, err
			}
		}
		if r.gradients, err = collect(m.Tensors(trainer.Gradients)); err != nil {
			return nil, err
		}
		info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-12, Steps: 1})
		if err != nil {
			return nil, err
		}
		r.loss = info.Sums.Loss()
		if !info.Skipped || v.precision != trainer.Float16 || tries == 20 {
			break // in fp16 the first loss scales may be too large
		}
	}
	if v.dropout == 0 && len(parts) == 1 {
		out := trainer.Outputs{Want: trainer.OutputHidden}
		_, err = m.Forward(batch, &out)
		r.hidden = out.Hidden
	}
	return r, err
}

// split divides a batch into n batches of about as many sequences each.
func split(b *trainer.Batch, n int) (parts []*trainer.Batch) {
	if n == 1 {
		return []*trainer.Batch{b}
	}
	s := b.Sequences()
	for i := range n {
		if from, to := i*s/n, (i+1)*s/n; to > from {
			parts = append(parts, part(b, from, to))
		}
	}
	return parts
}

// plantIn tells a planted fault where the sequences of the next batch lie.
func (t *truth) plantIn(b *trainer.Batch) {
	if p, ok := t.device.(*planted); ok {
		p.cu = b.CuSeqlens
	}
}

// report writes a line, and notes it if it is broken.
func (t *truth) report(l line) error {
	l.Kind, l.Seconds = "truth", math.Round(10*time.Since(t.begin).Seconds())/10
	l.OK = l.Value <= l.Limit && (l.Most == 0 || l.Median <= l.Most)
	// JSON has no infinity.
	l.Value, l.Median = min(l.Value, math.MaxFloat64), min(l.Median, math.MaxFloat64)
	if !l.OK {
		t.broken = append(t.broken, fmt.Sprintf("%s: %.2g, allowed %.2g (%s)", l.Check, l.Value, l.Limit, strings.TrimLeft(strings.Join([]string{l.Tensor, l.Where}, ", "), ", ")))
	}
	return write(t.w, l)
}

// against compares a pass with its reference: the loss, every gradient, and, where the
// pass has them, the tokens' outputs and the rows of the word embeddings.
func (t *truth) against(name string, got, want *pass, by tolerance) error {
	if err := t.report(line{Check: name + ": loss", Value: math.Abs(got.loss-want.loss) / want.loss, Limit: by.loss}); err != nil {
		return err
	}
	h := t.config.HiddenSize
	if got.hidden != nil && want.hidden != nil {
		worst, median := worstRows(got.hidden, want.hidden, h, t.token)
		if err := t.report(line{Check: name + ": outputs of tokens", Value: worst.error, Limit: by.rows, Median: median, Where: t.tokens64(worst)}); err != nil {
			return err
		}
	}
	if err := t.gradients(name+": gradients", got.gradients, want.gradients, by); err != nil {
		return err
	}
	const words = "bert.embeddings.word_embeddings.weight"
	worst, median := worstRows(got.gradients[words], want.gradients[words], h, t.word)
	return t.report(line{Check: name + ": gradients of words", Value: worst.error, Limit: 2 * by.rows, Median: median, Tensor: words, Where: t.tokens64(worst)})
}

// gradients compares all gradients, and those of each attention head.
func (t *truth) gradients(name string, got, want tensors, by tolerance) error {
	all := differences(got, want, t.specs)
	worst := all[0].spec
	l := line{Check: name, Value: all[0].relative, Limit: by.worst, Median: all[len(all)/2].relative, Most: by.median, Tensor: worst.Name}
	if all[0].relative > 0 {
		l.Where = where(got[worst.Name], want[worst.Name], worst.Shape)
	}
	if err := t.report(l); err != nil {
		return err
	}
	d := slices.MaxFunc(all, func(a, b difference) int { return compareDown(b.ofHead, a.ofHead) })
	return t.report(line{Check: name + " of heads", Value: d.ofHead, Limit: 2 * by.worst, Tensor: d.spec.Name, Where: fmt.Sprintf("head %d", d.head)})
}

// token and word return where row i of the outputs, and of the word embeddings, belongs.
func (t *truth) token(i int) (place, bool) {
	for s, from := range t.batch.CuSeqlens[1:] {
		if i < int(from) {
			return place{s, i - int(t.batch.CuSeqlens[s]), 1}, true
		}
	}
	return place{}, false
}

func (t *truth) word(i int) (place, bool) {
	if i >= len(t.places) || t.places[i].tokens == 0 {
		return place{}, false
	}
	return t.places[i], true
}

func (t *truth) tokens64(r tokenRange) string {
	n := int(t.batch.CuSeqlens[r.sequence+1] - t.batch.CuSeqlens[r.sequence])
	return fmt.Sprintf("sequence %d of %d tokens, tokens %d to %d", r.sequence, n, r.first, min(r.first+tile, n)-1)
}

// small compares fp32 with the CPU backend in double precision: two sequences, dropout.
func (t *truth) small() error {
	c, err := trainer.Preset("tiny", 1003)
	if err != nil {
		return err
	}
	s := *t
	s.config, s.specs = c, trainer.Tensors(c, pretraining)
	s.become(sharp)
	o := *t.options
	o.vocab = c.VocabSize
	if s.batch, s.places, err = o.addressed([]int{30, 67}, c.MaxPositions); err != nil {
		return err
	}
	got, err := s.compute(variant{precision: trainer.Float32, dropout: 0.1}, s.batch)
	if err != nil {
		return err
	}
	want, err := s.computeOn(cpu.Backend{}, variant{precision: trainer.Float64, dropout: 0.1}, s.batch)
	if err != nil {
		return err
	}
	err = s.against("fp32 with dropout against the CPU, small", got, want, single)
	t.broken = s.broken
	return err
}

// pytorch has PyTorch compute the batch in fp32, and take steps with it, if there is a
// program for it.
func (t *truth) pytorch() error {
	if t.torchProgram == "" {
		return nil
	}
	dir := t.out
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	t.become(sharp)
	err := writeFile(filepath.Join(dir, "weights.safetensors"), t.specs, t.weights)
	if err == nil {
		err = writeBatch(filepath.Join(dir, "batch.safetensors"), t.batch)
	}
	if err == nil {
		err = writeJSON(dir, "truth.json", map[string]any{"config": t.config, "dropout": dropoutRate, "seed_low": dropoutSeed & 0xffffffff, "seed_high": uint64(dropoutSeed) >> 32})
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(t.seconds*float64(time.Second)))
	defer cancel()
	words := append(strings.Fields(t.torchProgram), dir)
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		// What it computed before counts: each result is a file of its own.
		fmt.Fprintf(os.Stderr, "truth: %s: %v\n", t.torchProgram, err)
	}
	t.torch = map[string]*pass{}
	for _, v := range []variant{{precision: trainer.Float32}, {precision: trainer.Float32, dropout: dropoutRate}} {
		p, err := readPass(filepath.Join(dir, "torch "+v.name()), t.specs)
		if err != nil {
			// A missing reference is a broken line: the check was asked for.
			t.broken = append(t.broken, fmt.Sprintf("PyTorch %s: %v", v.name(), err))
			continue
		}
		t.torch[v.name()] = p
	}
	return nil
}

// dropoutRate is the drop probability of the variants with dropout, that of pre-training.
const dropoutRate = 0.1

// readPass reads what PyTorch computed: NAME.safetensors has the gradients, NAME.loss the
// loss as text.
func readPass(name string, specs []trainer.TensorSpec) (*pass, error) {
	b, err := os.ReadFile(name + ".loss")
	if err != nil {
		return nil, err
	}
	p := &pass{}
	if _, err := fmt.Sscan(string(b), &p.loss); err != nil {
		return nil, fmt.Errorf("%s.loss: %w", name, err)
	}
	p.gradients, err = readFile(name+".safetensors", specs)
	return p, err
}
