package cuda

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pretext/trainer"
	"pretext/trainer/comm"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/internal/ranktest"
)

// rankConfig is a model with four buckets, two of them layers.
func rankConfig() trainer.Config {
	c := smallConfig(64, 2, trainer.GELUNew)
	c.VocabSize, c.IntermediateSize, c.MaxPositions = 67, 72, 20
	return c
}

// A rankRun is a training of the same micro-batches by some ranks.
type rankRun struct {
	ranks     int
	transport Transport
	shard     bool
	optimizer trainer.OptimizerName
	precision trainer.Precision
	from      *rankResult // where it resumes; nil: initial weights
	steps     [2]int      // first and end; {0, 0} means {0, 2}
	infinite  int         // rank whose gradients in step 0 are infinite; 0: none
}

// A rankResult is what a rank has at the end.
type rankResult struct {
	infos   []trainer.StepInfo
	weights map[string][]float64
	saved   map[trainer.Kind]map[string][]float64 // a snapshot's, on rank 0
	state   trainer.State
	device  *collecting
	calls   []collectCall // of the steps; device.calls has those of the snapshot too
}

// microBatches returns the micro-batches of a step: three, in step 1 two, so that of
// three ranks one has none.
func microBatches(step int) []*trainer.Batch {
	r, c := rand.New(rand.NewPCG(uint64(step), 2)), rankConfig()
	all := []*trainer.Batch{ragged(r, c, 2, 7), ragged(r, c, 1, 9), ragged(r, c, 3, 6)}
	if step == 1 {
		return all[:2]
	}
	return all
}

// train runs q on simulated devices and returns the result of each rank.
func (q rankRun) train(t *testing.T) []rankResult {
	t.Helper()
	results := make([]rankResult, q.ranks)
	network := sim.NewNetwork()
	network.Wait = 30 * time.Second
	ranktest.Run(q.ranks, func(comm trainer.Comm) {
		r := comm.Rank()
		results[r] = q.rank(t, comm, newCollecting(uint64(r+1), network))
	})
	if t.Failed() {
		t.FailNow()
	}
	return results
}

// rank runs q on one rank.
func (q rankRun) rank(t *testing.T, comm trainer.Comm, d *collecting) (result rankResult) {
	c, h := rankConfig(), trainer.PretrainHeads()
	o := trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: q.precision, Train: true, Seed: 9, Optimizer: trainer.DefaultOptimizer(q.optimizer),
		Comm: comm, ShardOptimizer: q.shard, Deterministic: true}
	b := onDevice(d)
	b.Transport = q.transport
	m, err := b.Open(c, h, o)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	q.load(t, m, c, h)
	d.calls = nil
	if q.steps == [2]int{} {
		q.steps = [2]int{0, 2}
	}
	for step := q.steps[0]; step < q.steps[1]; step++ {
		info, err := q.step(m, comm, step)
		if err != nil {
			t.Errorf("rank %d, step %d: %v", comm.Rank(), step, err)
			return
		}
		result.infos = append(result.infos, info)
	}
	result.weights, result.state, result.device, result.calls = values(t, m, trainer.Weights), m.State(), d, d.calls
	s, err := m.Snapshot()
	if err != nil {
		t.Error(err)
		return
	}
	// As in training, where the next step begins with it.
	if err := comm.AllReduce([]float64{0}); err != nil {
		t.Error(err)
	}
	if result.saved = map[trainer.Kind]map[string][]float64{}; comm.Rank() == 0 {
		for _, k := range []trainer.Kind{trainer.Weights, trainer.FirstMoment, trainer.SecondMoment} {
			result.saved[k] = values(t, s, k)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return result
}

func (q rankRun) load(t *testing.T, m trainer.Model, c trainer.Config, h trainer.Heads) {
	if q.from == nil {
		if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 5)); err != nil {
			t.Error(err)
		}
		return
	}
	for k, tensors := range q.from.saved {
		r, err := m.Load(k, func(yield func(trainer.Tensor, error) bool) {
			for _, s := range trainer.Tensors(c, h) {
				x := make([]float32, s.Size())
				for i, v := range tensors[s.Name] {
					x[i] = float32(v)
				}
				if !yield(trainer.Tensor{Name: s.Name, Shape: s.Shape, Data: x}, nil) {
					return
				}
			}
		})
		if err := errors.Join(err, r.Complete()); err != nil {
			t.Error(err)
		}
	}
	m.SetState(q.from.state)
}

// step takes a step: micro-batch j is that of rank j modulo the number of ranks.
func (q rankRun) step(m trainer.Model, comm trainer.Comm, step int) (trainer.StepInfo, error) {
	all := microBatches(step)
	var counts trainer.Counts
	for _, b := range all {
		counts = counts.Add(b.Counts(trainer.PretrainHeads()))
	}
	coef := counts.Coef()
	if q.infinite > 0 && q.infinite == comm.Rank() && step == 0 {
		coef.NSP = math.Inf(1)
	}
	for j := comm.Rank(); j < len(all); j += comm.Size() {
		if err := m.Accumulate(all[j], coef, j+comm.Size() >= len(all)); err != nil {
			return trainer.StepInfo{}, err
		}
	}
	return m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: 10})
}

// A collecting device records calls of Collect, and can skip waits.
type collecting struct {
	*sim.GPU
	streams  []device.Stream // in the order in which they were made: computation, copies, collectives
	recorded map[device.Event]device.Stream
	skip     string // "ready": collectives do not wait for gradients; "done": nothing waits for collectives
	calls    []collectCall
	launches int
	fail     error // returned by Collect
	async    error // returned by AsyncError
}

// A collectCall is one call of Collect.
type collectCall struct {
	stream   device.Stream
	list     []device.Collective
	launches int // kernels queued before, since the last Sync
}

func newCollecting(seed uint64, n *sim.Network) *collecting {
	return &collecting{GPU: sim.NewGPU(sim.Options{Seed: seed, Network: n}), recorded: map[device.Event]device.Stream{}}
}

func (d *collecting) NewStream() (device.Stream, error) {
	s, err := d.GPU.NewStream()
	d.streams = append(d.streams, s)
	return s, err
}

func (d *collecting) Record(s device.Stream, e device.Event) error {
	d.recorded[e] = s
	return d.GPU.Record(s, e)
}

func (d *collecting) Wait(s device.Stream, e device.Event) error {
	if d.skip == "ready" && s == d.streams[2] || d.skip == "done" && d.recorded[e] == d.streams[2] {
		return nil
	}
	return d.GPU.Wait(s, e)
}

func (d *collecting) Launch(s device.Stream, f device.Function, c device.Config, args []byte) error {
	d.launches++
	return d.GPU.Launch(s, f, c, args)
}

func (d *collecting) AsyncError(c device.Communicator) error {
	if d.async != nil {
		return d.async
	}
	return d.GPU.AsyncError(c)
}

func (d *collecting) Collect(s device.Stream, c device.Communicator, list ...device.Collective) error {
	if d.fail != nil {
		return d.fail
	}
	d.calls = append(d.calls, collectCall{s, slices.Clone(list), d.launches})
	return d.GPU.Collect(s, c, list...)
}

// alone returns the results of one rank without an exchange, computed once for each
// optimizer and precision.
func alone(t *testing.T, o trainer.OptimizerName, p trainer.Precision) rankResult {
	t.Helper()
	key := string(o) + string(p)
	aloneResults.Lock()
	defer aloneResults.Unlock()
	if _, ok := aloneResults.m[key]; !ok {
		aloneResults.m[key] = rankRun{ranks: 1, optimizer: o, precision: p}.train(t)[0]
	}
	return aloneResults.m[key]
}

var aloneResults = struct {
	sync.Mutex
	m map[string]rankResult
}{m: map[string]rankResult{}}

// compareRanks compares the results of ranks with those of one rank: got and want
// may differ by rounding, and the ranks in nothing.
func compareRanks(t *testing.T, got []rankResult, want rankResult, limit float64) {
	t.Helper()
	for name, w := range want.weights {
		if strings.HasSuffix(name, "key.bias") { // its true gradient is 0
			continue
		}
		if d := apart(got[0].weights[name], w); !(d <= limit) {
			t.Errorf("%s is apart by %.2g, allowed %.2g", name, d, limit)
		}
		for _, k := range []trainer.Kind{trainer.FirstMoment, trainer.SecondMoment} {
			if d := apart(got[0].saved[k][name], want.saved[k][name]); !(d <= 10*limit) {
				t.Errorf("%v of %s is apart by %.2g, allowed %.2g", k, name, d, 10*limit)
			}
		}
	}
	for r, one := range got {
		for name, w := range got[0].weights {
			if !slices.Equal(one.weights[name], w) {
				t.Errorf("rank %d has other bits of %s than rank 0", r, name)
			}
		}
		if !maps.EqualFunc(one.saved[trainer.Weights], got[0].weights, slices.Equal) && r == 0 {
			t.Error("the snapshot has other weights")
		}
		for step, info := range one.infos {
			w := want.infos[step]
			if !(math.Abs(info.Sums.Loss()/w.Sums.Loss()-1) <= limit) || !(math.Abs(info.GradNorm/w.GradNorm-1) <= limit) || info.Rate != w.Rate || info.Skipped != w.Skipped || info.Sums.Tokens != w.Sums.Tokens {
				t.Errorf("rank %d, step %d: %+v, want %+v", r, step, info, w)
			}
		}
	}
}

// TestRanksGiveTheWeightsOfOneRank trains in all ways to exchange gradients; a plain go
// test takes the first five.
func TestRanksGiveTheWeightsOfOneRank(t *testing.T) {
	cases := []struct {
		ranks     int
		transport Transport
		shard     bool
		optimizer trainer.OptimizerName
		precision trainer.Precision
	}{
		{2, TransportAuto, false, trainer.AdamW, trainer.Float32},
		{3, TransportAuto, true, trainer.LAMB, trainer.Float32},
		{2, TransportHost, true, trainer.AdamW, trainer.Float32},
		{1, TransportNCCL, true, trainer.AdamW, trainer.Float32},
		{2, TransportAuto, true, trainer.AdamW, trainer.BFloat16},
		{3, TransportAuto, true, trainer.AdamW, trainer.Float32},
		{2, TransportHost, true, trainer.LAMB, trainer.Float32},
		{3, TransportAuto, false, trainer.LAMB, trainer.Float32},
		{2, TransportAuto, true, trainer.LAMB, trainer.Float32},
		{3, TransportHost, false, trainer.AdamW, trainer.Float32},
		{3, TransportAuto, false, trainer.AdamW, trainer.BFloat16},
	}
	for _, c := range cases[:share(5, len(cases))] {
		t.Run(fmt.Sprintf("%d %s, divided %v, %s %s", c.ranks, c.transport, c.shard, c.optimizer, c.precision), func(t *testing.T) {
			t.Parallel()
			got := rankRun{ranks: c.ranks, transport: c.transport, shard: c.shard, optimizer: c.optimizer, precision: c.precision}.train(t)
			limit := 1e-5
			if c.precision == trainer.BFloat16 {
				limit = 1e-4
			}
			compareRanks(t, got, alone(t, c.optimizer, c.precision), limit)
		})
	}
}

// TestCallsOfRanksAreThoseOfTheory checks what each rank queues: every bucket once a
// step, from the heads to the embeddings, in a stream of its own, while the backward
// pass goes on; a rank without a micro-batch makes the same calls.
func TestCallsOfRanksAreThoseOfTheory(t *testing.T) {
	t.Parallel()
	for _, shard := range []bool{false, true} {
		results := rankRun{ranks: 3, shard: shard, optimizer: trainer.LAMB, precision: trainer.Float32}.train(t)
		o := trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Train: true, Comm: sized(3), ShardOptimizer: shard}
		l := newLayout(rankConfig(), trainer.PretrainHeads(), newShape(rankConfig(), o, defaultLimits))
		parameters, padding := 0, 0
		for _, s := range l.Specs {
			parameters += s.Size()
		}
		for _, b := range l.Buckets {
			padding += b.N
		}
		if padding -= parameters; padding < 0 || padding > len(l.Specs)*64+len(l.Buckets)*64*3+64*61 || len(l.Buckets) != 4 {
			t.Errorf("%d buckets hold %d elements more than %d parameters", len(l.Buckets), padding, parameters)
		}
		parts, _ := l.parts()
		for r, one := range results {
			want := wantCalls(l, r, len(parts), 2)
			d, moments := one.device, 0
			if shard {
				moments = 2 * momentCalls(l)
			}
			if len(one.calls) != len(want) || len(d.calls) != len(want)+moments {
				t.Fatalf("rank %d made %d calls, and %d with the snapshot, want %d and %d", r, len(one.calls), len(d.calls), len(want), len(want)+moments)
			}
			for i, c := range one.calls {
				if got := kinds(c.list); got != want[i] {
					t.Errorf("rank %d, call %d: %s, want %s", r, i, got, want[i])
				}
				if c.stream != d.streams[2] {
					t.Errorf("rank %d, call %d is in stream %d, want %d", r, i, c.stream, d.streams[2])
				}
			}
			// Between the buckets of a step the backward pass queues kernels, but on
			// rank 2, which has no micro-batch in step 1, nothing.
			each := len(want) / 2
			for step := range 2 {
				for i := range len(l.Buckets) - 1 {
					between := d.calls[step*each+i+1].launches - d.calls[step*each+i].launches
					if none := r == 2 && step == 1; none != (between == 0) {
						t.Errorf("rank %d, step %d: %d kernels between the buckets %d and %d", r, step, between, i, i+1)
					}
				}
			}
		}
	}
}

// sized is a Comm that only has a size.
type sized int

func (n sized) Rank() int                                 { return 0 }
func (n sized) Size() int                                 { return int(n) }
func (n sized) AllReduce([]float64) error                 { return nil }
func (n sized) ReduceScatter(trainer.Values, []int) error { return nil }
func (n sized) AllGather(trainer.Values, []int) error     { return nil }
func (n sized) Broadcast([]byte, int) error               { return nil }

// kinds describes collectives by kind, elements, and place.
func kinds(list []device.Collective) string {
	s := ""
	for _, c := range list {
		s += fmt.Sprintf("%s of %d, %d bytes on; ", c.Kind, c.N, int64(c.Receive)-int64(c.Send))
	}
	return s
}

// momentCalls returns the number of calls that gather one moment.
func momentCalls(l layout) int {
	n := 0
	for _, b := range l.Buckets {
		n += blocks(b.N/l.ranks, l.gather)
	}
	return n
}

// wantCalls returns the calls of a rank in a number of steps with LAMB.
func wantCalls(l layout, rank, parts, steps int) []string {
	var all []string
	for range steps {
		for i := len(l.Buckets) - 1; i >= 0; i-- {
			b := l.Buckets[i]
			if l.sharded {
				each := b.N / l.ranks
				all = append(all, fmt.Sprintf("reduce-scatter of %d, %d bytes on; ", each, 4*rank*each))
			} else {
				all = append(all, fmt.Sprintf("all-reduce of %d, 0 bytes on; ", b.N))
			}
		}
		if !l.sharded {
			continue
		}
		gathered := ""
		for _, b := range l.Buckets {
			each := b.N / l.ranks
			gathered += fmt.Sprintf("all-gather of %d, %d bytes on; ", each, -4*rank*each)
		}
		all = append(all, fmt.Sprintf("all-reduce of %d, 0 bytes on; ", parts), fmt.Sprintf("all-reduce of %d, 0 bytes on; ", 2*parts), gathered)
	}
	return all
}

// TestAMissingEventOfRanksIsSeen leaves out one wait at a time: the simulator sees
// that gradients are summed before they are there, or used before they are summed.
func TestAMissingEventOfRanksIsSeen(t *testing.T) {
	t.Parallel()
	for _, skip := range []string{"ready", "done"} {
		for _, shard := range []bool{false, true} {
			network := sim.NewNetwork()
			errs := joined(t, 2, func(g *comm.Group) error {
				d := newCollecting(uint64(g.Rank()), network)
				d.skip = skip
				return rankRun{shard: shard, optimizer: trainer.AdamW, precision: trainer.Float32}.firstStep(g, d)
			})
			seen := false
			for _, err := range errs {
				// Never written: what is to be summed was not even computed once.
				seen = seen || sim.IsFault(err, sim.RaceInStreams) || sim.IsFault(err, sim.Unwritten)
			}
			if !seen || errs[0] == nil || errs[1] == nil {
				t.Errorf("without the wait %q, divided %v: %v", skip, shard, errs)
			}
		}
	}
}

// firstStep takes one step and leaves the model as it is.
func (q rankRun) firstStep(comm trainer.Comm, d *collecting) error {
	c, h := rankConfig(), trainer.PretrainHeads()
	b := onDevice(d)
	b.Transport = q.transport
	m, err := b.Open(c, h, trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: q.precision, Train: true, Optimizer: trainer.DefaultOptimizer(q.optimizer), Comm: comm, ShardOptimizer: q.shard})
	if err != nil {
		return err
	}
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 5)); err != nil {
		return err
	}
	_, err = q.step(m, comm, 0)
	return errors.Join(err, m.Close()) // which does not repeat err
}

// TestAnOverflowOnOneRankIsSkippedOnAll plants gradients that are not finite on rank
// 1 alone: no rank updates anything, and all have the same loss scale afterwards.
func TestAnOverflowOnOneRankIsSkippedOnAll(t *testing.T) {
	t.Parallel()
	cases := []struct {
		precision trainer.Precision
		transport Transport
		shard     bool
		optimizer trainer.OptimizerName
	}{
		{trainer.Float16, TransportAuto, true, trainer.AdamW}, {trainer.Float32, TransportHost, false, trainer.LAMB},
		{trainer.Float16, TransportAuto, false, trainer.LAMB}, {trainer.BFloat16, TransportAuto, true, trainer.LAMB}, {trainer.Float32, TransportHost, true, trainer.AdamW},
	}
	for _, c := range cases[:share(2, len(cases))] {
		q := rankRun{ranks: 2, transport: c.transport, shard: c.shard, optimizer: c.optimizer, precision: c.precision, infinite: 1, steps: [2]int{0, 2}}
		got := q.train(t)
		for r, one := range got {
			scale := 1.0
			if c.precision == trainer.Float16 {
				scale = firstLossScale / 2
			}
			if !one.infos[0].Skipped || one.infos[1].Skipped || one.state.Step != 1 || one.state.LossScale != scale {
				t.Errorf("%+v, rank %d: %+v, state %+v", c, r, one.infos, one.state)
			}
		}
		// The skipped step left no trace but the loss scale.
		q.infinite, q.steps = 0, [2]int{1, 2}
		want := q.train(t)[0]
		for name, w := range want.weights {
			if d := apart(got[0].weights[name], w); !(d <= 1e-5) && c.precision != trainer.Float16 { // another loss scale rounds otherwise
				t.Errorf("%+v: %s is apart by %.2g after a skipped step", c, name, d)
			}
		}
	}
}

// TestACheckpointResumesOnAnotherNumberOfRanks trains two steps on two ranks that
// divide the moments, and two more on others.
func TestACheckpointResumesOnAnotherNumberOfRanks(t *testing.T) {
	t.Parallel()
	whole := rankRun{ranks: 1, optimizer: trainer.LAMB, precision: trainer.Float32, steps: [2]int{0, 4}}.train(t)[0]
	from := rankRun{ranks: 2, shard: true, optimizer: trainer.LAMB, precision: trainer.Float32}.train(t)[0]
	others := []rankRun{{ranks: 1}, {ranks: 3, shard: true}, {ranks: 2, transport: TransportHost}, {ranks: 2, shard: true}}
	for _, q := range others[:share(2, len(others))] {
		q.optimizer, q.precision, q.from, q.steps = trainer.LAMB, trainer.Float32, &from, [2]int{2, 4}
		got := q.train(t)
		if got[0].state.Step != 4 {
			t.Errorf("state %+v after four steps", got[0].state)
		}
		want := whole
		want.infos = whole.infos[2:]
		compareRanks(t, got, want, 1e-5)
	}
}

// joined runs f on ranks that are connected over TCP, as processes are. What f
// returns aborts the run, as the command does.
func joined(t *testing.T, n int, f func(g *comm.Group) error) []error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	errs := make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() {
			g, err := comm.Join(t.Context(), comm.Options{Rank: r, Ranks: n, Host: "127.0.0.1", Port: port, Local: true})
			if err == nil {
				err = f(g)
				g.Abort(err)
				err = errors.Join(err, g.Close())
			}
			errs[r] = err
		})
	}
	all.Wait()
	return errs
}

// TestAFailedRankEndsTheOthers fails rank 1 at one place after the other: rank 0 gets
// an error that names rank 1 and its reason, and nobody waits.
func TestAFailedRankEndsTheOthers(t *testing.T) {
	t.Parallel()
	broken := errors.New("the data is corrupt")
	network := sim.NewNetwork() // waits a minute for a rank
	q := rankRun{optimizer: trainer.AdamW, precision: trainer.Float32}
	for name, fail := range map[string]func(g *comm.Group) error{
		"before the devices connect": func(g *comm.Group) error { return broken },
		"instead of connecting": func(g *comm.Group) error {
			// The calls of model.connect, but for the last one.
			return errors.Join(g.AllReduce([]float64{0}), g.Broadcast(make([]byte, device.UniqueIDBytes), 0), broken)
		},
		"before its first collective": func(g *comm.Group) error {
			d := newCollecting(2, network)
			d.fail = broken
			return q.firstStep(g, d)
		},
		"before it applies": func(g *comm.Group) error {
			b := onDevice(newCollecting(2, network))
			m, err := b.Open(rankConfig(), trainer.PretrainHeads(), trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: trainer.Float32, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: g})
			if err != nil {
				return err
			}
			time.Sleep(100 * time.Millisecond) // rank 0's device waits
			return errors.Join(broken, m.Close())
		},
	} {
		begin := time.Now()
		errs := joined(t, 2, func(g *comm.Group) error {
			if g.Rank() == 1 {
				return fail(g)
			}
			return q.firstStep(g, newCollecting(1, network))
		})
		var lost *comm.RankError
		if !errors.As(errs[0], &lost) || lost.Rank != 1 || !strings.Contains(lost.Reason, broken.Error()) {
			t.Errorf("%s: rank 0 got %v", name, errs[0])
		}
		if !errors.Is(errs[1], broken) {
			t.Errorf("%s: rank 1 got %v", name, errs[1])
		}
		if text := errs[0].Error(); strings.Contains(text, "\n") {
			t.Errorf("%s: rank 0 got more than one line: %q", name, text)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

// TestAFailedCollectiveEndsTheWait has rank 0's queued collectives fail, as when a
// network card does, while rank 1 makes no calls and no rank is lost.
func TestAFailedCollectiveEndsTheWait(t *testing.T) {
	t.Parallel()
	broken, network, done := &device.Error{Call: "ncclCommGetAsyncError", Code: 6, Name: "ncclRemoteError"}, sim.NewNetwork(), make(chan struct{})
	errs := joined(t, 2, func(g *comm.Group) error {
		d := newCollecting(uint64(g.Rank()), network)
		if g.Rank() == 0 {
			defer close(done)
			d.async = broken
			return rankRun{optimizer: trainer.AdamW, precision: trainer.Float32}.firstStep(g, d)
		}
		m, err := onDevice(d).Open(rankConfig(), trainer.PretrainHeads(), trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: trainer.Float32, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: g})
		<-done
		return errors.Join(err, m.Close())
	})
	if !errors.Is(errs[0], broken) || strings.Contains(errs[0].Error(), "\n") {
		t.Errorf("rank 0 got %v", errs[0])
	}
}

// TestRanksWithoutNCCLUseHostMemory opens devices without a network on one rank.
func TestRanksWithoutNCCLUseHostMemory(t *testing.T) {
	t.Parallel()
	for _, transport := range []Transport{TransportAuto, TransportHost, TransportNCCL} {
		network := sim.NewNetwork()
		warnings, errs, made := make([][]string, 2), make([]error, 2), make([]int, 2)
		ranktest.Run(2, func(comm trainer.Comm) {
			r := comm.Rank()
			d := newCollecting(uint64(r), network)
			if r == 1 {
				d.GPU = sim.NewGPU(sim.Options{Seed: 1})
			}
			b := onDevice(d)
			b.Transport, b.Warn = transport, func(s string) { warnings[r] = append(warnings[r], s) }
			for range 2 {
				m, err := b.Open(rankConfig(), trainer.PretrainHeads(), trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: trainer.Float32, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: comm})
				if errs[r] = err; err != nil {
					return
				}
				_, errs[r] = rankRun{}.step(m, comm, 0)
				errs[r] = errors.Join(errs[r], m.Close())
			}
			made[r] = len(d.calls)
		})
		wantWarnings := map[Transport]int{TransportAuto: 1}[transport]
		if len(warnings[0]) != wantWarnings || len(warnings[1]) != wantWarnings || made[0]+made[1] > 0 {
			t.Errorf("%q: warnings %q, %d calls", transport, warnings, made)
		}
		const said = "1 of 2 ranks have no NCCL, so gradients are exchanged through host memory, which is slow"
		if wantWarnings == 1 && (warnings[0][0] != said || warnings[1][0] != said+"; rank 1: device unavailable: the simulated GPU has no network: set sim.Options.Network") {
			t.Errorf("warnings %q", warnings)
		}
		if transport != TransportNCCL && errors.Join(errs...) != nil || transport == TransportNCCL && (errs[0] == nil || !errors.Is(errs[1], trainer.ErrUnavailable)) {
			t.Errorf("%q: %v", transport, errs)
		}
	}
}

// TestGradientsThatAreBeingSummedAreNotUsed calls methods between the last
// micro-batch of a step and Apply.
func TestGradientsThatAreBeingSummedAreNotUsed(t *testing.T) {
	t.Parallel()
	ranktest.Run(1, func(comm trainer.Comm) {
		b := onDevice(newCollecting(1, sim.NewNetwork()))
		b.Transport = TransportNCCL
		m, err := b.Open(rankConfig(), trainer.PretrainHeads(), trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: trainer.Float32, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: comm, ShardOptimizer: true})
		if err != nil {
			t.Fatal(err)
		}
		batch := microBatches(0)[0]
		if err := m.Accumulate(batch, trainer.Coef{MLM: 1}, true); err != nil {
			t.Fatal(err)
		}
		_, snapshot := m.Snapshot()
		var read error
		for _, read = range m.Tensors(trainer.Gradients) {
			break
		}
		for what, err := range map[string]error{"accumulated": m.Accumulate(batch, trainer.Coef{MLM: 1}, true), "read": read, "kept": snapshot} {
			if !errors.Is(err, errReducing) {
				t.Errorf("gradients are %s: %v", what, err)
			}
		}
		for _, err := range m.Tensors(trainer.FirstMoment) {
			if err == nil || !strings.Contains(err.Error(), "take a Snapshot") {
				t.Errorf("moments of all ranks were read on one: %v", err)
			}
		}
		if err := m.Close(); err != nil { // although its step did not end
			t.Log(err)
		}
	})
}

// TestDividedMomentsTakeTheirPartOfTheMemory compares the memory of BERT-base's
// parameters on a rank of eight with that of one rank.
func TestDividedMomentsTakeTheirPartOfTheMemory(t *testing.T) {
	c, err := trainer.Preset("base", 30522)
	if err != nil {
		t.Fatal(err)
	}
	h := trainer.PretrainHeads()
	size := func(o trainer.Options) (bytes, parameters int) {
		m := newModel(c, h, o, newShape(c, o, defaultLimits))
		return m.requests().size(), m.params.layout.Size
	}
	o := trainer.Options{Tokens: 4096, Sequences: 64, Masked: 600, Precision: trainer.BFloat16, Train: true, Comm: sized(8)}
	whole, n := size(o)
	o.ShardOptimizer = true
	divided, m := size(o)
	saved, want := whole-divided, 8*n*7/8
	if n != m || math.Abs(float64(saved-want)) > stagingBytes+1e6 { // a buffer for gathering, more parts
		t.Errorf("%d of %d bytes are saved, want %d", saved, whole, want)
	}
	o.Comm = sized(1)
	if alone, _ := size(o); math.Abs(float64(whole-alone)) > 1e6 {
		t.Errorf("one rank needs %d bytes, eight that do not divide need %d each", alone, whole)
	}
}

// TestAModelClosesInAnUnfinishedStep closes a model whose collectives the other rank
// never makes.
func TestAModelClosesInAnUnfinishedStep(t *testing.T) {
	t.Parallel()
	network, done := sim.NewNetwork(), make(chan struct{})
	begin := time.Now()
	ranktest.Run(2, func(comm trainer.Comm) {
		m, err := onDevice(newCollecting(uint64(comm.Rank()), network)).Open(rankConfig(), trainer.PretrainHeads(), trainer.Options{Tokens: 16, Sequences: 2, Masked: 8, Precision: trainer.Float32, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW), Comm: comm})
		if err != nil {
			t.Error(err)
			return
		}
		if comm.Rank() == 1 {
			<-done
			m.Close()
			return
		}
		defer close(done)
		if err := m.Accumulate(microBatches(0)[0], trainer.Coef{MLM: 1}, true); err != nil {
			t.Error(err)
		}
		m.Close() // its error is that the collectives were aborted
	})
	if took := time.Since(begin); took > 40*time.Second { // the network waits a minute for a rank
		t.Errorf("took %v", took)
	}
}
