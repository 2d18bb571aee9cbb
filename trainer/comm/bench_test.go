package comm

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"pretext/trainer"
)

// BenchmarkRing reports the bytes that each rank sends per second in a
// reduce-scatter and an all-gather over loopback, and their ratio to what n plain
// connections copy at the same time. Both run in turn, in one process.
func BenchmarkRing(b *testing.B) {
	for _, n := range []int{2, 4} {
		b.Run(fmt.Sprint(n, " ranks"), func(b *testing.B) {
			const length = 16 << 20 / 4
			traffic := 2 * 4 * length / n * (n - 1) // bytes that a rank sends
			var ring, plain time.Duration
			mustAll(b, together(b, n, func(g *Group) error {
				x := make([]float32, length)
				bounds := make([]int, n+1)
				for k := range bounds {
					bounds[k] = k * length / n
				}
				if g.Rank() == 0 {
					b.ResetTimer()
				}
				for range b.N {
					begin := time.Now()
					if err := g.ReduceScatter(trainer.Float32s(x), bounds); err != nil {
						return err
					}
					if err := g.AllGather(trainer.Float32s(x), bounds); err != nil {
						return err
					}
					if err := g.Barrier(); err != nil {
						return err
					}
					if g.Rank() == 0 {
						ring += time.Since(begin)
						begin = time.Now()
						if err := plainCopies(n, traffic); err != nil {
							return err
						}
						plain += time.Since(begin)
					}
					if err := g.Barrier(); err != nil {
						return err
					}
				}
				return nil
			}))
			rate := float64(traffic) * float64(b.N) / ring.Seconds() / 1e9
			b.ReportMetric(rate, "GB/s/rank")
			b.ReportMetric(plain.Seconds()/ring.Seconds(), "of-plain-copy")
		})
	}
}

// plainCopies sends so many bytes over each of n loopback connections at once.
func plainCopies(n, size int) error {
	errs := make(chan error, n)
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer ln.Close()
		to, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			return err
		}
		from, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer to.Close()
			chunk := make([]byte, chunkBytes)
			for sent := 0; sent < size; sent += len(chunk) {
				to.Write(chunk)
			}
		}()
		go func() {
			defer from.Close()
			chunk := make([]byte, chunkBytes)
			for got := 0; got < size; got += len(chunk) {
				if _, err := io.ReadFull(from, chunk); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}
