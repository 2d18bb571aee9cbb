package pretrain

import (
	"context"
	"math/rand/v2"
	"testing"

	"pretext/records/tfrecord"
)

// benchVocab is shaped like bert-base-uncased.
func benchVocab() Vocab {
	return Vocab{Size: 30522, CLS: 101, SEP: 102, Mask: 103,
		IsSubword: func(id int32) bool { return id%5 == 0 }}
}

// proseCorpus returns a corpus with the sentence and document lengths of
// encyclopedia text.
func proseCorpus(tb testing.TB, documents int) *Corpus {
	tb.Helper()
	return corpusOf(tb, benchVocab().Size, prose(documents))
}

// prose returns the documents of proseCorpus.
func prose(documents int) [][][]int32 {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([][][]int32, documents)
	for d := range out {
		for range 1 + int(rng.ExpFloat64()*20) {
			var ids []int32
			for range 2 + int(rng.ExpFloat64()*25) {
				ids = append(ids, 1000+int32(rng.ExpFloat64()*4000)%29000)
			}
			out[d] = append(out[d], ids)
		}
	}
	return out
}

// BenchmarkBuild builds and frames records with the default options; ns/record
// is what the stage is charged with.
func BenchmarkBuild(b *testing.B) {
	for _, whole := range []bool{false, true} {
		name := "pieces"
		if whole {
			name = "words"
		}
		b.Run(name, func(b *testing.B) {
			o := DefaultOptions()
			o.DoWholeWordMask = whole
			builder, err := NewBuilder(o, benchVocab(), Scratch{})
			if err != nil {
				b.Fatal(err)
			}
			corpus := proseCorpus(b, 500)
			var frame []byte
			var framed, records int64
			b.ReportAllocs()
			for b.Loop() {
				_, err := builder.Build(context.Background(), corpus, 12345, func(r Record) error {
					frame = tfrecord.AppendFrame(frame[:0], r.Payload)
					framed += int64(len(frame))
					records++
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(framed / int64(b.N))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
		})
	}
}

// BenchmarkWithoutMasks builds and frames the records of the recipes without masks.
func BenchmarkWithoutMasks(b *testing.B) {
	corpus := proseCorpus(b, 2000)
	for _, r := range Recipes() {
		if r.Form.Masks() {
			continue
		}
		b.Run(r.Name, func(b *testing.B) {
			maker, err := r.New(r.Defaults, benchVocab(), Scratch{})
			if err != nil {
				b.Fatal(err)
			}
			var frame []byte
			b.ReportAllocs()
			for b.Loop() {
				_, err := maker.Build(context.Background(), corpus, 12345, func(r Record) error {
					frame = tfrecord.AppendFrame(frame[:0], r.Payload)
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(corpus.Tokens()), "ns/token")
		})
	}
}
