package tfrecord

import (
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/internal/dev/torture"
)

// checkFold compares foldCRC and foldCRC16 with package crc32 from every alignment.
func checkFold(t *testing.T, b []byte) {
	t.Helper()
	if len(b) < leastFold {
		return
	}
	want := crc32.Checksum(b, castagnoli)
	if hasFold {
		if got := foldCRC(b); got != want {
			t.Fatalf("%d bytes: got %08x, want %08x", len(b), got, want)
		}
	}
	if hasFold16 {
		if got := foldCRC16(b); got != want {
			t.Fatalf("%d bytes, 16 at a time: got %08x, want %08x", len(b), got, want)
		}
	}
}

func TestFoldedChecksumsAreThoseOfPackageCRC32(t *testing.T) {
	realdata.Instructions(t, "PCLMULQDQ")
	realdata.Vectors(t, "AVX-512 VPCLMULQDQ")
	rng := rand.New(rand.NewPCG(1, 1))
	memory := make([]byte, 1<<16)
	for i := range memory {
		memory[i] = byte(rng.Uint32())
	}
	for n := leastFold; n < 2000; n++ {
		checkFold(t, memory[n%64:][:n])
	}
	for range torture.Cases(100_000, 1_000_000) {
		from, n := rng.IntN(1<<15), leastFold+rng.IntN(300)
		memory[from+rng.IntN(n)]++
		checkFold(t, memory[from:from+n])
	}
	checkFold(t, memory)
}

func FuzzChecksum(f *testing.F) {
	f.Add(make([]byte, leastFold), uint16(0))
	f.Add([]byte("123456789"), uint16(700))
	f.Fuzz(func(t *testing.T, b []byte, n uint16) {
		for len(b) > 0 && len(b) < int(n) {
			b = append(b, b...)
		}
		checkFold(t, b)
	})
}

func BenchmarkChecksum(b *testing.B) {
	data := make([]byte, 795)
	versions := map[string]func([]byte) uint32{"plain": func(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }}
	if hasFold {
		versions["fold"] = foldCRC
	}
	if hasFold16 {
		versions["fold16"] = foldCRC16
	}
	for name, sum := range versions {
		b.Run(name+"/"+strconv.Itoa(len(data)), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				sum(data)
			}
		})
	}
}
