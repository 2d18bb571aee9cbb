package driver

import "pretext/trainer/cuda/device"

// A Survey is what this machine has for computing on a GPU.
type Survey struct {
	Libraries []Library           // opened, in the order of opening
	CUDA      string              // newest CUDA version that the driver supports, e.g. "12.8"; empty if unknown
	Devices   []device.Properties // by ordinal
	Err       error               // why Open fails for every device; wraps trainer.ErrUnavailable. Nil if it need not
}

// A Library is a shared library that was found.
type Library struct {
	Name    string // e.g. "cuBLASLt"
	Path    string // its file
	Version string // empty if it has none of its own
}
