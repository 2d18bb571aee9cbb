package driver

import "pretext/trainer/cuda/device"

// A Survey lists the GPUs of this machine and NVIDIA's libraries for them.
type Survey struct {
	Libraries []Library           // libraries that could be opened, in this order
	CUDA      string              // newest CUDA version that the driver supports, e.g. "12.8"; empty if unknown
	Devices   []device.Properties // GPUs, by ordinal
	NCCL      error               // why ranks cannot use NCCL; nil if they can
	Err       error               // why no GPU can be opened, wraps trainer.ErrUnavailable; nil if one may be
}

// A Library is a shared library of NVIDIA that was found.
type Library struct {
	Name    string // e.g. "cuBLASLt"
	Path    string // path of the file
	Version string // empty if the library has no version of its own
}
