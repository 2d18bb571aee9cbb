package cuda

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"pretext/trainer"
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
