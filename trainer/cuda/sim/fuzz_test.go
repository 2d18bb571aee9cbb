package sim

import (
	"errors"
	"testing"
)

// FuzzLaunch loads and runs kernels of any instructions: each is refused, or runs
// to its end or to a fault, and what it did is the same again.
func FuzzLaunch(f *testing.F) {
	for _, c := range faulty {
		f.Add(places+c.body, uint8(c.width))
	}
	f.Add("shfl.sync.up.b32 %r3|%p1, %r1, 3, 0, -1;\nvote.sync.ballot.b32 %r3, %p2, -1;", uint8(32))
	f.Add("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r6];\nmov.b64 %rd5, {%r0, %r1};\nld.global.v2.u16 {%r1, _}, [%rd1+-8];", uint8(33))
	f.Fuzz(func(t *testing.T, body string, width uint8) {
		run := func() (string, Counts) {
			d := New(Options{Seed: 1, MaxInstructions: 2000, Memory: 1 << 16})
			p, err := d.Alloc("buffer", 256)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Write(p, make([]byte, 256)); err != nil {
				t.Fatal(err)
			}
			m, err := d.Load(module(1, body))
			if err != nil {
				return "refused", Counts{}
			}
			k, err := m.Kernel("k")
			if err != nil {
				return "refused", Counts{}
			}
			for _, b := range k.program.size {
				if b > 1<<12 { // of registers: memory is not what is tested
					return "refused", Counts{}
				}
			}
			err = d.Launch(k, Config{Grid: Dim{X: 2}, Block: Dim{X: int(width)}}, flat([]uint64{uint64(p)}))
			var fault *Fault
			if err != nil && !errors.As(err, &fault) {
				t.Fatalf("the error is no fault: %v", err)
			}
			if err == nil {
				return "", k.Counts()
			}
			return err.Error(), k.Counts()
		}
		said, counts := run()
		if again, c := run(); again != said || c != counts {
			t.Errorf("got %q, %+v; then %q, %+v", said, counts, again, c)
		}
	})
}
