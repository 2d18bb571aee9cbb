package sim

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"time"
)

// A Stream is a queue of work, which runs in the order in which it was queued. Work in
// different streams runs in any order that events allow. Work runs only when the host
// synchronizes; then the streams take turns at random.
//
// Two pieces of work race if no event orders them, both access the same memory, and at least
// one writes. A race is a fault, independent of the order in which the work actually ran.
type Stream struct {
	device *Device
	index  int
	queue  []*work
	put    uint32 // number of pieces of work queued so far
	clock  clock  // clock of the last piece of work that ran
}

// An Event marks a point in a stream: the end of all work queued before Record.
type Event struct{ recorded *work }

// A clock is a vector clock. It has, for each stream, the number of its pieces of work that
// are certain to be done at some point in time.
type clock []uint32

func (c clock) join(o clock) clock {
	for len(c) < len(o) {
		c = append(c, 0)
	}
	for i, n := range o {
		c[i] = max(c[i], n)
	}
	return c
}

// has reports whether the first n pieces of work of a stream are done at c.
func (c clock) has(stream int, n uint32) bool { return stream < len(c) && c[stream] >= n }

// work is a piece of work in a stream.
type work struct {
	name   string
	stream int
	number uint32 // position in its stream, from 1
	before clock  // the work that the host had waited for when it queued this work
	after  *work  // work that records an event and must be done first; nil: none
	run    func() error
	done   bool
	at     time.Duration // of a record: the time at which it ran

	collecting *collecting // set for a collective, which has a beginning and an end; nil for other work
	clock      clock       // everything that is done once this work is done, itself included
	first      uint32      // interval at which it began
}

// NewStream returns an empty stream.
func (d *Device) NewStream() *Stream {
	s := &Stream{device: d, index: len(d.streams)}
	d.streams = append(d.streams, s)
	return s
}

// add puts w at the end of the queue.
func (s *Stream) add(w *work) {
	s.put++
	w.stream, w.number, w.before = s.index, s.put, append(clock(nil), s.device.known...)
	s.queue = append(s.queue, w)
}

// Launch queues a launch of kernel k.
func (s *Stream) Launch(k *Kernel, c Config, args []byte) {
	args = append([]byte(nil), args...)
	s.add(&work{name: k.program.Name, run: func() error { return s.device.Launch(k, c, args) }})
}

// Write queues a copy of b from the host to the device memory at p. The caller
// must not change b until it has synchronized.
func (s *Stream) Write(p Pointer, b []byte) { s.write(p, b, b) }

// writeUnchanged is like Write, but raises a fault if the host changes b before the copy
// runs.
func (s *Stream) writeUnchanged(p Pointer, b []byte) { s.write(p, b, bytes.Clone(b)) }

func (s *Stream) write(p Pointer, b, want []byte) {
	const name = "copy to the device"
	s.add(&work{name: name, run: func() error {
		if !bytes.Equal(b, want) {
			return &Fault{Kind: HostChanged, Kernel: name, Detail: fmt.Sprintf("%d bytes to %#x", len(b), uint64(p))}
		}
		to, err := s.device.bytes(p, len(b), writes, name)
		copy(to, b)
		return err
	}})
}

// Read queues a copy of len(b) bytes of device memory at p to the host. b holds
// them once the host has synchronized.
func (s *Stream) Read(b []byte, p Pointer) {
	s.add(&work{name: "copy to the host", run: func() error {
		from, err := s.device.bytes(p, len(b), reads, "copy to the host")
		copy(b, from)
		return err
	}})
}

// Copy queues a copy of n bytes of device memory to other device memory.
func (s *Stream) Copy(to, from Pointer, n int) {
	s.add(&work{name: "copy", run: func() error {
		src, err := s.device.bytes(from, n, reads, "copy")
		if err != nil {
			return err
		}
		dst, err := s.device.bytes(to, n, writes, "copy")
		copy(dst, src)
		return err
	}})
}

// Clear queues setting n bytes of device memory at p to zero.
func (s *Stream) Clear(p Pointer, n int) {
	s.add(&work{name: "clear", run: func() error {
		dst, err := s.device.bytes(p, n, writes, "clear")
		clear(dst)
		return err
	}})
}

// Matmul queues the matrix product m.
func (s *Stream) Matmul(m Matmul) {
	s.add(&work{name: "matmul", run: func() error {
		s.device.elapsed += m.time
		return s.device.multiply(m)
	}})
}

// Record makes e mark the current end of the stream: all work queued so far.
func (s *Stream) Record(e *Event) {
	w := &work{name: "record"}
	w.run = func() error {
		w.at = s.device.elapsed
		return nil
	}
	e.recorded = w
	s.add(w)
}

// Wait delays all later work in s until the work that e marks at the time of the call is
// done. If e was never recorded, Wait does nothing.
func (s *Stream) Wait(e *Event) {
	if e.recorded != nil {
		s.add(&work{name: "wait", after: e.recorded, run: func() error { return nil }})
	}
}

// Synchronize runs queued work until the stream is empty. It may also run work of
// other streams. It returns the first fault of all work since [New]; after a fault
// the device cannot be used any more.
func (s *Stream) Synchronize() error {
	for len(s.queue) > 0 && s.device.failed == nil {
		s.device.step()
	}
	s.device.known = s.device.known.join(s.clock)
	return s.device.failed
}

// Synchronize runs the queued work of all streams and returns the first fault.
func (d *Device) Synchronize() error {
	for _, s := range d.streams {
		if err := s.Synchronize(); err != nil {
			return err
		}
	}
	d.history = d.history[:0]
	return nil
}

// step chooses a random stream whose next piece of work need not wait for another stream, and
// runs that piece. If the piece is a collective that has begun, step waits for the other
// ranks. So the choice does not depend on the progress of other ranks, and runs can be
// repeated.
func (d *Device) step() {
	var ready []*Stream
	for _, s := range d.streams {
		if len(s.queue) > 0 && (s.queue[0].after == nil || s.queue[0].after.done) {
			ready = append(ready, s)
		}
	}
	if len(ready) == 0 {
		d.failed = errors.New("sim: deadlock: every stream waits for an event of another")
		return
	}
	s := ready[d.order.IntN(len(ready))]
	w := s.queue[0]
	if w.collecting != nil && w.collecting.begun {
		s.done(w, w.collecting.end(d))
		return
	}
	w.clock = append(clock(nil), s.clock...).join(w.before)
	if w.after != nil {
		w.clock = w.clock.join(w.after.clock)
	}
	own := make(clock, s.index+1)
	own[s.index] = w.number
	s.clock = w.clock.join(own)
	w.clock = s.clock
	d.begin(w)
	err := w.run()
	d.now = nil
	if err != nil || w.collecting == nil {
		s.done(w, err)
	}
}

// done removes w, the first piece of work in the queue, with its result.
func (s *Stream) done(w *work, err error) {
	s.queue = s.queue[1:]
	w.done = true
	if err != nil {
		s.device.failed = err
	}
}

// begin makes w the running work and finds the oldest work that may run at the
// same time.
func (d *Device) begin(w *work) {
	d.interval++
	w.first, d.now, d.unordered, d.looked = d.interval, w, 0, lookedUp{}
	for _, o := range d.history {
		if !w.clock.has(o.stream, o.number) {
			d.unordered = o.first
			break
		}
	}
	d.history = append(d.history, w)
}

// conflict returns the work that ran in the given interval, unless an event orders it before
// the running work; then it returns nil.
func (d *Device) conflict(interval uint32) *work {
	if d.now == nil || d.unordered == 0 || interval < d.unordered || interval >= d.now.first {
		return nil
	}
	if interval < d.looked.first || interval >= d.looked.end { // outside of the cached range
		d.looked = d.lookUp(interval)
	}
	return d.looked.other
}

// A lookedUp caches the result of conflict, which is the same for all intervals in
// [first, end).
type lookedUp struct {
	first, end uint32
	other      *work
}

// lookUp returns the range of intervals around the given one for which conflict has the same
// result: those of one racing piece of work, or those of all work between two such pieces.
func (d *Device) lookUp(interval uint32) lookedUp {
	from := sort.Search(len(d.history), func(i int) bool { return d.history[i].first > interval }) - 1
	to, l := from+1, lookedUp{end: d.now.first}
	races := func(i int) bool { return !d.now.clock.has(d.history[i].stream, d.history[i].number) }
	if from >= 0 && races(from) {
		l.other = d.history[from]
	} else {
		for from >= 0 && !races(from) {
			from--
		}
		if from >= 0 {
			from++
		}
		for to < len(d.history) && !races(to) {
			to++
		}
	}
	if from >= 0 {
		l.first = d.history[from].first
	}
	if to < len(d.history) {
		l.end = d.history[to].first
	}
	return l
}

// bytes returns the n bytes of global memory at p, for an access by a copy or a matrix
// product. It returns a [*Fault] if they are out of bounds, if the access races with another
// stream, or if it reads bytes that were never written. name is the operation, for faults.
func (d *Device) bytes(p Pointer, n int, how access, name string) ([]byte, error) {
	fault := func(kind Kind, format string, args ...any) error {
		return &Fault{Kind: kind, Kernel: name, Detail: fmt.Sprintf(format, args...)}
	}
	m := d.find(uint64(p), n)
	if m == nil {
		return nil, fault(OutOfBounds, "address %#x, %d bytes%s", uint64(p), n, d.nearest(uint64(p)))
	}
	at := int(uint64(p) - m.base)
	counts := d.others[name]
	if counts == nil {
		counts = &Counts{}
		d.others[name] = counts
	}
	for first, cells := range m.pieces(at, n) {
		size := 1 << m.shadow[first/chunkSize].grain
		counts.moved(cells, size, d.interval, how)
		if i, kind, detail := d.access(cells, how); kind != "" {
			return nil, fault(kind, "%s%s", m.place(first+i*size), detail)
		}
	}
	return m.data[at : at+n], nil
}

// access records an access by the running copy or matrix product in cells. If it races with
// another stream, or reads what was never written, access returns the index of the first such
// cell, the kind of the fault and what the fault says after the place.
func (d *Device) access(cells []cell, how access) (i int, kind Kind, detail string) {
	for i := range cells {
		c := &cells[i]
		other := d.conflict(c.wrote)
		if other == nil && how == writes {
			if other = d.conflict(c.read); other == nil {
				other = d.conflict(c.other)
			}
		}
		switch {
		case other != nil:
			return i, RaceInStreams, ": " + other.name + " in another stream"
		case how == writes:
			*c = cell{wrote: d.interval}
			continue
		case c.wrote == 0:
			return i, Unwritten, ""
		case c.flags&scratch != 0:
			return i, Unwritten, ": a matrix product used it as its workspace"
		}
		if d.unordered == 0 || c.other < d.unordered {
			c.other = c.read
		}
		c.read = d.interval
	}
	return 0, "", ""
}
