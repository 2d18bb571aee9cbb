package cuda

import (
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
)

type seq = iter.Seq2[trainer.Tensor, error]

// A tapped device counts the objects that are created, and can skip calls.
type tapped struct {
	*sim.GPU
	created map[string]int
	skip    string // "upload": the computation does not wait for a batch's copy; "use": the copy not for the computation; "host": the host not for the copy
	compute device.Stream

	launched map[device.Function]int
}

func (d *tapped) Launch(s device.Stream, f device.Function, c device.Config, args []byte) error {
	d.launched[f]++
	return d.GPU.Launch(s, f, c, args)
}

func (d *tapped) count(what string) { d.created[what]++ }

func (d *tapped) Alloc(n int) (device.Pointer, error)    { d.count("memory"); return d.GPU.Alloc(n) }
func (d *tapped) AllocHost(n int) ([]byte, error)        { d.count("host memory"); return d.GPU.AllocHost(n) }
func (d *tapped) NewEvent(t bool) (device.Event, error)  { d.count("events"); return d.GPU.NewEvent(t) }
func (d *tapped) Load(ptx string) (device.Module, error) { d.count("modules"); return d.GPU.Load(ptx) }

func (d *tapped) Plan(m device.Matmul, w int, a string) (device.Product, error) {
	d.count("plans")
	return d.GPU.Plan(m, w, a)
}

// NewStream notes the first stream, in which the model computes.
func (d *tapped) NewStream() (device.Stream, error) {
	d.count("streams")
	s, err := d.GPU.NewStream()
	if d.compute == 0 {
		d.compute = s
	}
	return s, err
}

func (d *tapped) Wait(s device.Stream, e device.Event) error {
	if d.skip == "upload" && s == d.compute || d.skip == "use" && s != d.compute {
		return nil
	}
	return d.GPU.Wait(s, e)
}

func (d *tapped) SyncEvent(e device.Event) error {
	if d.skip == "host" {
		return nil
	}
	return d.GPU.SyncEvent(e)
}

func newTapped(seed uint64) *tapped {
	return &tapped{GPU: sim.NewGPU(sim.Options{Seed: seed}), created: map[string]int{}, launched: map[device.Function]int{}}
}

var tinyOptions = trainer.Options{Tokens: 40, Sequences: 4, Masked: 20, Precision: trainer.Float32, Train: true, Seed: 9, Optimizer: trainer.DefaultOptimizer(trainer.AdamW)}

// openTiny opens a model of one layer and two heads with weights.
func openTiny(t *testing.T, b trainer.Backend, o trainer.Options) trainer.Model {
	t.Helper()
	return openTinyOf(t, b, smallConfig(128, 1, trainer.GELUNew), trainer.PretrainHeads(), o)
}

// openTinyOf opens a model with weights.
func openTinyOf(t *testing.T, b trainer.Backend, c trainer.Config, h trainer.Heads, o trainer.Options) trainer.Model {
	t.Helper()
	m, err := b.Open(c, h, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 5)); err != nil {
		t.Fatal(err)
	}
	return m
}

// steps takes steps of four micro-batches of up to 40 tokens.
func steps(m trainer.Model, n int) error {
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		for i := range 4 {
			b := ragged(r, smallConfig(128, 1, trainer.GELUNew), 3, 1+r.IntN(9))
			if err := m.Accumulate(b, trainer.Coef{MLM: 0.1, NSP: 0.1}, i == 3); err != nil {
				return err
			}
		}
		if _, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: 10}); err != nil {
			return err
		}
	}
	return nil
}

func TestAStepAllocatesNothing(t *testing.T) {
	t.Parallel()
	d := newTapped(1)
	m := openTiny(t, onDevice(d), tinyOptions)
	if d.created["memory"] != 1 {
		t.Errorf("%d allocations of memory by Open, want one", d.created["memory"])
	}
	if err := steps(m, 1); err != nil {
		t.Fatal(err)
	}
	before := map[string]int{}
	for what, n := range d.created {
		before[what] = n
	}
	if err := steps(m, 2); err != nil {
		t.Fatal(err)
	}
	for what, n := range d.created {
		if n != before[what] && what != "plans" {
			t.Errorf("%s: %d after the first step, %d after the third", what, before[what], n)
		}
	}
	if n := d.created["plans"] - before["plans"]; n > 6 {
		t.Errorf("%d products were planned in the second and third step", n)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestAMissingWaitIsSeen skips one kind of wait at a time. The simulator reports each
// missing wait, in any order of streams.
func TestAMissingWaitIsSeen(t *testing.T) {
	t.Parallel()
	for skip, want := range map[string]string{"": "", "upload": string(sim.RaceInStreams), "use": string(sim.RaceInStreams), "host": string(sim.HostChanged)} {
		for seed := range share[uint64](1, 2) {
			d := newTapped(seed)
			m := openTiny(t, onDevice(d), tinyOptions)
			d.skip = skip
			err := steps(m, 1)
			if skip == "" && err != nil || skip != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("without the wait %q, seed %d: %v", skip, seed, err)
			}
		}
	}
}

func TestOpenRefusesWhatKernelsDoNotCompute(t *testing.T) {
	t.Parallel()
	base := smallConfig(128, 1, trainer.GELU)
	for want, change := range map[string]func(*trainer.Config, *trainer.Options){
		"head size 32":                                  func(c *trainer.Config, _ *trainer.Options) { c.AttentionHeads = 4 },
		"hidden_size 1088":                              func(c *trainer.Config, _ *trainer.Options) { c.HiddenSize, c.AttentionHeads = 1088, 17 },
		"intermediate_size 196":                         func(c *trainer.Config, _ *trainer.Options) { c.IntermediateSize = 196 },
		"max_position_embeddings 8193":                  func(c *trainer.Config, _ *trainer.Options) { c.MaxPositions = 8193 },
		`precision "fp64"`:                              func(_ *trainer.Config, o *trainer.Options) { o.Precision = trainer.Float64 },
		`hidden_act "relu"`:                             func(c *trainer.Config, _ *trainer.Options) { c.Activation = "relu" },
		"70000 sequences in a batch":                    func(_ *trainer.Config, o *trainer.Options) { o.Sequences = 70000 },
		"allocate 49.8 GiB on simulator, which has 1.0": func(_ *trainer.Config, o *trainer.Options) { o.Tokens = 1 << 22 },
	} {
		c, o := base, tinyOptions
		change(&c, &o)
		_, err := New(sim.NewGPU(sim.Options{})).Open(c, trainer.PretrainHeads(), o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

func TestAutoTokensFitTheDevice(t *testing.T) {
	c, err := trainer.Preset("large", 30522)
	if err != nil {
		t.Fatal(err)
	}
	o := trainer.Options{Precision: trainer.BFloat16, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.LAMB)}
	for memory, want := range map[int64]int{141 << 30: 1 << 16, 80 << 30: 1 << 16, 40 << 30: 1 << 15, 16 << 30: 1 << 13, 1 << 30: 512} {
		got, err := New(sim.NewGPU(sim.Options{Memory: memory})).AutoTokens(c, trainer.PretrainHeads(), o)
		if err != nil || got != want {
			t.Errorf("%d GiB: %d tokens, %v; want %d", memory>>30, got, err, want)
		}
	}
}

// TestThePlanHasRoomForAPaddedVocabulary holds that the bytes which AutoTokens counts are those
// that Open allocates. A vocabulary of 50,280 is one of 50,304 on the device, and a model that
// is padded to 50,368, as ModernBERT's, has all these rows.
func TestThePlanHasRoomForAPaddedVocabulary(t *testing.T) {
	plan := func(vocabulary int) (trainer.Config, int) {
		c := modernConfig(64, 1, 8)
		c.VocabSize = vocabulary
		return c, newModel(c, c.PretrainHeads(), tinyOptions, newShape(c, tinyOptions, defaultLimits)).requests().size()
	}
	_, rounded := plan(50304)
	_, most := plan(50368)
	// A word has 64 weights and a bias, their gradients and both moments, and 24 logits: as
	// many as masked tokens, with padding.
	if row := 4*4*(64+1) + 4*24; most-rounded < 64*row {
		t.Errorf("64 more words need %d bytes, want %d at least", most-rounded, 64*row)
	}
	for _, vocabulary := range []int{50280, 50304, 50368} {
		c, size := plan(vocabulary)
		if vocabulary < 50304 && size != rounded {
			t.Errorf("vocabulary of %d: %d bytes, want those of 50304: %d", vocabulary, size, rounded)
		}
		for _, missing := range []int64{0, 256} {
			m, err := New(sim.NewGPU(sim.Options{Memory: int64(size) - missing})).Open(c, c.PretrainHeads(), tinyOptions)
			if (err == nil) != (missing == 0) {
				t.Errorf("vocabulary of %d on a device of its %d bytes less %d: %v", vocabulary, size, missing, err)
			}
			if err == nil {
				err = m.Close()
			}
			if missing == 0 && err != nil {
				t.Error(err)
			}
		}
	}
}

// TestMaskedTokensInSeveralChunks compares chunks of eight masked tokens with
// the CPU: gradients, outputs, a token that is masked twice.
func TestMaskedTokensInSeveralChunks(t *testing.T) {
	t.Parallel()
	b := simulated(6)
	b.limits.chunk = 8
	c, h := smallConfig(128, 1, trainer.GELU), trainer.Heads{MLM: true}
	p := openPair(t, b, c, h, tinyOptions)
	batch := ragged(rand.New(rand.NewPCG(3, 3)), c, 2, 35)
	for i := range 19 - batch.Masked() { // three chunks, the last one not full
		batch.MaskedIndex, batch.MaskedIDs, batch.MaskedWeights = append(batch.MaskedIndex, int32(7+i/2)), append(batch.MaskedIDs, int32(i)), append(batch.MaskedWeights, 0.5)
	}
	outputs := [2]trainer.Outputs{}
	got, want := p.gradients(t, batch, h)
	compareGradients(t, got, want, 1e-4)
	for i, m := range []trainer.Model{p.device, p.cpu} {
		outputs[i].Want = trainer.OutputMLMLogits | trainer.OutputMLMLosses
		if _, err := m.Forward(batch, &outputs[i]); err != nil {
			t.Fatal(err)
		}
	}
	wide := func(x []float32) (y []float64) {
		for _, v := range x {
			y = append(y, float64(v))
		}
		return y
	}
	if d := apart(outputs[0].MLMLosses, outputs[1].MLMLosses); !(d <= 1e-6) {
		t.Errorf("losses %v, want %v", outputs[0].MLMLosses, outputs[1].MLMLosses)
	}
	if d := apart(wide(outputs[0].MLMLogits), wide(outputs[1].MLMLogits)); !(d <= 1e-5) {
		t.Errorf("logits are off by %.2g", d)
	}
}

// TestEpiloguesAreThoseOfTheCPU computes the activation and gradients of biases by epilogues
// of products, whose tanh is as inexact as that of the hardware. The second batch adds to
// the gradients.
func TestEpiloguesAreThoseOfTheCPU(t *testing.T) {
	t.Parallel()
	b := inexact(7)
	b.ways = fused
	c, h := smallConfig(128, 1, trainer.GELUNew), trainer.PretrainHeads()
	o := tinyOptions
	o.Precision = trainer.BFloat16
	p := openPair(t, b, c, h, o)
	m := p.device.(*model)
	p.gradients(t, ragged(rand.New(rand.NewPCG(4, 3)), c, 17), h)
	got, want := p.gradients(t, ragged(rand.New(rand.NewPCG(3, 3)), c, 3, 25), h)
	if median := compareGradients(t, got, want, 8e-2); !(median <= 1e-2) {
		t.Errorf("the median gradient is off by %.2g", median)
	}
	used := map[device.Epilogue]int{}
	for shape := range m.compute.plans {
		used[shape.Epilogue]++
	}
	if used[device.GELUAuxBias] == 0 || used[device.DGELU] == 0 || used[device.BGradB] < 2 {
		t.Errorf("plans by epilogue: %v", used)
	}
	state := m.State()
	for _, c := range m.encoder.choices() {
		if state.Plans[c.key(m.compute.prefix)] != fused {
			t.Errorf("plans %v do not hold the choice of %s", state.Plans, c.name)
		}
	}
	b.ways = ""
	again := openTiny(t, b, o).(*model)
	again.SetState(state)
	again.encoder.choose()
	for _, c := range again.encoder.choices() {
		if c.way != fused {
			t.Errorf("a resumed model chose %s %q", c.name, c.way)
		}
	}
}

// TestLargeModelsChoose makes every choice as a model does that is worth measuring, and as a
// deterministic one, which takes the epilogues without measuring.
func TestLargeModelsChoose(t *testing.T) {
	t.Parallel()
	for _, exact := range []bool{false, true} {
		o := tinyOptions
		o.Precision, o.Deterministic = trainer.BFloat16, exact
		b := inexact(8)
		b.large = 1
		m := openTiny(t, b, o).(*model)
		if m.encoder.choose(); m.compute.err != nil {
			t.Fatal(m.compute.err)
		}
		for _, c := range m.encoder.choices() {
			if c.way != fused && (exact || c.way != plain) {
				t.Errorf("deterministic %v: %s is %q", exact, c.name, c.way)
			}
		}
		if err := steps(m, 1); err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// inexact returns a backend on a simulator whose epilogues compute tanh with the largest
// error of the hardware's instruction.
func inexact(seed uint64) *Backend {
	b := onDevice(sim.NewGPU(sim.Options{Seed: seed, Memory: 4 << 30, EpilogueTanh: 0x1p-11}))
	b.apart = true
	return b
}

// TestSinglePrecisionNeverTakesTheEpilogueOfGELU has weights that make GELU's arguments as
// large as trained ones. With the epilogue, the gradients are off by more than the
// tolerance.
func TestSinglePrecisionNeverTakesTheEpilogueOfGELU(t *testing.T) {
	t.Parallel()
	c, h := smallConfig(128, 1, trainer.GELUNew), trainer.PretrainHeads()
	c.InitializerRange = 0.2
	b := inexact(7)
	b.ways = fused
	p := openPair(t, b, c, h, tinyOptions)
	m := p.device.(*model)
	m.SetState(trainer.State{Plans: map[string]string{m.encoder.activation.key(m.compute.prefix): fused}}) // as a run in bf16 would leave
	got, want := p.gradients(t, ragged(rand.New(rand.NewPCG(3, 3)), c, 3, 25), h)
	compareGradients(t, got, want, 1e-4)
	for shape := range m.compute.plans {
		if shape.Epilogue == device.GELUAuxBias || shape.Epilogue == device.DGELU || shape.Epilogue == device.BGradB {
			t.Errorf("a product with the epilogue %d", shape.Epilogue)
		}
	}
}

// TestDeterministicBitsDoNotDependOnTheOrder trains in 16 bits in two orders of
// streams, blocks and warps. The kernel with atomics is not used: rounding to 16
// bits would hide most of its differences.
func TestDeterministicBitsDoNotDependOnTheOrder(t *testing.T) {
	t.Parallel()
	o := tinyOptions
	o.Precision, o.Deterministic, o.Tokens, o.Masked = trainer.BFloat16, true, 160, 40
	batch := ragged(rand.New(rand.NewPCG(1, 2)), smallConfig(128, 1, trainer.GELUNew), 2, 150)
	var all []map[string][]float64
	for seed := range uint64(2) {
		d := newTapped(20 + seed)
		m := openTiny(t, onDevice(d), o)
		for range 2 {
			if err := m.Accumulate(batch, trainer.Coef{MLM: 0.1, NSP: 0.1}, true); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: 10}); err != nil {
				t.Fatal(err)
			}
		}
		if n := d.launched[m.(*model).compute.kernels["flash_backward"].function]; n > 0 {
			t.Errorf("%d launches of a kernel with atomics", n)
		}
		all = append(all, values(t, m, trainer.Weights))
	}
	for name, w := range all[0] {
		if !slices.Equal(w, all[1][name]) {
			t.Errorf("%s has other bits in another order", name)
		}
	}
}

// TestEvaluationBetweenMicroBatchesLeavesTheStep evaluates a batch inside a step:
// sums and gradients are those of the step alone.
func TestEvaluationBetweenMicroBatchesLeavesTheStep(t *testing.T) {
	t.Parallel()
	o := tinyOptions
	o.Deterministic = true
	c, h := smallConfig(128, 1, trainer.GELUNew), trainer.PretrainHeads()
	r := rand.New(rand.NewPCG(5, 5))
	batches := []*trainer.Batch{ragged(r, c, 2, 20), ragged(r, c, 9, 11), ragged(r, c, 3, 30)}
	var infos []trainer.StepInfo
	var gradients []map[string][]float64
	for _, evaluates := range []bool{false, true} {
		m := openTiny(t, simulated(11), o)
		for i, b := range batches[:2] {
			if err := m.Accumulate(b, trainer.Coef{MLM: 0.1, NSP: 0.1}, i == 1); err != nil {
				t.Fatal(err)
			}
			if !evaluates {
				continue
			}
			if s, err := m.Forward(batches[2], nil); err != nil || s.MLMWeight != batches[2].Counts(h).MaskedWeight {
				t.Fatalf("evaluation: %+v, %v", s, err)
			}
		}
		gradients = append(gradients, values(t, m, trainer.Gradients))
		info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Steps: 1})
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	if infos[0] != infos[1] {
		t.Errorf("%+v, without evaluation %+v", infos[1], infos[0])
	}
	for name, g := range gradients[0] {
		if !slices.Equal(g, gradients[1][name]) {
			t.Errorf("evaluation changed the gradient of %s", name)
		}
	}
}
