package sim

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
)

// A Stream is a queue of work: what is put into it runs in order, and what is in
// different streams in any order that events allow. Work begins when the host
// synchronizes: then streams take turns at random.
//
// Two pieces of work that no event orders and that touch the same memory, one of
// them writing, are a fault in whatever order they ran.
type Stream struct {
	device *Device
	index  int
	queue  []*work
	put    uint32 // pieces of work so far
	clock  clock  // of the last that ran
}

// An Event is a point in a stream.
type Event struct{ recorded *work }

// A clock holds, for every stream, how many pieces of its work are known to be
// done before something.
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

func (c clock) has(stream int, n uint32) bool { return stream < len(c) && c[stream] >= n }

// work is a piece of work in a stream.
type work struct {
	name   string
	stream int
	number uint32 // in its stream, from 1
	before clock  // what the host knew to be done when it put it there
	after  *work  // a record of an event that must be done
	run    func() error
	done   bool
	clock  clock  // of everything before it, and itself
	first  uint32 // interval at which it began
}

// NewStream returns an empty stream.
func (d *Device) NewStream() *Stream {
	s := &Stream{device: d, index: len(d.streams)}
	d.streams = append(d.streams, s)
	return s
}

func (s *Stream) add(w *work) {
	s.put++
	w.stream, w.number, w.before = s.index, s.put, append(clock(nil), s.device.known...)
	s.queue = append(s.queue, w)
}

// Launch puts a kernel into the stream.
func (s *Stream) Launch(k *Kernel, c Config, args []byte) {
	args = append([]byte(nil), args...)
	s.add(&work{name: k.program.Name, run: func() error { return s.device.run(k, c, args) }})
}

// Write copies bytes of the host to the device. They must stay as they are until
// the host has synchronized.
func (s *Stream) Write(p Pointer, b []byte) {
	s.add(&work{name: "copy to the device", run: func() error {
		to, err := s.device.bytes(p, len(b), writes, "copy to the device")
		copy(to, b)
		return err
	}})
}

// writeUnchanged is Write, with a fault if the host changes b before it is copied.
func (s *Stream) writeUnchanged(p Pointer, b []byte) {
	before := bytes.Clone(b)
	s.add(&work{name: "copy to the device", run: func() error {
		if !bytes.Equal(b, before) {
			return &Fault{Kind: HostChanged, Kernel: "copy to the device", Detail: fmt.Sprintf("%d bytes to %#x", len(b), uint64(p))}
		}
		to, err := s.device.bytes(p, len(b), writes, "copy to the device")
		copy(to, b)
		return err
	}})
}

// Read copies the device's memory to the host; b holds it when the host has
// synchronized.
func (s *Stream) Read(b []byte, p Pointer) {
	s.add(&work{name: "copy to the host", run: func() error {
		from, err := s.device.bytes(p, len(b), reads, "copy to the host")
		copy(b, from)
		return err
	}})
}

// Copy copies n bytes inside the device.
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

// Clear sets n bytes to zero.
func (s *Stream) Clear(p Pointer, n int) {
	s.add(&work{name: "clear", run: func() error {
		dst, err := s.device.bytes(p, n, writes, "clear")
		clear(dst)
		return err
	}})
}

// Matmul puts a matrix multiplication into the stream.
func (s *Stream) Matmul(m Matmul) {
	s.add(&work{name: "matmul", run: func() error { return s.device.multiply(m) }})
}

// Record makes e stand for all work that is in the stream now.
func (s *Stream) Record(e *Event) {
	e.recorded = &work{name: "record", run: func() error { return nil }}
	s.add(e.recorded)
}

// Wait holds what is put into the stream from now on back until the work is done
// that e stands for now; an event that was never recorded holds nothing back.
func (s *Stream) Wait(e *Event) {
	if e.recorded != nil {
		s.add(&work{name: "wait", after: e.recorded, run: func() error { return nil }})
	}
}

// Synchronize runs work until the stream is empty; work of other streams runs or
// does not. It returns the first fault of all work since the device was made:
// after one the device is of no more use.
func (s *Stream) Synchronize() error {
	for len(s.queue) > 0 && s.device.failed == nil {
		s.device.step()
	}
	s.device.known = s.device.known.join(s.clock)
	return s.device.failed
}

// Synchronize runs the work of all streams.
func (d *Device) Synchronize() error {
	for _, s := range d.streams {
		if err := s.Synchronize(); err != nil {
			return err
		}
	}
	d.history = d.history[:0]
	return nil
}

// step runs the next piece of work of a stream that can.
func (d *Device) step() {
	var ready []*Stream
	for _, s := range d.streams {
		if len(s.queue) > 0 && (s.queue[0].after == nil || s.queue[0].after.done) {
			ready = append(ready, s)
		}
	}
	if len(ready) == 0 {
		d.failed = errors.New("sim: streams wait for each other")
		return
	}
	s := ready[d.order.IntN(len(ready))]
	w := s.queue[0]
	s.queue = s.queue[1:]
	w.clock = append(clock(nil), s.clock...).join(w.before)
	if w.after != nil {
		w.clock = w.clock.join(w.after.clock)
	}
	own := make(clock, s.index+1)
	own[s.index] = w.number
	s.clock = w.clock.join(own)
	w.clock = s.clock
	d.begin(w)
	if err := w.run(); err != nil {
		d.failed = err
	}
	w.done, d.now = true, nil
}

// begin notes that a piece of work runs, and finds the oldest that is not known to
// be done before it.
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

// conflict returns the work that an interval belongs to, where it is not known to
// be done before the work that runs now.
func (d *Device) conflict(interval uint32) *work {
	if d.now == nil || d.unordered == 0 || interval < d.unordered || interval >= d.now.first {
		return nil
	}
	if interval < d.looked.first || interval >= d.looked.end { // not the work of the last question
		d.looked = d.lookUp(interval)
	}
	return d.looked.other
}

// A lookedUp is the answer of conflict for the intervals of a piece of work.
type lookedUp struct {
	first, end uint32
	other      *work
}

func (d *Device) lookUp(interval uint32) lookedUp {
	i := sort.Search(len(d.history), func(i int) bool { return d.history[i].first > interval }) - 1
	l := lookedUp{end: d.now.first}
	if i+1 < len(d.history) {
		l.end = d.history[i+1].first
	}
	if i >= 0 {
		l.first = d.history[i].first
		if o := d.history[i]; !d.now.clock.has(o.stream, o.number) {
			l.other = o
		}
	}
	return l
}

// bytes checks an access of a copy or a product to n bytes, and returns them.
func (d *Device) bytes(p Pointer, n int, how access, name string) ([]byte, error) {
	fault := func(kind Kind, format string, args ...any) error {
		return &Fault{Kind: kind, Kernel: name, Detail: fmt.Sprintf(format, args...)}
	}
	m := d.find(uint64(p), n)
	if m == nil {
		return nil, fault(OutOfBounds, "address %#x, %d bytes%s", uint64(p), n, d.nearest(uint64(p)))
	}
	at := int(uint64(p) - m.base)
	m.refine(at, n)
	for i := at >> m.grain; i < (at+n)>>m.grain; i++ {
		c := &m.cells[i]
		other := d.conflict(c.wrote)
		if other == nil && how == writes {
			if other = d.conflict(c.read); other == nil {
				other = d.conflict(c.other)
			}
		}
		if other != nil {
			return nil, fault(RaceInStreams, "%s: %s in another stream", m.place(i<<m.grain), other.name)
		}
		if how == writes {
			*c = cell{wrote: d.interval}
			continue
		}
		if c.wrote == 0 {
			return nil, fault(Unwritten, "%s", m.place(i<<m.grain))
		}
		if d.unordered == 0 || c.other < d.unordered {
			c.other = c.read
		}
		c.read = d.interval
	}
	return m.data[at : at+n], nil
}
