package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/dropout"
)

// model implements trainer.Model.
type model struct {
	c       trainer.Config
	h       trainer.Heads
	o       trainer.Options
	shape   shape
	layout  layout
	element device.DataType

	device device.Device
	products
	copies  queue // stream that copies batches to the device
	arena   arena
	b       buffers
	p       views
	packer  packer
	slots   [2]slot
	next    int    // slot of the next batch
	staging []byte // page-locked, for tensors
	results []byte // page-locked, for control and sums

	comm      trainer.Comm
	exchange  exchange      // between the ranks' devices; nil for a single rank
	slices    []slice       // of each bucket: what this rank updates
	final     bool          // the current pass is that of the step's last micro-batch on this rank
	reduced   int           // buckets of this step that ranks have begun to sum
	state     trainer.State // Plans is nil: see State
	tokens    float64       // since the last Apply
	batches   float64       // sequences since the last Apply
	training  bool          // the current pass has dropout and gradients
	partCount int           // parts of layout.parts
	choice    string        // fused or plain GELU; "": not chosen yet
	forced    string        // choice set by a test; "": none
	closed    bool
}

// stagingBytes is the size of the page-locked buffer through which tensors are
// copied.
const stagingBytes = 4 << 20

// firstLossScale is the loss scale of a new fp16 model; lossScaleGrowth is the
// number of updates without an overflow after which it doubles. Both are the
// defaults of PyTorch's GradScaler.
const (
	firstLossScale  = 1 << 16
	lossScaleGrowth = 2000
)

func (b *Backend) open(c trainer.Config, h trainer.Heads, o trainer.Options) (*model, error) {
	t := types[o.Precision]
	set, err := b.load(t.kernel)
	if err != nil {
		return nil, err
	}
	most := b.limits
	most.divideAlone = b.Transport == TransportNCCL
	m := &model{c: c, h: h, o: o, shape: newShape(c, o, most), element: t.element, device: b.device, comm: trainer.OrAlone(o.Comm)}
	m.layout = newLayout(c, h, m.shape)
	m.packer = packer{c: c, h: h, shape: m.shape}
	r := requestsFor(c, h, o, m.shape, &m.layout, &m.b)
	if err := r.place(b.device, b.apart); err != nil {
		return nil, errors.Join(err, r.free(b.device))
	}
	m.arena = r.arena
	if t.element == device.Float32 {
		m.b.copy, m.b.dlogits = m.b.w, m.b.logits
	}
	main := &queue{device: b.device, kernels: set}
	m.products = products{queue: main, element: t.element, workspace: m.b.workspace, bytes: m.shape.workspace, prefix: planPrefix(b.device.Properties())}
	m.copies = queue{device: b.device}
	m.p = viewer{&m.layout, m.b.copy, m.b.w, m.b.g, t.element.Size(), c.HiddenSize}.views(c, h)
	m.forced = b.gelu
	if err := m.prepare(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	if err := m.connect(b); err != nil {
		return nil, errors.Join(fmt.Errorf("connect the ranks' devices: %w", err), m.Close())
	}
	return m, nil
}

// layer returns the buffers of layer i. Its input x is the output buffer of layer
// i-1, or of the embeddings. Without training, layers use two sets of buffers in
// turn.
func (m *model) layer(i int) kept {
	k := m.b.layers[i%len(m.b.layers)]
	k.x = m.b.embedded.y
	if i > 0 {
		k.x = m.b.layers[(i-1)%len(m.b.layers)].final.y
	}
	return k
}

// prepare makes streams, events and host memory, and initializes device memory.
func (m *model) prepare() error {
	var err error
	pinned := func(n int) (b []byte) {
		if err == nil {
			b, err = m.device.AllocHost(n)
		}
		return b
	}
	m.staging, m.results = pinned(stagingBytes), pinned(resultBytes)
	for i := range m.slots {
		m.slots[i] = slot{host: pinned(slotBytes(m.shape)), base: m.b.slots[i]}
	}
	if err != nil {
		return err
	}
	for _, s := range []*device.Stream{&m.stream, &m.copies.stream} {
		if *s, err = m.device.NewStream(); err != nil {
			return err
		}
	}
	for i := range m.slots {
		for _, e := range []*device.Event{&m.slots[i].uploaded, &m.slots[i].consumed} {
			if *e, err = m.device.NewEvent(false); err != nil {
				return err
			}
		}
	}
	return m.initialize()
}

// initialize clears the parameters and writes the tables of the optimizer.
func (m *model) initialize() error {
	for _, p := range []device.Pointer{m.b.w, m.b.g} {
		if p != 0 {
			m.clear(p, 4*m.layout.size)
		}
	}
	for _, p := range []device.Pointer{m.b.m, m.b.v} {
		if p != 0 {
			m.clear(p, 4*m.layout.moments())
		}
	}
	if m.b.copy != m.b.w {
		m.clear(m.b.copy, m.element.Size()*m.layout.size)
	}
	m.clear(m.b.sums, 8*3*sumSlots)
	if m.o.Train {
		m.clear(m.b.dq, 4*m.shape.tokens*m.c.HiddenSize)
		m.tables()
	}
	m.SetState(trainer.State{LossScale: firstLossScale})
	return m.sync()
}

// tables writes the optimizer's tables to the device: the parts, the first part of
// each tensor (bounds), and whether each tensor has weight decay (decays).
func (m *model) tables() {
	parts, bounds := m.layout.parts()
	m.partCount = len(parts)
	m.slices = m.layout.slices(m.comm.Rank(), parts)
	var decays []byte
	for _, i := range m.layout.flat {
		decays = append(decays, 0)
		if m.layout.specs[i].Decay {
			decays[len(decays)-1] = 1
		}
	}
	m.upload(m.b.decays, append(decays, make([]byte, roundUp(len(decays), 4)-len(decays))...))
	m.upload(m.b.bounds, packAll(bounds))
	m.upload(m.b.parts, packAll(parts))
}

func packAll[T any](x []T) []byte {
	var b []byte
	for _, v := range x {
		b = append(b, kernels.Pack(v)...)
	}
	return b
}

// upload copies b to the device through the staging buffer and waits.
func (m *model) upload(to device.Pointer, b []byte) {
	for len(b) > 0 && m.err == nil {
		n := copy(m.staging, b)
		m.toDevice(to, m.staging[:n])
		m.sync()
		to, b = to.Add(n), b[n:]
	}
}

// download returns n bytes at an address of the device, up to stagingBytes. The
// slice is valid until the next call.
func (m *model) download(from device.Pointer, n int) []byte {
	m.toHost(m.staging[:n], from)
	m.sync()
	return m.staging[:n]
}

// usable returns ErrClosed or the error of earlier work that makes the model
// unusable; nil if the model can be used.
func (m *model) usable() error {
	if m.closed {
		return ErrClosed
	}
	return m.err
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

// send queues the copy of a batch to the device, where it overlaps with the
// computation of the previous batch. There are two slots. send waits on the host
// until the slot's last batch was copied; the device waits until that batch was
// computed.
func (m *model) send(b *trainer.Batch, want trainer.Output) (batch, error) {
	s := &m.slots[m.next]
	m.next = 1 - m.next
	if err := m.device.SyncEvent(s.uploaded); err != nil {
		return batch{}, err
	}
	d := m.packer.pack(s, b, want, m.training)
	m.copies.wait(s.consumed)
	m.copies.toDevice(s.base, s.host[:s.n])
	m.copies.record(s.uploaded)
	m.wait(s.uploaded)
	return d, m.copies.err
}

// done records that all work that reads the last batch is queued. Once that work is
// done, its slot can be used again.
func (m *model) done() { m.record(m.slots[1-m.next].consumed) }

// dropping returns the kernels' argument for dropout with probability p at a place
// in the model, given by kind and layer; keepAll in evaluation.
func (m *model) dropping(p float64, kind dropout.Kind, layer int) kernels.Dropout {
	if !m.training {
		return keepAll
	}
	scale := dropout.New(m.o.Seed, p).Scale()
	return kernels.Dropout{Seed: m.o.Seed, Site: uint32(dropout.At(kind, layer)), Keep: uint32(math.Round(256 / scale)), Scale: float32(scale)}
}

// Accumulate implements trainer.Model. During the backward pass of the last
// micro-batch, ranks sum gradients as soon as they are complete.
func (m *model) Accumulate(b *trainer.Batch, coef trainer.Coef, last bool) error {
	err := m.check(b)
	switch {
	case err != nil:
	case !m.o.Train:
		err = errors.New("the model was not opened for training")
	case m.reduced > 0:
		err = errReducing
	default:
		m.final = last
		err = m.reason(m.accumulate(b, coef))
		m.final = false
	}
	if err != nil {
		return fmt.Errorf("accumulate: %w", err)
	}
	return nil
}

func (m *model) accumulate(b *trainer.Batch, coef trainer.Coef) error {
	m.training = true
	m.choose()
	d, err := m.send(b, 0)
	if err != nil {
		return err
	}
	m.encode(&d)
	m.heads(&d, pass{coef: coef, out: &trainer.Outputs{}})
	m.complete(len(m.layout.buckets) - 1)
	m.backward(&d)
	m.done()
	m.tokens += float64(b.Tokens())
	m.batches += float64(b.Sequences())
	return m.err
}

// Forward implements trainer.Model.
func (m *model) Forward(b *trainer.Batch, out *trainer.Outputs) (trainer.Sums, error) {
	err := m.check(b)
	if err != nil {
		return trainer.Sums{}, fmt.Errorf("forward: %w", err)
	}
	if out == nil {
		out = &trainer.Outputs{}
	}
	sums, err := m.forward(b, out)
	if err != nil {
		return sums, fmt.Errorf("forward: %w", err)
	}
	return sums, nil
}

func (m *model) forward(b *trainer.Batch, out *trainer.Outputs) (trainer.Sums, error) {
	m.training = false
	m.choose()
	d, err := m.send(b, out.Want)
	if err != nil {
		return trainer.Sums{}, err
	}
	m.encode(&d)
	m.heads(&d, pass{out: out, batch: b})
	m.done()
	sums := m.readSums(evaluation)
	sums.Tokens, sums.Sequences = float64(b.Tokens()), float64(b.Sequences())
	return sums, m.err
}

// Close implements trainer.Model.
func (m *model) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	var errs []error
	if m.exchange != nil {
		// In a step that did not end, other ranks may never make the calls of this one.
		errs = append(errs, m.exchange.close(m.err != nil || m.reduced > 0))
	}
	errs = append(errs, m.device.Sync(), m.arena.free(m.device), m.forget())
	for _, b := range [][]byte{m.staging, m.results, m.slots[0].host, m.slots[1].host} {
		if b != nil {
			errs = append(errs, m.device.FreeHost(b))
		}
	}
	for _, s := range []device.Stream{m.stream, m.copies.stream} {
		if s != 0 {
			errs = append(errs, m.device.FreeStream(s))
		}
	}
	for _, s := range m.slots {
		for _, e := range []device.Event{s.uploaded, s.consumed} {
			if e != 0 {
				errs = append(errs, m.device.FreeEvent(e))
			}
		}
	}
	return m.newErrors(errs)
}

// newErrors joins errs without those whose lines are in m.err or in earlier ones: a
// device that has failed returns the same error from every call.
func (m *model) newErrors(errs []error) error {
	said := ""
	if m.err != nil {
		said = m.err.Error()
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
