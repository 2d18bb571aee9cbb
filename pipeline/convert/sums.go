package convert

import (
	"encoding/hex"

	"pretext/internal/sumpair"
)

// sumBytes is the size of the buffers of a sum.
const sumBytes = 64 << 10

// A sum is the SHA-256 of data that come in small pieces. A conversion computes two, that of
// the records file and that of its payloads, and sums of the same meeting are computed side
// by side, which takes little longer than one of them.
type sum struct {
	*sumpair.Sum
	next, full []byte // full was shared
}

func newSum(m *sumpair.Meeting) *sum {
	return &sum{Sum: m.New(), next: make([]byte, 0, sumBytes), full: make([]byte, 0, sumBytes)}
}

// Write appends p to the data. It never returns an error, and does not retain p.
func (s *sum) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), cap(s.next)-len(s.next))
		s.next = append(s.next, rest[:n]...)
		if rest = rest[n:]; len(s.next) == cap(s.next) {
			s.Settle() // full is in the sum
			s.Share(s.next)
			s.next, s.full = s.full[:0], s.next
		}
	}
	return len(p), nil
}

// hex returns the sum of all data in hexadecimal.
func (s *sum) hex() string {
	s.Sum.Write(s.next)
	s.next = s.next[:0]
	return hex.EncodeToString(s.Sum.Sum(nil))
}
