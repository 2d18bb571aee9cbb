package cuda

import (
	"errors"
	"fmt"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
)

// A Backend opens models on one device. Several models may share it, but only
// one goroutine at a time may use them.
type Backend struct {
	// Transport selects how ranks exchange data. It applies to models opened later.
	Transport Transport

	// Warn is called with each warning for the user, once; nil: no warnings.
	Warn   func(message string)
	warned bool // the warning about missing NCCL was given

	device  device.Device
	modules map[kernels.Type]kernelSet // loaded so far

	// Set by tests.
	apart  bool // give every buffer its own allocation, so that the simulator sees accesses past its end
	limits limits
	ways   string // "fused" or "plain" for all choices of the encoder; "": measure and use the faster one
	worth  int64  // instead of worthMeasuring, for the algorithms of products; 0: none
	large  int64  // instead of worthMeasuring, for the encoder's choices; 0: none
}

var _ trainer.Backend = (*Backend)(nil)

// New returns the backend of a device. The caller closes the device after all
// models are closed.
func New(d device.Device) *Backend {
	return &Backend{device: d, modules: map[kernels.Type]kernelSet{}, limits: defaultLimits}
}

// ErrClosed is returned by the methods of a closed model.
var ErrClosed = errors.New("model is closed")

// Limits of the kernels.
const (
	headSize  = 64
	maxHidden = 1024  // 32 elements for each of a warp's 32 lanes: see kernels/norm.cu
	maxLength = 8192  // maximum tokens in a sequence
	maxGridYZ = 65535 // maximum blocks of a launch along y or z
)

// Open creates a model. It returns an error for a configuration that the kernels
// do not support.
func (b *Backend) Open(c trainer.Config, h trainer.Heads, o trainer.Options) (trainer.Model, error) {
	if err := errors.Join(c.Validate(), h.Validate(), c.CheckHeads(h), o.Validate()); err != nil {
		return nil, fmt.Errorf("open cuda model: %w", err)
	}
	err := supported(c, o)
	if err == nil && o.Precision == trainer.Float8 {
		err = eightBitsSupported(b.device.Properties(), c)
	}
	if err != nil {
		return nil, fmt.Errorf("open cuda model: %w", err)
	}
	m, err := b.open(c, h, o)
	if err != nil {
		return nil, fmt.Errorf("open cuda model: %w", err)
	}
	return m, nil
}

// types maps a precision to the type for which the kernels are compiled, and to the element
// type of matrices.
var types = map[trainer.Precision]struct {
	kernel  kernels.Type
	element device.DataType
}{
	trainer.Float32:  {kernels.F32, device.Float32},
	trainer.BFloat16: {kernels.BF16, device.BFloat16},
	trainer.Float16:  {kernels.F16, device.Float16},
	trainer.Float8:   {kernels.BF16, device.BFloat16},
}

// supported returns an error that lists every property of the model that the
// kernels do not support; nil if there is none.
func supported(c trainer.Config, o trainer.Options) error {
	var errs []error
	if c.HeadSize() != headSize {
		errs = append(errs, fmt.Errorf("head size %d (hidden_size / num_attention_heads): must be %d", c.HeadSize(), headSize))
	}
	if c.HiddenSize > maxHidden {
		errs = append(errs, fmt.Errorf("hidden_size %d: must be at most %d", c.HiddenSize, maxHidden))
	}
	if c.IntermediateSize%8 != 0 {
		errs = append(errs, fmt.Errorf("intermediate_size %d: must be a multiple of 8", c.IntermediateSize))
	}
	if c.MaxPositions > maxLength {
		errs = append(errs, fmt.Errorf("max_position_embeddings %d: must be at most %d", c.MaxPositions, maxLength))
	}
	if _, ok := types[o.Precision]; !ok {
		errs = append(errs, fmt.Errorf("precision %q: must be %q, %q, %q or %q", o.Precision, trainer.Float32, trainer.BFloat16, trainer.Float16, trainer.Float8))
	}
	if s := newShape(c, o, defaultLimits); s.sequences > maxGridYZ {
		errs = append(errs, fmt.Errorf("%d sequences in a batch: must be at most %d", o.Sequences, maxGridYZ-(s.sequences-o.Sequences)))
	}
	return errors.Join(errs...)
}

// Bounds of [Backend.AutoTokens]. Beyond 65,536 tokens matrix products do not
// become faster.
const (
	autoMost   = 1 << 16
	autoLeast  = 512
	autoMemory = 0.9 // fraction of the device's memory; the rest is for the driver, modules and plans
)

// AutoTokens returns the number of tokens per micro-batch to use if the user gave
// none: the largest power of two, from 512 to 65,536, for which the model's
// buffers fit in 90% of the device's memory. It returns 512 if none fits.
func (b *Backend) AutoTokens(c trainer.Config, h trainer.Heads, o trainer.Options) (int, error) {
	total := float64(b.device.Properties().Memory)
	tokens := autoMost
	for tokens > autoLeast {
		o.Tokens, o.Sequences, o.Masked = tokens, tokens/16, tokens/5
		if float64(newModel(c, h, o, newShape(c, o, defaultLimits)).requests().size()) <= autoMemory*total {
			break
		}
		tokens /= 2
	}
	return tokens, nil
}
