package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pretext/internal/failure"
	"pretext/trainer"
	"pretext/trainer/cpu"
	"pretext/trainer/cuda"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/driver"
)

// A Device selects the CPU or a GPU, and the precision of the computation. The zero
// value is the CPU with all its cores.
type Device struct {
	Name          string            // "cpu", "cuda", or "cuda:N" for the GPU of ordinal N; "" means "cpu"
	Precision     trainer.Precision // "" means fp32 on the CPU and bf16 on a GPU
	Deterministic bool              // GPU: results are bit-for-bit reproducible, at a lower speed; CPU results always are
	Threads       int               // CPU: 0 means one per processor; does not affect results
	Profile       bool              // GPU: [Opened.ModelTime] can measure kernels
	ISA           string            // CPU: instruction set "avx512", "avx2", "neon" or "plain"; "" means the fastest available
}

// Kinds of devices.
const (
	deviceCPU  = "cpu"
	deviceCUDA = "cuda"
)

// parse returns the kind of the device and its ordinal.
func (d Device) parse() (kind string, ordinal int, err error) {
	kind, number, numbered := strings.Cut(cmp.Or(d.Name, deviceCPU), ":")
	if numbered {
		n, numberErr := strconv.ParseUint(number, 10, 16)
		ordinal, err = int(n), numberErr
	}
	if err != nil || kind != deviceCUDA && (kind != deviceCPU || numbered) {
		return "", 0, fmt.Errorf("--device %q: must be cpu, cuda or cuda:N", d.Name)
	}
	return kind, ordinal, nil
}

// Validate reports every wrong option.
func (d Device) Validate() error {
	var c checks
	kind, _, err := d.parse()
	p := d.precision()
	known := slices.Contains([]trainer.Precision{trainer.Float32, trainer.BFloat16, trainer.Float16, trainer.Float8}, p)
	c.want(known, "--precision %q: must be fp32, bf16, fp16 or fp8", p)
	c.want(!known || kind != deviceCPU || p == trainer.Float32, "--precision %s: the CPU computes in fp32 only", p)
	c.want(d.Threads >= 0, "--threads %d: must not be negative", d.Threads)
	return c.err(err)
}

func (d Device) precision() trainer.Precision {
	if d.Precision == "" && strings.HasPrefix(d.Name, deviceCUDA) {
		return trainer.BFloat16
	}
	return cmp.Or(d.Precision, trainer.Float32)
}

// An Opened is an open device.
type Opened struct {
	Kind      string // "cpu" or "cuda"
	Precision trainer.Precision

	deterministic bool
	backend       trainer.Backend
	profile       *cuda.Profile // nil: none
	close         func() error
}

// Open opens the device. Close it after the models that it opened. If this
// build or this machine lacks the device, the error wraps
// [trainer.ErrUnavailable], states what is missing, and is a usage error.
//
// This is the only place that connects a device with its backend.
func (d Device) Open() (*Opened, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	kind, ordinal, _ := d.parse() // checked by Validate
	o := &Opened{Kind: kind, Precision: d.precision(), deterministic: d.Deterministic, close: func() error { return nil }}
	if kind == deviceCPU && d.Profile {
		return nil, errNotProfiled
	}
	if kind == deviceCPU {
		o.backend = cpu.Backend{Threads: d.Threads, ISA: d.ISA}
		return o, nil
	}
	gpu, err := driver.Open(ordinal)
	if err != nil {
		err = fmt.Errorf("--device %s: %w", d.Name, err)
		if errors.Is(err, trainer.ErrUnavailable) {
			err = failure.Usage(err)
		}
		return nil, err
	}
	return d.On(gpu), nil
}

// On is Open for a GPU that is open already, real or simulated. Close closes it.
func (d Device) On(gpu device.Device) *Opened {
	o := &Opened{Kind: deviceCUDA, Precision: d.precision(), deterministic: d.Deterministic, close: gpu.Close}
	if d.Profile {
		o.profile = cuda.NewProfile(gpu)
		gpu = o.profile
	}
	o.backend = cuda.New(gpu)
	return o
}

// warnBy sets the function that receives the backend's warnings.
func (o *Opened) warnBy(warn func(string)) {
	if b, ok := o.backend.(*cuda.Backend); ok {
		b.Warn = warn
	}
}

// Close closes the device.
func (o *Opened) Close() error { return o.close() }

// Model opens a model without weights, in the device's precision. c, h and
// options describe the model. Close it after use.
func (o *Opened) Model(c trainer.Config, h trainer.Heads, options trainer.Options) (trainer.Model, error) {
	options.Precision, options.Deterministic = o.Precision, o.deterministic
	return o.backend.Open(c, h, options)
}

// AutoTokens returns the maximum number of tokens of a micro-batch for a run whose
// options do not set it: the number that suits the device, but at least longest, the
// length of the longest example in tokens (0 if unknown).
func (o *Opened) AutoTokens(c trainer.Config, h trainer.Heads, longest int) (int, error) {
	if longest == 0 {
		longest = c.MaxPositions
	}
	n, err := o.backend.AutoTokens(c, h, trainer.Options{Precision: o.Precision, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)})
	return max(n, longest), err
}

// Peak measures the fastest matrix product of the CPU for at least t, in
// floating-point operations per second. For other devices it returns 0.
func (o *Opened) Peak(t time.Duration) (float64, error) {
	if b, ok := o.backend.(cpu.Backend); ok {
		return b.Peak(t)
	}
	return 0, nil
}

// minTokens is the length of the shortest valid example: [CLS] [SEP] [SEP].
const minTokens = 3

// BatchLimits returns options that limit a micro-batch to the given numbers of
// tokens and sequences, each sequence with at most predictions masked tokens.
// predictions 0 means unknown.
func BatchLimits(tokens, sequences, predictions int) trainer.Options {
	o := trainer.Options{Tokens: tokens, Sequences: min(sequences, tokens/minTokens+1), Masked: tokens}
	if predictions > 0 {
		o.Masked = min(o.Masked, o.Sequences*predictions)
	}
	return o
}
