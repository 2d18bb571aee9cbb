//go:build gpu

package kernels_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/driver"
	"pretext/trainer/cuda/sim"
)

// TestMain makes the checks of kernels run on cuda:0, or with PRETEXT_GPU=sim on
// the simulator in its place, for a rehearsal. Tests that are about the simulator,
// or compare with it, use it still: leave them out with -run.
func TestMain(m *testing.M) {
	d, err := openGPU()
	if err == nil {
		gpu, err = newHardware(d)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("kernels run on", d.Properties().Name)
	code := m.Run()
	if err := d.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func openGPU() (device.Device, error) {
	if os.Getenv("PRETEXT_GPU") == "sim" {
		return sim.NewGPU(sim.Options{Seed: 1}), nil
	}
	return driver.Open(0)
}

func newHardware(d device.Device) (*hardware, error) {
	h := &hardware{device: d, modules: map[kernelName]device.Module{}}
	var err, err2 error
	h.stream, err = d.NewStream()
	h.host, err2 = d.AllocHost(1 << 20)
	return h, errors.Join(err, err2)
}
