package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"pretext/trainer"
	"pretext/trainer/backendtest"
	"pretext/trainer/cpu"
)

// A hostSubject is a model with what training it must compute, and the calls that it makes.
type hostSubject struct {
	name    string
	config  trainer.Config
	heads   trainer.Heads
	options trainer.Options
	adapt   func(b *Backend)
	visible bool // attention is limited

	first []trainer.Tensor // weights
	want  []stage
	calls []call

	sizes     map[string][]float32 // fp8
	saturated []float64            // fp8: in two steps
	ready     *Backend             // of a device without faults
}

// A stage has what a model computed by then.
type stage struct {
	name   string
	values map[string][]float64
}

func adam(name trainer.OptimizerName) trainer.Optimizer {
	o := trainer.DefaultOptimizer(name)
	o.Epsilon, o.WeightDecay, o.ClipNorm = 1e-3, 0.5, 0.05 // all of them count
	return o
}

// hostSubjects returns the models whose calls are changed: every kind of layer, head, precision
// and optimizer.
func hostSubjects() []*hostSubject {
	bert := func(a trainer.Activation) trainer.Config {
		c := smallConfig(128, 1, a)
		c.VocabSize, c.IntermediateSize, c.InitializerRange, c.MaxPositions = 131, 144, 0.1, 80
		c.LayerNormEps = 1e-3 // so that it counts
		return c
	}
	wide := bert(trainer.GELU) // eight rows are not whole blocks of an elementwise kernel
	wide.HiddenSize, wide.AttentionHeads, wide.InitializerRange = 192, 3, 0.05
	rough := bert(trainer.GELUNew) // in bf16
	rough.InitializerRange = 0.05
	modern := modernConfig(128, 2, 21)
	modern.VocabSize, modern.IntermediateSize, modern.InitializerRange = 131, 152, 0.1
	modern.LayerNormEps = 1e-3
	mean, pooling := modern, *modern.Modern
	pooling.MeanPooling = true
	mean.Modern = &pooling
	base := trainer.Options{Tokens: 80, Sequences: 8, Masked: 24, Precision: trainer.Float32, Train: true, Seed: 9, Optimizer: adam(trainer.AdamW)}
	with := func(p trainer.Precision, o trainer.OptimizerName, edit ...func(*trainer.Options)) trainer.Options {
		x := base
		x.Precision, x.Optimizer = p, adam(o)
		for _, e := range edit {
			e(&x)
		}
		return x
	}
	exact := func(o *trainer.Options) { o.Deterministic = true }
	shard := func(o *trainer.Options) { o.ShardOptimizer = true }
	fuse := func(b *Backend) { b.ways = fused }
	alone := func(b *Backend) { b.Transport = TransportNCCL }
	pretrain := trainer.PretrainHeads()
	return []*hostSubject{
		{name: "fp32", config: bert(trainer.GELU), heads: pretrain, options: base},
		{name: "LAMB", config: bert(trainer.GELUNew), heads: trainer.Heads{Labels: 5}, options: with(trainer.Float32, trainer.LAMB)},
		{name: "regression", config: wide, heads: trainer.Heads{Regression: true}, options: with(trainer.Float16, trainer.AdamW)},
		{name: "span", config: bert(trainer.GELU), heads: trainer.Heads{Span: true}, options: with(trainer.Float16, trainer.AdamW), visible: true},
		{name: "bf16", config: rough, heads: pretrain, options: with(trainer.BFloat16, trainer.AdamW), adapt: fuse},
		{name: "fp16, deterministic", config: wide, heads: pretrain, options: with(trainer.Float16, trainer.AdamW, exact)},
		{name: "ModernBERT", config: modern, heads: modern.PretrainHeads(), options: with(trainer.Float32, trainer.StableAdamW)},
		{name: "ModernBERT in fp16", config: modern, heads: modern.PretrainHeads(), options: with(trainer.Float16, trainer.AdamW)},
		{name: "ModernBERT in fp16, deterministic", config: modern, heads: modern.PretrainHeads(), options: with(trainer.Float16, trainer.AdamW, exact)},
		{name: "ModernBERT, classes", config: mean, heads: trainer.Heads{Labels: 5}, options: base},
		{name: "ModernBERT, regression", config: modern, heads: trainer.Heads{Regression: true}, options: with(trainer.Float16, trainer.AdamW)},
		{name: "ModernBERT, span", config: modern, heads: trainer.Heads{Span: true}, options: base},
		{name: "divided", config: bert(trainer.GELUNew), heads: pretrain, options: with(trainer.Float32, trainer.AdamW, shard), adapt: alone},
		{name: "divided, LAMB", config: bert(trainer.GELUNew), heads: pretrain, options: with(trainer.Float32, trainer.LAMB, shard), adapt: alone},
		{name: "fp8", config: rough, heads: pretrain, options: with(trainer.Float8, trainer.AdamW)},
	}
}

func (s *hostSubject) batch(seed uint64, lengths ...int) *trainer.Batch {
	r := rand.New(rand.NewPCG(seed, 7))
	b := ragged(r, s.config, lengths...)
	b.IDs[0] = 0 // where a group behind the last would be added
	for i := range b.MaskedWeights {
		b.MaskedWeights[i] = 1 - float32(i%3)/4
	}
	for _, n := range lengths {
		start := r.IntN(n)
		b.Starts, b.Ends = append(b.Starts, int32(start)), append(b.Ends, int32(start+r.IntN(n-start)))
		b.Labels, b.Scores = append(b.Labels, r.Int32N(5)), append(b.Scores, r.Float32())
		if s.visible {
			b.VisibleKeys = append(b.VisibleKeys, int32(1+2*n/3))
		}
	}
	return b
}

// weights yields weights with biases that are not 0, and gains around 1 of which one is 0, so
// that its input cannot be computed from its output.
func (s *hostSubject) weights() seq {
	if s.first == nil {
		r := rand.New(rand.NewPCG(1, 1))
		for x := range trainer.InitialWeights(s.config, s.heads, 5) {
			gain := len(x.Shape) == 1 && x.Data[0] == 1
			if len(x.Shape) == 1 {
				for i := range x.Data {
					x.Data[i] += float32(r.NormFloat64()) / 8
				}
			}
			if gain {
				x.Data[5] = 0
			}
			x.Data = slices.Clone(x.Data)
			s.first = append(s.first, x)
		}
	}
	return func(yield func(trainer.Tensor, error) bool) {
		for _, x := range s.first {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// train trains a model for two steps, the first of two micro-batches, and evaluates it. It
// shows what was computed, until seen returns false.
func (s *hostSubject) train(m trainer.Model, seen func(stage) bool) (err error) {
	show := func(name string, from interface{ Tensors(trainer.Kind) seq }, kind trainer.Kind) bool {
		values := map[string][]float64{}
		for x, e := range from.Tensors(kind) {
			if err = e; err != nil {
				return false
			}
			list := make([]float64, len(x.Data))
			for i, v := range x.Data {
				list[i] = float64(v)
			}
			if strings.HasSuffix(x.Name, "Wqkv.weight") { // the gradient of the values is much larger
				n := len(list) / 3
				values[x.Name+" of queries"], values[x.Name+" of keys"], list = list[:n], list[n:2*n], list[2*n:]
			}
			values[x.Name] = list
		}
		return seen(stage{name, values})
	}
	if _, err := m.Load(trainer.Weights, s.weights()); err != nil {
		return err
	}
	state := m.State()
	if state.LossScale = 1 << 8; s.options.Precision == trainer.Float16 {
		state.GoodSteps = lossScaleGrowth - 1 // the loss scale doubles after the first step
	}
	m.SetState(state)
	batches := []*trainer.Batch{s.batch(1, 5, 9, 2), s.batch(2, 3, 70), s.batch(3, 4, 8, 1, 2, 3, 1, 2, 1)}
	if s.options.ShardOptimizer { // a third batch waits until the first is computed
		batches = append([]*trainer.Batch{s.batch(5, 2, 6)}, batches...)
	}
	for i, b := range batches {
		step := i - len(batches) + 3 // the first one ends with the last batch but one
		if err := m.Accumulate(b, b.Counts(s.heads).Coef(), step > 0); err != nil {
			return err
		}
		if !s.options.ShardOptimizer && !show("gradients", m, trainer.Gradients) {
			return err
		}
		if step <= 0 {
			continue
		}
		info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-2, Steps: 10})
		if err != nil {
			return err
		}
		sums := info.Sums.Vector()
		if !seen(stage{"step", map[string][]float64{"sums": sums[:], "norm": {info.GradNorm}, "scale": {scaleOf(info.LossScale, step)}}}) {
			return nil
		}
	}
	if s.options.Optimizer.Name != trainer.AdamW { // whose last kernel must skip too
		b := batches[0]
		infinite := trainer.Coef{MLM: math.Inf(1), NSP: math.Inf(1), Label: math.Inf(1)}
		if err := m.Accumulate(b, infinite, true); err != nil {
			return err
		}
		if info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-2, Steps: 10}); err != nil || !info.Skipped {
			return cmp.Or(err, errors.New("a step without finite gradients is not skipped"))
		}
	}
	snapshot, err := m.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	if !show("weights", m, trainer.Weights) || !show("moments", snapshot, trainer.FirstMoment) || !show("squares", snapshot, trainer.SecondMoment) {
		return err
	}
	return s.evaluate(m, seen)
}

// evaluate shows outputs and losses, and what fp8 has besides.
func (s *hostSubject) evaluate(m trainer.Model, seen func(stage) bool) error {
	b := s.batch(4, 3, 70)
	out := &trainer.Outputs{}
	for want, ok := range map[trainer.Output]bool{trainer.OutputHidden: true, trainer.OutputMLMLogits: s.heads.MLM, trainer.OutputMLMLosses: s.heads.MLM, trainer.OutputPooled: s.heads.Pooled(),
		trainer.OutputNSPLogits: s.heads.NSP, trainer.OutputLogits: s.heads.Labels > 0 || s.heads.Regression, trainer.OutputSpans: s.heads.Span} {
		if ok {
			out.Want |= want
		}
	}
	sums, err := m.Forward(b, out)
	if err != nil {
		return err
	}
	vector := sums.Vector()
	values := map[string][]float64{"sums": vector[:], "losses of tokens": out.MLMLosses}
	for name, x := range map[string][]float32{"hidden": out.Hidden, "pooled": out.Pooled, "MLM logits": out.MLMLogits, "NSP logits": out.NSPLogits, "logits": out.Logits, "spans": out.Spans} {
		for _, v := range x {
			values[name] = append(values[name], float64(v))
		}
	}
	seen(stage{"outputs", values})
	if sums, err = m.Forward(b, nil); err != nil {
		return err
	}
	vector = sums.Vector()
	seen(stage{"loss", map[string][]float64{"sums": vector[:]}})
	if s.options.Precision == trainer.Float8 {
		if ok, err := s.history(m); err != nil || !ok {
			return cmp.Or(err, errors.New("a wrong history of sizes"))
		}
	}
	return nil
}

// history reports whether a model in fp8 has the sizes of both steps that it has without a
// mutant, and counts the same elements that are too large for the sizes that it is given. The
// CPU has neither.
func (s *hostSubject) history(m trainer.Model) (bool, error) {
	own, ok := m.(*model)
	if !ok {
		return true, nil
	}
	state, given := m.State(), map[string][]float32{}
	if len(state.Amax) != len(own.compute.eight.names) {
		return false, nil
	}
	for name, sizes := range state.Amax {
		given[name] = []float32{1e-12}
		if len(sizes) != 2 {
			return false, nil
		}
		for i, v := range sizes {
			if !(v > 0) || s.sizes != nil && !(math.Abs(float64(v/s.sizes[name][i]-1)) < 0.1) {
				return false, nil
			}
		}
	}
	if s.sizes == nil {
		s.sizes = state.Amax
	}
	for _, v := range own.staging.appendFloat32(nil, own.compute.eight.weights, len(own.compute.eight.dense)) {
		if !(v > 0) { // the size of a weight
			return false, nil
		}
	}
	before := state
	before.Amax = given
	m.SetState(before)
	defer m.SetState(state)
	b := s.batch(2, 3, 70)
	var lost []float64
	for step := range 2 { // the second one has the sizes of the first
		for i := range 5 {
			if err := m.Accumulate(b, b.Counts(s.heads).Coef(), true); err != nil {
				return false, err
			}
			if step == 0 && i == 0 { // products are queued, and plans are made again
				m.SetState(before)
			}
		}
		info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Steps: 10})
		if err != nil {
			return false, err
		}
		lost = append(lost, info.Saturated)
		if step == 0 && info.Saturated < 1<<16 {
			return false, nil
		}
	}
	if s.saturated == nil {
		s.saturated = lost
	}
	return slices.Equal(lost, s.saturated), nil
}

// scaleOf returns 1 for the loss scale that a model must have in a step: in fp16 it doubles
// after the first one.
func scaleOf(scale float64, step int) float64 {
	if scale == 1 {
		return 1
	}
	return scale / float64(int(1)<<(8+step-1))
}

// run trains the model with a mutant, if it is not nil, and returns what is wrong.
func (s *hostSubject) run(mutant *hostMutant, seen func(call)) (err error) {
	if s.ready == nil {
		s.ready = onDevice(newPlanted(1))
		s.ready.apart, s.ready.limits.chunk = true, 4
		if s.adapt != nil {
			s.adapt(s.ready)
		}
	}
	d := s.ready.device.(*planted)
	d.seen, d.mutant = seen, mutant
	defer func() {
		if r := recover(); r != nil {
			err, s.ready = fmt.Errorf("panic: %v", r), nil
		}
	}()
	m, err := s.ready.Open(s.config, s.heads, s.options)
	if err != nil {
		s.ready = nil
		return err
	}
	n, wrong := 0, error(nil)
	err = s.train(m, func(x stage) bool {
		wrong = s.compare(x, s.want[n])
		n++
		return wrong == nil
	})
	m.Prepare(s.batch(4, 3, 70)) // Close must wait for the copy
	e := m.Close()
	d.mutant = nil
	if e != nil || d.GPU.Sync() != nil {
		s.ready = nil
		if err == nil && wrong == nil {
			err = e
		}
	}
	if wrong != nil {
		return wrong
	}
	return err
}

// prepare computes what is right, on the CPU, and notes the calls. The device computes it too.
func (s *hostSubject) prepare() error {
	o := s.options
	o.Precision, o.ShardOptimizer = trainer.Float64, false
	m, err := cpu.Backend{}.Open(s.config, s.heads, o)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := s.train(m, func(x stage) bool { s.want = append(s.want, x); return true }); err != nil {
		return err
	}
	return s.run(nil, func(c call) { s.calls = append(s.calls, c) })
}

// compare returns what of a stage is wrong; nil: nothing. The limits are those of backendtest.
func (s *hostSubject) compare(got, want stage) error {
	t := backendtest.Tolerances(s.options.Precision)
	limit, median := t.Gradient, t.Median
	switch got.name {
	case "step", "outputs", "loss":
		limit, median = 10*t.Loss, 10*t.Loss
	case "weights":
		limit, median = min(t.Movement, 0.1), 1
	case "squares":
		limit, median = 2*limit, 2*median
	}
	largest := 0.0
	for _, w := range want.values {
		largest = max(largest, size(w))
	}
	var all []float64
	for _, name := range slices.Sorted(maps.Keys(want.values)) {
		g, w := got.values[name], want.values[name]
		if len(g) != len(w) {
			return fmt.Errorf("%s: %d values of %s, want %d", got.name, len(g), name, len(w))
		}
		floor := limit * largest / 100
		if strings.HasSuffix(name, "key.bias") { // its true gradient is 0
			floor = t.Zero * size(want.values[strings.Replace(name, "key", "query", 1)])
		}
		d := 0.0
		for i := range w {
			d += (g[i] - w[i]) * (g[i] - w[i])
		}
		if d = math.Sqrt(d); !(d <= max(limit*size(w), floor)) {
			return fmt.Errorf("%s: %s is off by %.2g", got.name, name, d/size(w))
		}
		all = append(all, d/max(size(w), largest/100))
	}
	if slices.Sort(all); got.name != "step" && !(all[len(all)/2] <= median) {
		return fmt.Errorf("%s: the median is off by %.2g", got.name, all[len(all)/2])
	}
	return nil
}

func size(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}
