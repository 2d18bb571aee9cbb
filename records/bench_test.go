package records

import (
	"math/rand/v2"
	"testing"
)

// full returns an example of the size of real ones.
func full(seq, predictions int) *Example {
	rng := rand.New(rand.NewPCG(1, 2))
	e := &Example{
		InputIDs: make([]int32, seq), InputMask: make([]int32, seq), SegmentIDs: make([]int32, seq),
		MaskedLMPositions: make([]int32, predictions), MaskedLMIDs: make([]int32, predictions),
		MaskedLMWeights: make([]float32, predictions),
	}
	for i := range seq {
		e.InputIDs[i] = 1000 + int32(rng.ExpFloat64()*4000)%29000
		e.InputMask[i] = 1
		e.SegmentIDs[i] = int32(2 * i / seq)
	}
	for i := range predictions {
		e.MaskedLMPositions[i] = int32(1 + i)
		e.MaskedLMIDs[i] = 1000 + rng.Int32N(29000)
		e.MaskedLMWeights[i] = 1
	}
	return e
}

func BenchmarkAppend(b *testing.B) {
	e := full(128, 20)
	buf := e.Append(nil)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = e.Append(buf[:0])
	}
}

func BenchmarkEncoder(b *testing.B) {
	e := full(128, 20)
	enc := NewEncoder(128, 20, 0)
	parts := Parts{
		Tokens: 128, Second: 64, Predictions: 20,
		IDs:       AppendPacked(nil, e.InputIDs),
		Positions: AppendPacked(nil, e.MaskedLMPositions),
		Labels:    AppendPacked(nil, e.MaskedLMIDs),
	}
	buf := enc.Append(nil, parts)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = enc.Append(buf[:0], parts)
	}
}

func BenchmarkAppendPacked(b *testing.B) {
	ids := full(128, 20).InputIDs
	buf := AppendPacked(nil, ids)
	b.SetBytes(int64(4 * len(ids)))
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendPacked(buf[:0], ids)
	}
}

func BenchmarkDecode(b *testing.B) {
	payload := full(128, 20).Append(nil)
	var e Example
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Decode(payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	e := full(128, 20)
	e.InputIDs[0], e.InputIDs[63], e.InputIDs[127] = 101, 102, 102
	rules := Rules{MaxSeqLength: 128, MaxPredictionsPerSeq: 20, VocabSize: 30522, CLS: 101, SEP: 102}
	b.ReportAllocs()
	for b.Loop() {
		if err := rules.Check(e); err != nil {
			b.Fatal(err)
		}
	}
}
