//go:build !cgo || !linux

package driver

import (
	"fmt"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
)

// Open returns an error that wraps [trainer.ErrUnavailable]: this build cannot
// open a GPU.
func Open(int) (device.Device, error) { return nil, errBuild }

// Look reports that this build cannot open a GPU.
func Look() Survey { return Survey{NCCL: errBuild, Err: errBuild} }

var errBuild = fmt.Errorf("%w: this program was built without CUDA, which needs Linux and cgo: build it with make build-cuda", trainer.ErrUnavailable)
