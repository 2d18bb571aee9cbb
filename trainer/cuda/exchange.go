package cuda

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
)

// A Transport is the method by which ranks exchange gradients and weights.
type Transport string

// The transports.
const (
	TransportAuto Transport = ""     // NCCL; through host memory if a rank lacks it
	TransportHost Transport = "host" // copies to the host, trainer.Comm, copies back
	TransportNCCL Transport = "nccl" // NCCL, even for a single rank; an error if a rank lacks it
)

// An exchange computes collectives of float32 values between the ranks' devices.
type exchange interface {
	// collect queues collectives after all work of the main stream so far. The main
	// stream must not use their memory before join.
	collect(list ...device.Collective)

	// join makes later work of the main stream wait for all collectives.
	join()

	// overlaps reports whether collect returns before the collectives are done, so
	// that the backward pass can continue meanwhile.
	overlaps() bool

	// close frees the resources of the exchange. If abort is set, it does not wait
	// for queued collectives.
	close(abort bool) error
}

// connect sets r.exchange for a model that trains on several ranks. All ranks call
// it, and choose the same transport.
func (r *ranks) connect(b *Backend) error {
	t := b.Transport
	if r.params.g == 0 || r.comm.Size() == 1 && t != TransportNCCL {
		return nil
	}
	id := make([]byte, device.UniqueIDBytes)
	var missing error // why this rank cannot have a communicator
	switch c, ok := r.device.(device.Collectives); {
	case t == TransportHost:
		missing = errors.New("it was not asked for")
	case !ok:
		missing = fmt.Errorf("%w: %s has no collectives", trainer.ErrUnavailable, r.device.Properties().Name)
	case r.comm.Rank() > 0:
		missing = c.Supported()
	default:
		id, missing = c.UniqueID()
	}
	lacking := []float64{0}
	if missing != nil {
		lacking[0] = 1
	}
	if err := r.comm.AllReduce(lacking); err != nil {
		return err
	}
	if lacking[0] > 0 {
		if t == TransportNCCL {
			return errors.Join(missing, errors.New("a rank has no NCCL"))
		}
		if t == TransportAuto && (missing != nil || r.comm.Rank() == 0) && b.Warn != nil && !b.warned {
			b.warned = true
			message := fmt.Sprintf("%d of %d ranks have no NCCL, so gradients are exchanged through host memory, which is slow", int(lacking[0]), r.comm.Size())
			if missing != nil {
				message += fmt.Sprintf("; rank %d: %v", r.comm.Rank(), missing)
			}
			b.Warn(message)
		}
		r.exchange = &hostExchange{r: r}
		return nil
	}
	if err := r.comm.Broadcast(id, 0); err != nil {
		return err
	}
	nccl, err := newNCCL(r, id)
	r.exchange = nccl
	return r.reason(err)
}

// failing is implemented by a trainer.Comm, such as comm.Group, that can report failures.
// The channel is closed when the run has failed on any rank.
type failing interface{ Failed() <-chan struct{} }

// errLost is the cause passed to Abort when another rank fails.
var errLost = errors.New("another rank has ended")

// reason returns the error to report for err. For the error of a collective this is the
// error of the Comm, which names the failed rank. reason waits a moment for that error,
// because the device may notice a failure before the Comm does.
func (r *ranks) reason(err error) error {
	var e *device.Error
	f, ok := r.comm.(failing)
	if !ok || !errors.Is(err, errLost) && !(errors.As(err, &e) && strings.HasPrefix(e.Call, "nccl")) {
		return err
	}
	select {
	case <-f.Failed():
	case <-time.After(3 * time.Second):
		return err
	}
	if lost := r.comm.AllReduce([]float64{0}); lost != nil {
		return lost
	}
	return err
}

// A ncclExchange queues collectives in a stream of its own, beside the main stream.
type ncclExchange struct {
	r           *ranks
	collectives device.Collectives
	comm        device.Communicator
	stream      queue
	ready, done device.Event  // main stream → collectives, and back
	stop        chan struct{} // closed: watch ends
	stopped     chan struct{} // closed: watch has ended
}

// newNCCL connects the ranks that have the same id. If it fails, it also returns the
// incomplete exchange, which the caller must close.
func newNCCL(r *ranks, id []byte) (*ncclExchange, error) {
	x := &ncclExchange{r: r, collectives: r.device.(device.Collectives), stream: queue{device: r.device}}
	var err error
	if x.stream.stream, err = r.device.NewStream(); err != nil {
		return x, err
	}
	for _, e := range []*device.Event{&x.ready, &x.done} {
		if *e, err = r.device.NewEvent(false); err != nil {
			return x, err
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if f, ok := r.comm.(failing); ok {
		go func() {
			select {
			case <-f.Failed():
				cancel(errLost)
			case <-ctx.Done():
			}
		}()
	}
	if x.comm, err = x.collectives.Connect(ctx, id, r.comm.Rank(), r.comm.Size()); err != nil {
		return x, err
	}
	x.stop, x.stopped = make(chan struct{}), make(chan struct{})
	go x.watch()
	return x, nil
}

// watchInterval is the time between two checks for errors of queued collectives.
const watchInterval = time.Second

// watch aborts the communicator if another rank or a collective fails. Otherwise the device
// would wait forever.
func (x *ncclExchange) watch() {
	defer close(x.stopped)
	var failed <-chan struct{}
	if f, ok := x.r.comm.(failing); ok {
		failed = f.Failed()
	}
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-x.stop:
			return
		case <-failed:
			x.collectives.Abort(x.comm, errLost)
			return
		case <-tick.C:
			if err := x.collectives.AsyncError(x.comm); err != nil {
				x.collectives.Abort(x.comm, err)
				return
			}
		}
	}
}

func (x *ncclExchange) overlaps() bool { return true }

func (x *ncclExchange) collect(list ...device.Collective) {
	x.r.record(x.ready)
	if x.r.err != nil {
		return
	}
	x.stream.wait(x.ready)
	if x.stream.err == nil {
		x.stream.try("collective", x.collectives.Collect(x.stream.stream, x.comm, list...))
	}
	x.r.err = x.stream.err
}

func (x *ncclExchange) join() {
	if x.r.err != nil {
		return
	}
	x.stream.record(x.done)
	x.r.err = x.stream.err
	x.r.wait(x.done)
}

func (x *ncclExchange) close(abort bool) error {
	var errs []error
	if x.stop != nil {
		close(x.stop)
		<-x.stopped
		if abort {
			x.collectives.Abort(x.comm, errors.New("the model is closed"))
		}
		errs = append(errs, x.collectives.Disconnect(x.comm))
	}
	if x.stream.stream != 0 {
		errs = append(errs, x.r.device.FreeStream(x.stream.stream))
	}
	for _, e := range []device.Event{x.ready, x.done} {
		if e != 0 {
			errs = append(errs, x.r.device.FreeEvent(e))
		}
	}
	return errors.Join(errs...)
}

// A hostExchange computes collectives on copies in host memory, with trainer.Comm. When
// collect returns, the collectives are done.
type hostExchange struct {
	r      *ranks
	values []float32
	bounds []int
}

func (x *hostExchange) overlaps() bool   { return false }
func (x *hostExchange) join()            {}
func (x *hostExchange) close(bool) error { return nil }

func (x *hostExchange) collect(list ...device.Collective) {
	for _, c := range list {
		if x.r.err == nil {
			x.r.try(c.Kind.String(), x.one(c))
		}
	}
}

// one computes the collective c.
func (x *hostExchange) one(c device.Collective) error {
	comm := x.r.comm
	rank, ranks := comm.Rank(), comm.Size()
	n := c.N // values in all parts
	if c.Kind != device.AllReduce {
		n *= ranks
	}
	x.values = resize(x.values, n)
	x.bounds = resize(x.bounds, ranks+1)
	for r := range x.bounds {
		x.bounds[r] = n * r / ranks
	}
	values := trainer.Float32s(x.values)
	own := x.values[x.bounds[rank]:x.bounds[rank+1]]
	switch c.Kind {
	case device.AllReduce:
		return x.through(x.values, c.Send, x.values, c.Receive, func() error {
			return errors.Join(comm.ReduceScatter(values, x.bounds), comm.AllGather(values, x.bounds))
		})
	case device.ReduceScatter:
		return x.through(x.values, c.Send, own, c.Receive, func() error { return comm.ReduceScatter(values, x.bounds) })
	case device.AllGather:
		return x.through(own, c.Send, x.values, c.Receive, func() error { return comm.AllGather(values, x.bounds) })
	}
	panic("BUG: no " + c.Kind.String() + " through host memory")
}

// through copies the device memory at from into the host buffer send, calls f, and copies
// the host buffer receive to the device memory at to.
func (x *hostExchange) through(send []float32, from device.Pointer, receive []float32, to device.Pointer, f func() error) error {
	x.r.appendFloat32(send[:0], from, len(send))
	if x.r.err != nil {
		return x.r.err
	}
	if err := f(); err != nil {
		return err
	}
	x.r.upload(to, bytesOf(receive))
	return x.r.err
}
