package cuda

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/internal/bert"
)

// model implements trainer.Model. It holds the allocations; all other state is in its parts,
// which have the same names as in trainer/cpu. The parts queue their work in one stream. The
// first error is stored in queue.err, and after it no part does anything.
type model struct {
	c        trainer.Config
	h        trainer.Heads
	o        trainer.Options
	shape    shape
	arena    arena
	results  []byte // page-locked, for control and sums
	compute  compute
	staging  staging
	params   parameters
	encoder  encoder
	heads    heads
	ranks    ranks
	update   update
	uploads  uploads
	transfer transfer
	closed   bool
}

// newModel returns a model without device and memory.
func newModel(c trainer.Config, h trainer.Heads, o trainer.Options, s shape) *model {
	m := &model{c: c, h: h, o: o, shape: s}
	main := &queue{}
	m.compute = compute{products: products{queue: main, element: types[o.Precision].element, bytes: s.workspace, measures: !o.Deterministic, worth: worthMeasuring}, config: c, seed: o.Seed}
	m.staging = staging{queue: main}
	m.params = parameters{layout: newLayout(c, h, s), hidden: c.HiddenSize}
	m.encoder = encoder{compute: &m.compute, o: o, p: &m.params.views, tokens: s.tokens, large: worthMeasuring, activation: choice{name: "GELU"}, sums: choice{name: "bias gradients"}}
	if c.Modern != nil {
		m.encoder.modern = &modern{}
	}
	m.heads = heads{compute: &m.compute, staging: &m.staging, h: h, p: &m.params.views, vocabulary: s.vocabulary}
	m.ranks = ranks{staging: &m.staging, comm: trainer.OrAlone(o.Comm), params: &m.params}
	m.update = update{compute: &m.compute, staging: &m.staging, o: o, params: &m.params, heads: &m.heads, ranks: &m.ranks}
	m.compute.eight = newEightBits(&m.compute, &m.ranks, c, o)
	m.uploads = uploads{packer: packer{c: c, h: h, shape: s}}
	m.transfer = transfer{staging: &m.staging, params: &m.params, ranks: &m.ranks, state: &m.update.state}
	return m
}

// requests returns requests for all buffers of the model. Placing them sets the addresses in
// its parts.
func (m *model) requests() *requests {
	r := &requests{c: m.c, s: m.shape, train: m.o.Train, element: m.compute.element.Size()}
	m.compute.request(r, max(m.shape.vocabulary, m.h.ClassifierWidth()))
	for _, part := range []interface{ request(*requests) }{&m.params, &m.update, &m.ranks, &m.uploads, &m.encoder, &m.heads} {
		part.request(r)
	}
	m.compute.eight.request(r)
	return r
}

func (b *Backend) open(c trainer.Config, h trainer.Heads, o trainer.Options) (*model, error) {
	set, err := b.load(types[o.Precision].kernel)
	if err != nil {
		return nil, err
	}
	most := b.limits
	most.divideAlone = b.Transport == TransportNCCL
	m := newModel(c, h, o, newShape(c, o, most))
	r := m.requests()
	if err := r.place(b.device, b.apart); err != nil {
		return nil, errors.Join(err, r.free(b.device))
	}
	m.arena = r.arena
	if m.compute.element == device.Float32 {
		m.params.copy, m.heads.dlogits = m.params.w, m.heads.raw
	}
	m.compute.device, m.compute.kernels = b.device, set
	p := b.device.Properties()
	m.compute.multiprocessors, m.compute.size = p.Multiprocessors, m.compute.element.Size()
	m.compute.prefix = fmt.Sprintf("%s, sm_%d%d, driver %s, %s: ", p.Name, p.Major, p.Minor, p.Driver, p.BLAS)
	if b.worth > 0 {
		m.compute.worth = b.worth
	}
	if b.large > 0 {
		m.encoder.large = b.large
	}
	m.uploads.device = b.device
	for _, c := range m.encoder.choices() {
		c.forced = b.ways
	}
	m.params.views = bert.View(&m.params, c, h)
	if m.compute.eight != nil {
		m.compute.eight.attach(&m.params.views)
	}
	if err := m.prepare(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	if err := m.ranks.connect(b); err != nil {
		return nil, errors.Join(fmt.Errorf("connect the ranks' devices: %w", err), m.Close())
	}
	return m, nil
}

// prepare makes streams, events and host memory, and initializes device memory: it clears
// the parameters, writes the tables of the optimizer and sets the first state.
func (m *model) prepare() error {
	d, slots := m.compute.device, &m.uploads.slots
	var err error
	pinned := func(n int) (b []byte) {
		if err == nil {
			b, err = d.AllocHost(n)
		}
		return b
	}
	m.staging.memory, m.results = pinned(stagingBytes), pinned(resultBytes+4)
	for i := range slots {
		slots[i].host = pinned(slotBytes(m.shape))
	}
	if err != nil {
		return err
	}
	m.update.controlHost, m.heads.sumsHost = m.results[:controlBytes], m.results[controlBytes:resultBytes]
	if m.compute.eight != nil {
		m.compute.eight.saturatedOnHost = m.results[resultBytes:]
	}
	for _, s := range []*device.Stream{&m.compute.stream, &m.uploads.stream} {
		if *s, err = d.NewStream(); err != nil {
			return err
		}
	}
	for i := range slots {
		for _, e := range []*device.Event{&slots[i].uploaded, &slots[i].consumed} {
			if *e, err = d.NewEvent(false); err != nil {
				return err
			}
		}
	}
	q, p := m.compute.queue, &m.params
	zero := func(at device.Pointer, n int) {
		if at != 0 {
			q.clear(at, n)
		}
	}
	zero(p.w, 4*p.layout.Size)
	zero(p.g, 4*p.layout.Size)
	zero(p.m, 4*p.layout.moments())
	zero(p.v, 4*p.layout.moments())
	if p.copy != p.w {
		zero(p.copy, m.compute.element.Size()*p.layout.Size)
	}
	zero(m.heads.sums, 8*3*sumSlots)
	zero(m.encoder.d.q, 4*m.shape.tokens*m.c.HiddenSize)
	m.encoder.tables(&m.staging)
	if m.o.Train {
		m.update.tables()
	}
	m.SetState(trainer.State{LossScale: firstLossScale})
	return q.sync()
}

// usable returns ErrClosed or the error of earlier work that makes the model
// unusable; nil if the model can be used.
func (m *model) usable() error {
	if m.closed {
		return ErrClosed
	}
	return m.compute.err
}

// begin checks that the model can compute the batch, and sends the batch to the device.
func (m *model) begin(b *trainer.Batch, want trainer.Output, train bool) (batch, error) {
	m.compute.training = train
	m.encoder.choose()
	if m.compute.eight != nil {
		m.compute.eight.begin(&m.params.views)
	}
	return m.uploads.send(m.compute.queue, b, want, train)
}

// check returns an error for a batch that the model cannot compute.
func (m *model) check(b *trainer.Batch) error {
	if err := m.usable(); err != nil {
		return err
	}
	if err := m.o.Fits(b); err != nil {
		return err
	}
	return b.Validate(m.c, m.h)
}

// Accumulate implements trainer.Model. During the backward pass of the last
// micro-batch, ranks sum gradients as soon as they are complete.
func (m *model) Accumulate(b *trainer.Batch, coef trainer.Coef, last bool) error {
	err := m.check(b)
	switch {
	case err != nil:
	case !m.o.Train:
		err = errors.New("the model was not opened for training")
	case m.ranks.reduced > 0:
		err = errReducing
	default:
		m.ranks.final = last
		err = m.ranks.reason(m.accumulate(b, coef))
		m.ranks.final = false
	}
	if err != nil {
		return fmt.Errorf("accumulate: %w", err)
	}
	return nil
}

// Prepare implements trainer.Model: it packs b, and queues the copy to the device.
func (m *model) Prepare(b *trainer.Batch) {
	m.uploads.ready = nil
	if b != nil && m.o.Train && m.check(b) == nil {
		m.uploads.prepare(b)
	}
}

func (m *model) accumulate(b *trainer.Batch, coef trainer.Coef) error {
	d, err := m.begin(b, 0, true)
	if err != nil {
		return err
	}
	m.encoder.forward(&d)
	m.heads.forward(pass{d: &d, hidden: m.encoder.output(), dy: m.encoder.d.y, coef: coef, out: &trainer.Outputs{}})
	m.ranks.complete(len(m.params.layout.Buckets) - 1)
	m.encoder.backward(&d, m.ranks.complete)
	m.uploads.done(m.compute.queue)
	m.update.tokens += float64(b.Tokens())
	m.update.batches += float64(b.Sequences())
	return m.compute.err
}

// Forward implements trainer.Model.
func (m *model) Forward(b *trainer.Batch, out *trainer.Outputs) (trainer.Sums, error) {
	var sums trainer.Sums
	err := m.check(b)
	if err == nil {
		if out == nil {
			out = &trainer.Outputs{}
		}
		sums, err = m.forward(b, out)
	}
	if err != nil {
		return sums, fmt.Errorf("forward: %w", err)
	}
	return sums, nil
}

func (m *model) forward(b *trainer.Batch, out *trainer.Outputs) (trainer.Sums, error) {
	d, err := m.begin(b, out.Want, false)
	if err != nil {
		return trainer.Sums{}, err
	}
	m.encoder.forward(&d)
	m.heads.forward(pass{d: &d, hidden: m.encoder.output(), out: out, tokens: b.Tokens()})
	m.uploads.done(m.compute.queue)
	m.compute.toHost(m.heads.sumsHost, m.heads.sums)
	if err := m.compute.sync(); err != nil {
		return trainer.Sums{}, err
	}
	sums := m.heads.sumsFrom(evaluation)
	sums.Tokens, sums.Sequences = float64(b.Tokens()), float64(b.Sequences())
	return sums, nil
}

// Apply implements trainer.Model.
func (m *model) Apply(s trainer.Schedule) (trainer.StepInfo, error) {
	err := m.usable()
	if err == nil && !m.o.Train {
		err = errors.New("the model was not opened for training")
	}
	var info trainer.StepInfo
	if err == nil {
		info, err = m.update.apply(s)
	}
	if err != nil {
		return info, fmt.Errorf("apply: %w", err)
	}
	return info, nil
}

// Tensors implements trainer.Model.
func (m *model) Tensors(k trainer.Kind) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		if m.closed {
			yield(trainer.Tensor{}, fmt.Errorf("read %v: %w", k, ErrClosed))
			return
		}
		m.transfer.tensors(k)(yield)
	}
}

// Load implements trainer.Model.
func (m *model) Load(k trainer.Kind, tensors iter.Seq2[trainer.Tensor, error]) (trainer.LoadReport, error) {
	var r trainer.LoadReport
	err := m.usable()
	if err == nil {
		r, err = m.transfer.load(k, tensors)
		if m.compute.eight != nil {
			m.compute.eight.stale = true
		}
	}
	if err != nil {
		return r, fmt.Errorf("load %v: %w", k, err)
	}
	return r, nil
}

// Snapshot implements trainer.Model. It waits for the device.
func (m *model) Snapshot() (trainer.Snapshot, error) {
	err := m.usable()
	var s *snapshot
	if err == nil {
		s, err = m.transfer.snapshot(m.State())
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return s, nil
}

// State implements trainer.Model. State.Plans holds the algorithms chosen for
// matrix products on this device, and the entries for other devices that were
// passed to SetState.
func (m *model) State() trainer.State {
	s := m.update.state
	s.Amax = m.compute.eight.sizes()
	s.Plans = m.compute.algorithms()
	for _, c := range m.encoder.choices() {
		if c.way != "" {
			s.Plans[c.key(m.compute.prefix)] = c.way
		}
	}
	if len(s.Plans) == 0 {
		s.Plans = nil
	}
	return s
}

// SetState implements trainer.Model. In fp32 and bf16 the loss scale becomes 1.
// Existing product plans are freed; later products use the algorithms in s.Plans.
func (m *model) SetState(s trainer.State) {
	for _, c := range m.encoder.choices() {
		c.way = ""
	}
	m.compute.replan(s.Plans)
	if m.compute.eight != nil {
		m.compute.eight.setSizes(s.Amax)
	}
	m.update.setState(s)
}

// Close implements trainer.Model.
func (m *model) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	d, slots := m.compute.device, &m.uploads.slots
	var errs []error
	if m.ranks.exchange != nil {
		// If the step did not end, other ranks may never make this rank's collective calls.
		errs = append(errs, m.ranks.exchange.close(m.compute.err != nil || m.ranks.reduced > 0))
	}
	errs = append(errs, d.Sync(), m.arena.free(d), m.compute.forget())
	for _, b := range [][]byte{m.staging.memory, m.results, slots[0].host, slots[1].host} {
		if b != nil {
			errs = append(errs, d.FreeHost(b))
		}
	}
	for _, s := range []device.Stream{m.compute.stream, m.uploads.stream} {
		if s != 0 {
			errs = append(errs, d.FreeStream(s))
		}
	}
	for _, s := range slots {
		for _, e := range []device.Event{s.uploaded, s.consumed} {
			if e != 0 {
				errs = append(errs, d.FreeEvent(e))
			}
		}
	}
	return m.newErrors(errs)
}

// newErrors joins errs. It omits errors whose lines are already in m.compute.err or in an
// earlier error, because a failed device returns the same error from every call.
func (m *model) newErrors(errs []error) error {
	said := ""
	if m.compute.err != nil {
		said = m.compute.err.Error()
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		if err == nil {
			return true
		}
		known := true
		for line := range strings.Lines(err.Error()) {
			known = known && strings.Contains(said, strings.TrimSpace(line))
		}
		said += err.Error()
		return known
	})...)
}
