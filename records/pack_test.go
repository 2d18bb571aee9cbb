package records

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/internal/dev/torture"
)

// checkPacked packs values with every version and compares the results with
// those of encoding/binary.
func checkPacked(t *testing.T, values []int32) {
	t.Helper()
	var want []byte
	fits := true
	for _, v := range values {
		want = binary.AppendUvarint(want, uint64(int64(v)))
		fits = fits && uint32(v) < shortLimit
	}
	if got := appendPlain(nil, values); !bytes.Equal(got, want) {
		t.Fatalf("plain: %d: got %x, want %x", values, got, want)
	}
	if got := AppendPacked(nil, values); !bytes.Equal(got, want) {
		t.Fatalf("AppendPacked: %d: got %x, want %x", values, got, want)
	}
	const canary = 0xa5
	for name, pack := range vectorPackers() {
		out := bytes.Repeat([]byte{canary}, 3*len(values)+vectorSpare+8)
		size := pack(out, values)
		switch {
		case !fits && size != -1:
			t.Fatalf("%s: %d: got %d, want -1", name, values, size)
		case fits && (size != len(want) || !bytes.Equal(out[:size], want)):
			t.Fatalf("%s: %d: got %d bytes, want %x", name, values, size, want)
		}
		beyond := 3*len(values) + vectorSpare
		if fits {
			beyond = size + vectorSpare
		}
		for i, b := range out[beyond:] {
			if b != canary {
				t.Fatalf("%s: %d values: byte %d after the result was written", name, len(values), vectorSpare+i)
			}
		}
	}
}

// checkUnpacked decodes a packed list after other values, with and without vector
// instructions.
func checkUnpacked(t *testing.T, before []int32, packed []byte) {
	t.Helper()
	room := slices.Grow(slices.Clone(before), len(packed))
	want, reason := appendPlainInts(room, packed)
	got, gotReason := appendInts(slices.Clone(before), packed)
	if !slices.Equal(got, want) || gotReason != reason {
		t.Fatalf("%x: got %d, %q, want %d, %q", packed, got, gotReason, want, reason)
	}
}

func TestVectorsUnpackWhatPlainCodeUnpacks(t *testing.T) {
	realdata.Vectors(t, "AVX2", "NEON")
	var packed []byte
	for seed := range uint64(torture.Cases(100_000, 1_000_000)) {
		rng := rand.New(rand.NewPCG(seed, 2))
		bits := 1 + rng.IntN(31)
		packed = packed[:0]
		for range rng.IntN(40) {
			packed = binary.AppendUvarint(packed, uint64(rng.Uint32())>>(32-rng.IntN(bits+1)))
			if rng.IntN(20) == 0 { // an overlong varint
				packed[len(packed)-1] |= 0x80
				packed = append(packed, 0)
			}
		}
		if rng.IntN(4) == 0 && len(packed) > 0 {
			packed[rng.IntN(len(packed))] = byte(rng.Uint32())
			packed = packed[:rng.IntN(len(packed)+1)]
		}
		checkUnpacked(t, make([]int32, rng.IntN(3)), packed)
	}
	for _, n := range []int{MaxValues - 1, MaxValues, MaxValues + 1, MaxValues + 30} {
		checkUnpacked(t, nil, make([]byte, n))
	}
}

func FuzzAppendInts(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add(bytes.Repeat([]byte{0xe5, 0x07, 0x01, 0x80, 0x80, 0x01}, 8), uint8(3))
	f.Fuzz(func(t *testing.T, packed []byte, before uint8) {
		checkUnpacked(t, make([]int32, before), packed)
	})
}

func TestVectorsPackWhatPlainCodePacks(t *testing.T) {
	realdata.Vectors(t, "AVX2", "NEON")
	realdata.Vectors(t, "AVX-512 VBMI2")
	limits := []uint32{1 << 7, 1 << 14, 1 << 15, 1 << 20, shortLimit}
	var values [70]int32
	for seed := range uint64(torture.Cases(100_000, 1_000_000)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := rng.IntN(20)
		if seed%64 == 0 {
			n = rng.IntN(len(values) + 1)
		}
		limit := limits[rng.IntN(len(limits))]
		for i := range n {
			values[i] = int32(rng.Uint32N(limit))
		}
		if seed%101 == 0 && n > 0 {
			values[rng.IntN(n)] = int32(rng.Uint32()) | shortLimit // too large, or negative
		}
		checkPacked(t, values[:n])
	}
	for n := range 300 { // every length, with the values around each limit
		long := make([]int32, n)
		for i := range long {
			long[i] = int32(limits[i%len(limits)] - uint32(1+i/7%2))
		}
		checkPacked(t, long)
	}
}

func FuzzAppendPacked(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0x7f, 0, 0, 0, 0x80, 0, 0, 0, 0xff, 0x3f, 0, 0, 0, 0x40, 0, 0}, 5))
	f.Add([]byte{0xff, 0xff, 0x1f, 0, 0, 0, 0x20, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		values := make([]int32, len(raw)/4)
		for i := range values {
			values[i] = int32(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		checkPacked(t, values)
	})
}

func BenchmarkPack(b *testing.B) {
	ids := full(128, 20).InputIDs
	b.Run("plain", func(b *testing.B) {
		buf := make([]byte, 0, 1000)
		for b.Loop() {
			buf = appendPlain(buf[:0], ids)
		}
	})
	for name, pack := range vectorPackers() {
		out := make([]byte, 1000)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				pack(out, ids)
			}
		})
	}
}
