package cpu

import (
	"errors"
	"fmt"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
)

// A Backend opens models on the CPU. The zero value uses all processors and the
// fastest instruction set.
type Backend struct {
	Threads int    // goroutines of a computation; 0: one for each processor
	ISA     string // "plain", "avx2", "avx512" or "neon"; "": the fastest that this machine has
}

var _ trainer.Backend = Backend{}

// ErrClosed is returned by the methods of a closed model.
var ErrClosed = errors.New("model is closed")

// Open creates a model. The precision is fp32, or for tests and experiments fp64, or bf16 or
// fp8 with the roundings of a GPU. If the machine lacks the instruction set, the error wraps [trainer.ErrUnavailable].
func (b Backend) Open(c trainer.Config, h trainer.Heads, o trainer.Options) (trainer.Model, error) {
	if err := errors.Join(c.Validate(), h.Validate(), c.CheckHeads(h), o.Validate()); err != nil {
		return nil, fmt.Errorf("open cpu model: %w", err)
	}
	switch o.Precision {
	case trainer.Float32:
		return open[float32](b, c, h, o)
	case trainer.Float64:
		return open[float64](b, c, h, o)
	case trainer.BFloat16, trainer.Float8:
		if err := lowerSupported(c, h, o); err != nil {
			return nil, fmt.Errorf("open cpu model: %w", err)
		}
		return open[float32](b, c, h, o)
	}
	return nil, fmt.Errorf("open cpu model: precision %q: must be %q or %q", o.Precision, trainer.Float32, trainer.Float64)
}

func open[T kernel.Float](b Backend, c trainer.Config, h trainer.Heads, o trainer.Options) (trainer.Model, error) {
	isa := kernel.ISA(b.ISA)
	if o.Precision == trainer.Float64 {
		isa = kernel.Plain
	}
	set, err := kernel.For[T](isa)
	if err != nil {
		return nil, fmt.Errorf("open cpu model: %w: %w", trainer.ErrUnavailable, err)
	}
	return newModel(c, h, o, set, kernel.NewPool(b.Threads)), nil
}

// Bounds of [Backend.AutoTokens].
const (
	autoMost   = 8192
	autoLeast  = 512
	autoMemory = 1 << 30 // bytes of activations
)

// AutoTokens returns the largest power of two, from 512 to 8192, whose
// activations in training fit into 1 GiB.
func (b Backend) AutoTokens(c trainer.Config, _ trainer.Heads, _ trainer.Options) (int, error) {
	token := 4 * (8*c.HiddenSize + c.IntermediateSize) * (c.Layers + 2) // bytes; see "Memory" in the package comment
	tokens := autoMost
	for tokens > autoLeast && tokens*token > autoMemory {
		tokens /= 2
	}
	return tokens, nil
}
