package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"pretext/trainer/cuda/device"
)

// A Network connects the simulated GPUs of one process: GPUs with the same
// [Options.Network] can be ranks of one communicator. Each GPU needs a goroutine of
// its own.
type Network struct {
	// Wait is the maximum time that a collective waits for another rank; after it
	// the fault is a [Hang]. 0: a minute. Set it before the first use.
	Wait time.Duration

	mu      sync.Mutex // for everything below, and for groups and communicators
	changed *sync.Cond
	groups  map[string]*clique // by ID
	made    uint64             // number of IDs so far
}

// NewNetwork returns a network without GPUs.
func NewNetwork() *Network {
	n := &Network{groups: map[string]*clique{}}
	n.changed = sync.NewCond(&n.mu)
	return n
}

// A clique is the state that all communicators with the same ID share.
type clique struct {
	ranks     int
	connected []bool           // by rank
	count     int              // connected ranks
	calls     map[uint32]*call // by number; a call is dropped once every rank has its result
}

// A call is one call of Collect, which all ranks must make alike.
type call struct {
	list   []device.Collective
	first  int        // the rank that made the call first
	sent   [][][]byte // bytes that each rank sends in each collective
	here   int        // number of ranks that have begun the call
	served int        // number of ranks that have their result
	failed error
}

// newID returns an ID that no other group has.
func (n *Network) newID() []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made++
	id := make([]byte, device.UniqueIDBytes)
	copy(id, "simulator")
	binary.LittleEndian.PutUint64(id[device.UniqueIDBytes-8:], n.made)
	return id
}

// join adds a rank to the group with the given ID and waits until all ranks have
// joined, or ctx is done.
func (n *Network) join(ctx context.Context, id string, rank, ranks int) (*clique, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.changed.Broadcast()
	})()
	g := n.groups[id]
	if g == nil {
		g = &clique{ranks: ranks, connected: make([]bool, ranks), calls: map[uint32]*call{}}
		n.groups[id] = g
	}
	switch {
	case g.ranks != ranks:
		return nil, fmt.Errorf("sim: a communicator of %d ranks, another rank says %d", ranks, g.ranks)
	case g.connected[rank]:
		return nil, fmt.Errorf("sim: rank %d is connected twice", rank)
	}
	g.connected[rank] = true
	g.count++
	n.changed.Broadcast()
	for g.count < g.ranks {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n.changed.Wait()
	}
	return g, nil
}

// A communicator is one rank's side of a clique. The mutex of the network guards
// failed.
type communicator struct {
	network *Network
	group   *clique
	rank    int
	calls   uint32 // calls of Collect so far
	failed  error  // why it cannot be used; nil: it can
}

// fail makes c unusable because of cause. It does nothing if c is already unusable.
func (c *communicator) fail(cause error) {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	if c.failed == nil {
		c.failed = cause
	}
	c.network.changed.Broadcast()
}

func (c *communicator) err() error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	return c.failed
}

// begin makes this rank's call number number. sent has the bytes that the rank sends in each
// collective of list. If another rank's call of this number differs, all ranks get a fault.
func (c *communicator) begin(number uint32, list []device.Collective, sent [][]byte) {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	x := c.group.calls[number]
	if x == nil {
		x = &call{list: list, first: c.rank, sent: make([][][]byte, c.group.ranks)}
		c.group.calls[number] = x
	}
	if mine, first := describe(list), describe(x.list); mine != first && x.failed == nil {
		x.failed = &Fault{Kind: BadCollective, Kernel: list[0].Kind.String(),
			Detail: fmt.Sprintf("call %d of the communicator is on rank %d: %s; on rank %d: %s", number, c.rank, mine, x.first, first)}
	}
	x.sent[c.rank] = sent
	x.here++
	c.network.changed.Broadcast()
}

// describe returns, as text, the properties of a call that must be equal on all ranks.
func describe(list []device.Collective) string {
	s := ""
	for i, x := range list {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s of %d elements of type %d", x.Kind, x.N, x.Type)
		if x.Kind == device.Broadcast {
			s += fmt.Sprintf(" from rank %d", x.Root)
		}
	}
	return s
}

// end waits until all ranks have begun the call with the given number. It returns the bytes
// that this rank receives in each collective.
func (c *communicator) end(number uint32) ([][]byte, error) {
	n, wait := c.network, c.network.Wait
	if wait == 0 {
		wait = time.Minute
	}
	late := false
	defer time.AfterFunc(wait, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		late = true
		n.changed.Broadcast()
	}).Stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	x := c.group.calls[number]
	for x.here < c.group.ranks && x.failed == nil && c.failed == nil && !late {
		n.changed.Wait()
	}
	switch {
	case c.failed != nil:
		return nil, c.failed
	case x.failed != nil:
		return nil, x.failed
	case x.here < c.group.ranks:
		missing := slices.IndexFunc(x.sent, func(s [][]byte) bool { return s == nil })
		return nil, &Fault{Kind: Hang, Kernel: x.list[0].Kind.String(), Detail: fmt.Sprintf("rank %d has not made call %d in %v: %s", missing, number, wait, describe(x.list))}
	}
	received := make([][]byte, len(x.list))
	for i, one := range x.list {
		received[i] = x.result(i, one, c.rank)
	}
	if x.served++; x.served == c.group.ranks {
		delete(c.group.calls, number)
	}
	return received, nil
}

// result returns the bytes that a rank receives in collective i.
func (x *call) result(i int, one device.Collective, rank int) []byte {
	size := one.N * one.Type.Size()
	switch one.Kind {
	case device.AllReduce:
		return x.sum(i, one, 0)
	case device.ReduceScatter:
		return x.sum(i, one, rank*size)
	case device.Broadcast:
		return x.sent[one.Root][i]
	}
	var all []byte
	for _, s := range x.sent {
		all = append(all, s[i]...)
	}
	return all
}

// sum adds up the elements that all ranks send: one.N elements from byte first. Every
// addition rounds to the elements' type. As in a ring, the order in which the ranks' values
// are added depends on the place of the element.
func (x *call) sum(i int, one device.Collective, first int) []byte {
	size, ranks := one.Type.Size(), len(x.sent)
	out := make([]byte, one.N*size)
	for e := range one.N {
		at := first + e*size
		begin := (at / size / 64) % ranks
		s := load(one.Type, x.sent[begin][i][at:])
		for r := 1; r < ranks; r++ {
			s = rounded(one.Type, s+load(one.Type, x.sent[(begin+r)%ranks][i][at:]))
		}
		save(one.Type, out[e*size:], s)
	}
	return out
}

func rounded(t DataType, v float32) float32 {
	var b [4]byte
	save(t, b[:], v)
	return load(t, b[:])
}

// errNoNetwork is the error of collectives on a GPU without a network.
var errNoNetwork = errors.New("the simulated GPU has no network: set sim.Options.Network")
