package sim_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
)

// A member is a rank of a test, with its device and a communicator of all ranks.
type member struct {
	gpu
	rank, ranks int
	comm        device.Communicator
	stream      device.Stream
}

// ranks runs f on ranks devices at once, and returns the error of each.
func ranks(t *testing.T, n int, seed uint64, f func(m member) error) []error {
	t.Helper()
	network := sim.NewNetwork()
	network.Wait = 10 * time.Second
	return ranksOn(t, network, n, seed, f)
}

func ranksOn(t *testing.T, network *sim.Network, n int, seed uint64, f func(m member) error) []error {
	t.Helper()
	errs := make([]error, n)
	id, err := sim.NewGPU(sim.Options{Network: network}).UniqueID()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() {
			errs[r] = errors.New("the test ended early")
			g := gpu{sim.NewGPU(sim.Options{Seed: seed + uint64(r), Network: network}), t}
			comm, err := g.Connect(t.Context(), id, r, n)
			if err != nil {
				errs[r] = err
				return
			}
			s, err := g.NewStream()
			g.must(err)
			errs[r] = f(member{g, r, n, comm, s})
		})
	}
	all.Wait()
	return errs
}

func (m member) collect(list ...device.Collective) error {
	return m.Collect(m.stream, m.comm, list...)
}

// input returns n values of this rank.
func (m member) input(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i+1) * float32(math.Pow(10, float64(m.rank)))
	}
	return x
}

func TestCollectivesComputeWhatTheySay(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		for name, err := range ranks(t, n, 7, func(m member) error {
			ones := (math.Pow(10, float64(n)) - 1) / 9 // Σ 10^rank
			sum := m.floats(m.stream, m.input(130)...)
			scattered := m.floats(m.stream, m.input(4*n)...)
			gathered, mine := m.floats(m.stream, make([]float32, 3*n)...), m.floats(m.stream, m.input(3)...)
			sent := m.floats(m.stream, m.input(2)...)
			err := m.collect(device.Collective{Kind: device.AllReduce, Send: sum, Receive: sum, N: 130})
			err = errors.Join(err, m.collect(
				device.Collective{Kind: device.ReduceScatter, Send: scattered, Receive: scattered.Add(16 * m.rank), N: 4},
				device.Collective{Kind: device.AllGather, Send: mine, Receive: gathered, N: 3},
				device.Collective{Kind: device.Broadcast, Send: sent, Receive: sent, N: 2, Root: n - 1},
			), m.Sync())
			if err != nil {
				return err
			}
			for i, v := range m.read(m.stream, sum, 130) {
				if want := float32(float64(i+1) * ones); v != want {
					return fmt.Errorf("sum[%d] is %v, want %v", i, v, want)
				}
			}
			for i, v := range m.read(m.stream, scattered.Add(16*m.rank), 4) {
				if want := float32(float64(4*m.rank+i+1) * ones); v != want {
					return fmt.Errorf("the sum of part %d is %v, want %v", m.rank, v, want)
				}
			}
			for i, v := range m.read(m.stream, gathered, 3*n) {
				if want := float32(float64(i%3+1) * math.Pow(10, float64(i/3))); v != want {
					return fmt.Errorf("gathered[%d] is %v, want %v", i, v, want)
				}
			}
			if got, want := m.read(m.stream, sent, 2), []float32{float32(math.Pow(10, float64(n-1))), 2 * float32(math.Pow(10, float64(n-1)))}; !slices.Equal(got, want) {
				return fmt.Errorf("rank %d sent %v, want %v", n-1, got, want)
			}
			return errors.Join(m.Disconnect(m.comm), m.Close())
		}) {
			if err != nil {
				t.Errorf("rank %d of %d: %v", name, n, err)
			}
		}
	}
}

// Sums of 16-bit elements are rounded to 16 bits at each addition: 256 + 1 + 1 is
// 256 in bfloat16 unless the ones are added first.
func TestSumsAreRoundedToTheirType(t *testing.T) {
	for typ, want := range map[device.DataType][]uint16{
		device.BFloat16: {0x4380, 0x4381}, // 256, or 258
		device.Float16:  {0x6800, 0x6801}, // 2048, or 2050
	} {
		seen := map[uint16]bool{}
		for _, err := range ranks(t, 3, 1, func(m member) error {
			big := map[device.DataType]uint16{device.BFloat16: 0x4380, device.Float16: 0x6800}[typ]
			one := map[device.DataType]uint16{device.BFloat16: 0x3f80, device.Float16: 0x3c00}[typ]
			const n = 192 // three pieces, each in another order of the ranks
			b, err := m.AllocHost(2 * n)
			m.must(err)
			for i := range n {
				v := one
				if m.rank == 0 {
					v = big
				}
				binary.LittleEndian.PutUint16(b[2*i:], v)
			}
			p, err := m.Alloc(2 * n)
			m.must(err)
			err = errors.Join(m.ToDevice(m.stream, p, b), m.collect(device.Collective{Kind: device.AllReduce, Type: typ, Send: p, Receive: p, N: n}), m.SyncStream(m.stream), m.ToHost(m.stream, b, p), m.SyncStream(m.stream))
			if m.rank == 0 {
				for i := range n {
					seen[binary.LittleEndian.Uint16(b[2*i:])] = true
				}
			}
			return err
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		if len(seen) != 2 || !seen[want[0]] || !seen[want[1]] {
			t.Errorf("type %d: sums %v, want %v", typ, seen, want)
		}
	}
}

// Ranks that make other calls get a fault that names both, instead of a hang.
func TestDifferentCallsAreFaults(t *testing.T) {
	all := func(kind device.CollectiveKind, n, root int, typ device.DataType, p device.Pointer) device.Collective {
		c := device.Collective{Kind: kind, N: n, Root: root, Type: typ, Send: p, Receive: p}
		if kind == device.ReduceScatter {
			c.Receive = p.Add(4096)
		}
		return c
	}
	for name, two := range map[string][2]func(p device.Pointer) []device.Collective{
		"another size": {func(p device.Pointer) []device.Collective {
			return []device.Collective{all(device.AllReduce, 4, 0, 0, p)}
		},
			func(p device.Pointer) []device.Collective {
				return []device.Collective{all(device.AllReduce, 5, 0, 0, p)}
			}},
		"another type": {func(p device.Pointer) []device.Collective {
			return []device.Collective{all(device.AllReduce, 4, 0, 0, p)}
		},
			func(p device.Pointer) []device.Collective {
				return []device.Collective{all(device.AllReduce, 4, 0, device.BFloat16, p)}
			}},
		"another kind": {func(p device.Pointer) []device.Collective {
			return []device.Collective{all(device.AllReduce, 4, 0, 0, p)}
		},
			func(p device.Pointer) []device.Collective {
				return []device.Collective{all(device.ReduceScatter, 4, 0, 0, p)}
			}},
		"another root": {func(p device.Pointer) []device.Collective {
			return []device.Collective{all(device.Broadcast, 4, 0, 0, p)}
		},
			func(p device.Pointer) []device.Collective {
				return []device.Collective{all(device.Broadcast, 4, 1, 0, p)}
			}},
		"another order": {func(p device.Pointer) []device.Collective {
			return []device.Collective{all(device.AllReduce, 4, 0, 0, p), all(device.AllReduce, 5, 0, 0, p.Add(64))}
		},
			func(p device.Pointer) []device.Collective {
				return []device.Collective{all(device.AllReduce, 5, 0, 0, p), all(device.AllReduce, 4, 0, 0, p.Add(64))}
			}},
	} {
		for rank, err := range ranks(t, 2, 3, func(m member) error {
			p := m.floats(m.stream, make([]float32, 2048)...)
			return errors.Join(m.collect(two[m.rank](p)...), m.Sync())
		}) {
			if !sim.IsFault(err, sim.BadCollective) || !strings.Contains(err.Error(), "call 1 of the communicator is on rank") || !strings.Contains(err.Error(), "rank 0") || !strings.Contains(err.Error(), "rank 1") {
				t.Errorf("%s, rank %d: %v", name, rank, err)
			}
		}
	}
}

// While a collective runs, its memory belongs to it: work of another stream that no
// event orders is a race, before and after, reads and writes.
func TestMemoryOfACollectiveIsItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		work func(m member, other device.Stream, e device.Event, p device.Pointer) error
		race bool
	}{
		"an event before and after": {func(m member, other device.Stream, e device.Event, p device.Pointer) error {
			return errors.Join(m.Clear(other, p, 16), m.Record(other, e), m.Wait(m.stream, e), m.collect(device.Collective{Send: p, Receive: p, N: 4}),
				m.Record(m.stream, e), m.Wait(other, e), m.Clear(other, p, 16))
		}, false},
		"no event before": {func(m member, other device.Stream, e device.Event, p device.Pointer) error {
			return errors.Join(m.Clear(other, p, 16), m.Record(other, e), m.collect(device.Collective{Send: p, Receive: p, N: 4}))
		}, true},
		"no event after": {func(m member, other device.Stream, e device.Event, p device.Pointer) error {
			return errors.Join(m.collect(device.Collective{Send: p, Receive: p, N: 4}), m.Record(m.stream, e), m.Clear(other, p, 16))
		}, true},
		"an event recorded before the collective": {func(m member, other device.Stream, e device.Event, p device.Pointer) error {
			return errors.Join(m.Record(m.stream, e), m.collect(device.Collective{Send: p, Receive: p, N: 4}), m.Wait(other, e), m.Clear(other, p, 16))
		}, true},
		"a read of what is sent": {func(m member, other device.Stream, e device.Event, p device.Pointer) error {
			q := m.floats(m.stream, 0, 0, 0, 0)
			return errors.Join(m.collect(device.Collective{Send: p, Receive: q, N: 4}), m.Copy(other, p.Add(16), p, 16))
		}, false},
		"a read of what is received": {func(m member, other device.Stream, e device.Event, p device.Pointer) error {
			q := m.floats(m.stream, 0, 0, 0, 0)
			return errors.Join(m.collect(device.Collective{Send: p, Receive: q, N: 4}), m.Copy(other, p.Add(16), q, 16))
		}, true},
		"a write to what is sent": {func(m member, other device.Stream, e device.Event, p device.Pointer) error {
			q := m.floats(m.stream, 0, 0, 0, 0)
			return errors.Join(m.collect(device.Collective{Send: p, Receive: q, N: 4}), m.Clear(other, p, 4))
		}, true},
		"memory beside": {func(m member, other device.Stream, e device.Event, p device.Pointer) error {
			return errors.Join(m.collect(device.Collective{Send: p, Receive: p, N: 4}), m.Clear(other, p.Add(16), 4))
		}, false},
	} {
		for seed := range uint64(10) {
			for rank, err := range ranks(t, 1, seed, func(m member) error { // with more, the others would wait for one with a fault
				p := m.floats(m.stream, 1, 2, 3, 4, 5, 6, 7, 8)
				other, err := m.NewStream()
				m.must(err)
				e, err := m.NewEvent(false)
				m.must(err)
				return errors.Join(c.work(m, other, e, p), m.Sync())
			}) {
				if c.race && !sim.IsFault(err, sim.RaceInStreams) || !c.race && err != nil {
					t.Fatalf("%s, seed %d, rank %d: got %v", name, seed, rank, err)
				}
			}
		}
	}
}

// Other streams run while a collective waits for its ranks, and both orders occur.
func TestWorkRunsBesideACollective(t *testing.T) {
	for _, err := range ranks(t, 2, 5, func(m member) error {
		p, q := m.floats(m.stream, 1, 2), m.floats(m.stream, 3, 4)
		other, err := m.NewStream()
		m.must(err)
		m.must(m.collect(device.Collective{Send: p, Receive: p, N: 2}))
		m.must(m.Clear(other, q, 8))
		m.must(m.SyncStream(other))
		if got := m.read(other, q, 2); !slices.Equal(got, []float32{0, 0}) {
			return fmt.Errorf("beside the collective: %v", got)
		}
		return m.SyncStream(m.stream)
	}) {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestAnAbortEndsWhatWaits(t *testing.T) {
	lost := errors.New("rank 1 was lost")
	for rank, err := range ranks(t, 2, 5, func(m member) error {
		if m.rank == 1 {
			return nil // it never makes the call
		}
		p := m.floats(m.stream, 1, 2)
		m.must(m.collect(device.Collective{Send: p, Receive: p, N: 2}))
		time.AfterFunc(20*time.Millisecond, func() { m.Abort(m.comm, lost) })
		err := m.Sync()
		if again := m.AsyncError(m.comm); !errors.Is(again, lost) {
			return fmt.Errorf("AsyncError: %v", again)
		}
		if again := m.collect(device.Collective{Send: p, Receive: p, N: 2}); !errors.Is(again, lost) {
			return fmt.Errorf("Collect: %v", again)
		}
		return err
	}) {
		if rank == 0 && !errors.Is(err, lost) || rank == 1 && err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

func TestARankThatNeverCallsIsReported(t *testing.T) {
	network := sim.NewNetwork()
	network.Wait = 50 * time.Millisecond
	errs := ranksOn(t, network, 3, 5, func(m member) error {
		if m.rank == 1 {
			return nil
		}
		p := m.floats(m.stream, 1, 2)
		return errors.Join(m.collect(device.Collective{Send: p, Receive: p, N: 2}), m.Sync())
	})
	if !sim.IsFault(errs[0], sim.Hang) || !sim.IsFault(errs[2], sim.Hang) || !strings.Contains(errs[0].Error(), "rank 1 has not made call 1 in 50ms: all-reduce of 2 elements of type 0") {
		t.Errorf("got %v", errs)
	}
}

func TestConnectNeedsAllRanks(t *testing.T) {
	network := sim.NewNetwork()
	g := newGPU(t, 1)
	if _, err := g.UniqueID(); !errors.Is(err, trainer.ErrUnavailable) {
		t.Errorf("without a network: %v", err)
	}
	g.GPU = sim.NewGPU(sim.Options{Network: network})
	id, err := g.UniqueID()
	g.must(err)
	lost := errors.New("rank 1 was lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(lost) })
	if _, err := g.Connect(ctx, id, 0, 2); !errors.Is(err, lost) {
		t.Errorf("a rank alone of two: %v", err)
	}
	for name, f := range map[string]func() error{
		"a rank twice":         func() error { _, err := g.Connect(t.Context(), id, 0, 2); return err },
		"another size":         func() error { _, err := g.Connect(t.Context(), id, 1, 3); return err },
		"a rank that is none":  func() error { _, err := g.Connect(t.Context(), id, 2, 2); return err },
		"a short ID":           func() error { _, err := g.Connect(t.Context(), id[1:], 1, 2); return err },
		"no such communicator": func() error { return g.Disconnect(7) },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCollectiveBuffersThatNCCLRefusesOrSpoils(t *testing.T) {
	for name, list := range map[string]func(p device.Pointer) []device.Collective{
		"nothing": func(p device.Pointer) []device.Collective { return []device.Collective{{Send: p, Receive: p}} },
		"no such root": func(p device.Pointer) []device.Collective {
			return []device.Collective{{Kind: device.Broadcast, Send: p, Receive: p, N: 1, Root: 1}}
		},
		"misaligned": func(p device.Pointer) []device.Collective {
			return []device.Collective{{Send: p.Add(2), Receive: p.Add(2), N: 1}}
		},
		"overlap": func(p device.Pointer) []device.Collective {
			return []device.Collective{{Send: p, Receive: p.Add(4), N: 2}}
		},
		"written twice": func(p device.Pointer) []device.Collective {
			return []device.Collective{{Send: p, Receive: p, N: 2}, {Send: p.Add(4), Receive: p.Add(4), N: 2}}
		},
	} {
		for _, err := range ranks(t, 1, 1, func(m member) error { return m.collect(list(m.floats(m.stream, 1, 2, 3, 4))...) }) {
			if !sim.IsFault(err, sim.BadCollective) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, err := range ranks(t, 1, 1, func(m member) error {
		p, err := m.Alloc(16)
		m.must(err)
		return errors.Join(m.collect(device.Collective{Send: p, Receive: p, N: 4}), m.Sync())
	}) {
		if !sim.IsFault(err, sim.Unwritten) {
			t.Errorf("memory that was never written: %v", err)
		}
	}
}
