package stage

import (
	"context"
	"encoding/hex"
	"io"
	"runtime"

	"pretext/internal/store"
	"pretext/internal/sumpair"
	"pretext/sharding"
)

// An Output is a file under construction that is hashed as it is written.
type Output struct {
	name   string
	w      store.Writer
	sum    *sumpair.Sum
	n      int64
	back   *background // nil unless the file is written in the background
	idle   func() bool // reports whether a processor is free
	others func() bool // reports whether other tasks are running
	spare  []byte      // the buffer that was passed to Exchange last, if it was shared; nil before

	pending []byte   // data of Write that are not yet in the file; nil before the first
	shared  [][]byte // the buffers that were pending before, oldest first; sum may still read them
	failed  error    // the first error of writing, after which nothing is written
}

// pendingBytes is the capacity of the buffers of [Output.Write]. Larger pieces bypass them.
const pendingBytes = 64 << 10

// roomier returns b, or a larger buffer once the file is so large that its pieces are written
// past the page cache.
func (o *Output) roomier(b []byte) []byte {
	if o.n >= store.DirectFrom && cap(b) < store.DirectBytes {
		return make([]byte, 0, store.DirectBytes)
	}
	return b
}

// sharedAhead is the number of buffers of [Output.Write] whose sums may wait for another
// task. With more than one, a task that is ahead need not add its own alone.
const sharedAhead = 3

// Create creates a file. [Env.Commit] makes the file visible; [Output.Abort] discards it.
func (s *Env) Create(ctx context.Context, name string) (*Output, error) {
	w, err := s.Folder.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Output{name: name, w: w, sum: s.job.sums.New(), idle: s.job.idle, others: s.job.several}, nil
}

// idle reports whether a processor is free: there are fewer running tasks than the job
// may run at once, and fewer than the process has processors. So a job with one worker
// uses only one processor.
func (j *job) idle() bool { return len(j.gate) < min(cap(j.gate), runtime.GOMAXPROCS(0)) }

// several reports whether several tasks are running.
func (j *job) several() bool { return len(j.gate) > 1 }

// Write appends p to the file.
func (o *Output) Write(p []byte) (n int, err error) {
	if err := o.end(); err != nil {
		return 0, err
	}
	for len(p) > cap(o.pending)-len(o.pending) {
		k := 0
		switch {
		case len(o.pending) == 0 && len(p) >= pendingBytes:
			k = len(p)
			err = o.pass(p)
		case o.pending == nil:
			o.pending = make([]byte, 0, pendingBytes)
		default:
			k = cap(o.pending) - len(o.pending)
			o.pending = append(o.pending, p[:k]...)
			err = o.flush()
		}
		if err != nil {
			return n, err
		}
		n, p = n+k, p[k:]
	}
	o.pending = append(o.pending, p...)
	return n + len(p), nil
}

// flush writes what is pending. While other tasks are running, the sum of it waits for one of
// theirs.
func (o *Output) flush() error {
	full := o.pending
	if len(full) == 0 {
		return o.failed
	}
	if o.idle() || !o.others() {
		err := o.pass(full)
		o.pending = o.roomier(full[:0])
		return err
	}
	var free []byte
	if len(o.shared) < sharedAhead {
		free = make([]byte, 0, pendingBytes)
	} else {
		o.sum.Limit(sharedAhead - 1) // the oldest buffer is in the sum
		free = o.shared[0][:0]
		o.shared = append(o.shared[:0], o.shared[1:]...)
	}
	o.shared = append(o.shared, full)
	err := o.passShared(full)
	o.pending = o.roomier(free)
	return err
}

// pass writes and hashes p.
func (o *Output) pass(p []byte) error {
	o.sum.Write(o.put(p))
	return o.failed
}

// passShared is pass, but p must not change before it is in the sum.
func (o *Output) passShared(p []byte) error {
	o.sum.Share(o.put(p))
	return o.failed
}

// put writes p and returns what of it is in the file.
func (o *Output) put(p []byte) []byte {
	if o.failed != nil {
		return nil
	}
	n, err := o.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	o.n, o.failed = o.n+int64(n), err
	return p[:n]
}

// Exchange appends the buffer full to the file. It returns an empty buffer of the same
// capacity, which may be the same one. While a processor is free, Exchange writes in the
// background; its error may then belong to an earlier buffer. Call [Output.Wait] for the
// error of the last buffer.
func (o *Output) Exchange(full []byte) (empty []byte, err error) {
	if o.back == nil {
		idle, others := o.idle(), o.others()
		if !idle && !others {
			_, err := o.Write(full)
			return full[:0], err
		}
		if err := o.flush(); err != nil {
			return full[:0], err
		}
		if !idle {
			return o.share(full)
		}
		o.back = newBackground(o, cap(full))
	}
	return o.back.exchange(full)
}

// share appends full to the file at once, and lets the sum wait for that of another task.
func (o *Output) share(full []byte) (empty []byte, err error) {
	o.sum.Settle() // spare is in the sum
	err = o.passShared(full)
	if empty = o.spare; empty == nil {
		empty = make([]byte, 0, cap(full))
	}
	o.spare = full
	return empty[:0], err
}

// Wait waits until all buffers are written and hashed, and returns the first error.
func (o *Output) Wait() error {
	if err := o.end(); err != nil {
		return err
	}
	err := o.flush()
	o.sum.Settle()
	return err
}

// end stops the background goroutines and returns their error.
func (o *Output) end() error {
	if o.back == nil {
		return nil
	}
	err := o.back.end()
	o.back = nil
	return err
}

// Abort discards the file; after [Env.Commit] it does nothing.
func (o *Output) Abort() {
	defer o.w.Abort() // also if end panics
	_ = o.end()       // the goroutines use the file
	o.sum.Settle()    // another task may read a buffer
}

// Entry returns the manifest entry of a committed file.
func (o *Output) Entry(task int, counts sharding.Counts) sharding.FileEntry {
	return sharding.FileEntry{Name: o.name, Task: task, Bytes: o.n, SHA256: hex.EncodeToString(o.sum.Sum(nil)), Counts: counts}
}

// A background writes and hashes the buffers of an Output in two goroutines, while
// the task fills the next buffer. It ends at the first error.
type background struct {
	out    *Output
	filled chan []byte // buffers to write
	dirty  chan []byte // buffers that are written but not yet hashed
	empty  chan []byte
	failed chan error // write error, after which the goroutines end; a [panicError] for a panic
	done   chan struct{}
}

// buffersAhead is the number of buffers of a background, without the one that the task is
// filling: one is being written, one is being hashed, and one waits for each of the two.
const buffersAhead = 4

func newBackground(o *Output, size int) *background {
	b := &background{out: o, filled: make(chan []byte, buffersAhead+1), dirty: make(chan []byte, buffersAhead+1),
		empty: make(chan []byte, buffersAhead+1), failed: make(chan error, 1), done: make(chan struct{})}
	for range buffersAhead {
		b.empty <- make([]byte, 0, size)
	}
	go b.write()
	go b.hash()
	return b
}

// A panicError contains the panic of the writing goroutine. The task panics with the same
// value, so that only this task fails.
type panicError struct{ value any }

func (panicError) Error() string { return "panic" }

// raise panics if err comes from a panic of the writing goroutine.
func raise(err error) error {
	if p, ok := err.(panicError); ok {
		panic(p.value)
	}
	return err
}

func (b *background) write() {
	defer close(b.dirty)
	defer func() {
		if value := recover(); value != nil {
			b.failed <- panicError{value}
		}
	}()
	for p := range b.filled {
		n, err := b.out.w.Write(p)
		b.out.n += int64(n)
		b.dirty <- p[:n]
		if err != nil {
			b.failed <- err
			return
		}
	}
}

func (b *background) hash() {
	defer close(b.done)
	for p := range b.dirty {
		b.out.sum.Write(p)
		b.empty <- p[:0]
	}
}

func (b *background) exchange(full []byte) (empty []byte, err error) {
	b.filled <- full // never blocks: the channel has space for all buffers
	select {
	case empty = <-b.empty:
		return empty, nil
	case err = <-b.failed:
		raise(err)
		b.failed <- err // end reads it
		return nil, err
	}
}

// end waits for both goroutines and returns the error of writing.
func (b *background) end() error {
	close(b.filled)
	<-b.done
	select {
	case err := <-b.failed:
		return raise(err)
	default:
		return nil
	}
}
