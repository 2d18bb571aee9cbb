package cpu

import (
	"math/rand/v2"
	"testing"
	"time"

	"pretext/internal/usage"
	"pretext/trainer"
	"pretext/trainer/comm"
)

// A stepper takes steps on ranks of this process.
type stepper struct {
	step chan bool // starts a step; closed at the end
	done chan error
	n    int
}

func (s *stepper) take(b *testing.B) (cpu, wall time.Duration) {
	b.Helper()
	start, began := usage.CPU(), time.Now()
	for range s.n {
		s.step <- true
	}
	for range s.n {
		if err := <-s.done; err != nil {
			b.Fatal(err)
		}
	}
	return usage.CPU() - start, time.Since(began)
}

// newStepper opens a model of BERT-tiny on each of n ranks, connected over TCP, which
// share 4,096 tokens a step.
func newStepper(b *testing.B, n, threads int, shard bool) *stepper {
	c, err := trainer.Preset("tiny", 30522)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	var batches []*trainer.Batch
	for range 2 {
		batch := &trainer.Batch{}
		for i := range 16 {
			batch.Append(randomSequence(r, c, 128, 20, int64(i)))
		}
		batches = append(batches, batch)
	}
	s := &stepper{step: make(chan bool), done: make(chan error), n: n}
	b.Cleanup(func() { close(s.step) })
	run := func(g trainer.Comm) {
		o := limitsOf(batches[0], trainer.Float32)
		o.Comm, o.ShardOptimizer = g, shard
		m := openRandom[float32](b, c, trainer.PretrainHeads(), o, Backend{Threads: threads})
		mine := batches
		if n == 2 {
			mine = batches[g.Rank() : g.Rank()+1]
		}
		for range s.step {
			var err error
			for i, batch := range mine {
				if err == nil {
					err = m.Accumulate(batch, trainer.Coef{MLM: 1. / 640, NSP: 1. / 32}, i == len(mine)-1)
				}
			}
			if err == nil {
				_, err = m.Apply(steady(1e-4))
			}
			s.done <- err
		}
	}
	if n == 1 {
		go run(comm.Alone())
	} else {
		go overTCP(b, n, run)
	}
	s.take(b) // the first use of memory is slow
	return s
}

// BenchmarkTwoRanks takes the same steps with one rank of two threads and with two
// ranks of one thread, by turns, and reports the time of two ranks as a multiple.
func BenchmarkTwoRanks(b *testing.B) {
	for name, shard := range map[string]bool{"all": false, "zero1": true} {
		b.Run(name, func(b *testing.B) {
			one, two := newStepper(b, 1, 2, false), newStepper(b, 2, 1, shard)
			var cpu, wall [2]time.Duration
			for b.Loop() {
				for i, s := range []*stepper{one, two} {
					c, w := s.take(b)
					cpu[i], wall[i] = cpu[i]+c, wall[i]+w
				}
			}
			b.ReportMetric(cpu[1].Seconds()/cpu[0].Seconds(), "cpu-ratio")
			b.ReportMetric(wall[1].Seconds()/wall[0].Seconds(), "wall-ratio")
			b.ReportMetric(1e3*cpu[0].Seconds()/float64(b.N), "one-cpu-ms/step")
		})
	}
}
