package loader_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/trainer"
	"pretext/trainer/loader"
)

// realSized returns the path of a file of examples of 128 tokens and 20
// predictions with ids as a corpus has them, and its size.
func realSized(tb testing.TB, n int) (path string, size int64) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var data []byte
	for range n {
		e := &records.Example{
			InputIDs: make([]int32, 128), InputMask: make([]int32, 128), SegmentIDs: make([]int32, 128),
			MaskedLMPositions: make([]int32, 20), MaskedLMIDs: make([]int32, 20), MaskedLMWeights: make([]float32, 20),
		}
		for i := range e.InputIDs {
			e.InputIDs[i], e.InputMask[i], e.SegmentIDs[i] = 1000+int32(rng.ExpFloat64()*4000)%29000, 1, int32(i/64)
		}
		e.InputIDs[0], e.InputIDs[63], e.InputIDs[127] = 1, 2, 2 // [CLS] and [SEP]
		for i := range e.MaskedLMIDs {
			e.MaskedLMPositions[i], e.MaskedLMIDs[i], e.MaskedLMWeights[i] = int32(1+6*i), 1000+rng.Int32N(29000), 1
		}
		data = tfrecord.AppendFrame(data, e.Append(nil))
	}
	path = filepath.Join(tb.TempDir(), "real.tfrecord")
	writeFile(tb, path, data)
	return path, int64(len(data))
}

func TestALoopAllocatesNothingForAnExample(t *testing.T) {
	count := func(examples int) float64 {
		path, _ := realSized(t, examples)
		s := open(t, path, loader.Options{})
		return testing.AllocsPerRun(5, func() {
			for _, err := range s.Examples(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if few, many := count(10), count(3000); many > few+1 {
		t.Errorf("got %v allocations for 3000 examples, %v for 10", many, few)
	}
}

func TestAPickerAllocatesNothingForAnExample(t *testing.T) {
	path, _ := realSized(t, 3000)
	p := newIndex(t, open(t, path, loader.Options{})).NewPicker()
	defer p.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := p.At(context.Background(), rng.Int64N(3000)); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("got %v allocations for an example, want 0", n)
	}
}

func BenchmarkExamples(b *testing.B) {
	path, size := realSized(b, 20000)
	s := open(b, path, loader.Options{})
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range s.Examples(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkIndexForeign(b *testing.B) {
	path, size := realSized(b, 20000)
	s := open(b, path, loader.Options{})
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Index(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPickerAtRandom(b *testing.B) {
	path, size := realSized(b, 20000)
	p := newIndex(b, open(b, path, loader.Options{})).NewPicker()
	defer p.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	b.SetBytes(size / 20000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.At(context.Background(), rng.Int64N(20000)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSourceStep(b *testing.B) { benchmarkSource(b, nil) }

func BenchmarkSourceStepDynamicMasks(b *testing.B) {
	benchmarkSource(b, &loader.Masking{Seed: 1, Prob: 0.15, Vocab: loader.MaskVocab{Size: 30000, CLS: 1, SEP: 2, MASK: 3}})
}

// benchmarkSource reads steps of 256 examples in the order of a training run,
// checksums, rules and cutting included.
func benchmarkSource(b *testing.B, masking *loader.Masking) {
	path, size := realSized(b, 20000)
	opts := loader.SourceOptions{MicroBatchTokens: 4096, Heads: trainer.PretrainHeads(), Masking: masking,
		Rules: records.Rules{VocabSize: 30000, CLS: 1, SEP: 2}}
	src := newSource(b, open(b, path, loader.Options{}), opts)
	const batch = 256
	b.SetBytes(batch * size / 20000)
	b.ReportAllocs()
	position := int64(0)
	for b.Loop() {
		share, err := src.Step(position, batch)
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range share.Batches {
			if err != nil {
				b.Fatal(err)
			}
		}
		position += batch
	}
}
