// Package sumpair computes the SHA-256 of several files that are written at the same time.
//
// Each round of SHA-256 needs the result of the round before it. The instructions of a
// processor for it have a latency of several cycles, during which the processor could do
// the round of another sum. So the data of two goroutines are added to their sums side by
// side in one of them, in about the time that one of the sums takes alone.
package sumpair

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"hash"
	"slices"
	"sync"
)

// A Meeting is where goroutines find a second sum for the data that they have. The zero
// value is ready to use.
type Meeting struct {
	mu      sync.Mutex
	waiting []*Sum     // have data for which they seek another sum
	changed *sync.Cond // a sum is no longer busy; nil until the first sum is made
}

// A Sum is the SHA-256 of one stream. It must not be used by several goroutines at once.
type Sum struct {
	hash.Hash // of the data before later
	meeting   *Meeting

	// Guarded by the mutex of the meeting:
	later [][]byte // data that are not in the sum yet, oldest first
	busy  bool     // a goroutine adds data to the sum
	ahead int      // how many more pairs this stream's goroutine has added than others have for it
}

// New returns the sum of an empty stream. It shares work with the other sums of m.
func (m *Meeting) New() *Sum {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = sync.NewCond(&m.mu)
	}
	return &Sum{Hash: sha256.New(), meeting: m}
}

// Share appends p to the stream. The caller must not change p before [Sum.Limit] or
// another method of s says that it is in the sum: another goroutine may read p until then.
func (s *Sum) Share(p []byte) {
	if !hasPair || len(p) == 0 {
		s.Write(p)
		return
	}
	m := s.meeting
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.later = append(s.later, p); len(s.later) == 1 {
		m.waiting = append(m.waiting, s)
	}
	// The goroutines take turns at adding, so that none gets ahead and finds no other data.
	if other := s.other(); other != nil && !s.busy && s.ahead <= other.ahead {
		m.add(s, other)
	}
}

// Limit returns when at most n pieces of data that were shared, the last ones, are not in
// the sum.
func (s *Sum) Limit(n int) {
	m := s.meeting
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(s.later) > n || s.busy && len(s.later) == n {
		if s.busy {
			m.changed.Wait()
		} else {
			m.add(s, s.other())
		}
	}
}

// Settle returns when all data are in the sum and no other goroutine reads them.
func (s *Sum) Settle() { s.Limit(0) }

// other returns another sum that waits, or nil.
func (s *Sum) other() *Sum {
	for _, other := range s.meeting.waiting {
		if other != s && !other.busy {
			return other
		}
	}
	return nil
}

// add adds the oldest data of s, and of other unless it is nil. The mutex is held, but not
// while it adds.
func (m *Meeting) add(s, other *Sum) {
	p, q := s.begin(), []byte(nil)
	if other != nil {
		q = other.begin()
		s.ahead++
		other.ahead--
	}
	m.mu.Unlock()
	if other != nil {
		addBoth(s.Hash, other.Hash, p, q)
	} else {
		s.Hash.Write(p)
	}
	m.mu.Lock()
	s.busy = false
	if other != nil {
		other.busy = false
	}
	m.changed.Broadcast()
}

// begin takes the oldest data that were left for later.
func (s *Sum) begin() []byte {
	p := s.later[0]
	s.later = append(s.later[:0], s.later[1:]...)
	s.busy = true
	if m := s.meeting; len(s.later) == 0 {
		m.waiting = slices.DeleteFunc(m.waiting, func(w *Sum) bool { return w == s })
	}
	return p
}

// Write appends p to the stream. It never returns an error, and does not retain p.
func (s *Sum) Write(p []byte) (int, error) {
	s.Settle()
	return s.Hash.Write(p)
}

// Sum appends the SHA-256 of the stream to b.
func (s *Sum) Sum(b []byte) []byte {
	s.Settle()
	return s.Hash.Sum(b)
}

// maxBlocks is the number of blocks that are added in one call, because the runtime cannot
// stop a goroutine in assembly.
const maxBlocks = 1024

// addBoth adds p to the sum x and q to the sum y.
func addBoth(x, y hash.Hash, p, q []byte) {
	a, b := takeState(x, &p), takeState(y, &q)
	for {
		n := min(len(p)/sha256.BlockSize, len(q)/sha256.BlockSize, maxBlocks)
		if n == 0 {
			break
		}
		blocks(&a.h, &b.h, &p[0], &q[0], n, &constants)
		a.length, b.length = a.length+uint64(n*sha256.BlockSize), b.length+uint64(n*sha256.BlockSize)
		p, q = p[n*sha256.BlockSize:], q[n*sha256.BlockSize:]
	}
	a.restore(x)
	b.restore(y)
	x.Write(p)
	y.Write(q)
}

// A state is the state of a sum at the end of a block.
type state struct {
	h      [8]uint32
	length uint64 // bytes of the stream
	raw    []byte
}

// The encoding of a state by crypto/sha256: its name, h, the bytes of an incomplete block
// and the length. All numbers are big-endian.
const (
	stateAt    = 4
	lengthAt   = stateAt + sha256.Size + sha256.BlockSize
	stateBytes = lengthAt + 8
)

// takeState returns the state of a sum. It first adds the bytes of p that complete the
// sum's block, and takes them from p.
func takeState(sum hash.Hash, p *[]byte) *state {
	s := &state{raw: marshal(sum, make([]byte, 0, stateBytes))}
	if over := int(binary.BigEndian.Uint64(s.raw[lengthAt:]) % sha256.BlockSize); over > 0 {
		n := min(sha256.BlockSize-over, len(*p))
		sum.Write((*p)[:n])
		*p = (*p)[n:]
		s.raw = marshal(sum, s.raw[:0])
	}
	for i := range s.h {
		s.h[i] = binary.BigEndian.Uint32(s.raw[stateAt+4*i:])
	}
	s.length = binary.BigEndian.Uint64(s.raw[lengthAt:])
	return s
}

// restore sets the state of the sum that s was taken from.
func (s *state) restore(sum hash.Hash) {
	for i, h := range s.h {
		binary.BigEndian.PutUint32(s.raw[stateAt+4*i:], h)
	}
	binary.BigEndian.PutUint64(s.raw[lengthAt:], s.length)
	if err := sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(s.raw); err != nil {
		panic("BUG: sumpair: " + err.Error())
	}
}

func marshal(sum hash.Hash, b []byte) []byte {
	b, err := sum.(encoding.BinaryAppender).AppendBinary(b)
	if err != nil || len(b) != stateBytes {
		panic("BUG: sumpair: the encoding of crypto/sha256 is another one")
	}
	return b
}

// constants are those of the rounds: the first 32 bits of the fractions of the cube roots of
// the first 64 primes (FIPS 180-4, 4.2.2).
var constants = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}
