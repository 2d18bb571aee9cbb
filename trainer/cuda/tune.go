package cuda

import (
	"errors"
	"math"
	"time"

	"pretext/trainer/cuda/device"
)

// tune returns the fastest of the algorithms that the library proposes for products of
// shape m, measured with the operands x of its first use; "" for the one that the library
// expects to be fastest. Results go to memory of their own, so that D keeps what is to be
// added to. An algorithm whose result most others do not have is not chosen.
func (p *products) tune(m device.Matmul, x device.Operands) string {
	if !p.measures || int64(m.M)*int64(m.N)*int64(m.K) < p.worth {
		return ""
	}
	all, err := p.device.Algorithms(m, p.bytes)
	if err != nil || len(all) < 2 {
		return "" // Plan reports the error
	}
	t, err := newTuning(p, m, x)
	if err != nil {
		return "" // no memory to spare
	}
	var tried []trial
	for _, a := range all {
		r, err := t.try(a)
		if err != nil {
			break
		}
		tried = append(tried, r)
	}
	if err := t.free(); err != nil {
		p.try("free the memory of measurements", err)
		return ""
	}
	return fastest(tried, m.Result)
}

// A trial is what an algorithm took, and a sample of its result.
type trial struct {
	algorithm string
	took      time.Duration
	sample    []float32
}

// fastest returns the algorithm that took least of those that are right, the first of
// equals: most others have the same result. It returns "" if there is none, or if the
// results are 0, which every algorithm finds.
func fastest(tried []trial, t device.DataType) string {
	limit := 2e-2
	if t == device.Float32 {
		limit = 1e-3
	}
	best := -1
	for i, r := range tried {
		agree := 0
		for _, other := range tried {
			if apartBy(r.sample, other.sample) <= limit {
				agree++
			}
		}
		if 2*agree > len(tried) && (best < 0 || r.took < tried[best].took) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return tried[best].algorithm
}

// apartBy returns the norm of x − y over that of y; NaN if both are 0.
func apartBy(x, y []float32) float64 {
	d, n := 0.0, 0.0
	for i, v := range y {
		e := float64(x[i]) - float64(v)
		d, n = d+e*e, n+float64(v)*float64(v)
	}
	return math.Sqrt(d / n)
}

// A tuning measures the algorithms of one shape.
type tuning struct {
	p      *products
	m      device.Matmul
	x      device.Operands
	size   int // bytes of D
	events [2]device.Event
	host   []byte // page-locked
}

// Samples of a result: so many pieces, evenly distributed, of so many bytes.
const (
	samplePieces = 16
	sampleBytes  = 4096
)

func newTuning(p *products, m device.Matmul, x device.Operands) (*tuning, error) {
	t := &tuning{p: p, m: m, x: x, size: m.LDD * m.N * m.Result.Size()}
	if t.x.C == 0 {
		t.x.C = x.D
	}
	var err error
	if t.x.D, err = p.device.Alloc(t.size); err != nil {
		return nil, err
	}
	if t.host, err = p.device.AllocHost(samplePieces * sampleBytes); err != nil {
		return nil, errors.Join(err, t.free())
	}
	for i := range t.events {
		if t.events[i], err = p.device.NewEvent(true); err != nil {
			return nil, errors.Join(err, t.free())
		}
	}
	return t, nil
}

// free frees everything that newTuning made, once the device is done with it.
func (t *tuning) free() error {
	d := t.p.device
	errs := []error{d.SyncStream(t.p.stream), d.Free(t.x.D)}
	if t.host != nil {
		errs = append(errs, d.FreeHost(t.host))
	}
	for _, e := range t.events {
		if e != 0 {
			errs = append(errs, d.FreeEvent(e))
		}
	}
	return errors.Join(errs...)
}

// try runs an algorithm once, for a sample of its result, and then a few times.
func (t *tuning) try(algorithm string) (trial, error) {
	const repeats = 5
	d, s := t.p.device, t.p.stream
	r := trial{algorithm: algorithm}
	plan, err := d.Plan(t.m, t.p.bytes, algorithm)
	if err != nil {
		return r, err
	}
	alone := t.x
	alone.Beta = 0 // what the product is added to would hide its errors
	err = errors.Join(d.Clear(s, t.x.D, t.size), d.Matmul(s, plan, alone))
	n := 0
	step := max(t.size/samplePieces/16*16, 16)
	for at := 0; at < t.size && n < len(t.host) && err == nil; at += step {
		size := min(sampleBytes, step, t.size-at, len(t.host)-n)
		err = d.ToHost(s, t.host[n:n+size], t.x.D.Add(at))
		n += size
	}
	err = errors.Join(err, d.Record(s, t.events[0]))
	for range repeats {
		err = errors.Join(err, d.Matmul(s, plan, t.x))
	}
	if err = errors.Join(err, d.Record(s, t.events[1]), d.SyncStream(s)); err == nil {
		r.sample = appendFloats(nil, t.host[:n], t.m.Result)
		r.took, err = d.Elapsed(t.events[0], t.events[1])
	}
	return r, errors.Join(err, d.FreeProduct(plan))
}
