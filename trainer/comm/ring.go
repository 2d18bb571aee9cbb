package comm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
)

// chunkBytes is the size of the chunks in which data is sent: large enough for few
// system calls, small enough that a rank soon has a chunk to pass on.
const chunkBytes = 256 << 10

// callHeader is the length in bytes of the header before the data of a collective. With
// it, a rank checks that the previous rank makes the same call. Its layout is
//
//	"ring", operation (1 byte), bytes of a value (1), zeros (2)
//	number of the call (8), length in bytes (8), hash of bounds or root (8)
const callHeader = 32

// operations holds the names of operations by their number in a header.
var operations = [...]string{"", "reduce-scatter", "all-gather", "broadcast"}

const (
	opReduceScatter = iota + 1
	opAllGather
	opBroadcast
)

// A call describes a collective. All ranks must make equal calls in the same order.
type call struct {
	operation byte
	size      byte   // bytes of a value
	number    uint64 // number of the call, from 1
	length    int    // length of the data in bytes
	shape     uint64 // hash of the bounds, or the root
}

func (c call) header() []byte {
	b := append(make([]byte, 0, callHeader), "ring"...)
	b = append(b, c.operation, c.size, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, c.number)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.length))
	return binary.LittleEndian.AppendUint64(b, c.shape)
}

// parseCall decodes a header, as call.header encodes it.
func parseCall(b []byte) (c call, err error) {
	if len(b) != callHeader || !bytes.HasPrefix(b, []byte("ring")) || b[6]|b[7] != 0 {
		return c, fmt.Errorf("malformed header of a collective")
	}
	c = call{operation: b[4], size: b[5], number: binary.LittleEndian.Uint64(b[8:]), length: int(binary.LittleEndian.Uint64(b[16:])), shape: binary.LittleEndian.Uint64(b[24:])}
	if c.operation < opReduceScatter || c.operation > opBroadcast || c.length < 0 || c.size != 1 && c.size != 4 && c.size != 8 {
		return c, fmt.Errorf("malformed header of a collective")
	}
	return c, nil
}

// String describes the call, for errors.
func (c call) String() string {
	return fmt.Sprintf("call %d, %s of %d values of %d bytes", c.number, operations[c.operation], c.length/int(c.size), c.size)
}

// hashBounds returns a hash of bounds.
func hashBounds(bounds []int) uint64 {
	h := fnv.New64a()
	for _, b := range bounds {
		var v [8]byte
		binary.LittleEndian.PutUint64(v[:], uint64(b))
		h.Write(v[:])
	}
	return h.Sum64()
}

// A transfer lists the chunks that one rank sends (out) and receives (in) in a
// collective. The chunks are parts of the caller's buffer.
type transfer struct {
	out, in [][]byte

	// The first free chunks of out can be sent at once. Chunk free+i can be sent
	// when chunk i of in has arrived.
	free int

	// sum adds arriving values to those in the chunk; otherwise they replace them.
	sum bool
}

// segments are the parts of a buffer, one for each rank. Part r has the values
// bounds[r] to bounds[r+1]-1.
type segments struct {
	raw    []byte
	size   int // bytes of a value
	bounds []int
}

// of returns the part of a rank. rank is taken modulo the number of ranks.
func (s segments) of(rank int) []byte {
	n := len(s.bounds) - 1
	rank = (rank + 2*n) % n
	return s.raw[s.bounds[rank]*s.size : s.bounds[rank+1]*s.size]
}

// around returns the transfer of a rank around the ring: it sends part first, receives
// part first-1, sends part first-1, receives part first-2, and so on.
func (s segments) around(first int, sum bool) transfer {
	t := transfer{sum: sum}
	for step := range len(s.bounds) - 2 {
		t.out = appendChunks(t.out, s.of(first-step))
		if step == 0 {
			t.free = len(t.out)
		}
		t.in = appendChunks(t.in, s.of(first-step-1))
	}
	return t
}

// appendChunks appends the chunks of b to list.
func appendChunks(list [][]byte, b []byte) [][]byte {
	for len(b) > 0 {
		n := min(len(b), chunkBytes)
		list = append(list, b[:n:n])
		b = b[n:]
	}
	return list
}

// exchange runs the collective c on the data of t. The caller holds g.mu.
func (g *Group) exchange(c call, t transfer) error {
	select {
	case <-g.failed:
		return g.failedCall(c)
	default:
	}
	g.call++
	c.number = g.call
	g.begun.Store(g.call)
	arrived := make(chan struct{}, len(t.in))
	sent := make(chan error, 1)
	go func() { sent <- g.sendChunks(c, t, arrived) }()
	err := g.receiveChunks(c, t, arrived)
	close(arrived)
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	if err != nil {
		return g.failedCall(c)
	}
	g.completed.Store(c.number)
	g.confirm()
	return nil
}

// failedCall waits until the group has failed and returns the reason.
func (g *Group) failedCall(c call) error {
	<-g.failed
	return fmt.Errorf("%s: %w", operations[c.operation], g.err)
}

// sendChunks sends a call's data to the next rank. arrived has an element for each
// received chunk, and is closed after the last one.
func (g *Group) sendChunks(c call, t transfer, arrived <-chan struct{}) error {
	_, err := g.next.Write(c.header())
	var scratch []byte
	for i := 0; i < len(t.out) && err == nil; i++ {
		if i >= t.free {
			if _, ok := <-arrived; !ok {
				return errClosed // the receiver reports why
			}
		}
		b := t.out[i]
		if bigEndian {
			scratch = swapped(append(scratch[:0], b...), int(c.size))
			b = scratch
		}
		_, err = g.next.Write(b)
	}
	if err != nil {
		g.broken((g.o.Rank+1)%g.o.Ranks, err)
	}
	return err
}

// receiveChunks receives a call's data from the previous rank.
func (g *Group) receiveChunks(c call, t transfer, arrived chan<- struct{}) error {
	prev := (g.o.Rank + g.o.Ranks - 1) % g.o.Ranks
	var header [callHeader]byte
	if _, err := io.ReadFull(g.prev, header[:]); err != nil {
		g.broken(prev, err)
		return err
	}
	if got, err := parseCall(header[:]); err != nil || got != c {
		if err == nil {
			err = fmt.Errorf("BUG: made %v, while rank %d made %v", c, prev, got)
		}
		go g.Abort(err)
		return err
	}
	for _, b := range t.in {
		if err := g.receiveChunk(b, c, t.sum); err != nil {
			g.broken(prev, err)
			return err
		}
		arrived <- struct{}{}
	}
	return nil
}

// receiveChunk receives a chunk into b. With sum it adds the received values to b.
func (g *Group) receiveChunk(b []byte, c call, sum bool) error {
	into := b
	if sum {
		if g.chunk == nil {
			g.chunk = make([]float64, chunkBytes/8)
		}
		into = bytesOf(g.chunk)[:len(b)]
	}
	if _, err := io.ReadFull(g.prev, into); err != nil {
		return err
	}
	if bigEndian {
		swapped(into, int(c.size))
	}
	switch {
	case !sum:
	case c.size == 4:
		add(valuesOf[float32](b), valuesOf[float32](into))
	default:
		add(valuesOf[float64](b), valuesOf[float64](into))
	}
	return nil
}

// broken tells the supervisor that the ring's connection to rank has failed with err.
func (g *Group) broken(rank int, err error) {
	reason := fmt.Sprintf("rank %d (%s) has lost the connection to it: %v", g.o.Rank, g.host, err)
	if err == io.EOF || isReset(err) {
		reason = "closed its connections: it was killed or has crashed, see its log"
	}
	g.post(func() { g.suspect(rank, reason) })
}
