package sim

import (
	"encoding/binary"
	"slices"
	"testing"
)

// bump adds 1 to every word of p0; 64 threads.
const bump = places + "ld.global.u32 %r10, [%rd1];\nadd.s32 %r10, %r10, 1;\nst.global.u32 [%rd1], %r10;"

func bumpKernel(t *testing.T, d *Device) *Kernel {
	t.Helper()
	m, err := d.Load(module(1, bump))
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestStreamsRunInEveryOrderThatEventsAllow(t *testing.T) {
	orders := map[bool]bool{} // whether the work of b that nothing orders ran before that of a
	for seed := range uint64(30) {
		d := New(Options{Seed: seed})
		k, c := bumpKernel(t, d), Config{Block: Dim{X: 64}}
		x, y := alloc(t, d, "x", 256), put(t, d, "y", make([]uint32, 64))
		a, b := d.NewStream(), d.NewStream()
		var ready, free Event
		b.Wait(&free) // never recorded: holds nothing back
		words := make([]byte, 256)
		for i := range 64 {
			binary.LittleEndian.PutUint32(words[4*i:], uint32(i))
		}
		a.Write(Pointer(x), words)
		a.Launch(k, c, flat([]uint64{x}))
		a.Record(&ready)
		b.Launch(k, c, flat([]uint64{y})) // beside a
		b.Wait(&ready)
		b.Launch(k, c, flat([]uint64{x}))
		b.Copy(Pointer(y), Pointer(x), 128)
		out := make([]byte, 256)
		b.Read(out, Pointer(y))
		b.Clear(Pointer(y), 4)
		if err := b.Synchronize(); err != nil {
			t.Fatal(err)
		}
		for i := range 64 {
			want := uint32(i + 2)
			if i >= 32 {
				want = 1
			}
			if got := binary.LittleEndian.Uint32(out[4*i:]); got != want {
				t.Fatalf("seed %d: y[%d] is %d, want %d", seed, i, got, want)
			}
		}
		if got := get[uint32](t, d, y, 2); !slices.Equal(got, []uint32{0, 3}) {
			t.Fatalf("cleared to %v", got)
		}
		orders[d.history[0].stream == 1] = true
	}
	if len(orders) != 2 {
		t.Error("streams ran in one order only")
	}
}

func TestWorkThatNothingOrdersIsARace(t *testing.T) {
	for name, c := range map[string]struct {
		work func(d *Device, a, b *Stream, k *Kernel, p uint64)
		race bool
	}{
		"a kernel and a kernel": {func(d *Device, a, b *Stream, k *Kernel, p uint64) { bumpIn(a, k, p); bumpIn(b, k, p) }, true},
		"a kernel and a copy from it": {func(d *Device, a, b *Stream, k *Kernel, p uint64) {
			bumpIn(a, k, p)
			b.Read(make([]byte, 4), Pointer(p))
		}, true},
		"a kernel and a clear": {func(d *Device, a, b *Stream, k *Kernel, p uint64) { bumpIn(a, k, p); b.Clear(Pointer(p), 4) }, true},
		"two readers": {func(d *Device, a, b *Stream, k *Kernel, p uint64) {
			a.Read(make([]byte, 4), Pointer(p))
			b.Read(make([]byte, 4), Pointer(p))
		}, false},
		"a reader, a reader, and a writer behind one of them": {func(d *Device, a, b *Stream, k *Kernel, p uint64) {
			a.Read(make([]byte, 4), Pointer(p))
			b.Read(make([]byte, 4), Pointer(p))
			bumpIn(b, k, p)
		}, true},
		"a reader, a reader, and a clear behind one of them": {func(d *Device, a, b *Stream, k *Kernel, p uint64) {
			a.Read(make([]byte, 4), Pointer(p))
			b.Read(make([]byte, 4), Pointer(p))
			b.Clear(Pointer(p), 4)
		}, true},
		"what a stream wrote, beside what another wrote": {func(d *Device, a, b *Stream, k *Kernel, p uint64) {
			before, _ := d.Alloc("y", 4)
			b.Clear(before, 4)
			a.Clear(Pointer(p), 128)
			b.Clear(Pointer(p)+128, 128)
			bumpIn(a, k, p)
		}, true},
		"an event between": {func(d *Device, a, b *Stream, k *Kernel, p uint64) {
			var e Event
			bumpIn(a, k, p)
			a.Record(&e)
			b.Wait(&e)
			bumpIn(b, k, p)
		}, false},
		"an event recorded too early": {func(d *Device, a, b *Stream, k *Kernel, p uint64) {
			var e Event
			a.Record(&e)
			bumpIn(a, k, p)
			b.Wait(&e)
			bumpIn(b, k, p)
		}, true},
		"a third stream between": {func(d *Device, a, b *Stream, k *Kernel, p uint64) {
			var e, f Event
			c := d.NewStream()
			bumpIn(a, k, p)
			a.Record(&e)
			c.Wait(&e)
			c.Record(&f)
			b.Wait(&f)
			bumpIn(b, k, p)
		}, false},
		"the host waited": {func(d *Device, a, b *Stream, k *Kernel, p uint64) {
			bumpIn(a, k, p)
			_ = a.Synchronize()
			bumpIn(b, k, p)
		}, false},
		"the host waited for another": {func(d *Device, a, b *Stream, k *Kernel, p uint64) {
			bumpIn(a, k, p)
			_ = b.Synchronize()
			bumpIn(b, k, p)
		}, true},
	} {
		for seed := range uint64(80) {
			d := New(Options{Seed: seed})
			k, p := bumpKernel(t, d), put(t, d, "x", make([]uint32, 64))
			c.work(d, d.NewStream(), d.NewStream(), k, p)
			if err := d.Synchronize(); c.race && !IsFault(err, RaceInStreams) || !c.race && err != nil {
				t.Fatalf("%s, seed %d: got %v", name, seed, err)
			}
		}
	}
}

func bumpIn(s *Stream, k *Kernel, p uint64) {
	s.Launch(k, Config{Block: Dim{X: 64}}, flat([]uint64{p}))
}

func TestFaultsOfCopiesStopADevice(t *testing.T) {
	d := New(Options{})
	s, p := d.NewStream(), Pointer(alloc(t, d, "x", 8))
	s.Read(make([]byte, 4), p)
	s.Clear(p, 8)
	if err := s.Synchronize(); !IsFault(err, Unwritten) {
		t.Errorf("got %v", err)
	}
	if err := d.NewStream().Synchronize(); !IsFault(err, Unwritten) {
		t.Errorf("the first fault is forgotten: %v", err)
	}
	d = New(Options{})
	s = d.NewStream()
	s.Clear(Pointer(alloc(t, d, "x", 8)), 12)
	if err := s.Synchronize(); !IsFault(err, OutOfBounds) {
		t.Errorf("got %v", err)
	}
}
