package stage

import (
	"bufio"
	"context"
	"encoding/hex"
	"runtime"

	"pretext/internal/store"
	"pretext/internal/sumpair"
	"pretext/sharding"
)

// An Output is a file under construction that is hashed as it is written.
type Output struct {
	name   string
	w      store.Writer
	buf    *bufio.Writer
	sum    *sumpair.Sum
	n      int64
	back   *background // nil unless the file is written in the background
	idle   func() bool // reports whether a processor is free
	others func() bool // reports whether other tasks are running
	spare  []byte      // the buffer that was passed to sum.Share last; nil before
}

// Create creates a file. [Env.Commit] makes the file visible; [Output.Abort] discards it.
func (s *Env) Create(ctx context.Context, name string) (*Output, error) {
	w, err := s.Folder.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	o := &Output{name: name, w: w, sum: s.job.sums.New(), idle: s.job.idle, others: s.job.several}
	o.buf = bufio.NewWriterSize(hashed{o}, 64<<10) // larger pieces bypass the buffer
	return o, nil
}

// idle reports whether a processor is free: there are fewer running tasks than the job
// may run at once, and fewer than the process has processors. So a job with one worker
// uses only one processor.
func (j *job) idle() bool { return len(j.gate) < min(cap(j.gate), runtime.GOMAXPROCS(0)) }

// several reports whether several tasks are running.
func (j *job) several() bool { return len(j.gate) > 1 }

// hashed is the writer to which an Output's buffer is flushed. It writes and hashes the
// data.
type hashed struct{ *Output }

func (h hashed) Write(p []byte) (int, error) {
	n, err := h.w.Write(p)
	h.sum.Write(p[:n])
	h.n += int64(n)
	return n, err
}

// Write appends p to the file.
func (o *Output) Write(p []byte) (int, error) {
	if err := o.end(); err != nil {
		return 0, err
	}
	return o.buf.Write(p)
}

// Exchange appends the buffer full to the file. It returns an empty buffer of the same
// capacity, which may be the same one. While a processor is free, Exchange writes in the
// background; its error may then belong to an earlier buffer. Call [Output.Wait] for the
// error of the last buffer.
func (o *Output) Exchange(full []byte) (empty []byte, err error) {
	if o.back == nil {
		idle, others := o.idle(), o.others()
		if !idle && !others {
			_, err := o.buf.Write(full)
			return full[:0], err
		}
		if err := o.buf.Flush(); err != nil {
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
	n, err := o.w.Write(full)
	o.n += int64(n)
	o.sum.Share(full[:n])
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
	o.sum.Settle()
	return o.buf.Flush()
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
