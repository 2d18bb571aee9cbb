package cuda

import (
	"math/rand/v2"
	"testing"

	"pretext/trainer"
)

// BenchmarkPack arranges a batch of 65,536 tokens: what the host does for a
// micro-batch besides queueing work.
func BenchmarkPack(b *testing.B) {
	c, err := trainer.Preset("large", 30522)
	if err != nil {
		b.Fatal(err)
	}
	h, r := trainer.PretrainHeads(), rand.New(rand.NewPCG(1, 1))
	var lengths []int
	for range 128 {
		lengths = append(lengths, 510)
	}
	batch := ragged(r, c, lengths...)
	s := newShape(c, trainer.Options{Tokens: 1 << 16, Sequences: 256, Masked: batch.Masked()}, defaultLimits)
	p, to := packer{c: c, h: h, shape: s}, &slot{host: make([]byte, slotBytes(s))}
	b.SetBytes(int64(batch.Tokens()) * 4)
	for b.Loop() {
		p.pack(to, batch, 0, true)
	}
}
