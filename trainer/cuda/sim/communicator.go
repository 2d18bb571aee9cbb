package sim

import (
	"context"
	"errors"
	"fmt"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
)

var _ device.Collectives = (*GPU)(nil)

// Supported implements [device.Collectives]. Without [Options.Network] the error
// wraps trainer.ErrUnavailable, as on a machine without NCCL.
func (g *GPU) Supported() error {
	if g.options.Network == nil {
		return fmt.Errorf("%w: %w", trainer.ErrUnavailable, errNoNetwork)
	}
	return nil
}

// UniqueID implements [device.Collectives].
func (g *GPU) UniqueID() ([]byte, error) {
	if err := g.Supported(); err != nil {
		return nil, err
	}
	return g.options.Network.newID(), g.usable()
}

// Connect implements [device.Collectives].
func (g *GPU) Connect(ctx context.Context, id []byte, rank, ranks int) (device.Communicator, error) {
	if err := g.Supported(); err != nil {
		return 0, err
	}
	n := g.options.Network
	if len(id) != device.UniqueIDBytes || ranks < 1 || rank < 0 || rank >= ranks {
		return 0, fmt.Errorf("sim: rank %d of %d ranks, an ID of %d bytes", rank, ranks, len(id))
	}
	joined, err := n.join(ctx, string(id), rank, ranks)
	if err != nil {
		return 0, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	g.communicators = append(g.communicators, &communicator{network: n, group: joined, rank: rank})
	return device.Communicator(len(g.communicators)), nil
}

// communicator returns the communicator with a handle. Other goroutines may look it
// up for Abort.
func (g *GPU) communicator(c device.Communicator) (*communicator, error) {
	if g.options.Network == nil {
		return nil, errNoNetwork
	}
	g.options.Network.mu.Lock()
	defer g.options.Network.mu.Unlock()
	return handle(g.communicators, c)
}

// Collect implements [device.Collectives].
func (g *GPU) Collect(s device.Stream, c device.Communicator, list ...device.Collective) error {
	return g.queue(s, func(s *Stream) error {
		known, err := g.communicator(c)
		if err == nil {
			err = known.err()
		}
		if err == nil {
			err = checkCollectives(list, known)
		}
		if err == nil && len(list) > 0 {
			known.calls++
			s.collect(known, append([]device.Collective(nil), list...))
		}
		return err
	})
}

// checkCollectives returns an error for collectives that NCCL refuses, or whose
// buffers overlap where that gives wrong results.
func checkCollectives(list []device.Collective, c *communicator) error {
	bad := func(x device.Collective, format string, a ...any) error {
		return &Fault{Kind: BadCollective, Kernel: x.Kind.String(), Detail: fmt.Sprintf(format, a...)}
	}
	for i, x := range list {
		send, receive := sizes(x, c)
		ownPart := Pointer(c.rank * x.N * x.Type.Size())
		inPlace := x.Send == x.Receive
		switch x.Kind {
		case device.ReduceScatter:
			inPlace = x.Receive == x.Send+ownPart
		case device.AllGather:
			inPlace = x.Send == x.Receive+ownPart
		}
		sends := x.Kind != device.Broadcast || x.Root == c.rank
		switch {
		case x.N < 1 || x.Root < 0 || x.Root >= c.group.ranks:
			return bad(x, "%d elements, root %d of %d ranks", x.N, x.Root, c.group.ranks)
		case x.Receive%Pointer(x.Type.Size()) != 0 || sends && x.Send%Pointer(x.Type.Size()) != 0:
			return bad(x, "addresses %#x and %#x: must be multiples of %d", uint64(x.Send), uint64(x.Receive), x.Type.Size())
		case sends && !inPlace && x.Send < x.Receive.Add(receive) && x.Receive < x.Send.Add(send):
			return bad(x, "the buffers overlap, and not as they do in place")
		}
		for _, y := range list[:i] {
			if _, other := sizes(y, c); y.Receive < x.Receive.Add(receive) && x.Receive < y.Receive.Add(other) {
				return bad(x, "two collectives of a group write the same memory")
			}
		}
	}
	return nil
}

// sizes returns the bytes that a rank sends and receives in a collective.
func sizes(x device.Collective, c *communicator) (send, receive int) {
	send = x.N * x.Type.Size()
	receive = send
	switch x.Kind {
	case device.ReduceScatter:
		send *= c.group.ranks
	case device.AllGather:
		receive *= c.group.ranks
	}
	return send, receive
}

// AsyncError implements [device.Collectives].
func (g *GPU) AsyncError(c device.Communicator) error {
	known, err := g.communicator(c)
	if err != nil {
		return err
	}
	return known.err()
}

// Abort implements [device.Collectives].
func (g *GPU) Abort(c device.Communicator, cause error) {
	if known, err := g.communicator(c); err == nil {
		known.fail(cause)
	}
}

// Disconnect implements [device.Collectives]. It does not wait for other ranks.
func (g *GPU) Disconnect(c device.Communicator) error {
	known, err := g.communicator(c)
	if err != nil {
		return err
	}
	if known.err() == nil {
		err = g.Sync()
	}
	known.fail(errors.New("sim: the communicator is disconnected"))
	g.options.Network.mu.Lock()
	defer g.options.Network.mu.Unlock()
	g.communicators[c-1] = nil
	return err
}

// A collecting is one call of Collect as a piece of work in a stream. It ends when all ranks
// have begun the same call. Between its beginning and its end, other streams run.
type collecting struct {
	c      *communicator
	number uint32
	list   []device.Collective
	begun  bool
}

// collect queues a call of Collect.
func (s *Stream) collect(c *communicator, list []device.Collective) {
	x := &collecting{c: c, number: c.calls, list: list}
	s.add(&work{name: list[0].Kind.String(), collecting: x, run: func() error { return x.begin(s.device) }})
}

// begin accesses the memory of the collectives and makes the call. An access by another
// stream before the end is a race, so the race detector reports it.
func (x *collecting) begin(d *Device) error {
	sent := make([][]byte, len(x.list))
	for i, one := range x.list {
		send, receive := sizes(one, x.c)
		if one.Kind != device.Broadcast || one.Root == x.c.rank {
			b, err := d.bytes(one.Send, send, reads, one.Kind.String())
			if err != nil {
				return err
			}
			sent[i] = append([]byte(nil), b...)
		}
		if _, err := d.bytes(one.Receive, receive, writes, one.Kind.String()); err != nil {
			return err
		}
	}
	x.begun = true
	x.c.begin(x.number, x.list, sent)
	return nil
}

// end waits for the other ranks and stores the results.
func (x *collecting) end(d *Device) error {
	received, err := x.c.end(x.number)
	if err != nil {
		return err
	}
	for i, one := range x.list {
		m := d.find(uint64(one.Receive), len(received[i]))
		if m == nil {
			return &Fault{Kind: OutOfBounds, Kernel: one.Kind.String(), Detail: fmt.Sprintf("the memory at %#x was freed", uint64(one.Receive))}
		}
		copy(m.data[uint64(one.Receive)-m.base:], received[i])
	}
	return nil
}
