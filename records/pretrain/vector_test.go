package pretrain

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/internal/dev/torture"
)

// checkVectors compares candidates and widen with the plain loops, at each level that
// the processor has, and looks for writes beyond their results.
func checkVectors(t *testing.T, ids []uint16, a, b int32) {
	t.Helper()
	tokens := make([]int32, len(ids))
	for i, id := range ids {
		tokens[i] = int32(id)
	}
	if hasWiden {
		checkWidened(t, widenVector, ids, tokens)
	}
	if hasEights {
		checkWidened(t, widenEights, ids[:len(ids)&^7], tokens[:len(ids)&^7])
	}
	m := &masker{vocab: Vocab{CLS: a, SEP: b}}
	want := m.plainCandidates(nil, tokens, 0)
	check := func(name string, candidates func([]int32) []uint16) {
		t.Helper()
		places := slices.Repeat([]uint16{canary}, len(ids)+compressSpare+1)
		m.places = places[:0]
		got := candidates(tokens)
		if !slices.Equal(got, want) || places[len(ids)+compressSpare] != canary {
			t.Fatalf("%s without %d, %d of %d: got %d, want %d", name, a, b, tokens, got, want)
		}
	}
	check("chosen", m.candidates)
	if hasEights {
		check("eights", m.candidatesByEights)
	}
}

const canary = 0x5a5a

func checkWidened(t *testing.T, widen func([]int32, []uint16), ids []uint16, want []int32) {
	t.Helper()
	got := slices.Repeat([]int32{canary}, len(ids)+1)
	widen(got[:len(ids)], ids)
	if !slices.Equal(got[:len(ids)], want) || got[len(ids)] != canary {
		t.Fatalf("%d ids: got %d, want %d", len(ids), got, want)
	}
}

func TestVectorsDoWhatPlainLoopsDo(t *testing.T) {
	realdata.Instructions(t, "AVX2", "NEON")
	realdata.Vectors(t, "AVX-512 VBMI2")
	var ids [600]uint16
	for seed := range uint64(torture.Cases(100_000, 1_000_000)) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n := rng.IntN(20)
		if seed%64 == 0 {
			n = rng.IntN(len(ids) + 1)
		}
		few := 1 + rng.Uint32N(1<<(1+rng.Uint32N(15))) // special ids are frequent or rare
		for i := range n {
			ids[i] = uint16(rng.Uint32N(few))
		}
		checkVectors(t, ids[:n], int32(rng.Uint32N(few)), int32(rng.Uint32N(few)))
	}
}

func FuzzVectors(f *testing.F) {
	f.Add([]byte{}, int32(1), int32(2))
	f.Add([]byte("\x65\x00\x01\x00\x66\x00\xff\xff\x66\x00"), int32(0x65), int32(0x66))
	f.Fuzz(func(t *testing.T, raw []byte, a, b int32) {
		ids := make([]uint16, len(raw)/2)
		for i := range ids {
			ids[i] = binary.LittleEndian.Uint16(raw[2*i:])
		}
		checkVectors(t, ids, a, b)
	})
}

// TestPlainLoopsMakeTheSameExamples builds with and without vector instructions.
func TestPlainLoopsMakeTheSameExamples(t *testing.T) {
	realdata.Instructions(t, "AVX2", "NEON")
	build := func() (payloads []byte) {
		b, err := NewBuilder(DefaultOptions(), benchVocab(), Scratch{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Build(t.Context(), proseCorpus(t, 20), 7, func(r Record) error {
			payloads = append(payloads, r.Payload...)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return payloads
	}
	want := build()
	defer func(a, w, c bool) { hasEights, hasWiden, hasCompress = a, w, c }(hasEights, hasWiden, hasCompress)
	hasWiden, hasCompress = false, false
	if !slices.Equal(build(), want) {
		t.Error("with AVX2 or NEON the examples differ")
	}
	hasEights = false
	if !slices.Equal(build(), want) {
		t.Error("without vector instructions the examples differ")
	}
}
