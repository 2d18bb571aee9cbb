//go:build cgo && linux

package driver

// #include "gpu.h"
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pretext/trainer/cuda/device"
)

// NewStream creates a stream.
func (g *gpu) NewStream() (device.Stream, error) {
	var s C.CUstream
	if err := g.cuda("cuStreamCreate", C.pt_cuStreamCreate(g.c, &s, C.CU_STREAM_NON_BLOCKING)); err != nil {
		return 0, fmt.Errorf("create a stream: %w", err)
	}
	g.streams[device.Stream(s)] = s
	return device.Stream(s), nil
}

// stream returns the driver's handle of stream s.
func (g *gpu) stream(s device.Stream) C.CUstream {
	c, ok := g.streams[s]
	if !ok {
		panic(fmt.Sprintf("BUG: stream %#x was not created here, or is freed", uintptr(s)))
	}
	return c
}

// FreeStream waits for the queued work of stream s and frees the stream.
func (g *gpu) FreeStream(s device.Stream) error {
	err := g.SyncStream(s)
	c := g.stream(s)
	delete(g.streams, s)
	return errors.Join(err, g.cuda("cuStreamDestroy", C.pt_cuStreamDestroy_v2(g.c, c)))
}

// NewEvent creates an event. [gpu.Elapsed] needs events with timing set.
func (g *gpu) NewEvent(timing bool) (device.Event, error) {
	flags := C.uint(C.CU_EVENT_DISABLE_TIMING)
	if timing {
		flags = C.CU_EVENT_DEFAULT
	}
	var e C.CUevent
	if err := g.cuda("cuEventCreate", C.pt_cuEventCreate(g.c, &e, flags)); err != nil {
		return 0, fmt.Errorf("create an event: %w", err)
	}
	g.events[device.Event(e)] = e
	return device.Event(e), nil
}

// event returns the driver's handle of event e.
func (g *gpu) event(e device.Event) C.CUevent {
	c, ok := g.events[e]
	if !ok {
		panic(fmt.Sprintf("BUG: event %#x was not created here, or is freed", uintptr(e)))
	}
	return c
}

// FreeEvent frees an event.
func (g *gpu) FreeEvent(e device.Event) error {
	c := g.event(e)
	delete(g.events, e)
	return g.cuda("cuEventDestroy", C.pt_cuEventDestroy_v2(g.c, c))
}

// Record makes e mark the current end of stream s: all work queued so far.
func (g *gpu) Record(s device.Stream, e device.Event) error {
	return g.cuda("cuEventRecord", C.pt_cuEventRecord(g.c, g.event(e), g.stream(s)))
}

// Wait delays all work that is queued in s from now on until the work that e marks
// is done.
func (g *gpu) Wait(s device.Stream, e device.Event) error {
	return g.cuda("cuStreamWaitEvent", C.pt_cuStreamWaitEvent(g.c, g.stream(s), g.event(e), 0))
}

// Elapsed returns the time that the GPU took from one event to the other. Both must
// be done and have timing set.
func (g *gpu) Elapsed(from, to device.Event) (time.Duration, error) {
	var ms C.float
	if err := g.cuda("cuEventElapsedTime", C.pt_cuEventElapsedTime(g.c, &ms, g.event(from), g.event(to))); err != nil {
		return 0, err
	}
	return time.Duration(float64(ms) * float64(time.Millisecond)), nil
}

// SyncStream waits until all queued work of stream s is done.
func (g *gpu) SyncStream(s device.Stream) error {
	if c := g.stream(s); len(g.communicators) > 0 {
		return g.await("cuStreamQuery", func() C.CUresult { return C.pt_cuStreamQuery(g.c, c) })
	}
	return g.cuda("cuStreamSynchronize", C.pt_cuStreamSynchronize(g.c, g.stream(s)))
}

// SyncEvent waits until the work that e marks is done.
func (g *gpu) SyncEvent(e device.Event) error {
	if c := g.event(e); len(g.communicators) > 0 {
		return g.await("cuEventQuery", func() C.CUresult { return C.pt_cuEventQuery(g.c, c) })
	}
	return g.cuda("cuEventSynchronize", C.pt_cuEventSynchronize(g.c, g.event(e)))
}

// Sync waits until the queued work of all streams is done.
func (g *gpu) Sync() error {
	for _, s := range slices.Sorted(maps.Keys(g.streams)) {
		if err := g.SyncStream(s); err != nil {
			return err
		}
	}
	return nil
}
