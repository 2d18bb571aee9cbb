package comm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pretext/internal/failure"
	"pretext/trainer"
)

// quick are intervals for tests: a lost rank is found in a second.
var quick = timing{beat: 50 * time.Millisecond, silence: 1500 * time.Millisecond, grace: 300 * time.Millisecond,
	handshake: 2 * time.Second, linger: time.Second, notice: 100 * time.Millisecond}

// calm are intervals for tests in which no rank is silent, on a busy machine.
var calm = timing{beat: 50 * time.Millisecond, silence: time.Minute, grace: time.Second,
	handshake: 10 * time.Second, linger: 5 * time.Second, notice: time.Minute}

// freePort returns a port on which nothing listens.
func freePort(t testing.TB) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return portOf(ln.Addr())
}

// together joins n goroutines as ranks, runs f on each, and closes them.
func together(t testing.TB, n int, f func(g *Group) error) []error {
	t.Helper()
	return joined(t, n, calm, func(int, *Options) {}, f)
}

// joined joins n goroutines as ranks with the given intervals, after change has modified
// the options of each rank, runs f on each, and closes them.
func joined(t testing.TB, n int, intervals timing, change func(rank int, o *Options), f func(g *Group) error) []error {
	t.Helper()
	port := freePort(t)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for r := range n {
		wg.Go(func() {
			o := Options{Rank: r, Ranks: n, Host: "127.0.0.1", Port: port, Wait: 10 * time.Second}
			change(r, &o)
			g, err := join(context.Background(), o, intervals)
			if err != nil {
				errs[r] = err
				return
			}
			errs[r] = f(g)
			g.Abort(errs[r])
			g.Close()
		})
	}
	wg.Wait()
	return errs
}

func mustAll(t testing.TB, errs []error) {
	t.Helper()
	for r, err := range errs {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// sizes are lengths of buffers for n ranks: none, fewer than ranks, odd; for 3
// ranks also several chunks a part.
func sizes(n int) []int {
	list := []int{0, 1, n - 1, n, 2*n + 1, 1003}
	if n == 3 {
		list = append(list, chunkBytes/4*n+17)
	}
	return list
}

// input returns a rank's values, of sizes that make the order of sums visible.
func input(rank, n int) []float64 {
	rng := rand.New(rand.NewPCG(uint64(rank), uint64(n)))
	x := make([]float64, n)
	for i := range x {
		x[i] = (rng.Float64() - 0.5) * math.Pow(2, float64(rng.IntN(20)))
	}
	return x
}

// cuts returns bounds for n values with parts of any size, some empty.
func cuts(ranks, n int) []int {
	rng := rand.New(rand.NewPCG(uint64(ranks), uint64(n)))
	b := make([]int, ranks+1)
	for k := 1; k < ranks; k++ {
		b[k] = b[k-1] + rng.IntN(n-b[k-1]+1)
		if k%3 == 0 {
			b[k] = b[k-1]
		}
	}
	b[ranks] = n
	return b
}

// inOrder is the documented sum of value i, in part k of R ranks.
func inOrder[T float32 | float64](inputs [][]T, k, i int) T {
	n := len(inputs)
	sum := inputs[(k+1)%n][i]
	for j := 2; j <= n; j++ {
		sum += inputs[(k+j)%n][i]
	}
	return sum
}

func owner(bounds []int, i int) int {
	for k := range len(bounds) - 1 {
		if i < bounds[k+1] {
			return k
		}
	}
	panic("BUG")
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func same[T float32 | float64](got, want []T) error {
	for i, v := range got {
		if math.Float64bits(float64(v)) != math.Float64bits(float64(want[i])) {
			return fmt.Errorf("value %d of %d: got %v, want %v", i, len(got), v, want[i])
		}
	}
	return nil
}

var rankCounts = []int{1, 2, 3, 4, 5, 8}

func TestSumsAreThoseOfTheDocumentedOrderOnEveryRank(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, n := range rankCounts {
		mustAll(t, together(t, n, func(g *Group) error {
			for _, length := range sizes(n) {
				inputs := make([][]float64, n)
				for r := range inputs {
					inputs[r] = input(r, length)
				}
				want := make([]float64, length)
				bounds := make([]int, n+1)
				for k := range bounds {
					bounds[k] = k * length / n
				}
				for i := range want {
					want[i] = inOrder(inputs, owner(bounds, i), i)
				}
				x := inputs[g.Rank()]
				if err := g.AllReduce(x); err != nil {
					return err
				}
				if err := same(x, want); err != nil {
					return fmt.Errorf("%d ranks: %w", n, err)
				}
			}
			return nil
		}))
	}
}

func TestReduceScatterAndAllGather(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, n := range rankCounts {
		mustAll(t, together(t, n, func(g *Group) error {
			for _, length := range sizes(n) {
				bounds := cuts(n, length)
				wide, slim := make([][]float64, n), make([][]float32, n)
				for r := range n {
					wide[r] = input(r, length)
					slim[r] = narrow(wide[r])
				}
				if err := scatterGather(g, trainer.Float64s(wide[g.Rank()]), wide, bounds); err != nil {
					return fmt.Errorf("float64: %w", err)
				}
				if err := scatterGather(g, trainer.Float32s(slim[g.Rank()]), slim, bounds); err != nil {
					return fmt.Errorf("float32: %w", err)
				}
			}
			return nil
		}))
	}
}

// scatterGather sums and gathers x, which is inputs[g.Rank()].
func scatterGather[T float32 | float64](g *Group, x trainer.Values, inputs [][]T, bounds []int) error {
	own := inputs[g.Rank()]
	want := make([]T, len(own))
	for i := range want {
		want[i] = inOrder(inputs, owner(bounds, i), i)
	}
	inputs[g.Rank()] = nil // only this rank's goroutine has this slice of slices
	if err := g.ReduceScatter(x, bounds); err != nil {
		return err
	}
	low, high := bounds[g.Rank()], bounds[g.Rank()+1]
	if err := same(own[low:high], want[low:high]); err != nil {
		return fmt.Errorf("reduce-scatter, bounds %v: %w", bounds, err)
	}
	for i := range own {
		if i < low || i >= high {
			own[i] = T(math.NaN())
		}
	}
	if err := g.AllGather(x, bounds); err != nil {
		return err
	}
	if err := same(own, want); err != nil {
		return fmt.Errorf("all-gather, bounds %v: %w", bounds, err)
	}
	return nil
}

func TestBroadcastAndGather(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, n := range rankCounts {
		mustAll(t, together(t, n, func(g *Group) error {
			for root := range n {
				for _, length := range []int{0, 1, 3*chunkBytes + 5} {
					b := make([]byte, length)
					if g.Rank() == root {
						for i := range b {
							b[i] = byte(i*7 + root)
						}
					}
					if err := g.Broadcast(b, root); err != nil {
						return err
					}
					for i := range b {
						if b[i] != byte(i*7+root) {
							return fmt.Errorf("byte %d of %d from rank %d: got %d", i, length, root, b[i])
						}
					}
				}
			}
			all, err := g.Gather([]byte(strings.Repeat("x", 3*g.Rank())))
			if err != nil {
				return err
			}
			for r, b := range all {
				if string(b) != strings.Repeat("x", 3*r) {
					return fmt.Errorf("gather: rank %d: got %q", r, b)
				}
			}
			return nil
		}))
	}
}

func TestABarrierWaitsForTheLastRank(t *testing.T) {
	for late := range 3 {
		var at [3]time.Time
		var came time.Time
		mustAll(t, together(t, 3, func(g *Group) error {
			if g.Rank() == late {
				time.Sleep(50 * time.Millisecond)
				came = time.Now()
			}
			err := g.Barrier()
			at[g.Rank()] = time.Now()
			return err
		}))
		for r, passed := range at {
			if passed.Before(came) {
				t.Errorf("rank %d passed %v before rank %d came", r, came.Sub(passed), late)
			}
		}
	}
}

func TestValuesAreLittleEndianOnTheWire(t *testing.T) {
	b := bytesOf([]float32{1})
	if bigEndian {
		swapped(b, 4)
	}
	if got := fmt.Sprintf("%x", b); got != "0000803f" {
		t.Errorf("1 as float32 is %s on the wire, want 0000803f", got)
	}
	// As between two machines of the other byte order: values are swapped twice.
	bigEndian = !bigEndian
	defer func() { bigEndian = !bigEndian }()
	TestReduceScatterAndAllGather(t)
}

func TestDifferentCallsAreAnErrorOnEveryRank(t *testing.T) {
	defer goleak.VerifyNone(t)
	errs := together(t, 3, func(g *Group) error {
		return g.AllReduce(make([]float64, 10+g.Rank()/2))
	})
	for r, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "while rank") {
			t.Errorf("rank %d: got %v, want both calls named", r, err)
		}
	}
}

func TestBoundsThatDoNotFitAreAnError(t *testing.T) {
	g := newGroup(Options{Ranks: 1}, quick)
	for _, bounds := range [][]int{nil, {0}, {1, 3}, {0, 2}, {0, 4}, {0, 1, 3}} {
		if err := g.ReduceScatter(trainer.Float32s(make([]float32, 3)), bounds); err == nil {
			t.Errorf("bounds %v of 3 values for one rank: no error", bounds)
		}
	}
}

// A rank that returns an error ends all ranks with this error and its kind.
func TestAnErrorOfOneRankEndsAll(t *testing.T) {
	defer goleak.VerifyNone(t)
	for culprit := range 3 {
		errs := together(t, 3, func(g *Group) error {
			if g.Rank() == culprit {
				return fmt.Errorf("read shard: %w", failure.Damaged("corrupt data"))
			}
			return g.AllReduce(make([]float64, 5))
		})
		for r, err := range errs {
			var damaged interface{ Damaged() bool }
			if err == nil || !errors.As(err, &damaged) || !strings.Contains(err.Error(), "read shard") {
				t.Errorf("rank %d: got %v, want rank %d's error", r, err, culprit)
			}
			var lost *RankError
			if r != culprit && (!errors.As(err, &lost) || lost.Rank != culprit || lost.Host == "") {
				t.Errorf("rank %d: got %v, want rank %d named with its host", r, err, culprit)
			}
		}
	}
}

// A collective reports the rank that has closed early. Ranks that make no further
// collective get no error.
func TestARankMayCloseFirst(t *testing.T) {
	defer goleak.VerifyNone(t)
	for first := range 3 {
		var left sync.WaitGroup
		left.Add(1)
		errs := together(t, 3, func(g *Group) error {
			if err := g.Barrier(); err != nil {
				return err
			}
			if g.Rank() == first {
				defer left.Done()
				return g.Close()
			}
			left.Wait()
			time.Sleep(3 * calm.beat)
			select {
			case <-g.Failed():
				return g.err
			default:
				return nil
			}
		})
		mustAll(t, errs)
		errs = together(t, 3, func(g *Group) error {
			if g.Rank() == first {
				return nil
			}
			return g.Barrier()
		})
		for r, err := range errs {
			var lost *RankError
			if r != first && (!errors.As(err, &lost) || lost.Rank != first) {
				t.Errorf("rank %d: got %v, want an error that names rank %d", r, err, first)
			}
		}
	}
}

// Data that a rank has sent is not lost if the rank closes before the next one reads it.
func TestCloseWaitsUntilTheNextRankHasReceived(t *testing.T) {
	var awake atomic.Bool // rank 1 is about to receive
	mustAll(t, together(t, 2, func(g *Group) error {
		if g.Rank() == 1 {
			time.Sleep(4 * calm.beat)
			awake.Store(true)
		}
		if err := g.Broadcast(make([]byte, 1000), 0); err != nil || g.Rank() == 1 {
			return err
		}
		g.Close()
		if !awake.Load() {
			return errors.New("closed before the next rank had received the data")
		}
		return nil
	}))
}

func TestAgreeNamesTheFieldAndBothValues(t *testing.T) {
	errs := together(t, 3, func(g *Group) error {
		if err := g.Agree(map[string]string{"data": "a"}); err != nil {
			return err
		}
		return g.Agree(map[string]string{"data": []string{"a", "a", "b"}[g.Rank()]})
	})
	for r, err := range errs {
		want := fmt.Sprintf("rank 2 (%s): data is b, and a on rank 0 (%[1]s)", hostName())
		if err == nil || !strings.HasSuffix(err.Error(), want) || exitCode(err) != 2 {
			t.Errorf("rank %d: got %v, want a usage error: %s", r, err, want)
		}
	}
}

// A rank sends (R-1)/R of a buffer and a header of 32 bytes.
func TestBytesOnTheWire(t *testing.T) {
	counting := calm
	counting.count = func(c net.Conn) net.Conn { return &countingConn{Conn: c} }
	for _, n := range []int{2, 3, 5} {
		mustAll(t, joined(t, n, counting, func(int, *Options) {}, func(g *Group) error {
			const length = 30 * 1000 // parts are equal
			wire := g.next.(*countingConn)
			before := wire.sent.Load()
			bounds := make([]int, n+1)
			for k := range bounds {
				bounds[k] = k * length / n
			}
			if err := g.ReduceScatter(trainer.Float32s(make([]float32, length)), bounds); err != nil {
				return err
			}
			if want := callHeader + 4*length/n*(n-1); wire.sent.Load()-before != int64(want) {
				return fmt.Errorf("sent %d bytes, want %d", wire.sent.Load()-before, want)
			}
			return nil
		}))
	}
}

type countingConn struct {
	net.Conn
	sent atomic.Int64
}

func (c *countingConn) Write(b []byte) (int, error) {
	c.sent.Add(int64(len(b)))
	return c.Conn.Write(b)
}

// While a rank computes for longer than the silence that ends a rank, the others
// wait for it.
func TestASlowRankIsWaitedFor(t *testing.T) {
	defer goleak.VerifyNone(t)
	mustAll(t, joined(t, 3, quick, func(int, *Options) {}, func(g *Group) error {
		if g.Rank() == 2 {
			for begin := time.Now(); time.Since(begin) < quick.silence*4/3; { // busy, as a rank that computes
			}
		}
		return g.Barrier()
	}))
}
