package kernels_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
)

// gpu runs the checks of kernels instead of the simulator. It is nil but in tests
// built with the tag gpu.
var gpu *hardware

// hardware runs kernels on one device, for one check at a time.
type hardware struct {
	sync.Mutex
	device    device.Device
	stream    device.Stream
	host      []byte // page-locked, through which all copies go
	modules   map[kernelName]device.Module
	allocated []device.Pointer // by the check under way
}

// A kernelName is a kernel of a module, or the module where name is empty.
type kernelName struct {
	typ          kernels.Type
	module, name string
}

// begin waits until no other check runs, and returns what ends this one.
func (h *hardware) begin() (end func()) {
	h.Lock()
	return func() {
		for _, p := range h.allocated {
			_ = h.device.Free(p) // a device that a check broke fails the next one
		}
		h.allocated = nil
		h.Unlock()
	}
}

// alloc returns n bytes that are not a number in every type: a kernel that writes
// only a part of its output is seen.
func (h *hardware) alloc(n int) (device.Pointer, error) {
	p, err := h.device.Alloc(max(n, 1))
	if err != nil {
		return 0, err
	}
	h.allocated = append(h.allocated, p)
	return p, h.write(p, bytes.Repeat([]byte{0xff}, n))
}

func (h *hardware) write(p device.Pointer, b []byte) error {
	for ; len(b) > 0; b = b[min(len(b), len(h.host)):] {
		n := copy(h.host, b)
		if err := errors.Join(h.device.ToDevice(h.stream, p, h.host[:n]), h.device.SyncStream(h.stream)); err != nil {
			return err
		}
		p = p.Add(n)
	}
	return nil
}

func (h *hardware) read(b []byte, p device.Pointer) error {
	for len(b) > 0 {
		n := min(len(b), len(h.host))
		if err := errors.Join(h.device.ToHost(h.stream, h.host[:n], p), h.device.SyncStream(h.stream)); err != nil {
			return err
		}
		copy(b, h.host[:n])
		b, p = b[n:], p.Add(n)
	}
	return nil
}

// launch runs a kernel to its end.
func (h *hardware) launch(k kernelName, c device.Config, args []byte) error {
	key := kernelName{k.typ, k.module, ""}
	m, ok := h.modules[key]
	if !ok {
		text, err := kernels.PTX(k.module, k.typ)
		if err == nil {
			m, err = h.device.Load(text)
		}
		if err != nil {
			return err
		}
		h.modules[key] = m
	}
	f, _, err := h.device.Function(m, k.name)
	if err != nil {
		return err
	}
	if c.Shared > 0 {
		if err := h.device.AllowShared(f, c.Shared); err != nil {
			return err
		}
	}
	if err := errors.Join(h.device.Launch(h.stream, f, c, args), h.device.SyncStream(h.stream)); err != nil {
		return fmt.Errorf("%s.%s %s: %w", k.module, k.typ, k.name, err)
	}
	return nil
}
