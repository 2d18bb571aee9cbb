package sumpair

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"sync"
	"testing"
)

func random(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// requirePair skips the test on a processor that cannot add to two sums at once. Package
// realdata does not know its instructions, which cannot be turned off.
func requirePair(t testing.TB) {
	if !hasPair {
		t.Skip("no SHA extensions")
	}
}

// compare checks addBoth with two streams, whose first bytes are in the sums already.
func compare(t *testing.T, p, q []byte, before, beforeOther int) {
	t.Helper()
	x, y := sha256.New(), sha256.New()
	x.Write(p[:before])
	y.Write(q[:beforeOther])
	addBoth(x, y, p[before:], q[beforeOther:])
	for i, c := range []struct{ got, want []byte }{{x.Sum(nil), sum(p)}, {y.Sum(nil), sum(q)}} {
		if !bytes.Equal(c.got, c.want) {
			t.Fatalf("sum %d of %d and %d bytes, %d and %d before: %x, want %x", i, len(p), len(q), before, beforeOther, c.got, c.want)
		}
	}
}

func sum(p []byte) []byte { s := sha256.Sum256(p); return s[:] }

func TestTwoSumsAtOnceAreThoseOfEach(t *testing.T) {
	requirePair(t)
	p, q := random(1, 200_000), random(2, 200_000)
	for n := range 300 {
		for _, m := range []int{0, 1, 63, 64, 65, 128, 257} {
			for _, before := range []int{0, 1, 64, 70} {
				compare(t, p[:n], q[:m], min(n, before), min(m, before/2))
			}
		}
	}
	compare(t, p, q, 100, 3) // more than maxBlocks
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		n, m := r.IntN(2000), r.IntN(2000)
		at := r.IntN(100_000)
		compare(t, p[at:at+n], q[at/2:at/2+m], r.IntN(n+1), r.IntN(m+1))
	}
}

func FuzzTwoSumsAtOnce(f *testing.F) {
	f.Add([]byte("abc"), bytes.Repeat([]byte("abcdbcde"), 40), uint8(1), uint8(70))
	f.Add(bytes.Repeat([]byte{0xff}, 640), make([]byte, 200), uint8(64), uint8(0))
	f.Fuzz(func(t *testing.T, p, q []byte, before, beforeOther uint8) {
		requirePair(t)
		compare(t, p, q, min(int(before), len(p)), min(int(beforeOther), len(q)))
	})
}

// The example of FIPS 180-4 with two blocks.
func TestASumIsThatOfTheStandard(t *testing.T) {
	const text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
	m := new(Meeting)
	s := m.New()
	s.Share([]byte(text))
	if got := hex.EncodeToString(s.Sum(nil)); got != "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" {
		t.Error(got)
	}
}

// Goroutines that share, write and ask at all times get the sums of their own streams.
func TestGoroutinesShareTheirWork(t *testing.T) {
	m := new(Meeting)
	var wg sync.WaitGroup
	for g := range 7 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 5))
			data := random(uint64(g)+10, 1<<20)
			s, at := m.New(), 0
			var buffers [4][]byte
			for i := range buffers {
				buffers[i] = make([]byte, 1<<15)
			}
			for turn := 0; at < len(data); turn++ {
				n := min(r.IntN(1<<15), len(data)-at)
				s.Limit(len(buffers) - 1)
				p := buffers[turn%len(buffers)][:n] // the others may be in use
				copy(p, data[at:])
				at += n
				switch r.IntN(10) {
				case 0:
					s.Write(p)
				case 1:
					s.Share(p)
					s.Settle()
					clear(p)
				default:
					s.Share(p)
				}
				if r.IntN(20) == 0 && !bytes.Equal(s.Sum(nil), sum(data[:at])) {
					t.Errorf("goroutine %d: wrong sum after %d bytes", g, at)
					return
				}
			}
			if !bytes.Equal(s.Sum(nil), sum(data)) {
				t.Errorf("goroutine %d: wrong sum", g)
			}
		})
	}
	wg.Wait()
	if len(m.waiting) > 0 {
		t.Error("a sum waits")
	}
}

func BenchmarkBoth(b *testing.B) {
	requirePair(b)
	p, q := random(1, 1<<18), random(2, 1<<18)
	x, y := sha256.New(), sha256.New()
	b.Run("at once", func(b *testing.B) {
		b.SetBytes(2 << 18)
		for b.Loop() {
			addBoth(x, y, p, q)
		}
	})
	b.Run("each", func(b *testing.B) {
		b.SetBytes(2 << 18)
		for b.Loop() {
			x.Write(p)
			y.Write(q)
		}
	})
}
