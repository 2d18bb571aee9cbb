package serve

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"pretext/trainer"
	"pretext/trainer/finetune"
	"pretext/trainer/finetune/predict"
)

// Errors of [Batcher.Do].
var (
	errBusy    = errors.New("too many requests are waiting")
	ErrStopped = errors.New("the server is stopping")
)

// Limits of a batcher.
type Limits struct {
	Tokens  int           // maximum tokens computed together; at least those of the longest sequence
	Masked  int           // maximum masked tokens computed together; at least those of one request
	Queue   int           // maximum requests waiting or in progress
	MaxWait time.Duration // maximum time that a request waits to be batched with others
}

// A Batcher computes jobs together. Its methods may be called by any goroutine.
type Batcher struct {
	model trainer.Model
	heads trainer.Heads
	o     Limits

	mu      sync.Mutex
	queue   []*work       // unfinished jobs, in the order of their turns
	tokens  int           // tokens of the sequences in queue that are not computed yet
	stopped bool          // no more jobs are accepted
	wake    chan struct{} // holds a value when the queue changed
	done    chan struct{} // closed when the goroutine has ended

	batches, sequences, computed atomic.Int64 // for metrics
}

// A work is a job in the queue.
type work struct {
	job    predict.Job
	next   int // index of the next sequence to compute
	since  time.Time
	err    error
	gone   atomic.Bool // the caller of Do has returned
	finish chan struct{}
}

// NewBatcher starts the goroutine that owns the model until [Batcher.Close].
func NewBatcher(model trainer.Model, heads trainer.Heads, o Limits) *Batcher {
	b := &Batcher{model: model, heads: heads, o: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go b.run()
	return b
}

// Do computes a job. It returns [errBusy] immediately if the queue is full, [ErrStopped]
// after Close, and the context's error if ctx is done first. After an error the job must
// not be used.
func (b *Batcher) Do(ctx context.Context, job predict.Job) error {
	w := &work{job: job, since: time.Now(), finish: make(chan struct{})}
	if err := b.enter(w); err != nil {
		return err
	}
	select {
	case <-w.finish:
		return w.err
	case <-ctx.Done():
		w.gone.Store(true)
		return ctx.Err()
	}
}

func (b *Batcher) enter(w *work) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.stopped:
		return ErrStopped
	case len(b.queue) >= b.o.Queue:
		return errBusy
	}
	b.queue = append(b.queue, w)
	for i := range w.job.Len() {
		b.tokens += w.job.Tokens(i)
	}
	b.signal()
	return nil
}

func (b *Batcher) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Waiting returns the number of requests waiting or in progress.
func (b *Batcher) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// Close refuses new jobs, finishes the waiting ones, and returns when all are done.
func (b *Batcher) Close() {
	b.mu.Lock()
	b.stopped = true
	b.signal()
	b.mu.Unlock()
	<-b.done
}

func (b *Batcher) run() {
	defer close(b.done)
	var batch trainer.Batch
	out := trainer.Outputs{Want: finetune.Wanted(b.heads)}
	for {
		parts, ok := b.collect(&batch)
		if !ok {
			return
		}
		if len(parts) > 0 {
			b.compute(&batch, &out, parts)
		}
	}
}

// A part is one sequence of a batch.
type part struct {
	w *work
	i int
}

// collect waits for sequences and fills the batch with them. It returns false after Close
// once no sequences are left.
func (b *Batcher) collect(batch *trainer.Batch) (parts []part, ok bool) {
	batch.Reset()
	for {
		b.mu.Lock()
		b.drop()
		wait, stopped := b.patience(), b.stopped
		if wait <= 0 {
			parts = b.take(batch)
			b.mu.Unlock()
			return parts, true
		}
		empty := len(b.queue) == 0
		b.mu.Unlock()
		switch {
		case empty && stopped:
			return nil, false
		case empty:
			<-b.wake
		default:
			b.pause(wait)
		}
	}
}

// pause waits until the queue changes or the time wait has passed.
func (b *Batcher) pause(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-b.wake:
	case <-timer.C:
	}
}

// patience returns how long to wait for more sequences. The result is 0 if the batch is
// full, if the first sequence has waited MaxWait, or if no more jobs are accepted.
func (b *Batcher) patience() time.Duration {
	switch {
	case len(b.queue) == 0:
		return time.Hour
	case b.stopped || b.tokens >= b.o.Tokens:
		return 0
	}
	oldest := b.queue[0].since
	for _, w := range b.queue {
		if w.since.Before(oldest) {
			oldest = w.since
		}
	}
	return b.o.MaxWait - time.Since(oldest)
}

// drop removes the jobs whose callers have returned.
func (b *Batcher) drop() {
	kept := b.queue[:0]
	for _, w := range b.queue {
		if w.gone.Load() {
			b.forget(w)
			continue
		}
		kept = append(kept, w)
	}
	clear(b.queue[len(kept):])
	b.queue = kept
}

// forget subtracts the tokens of w's remaining sequences from b.tokens.
func (b *Batcher) forget(w *work) {
	for i := w.next; i < w.job.Len(); i++ {
		b.tokens -= w.job.Tokens(i)
	}
	w.next = w.job.Len()
}

// take appends sequences to the batch, one of each job in turn, until the batch is full. A
// job stays in the queue until its last sequence is computed.
func (b *Batcher) take(batch *trainer.Batch) (parts []part) {
	for more := true; more; {
		more = false
		for _, w := range b.queue {
			if w.next == w.job.Len() {
				continue
			}
			n := w.job.Tokens(w.next)
			if len(parts) > 0 && (batch.Tokens()+n > b.o.Tokens || batch.Masked()+w.job.Masked(w.next) > b.o.Masked) {
				continue
			}
			w.job.Append(batch, w.next, 0)
			parts = append(parts, part{w, w.next})
			w.next++
			b.tokens -= n
			more = true
		}
	}
	if len(b.queue) > 1 { // the next batch starts with the next job
		b.queue = append(b.queue[1:], b.queue[0])
	}
	return parts
}

// compute computes a batch and passes the results to their jobs.
func (b *Batcher) compute(batch *trainer.Batch, out *trainer.Outputs, parts []part) {
	_, err := b.model.Forward(batch, out)
	b.batches.Add(1)
	b.sequences.Add(int64(len(parts)))
	b.computed.Add(int64(batch.Tokens()))
	for s, p := range parts {
		switch {
		case p.w.err != nil || p.w.gone.Load():
		case err != nil:
			p.w.err = err
		default:
			p.w.err = p.w.job.Take(p.i, finetune.Values(batch, out, s))
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.queue[:0]
	for _, w := range b.queue {
		if w.err != nil {
			b.forget(w)
		}
		if w.next == w.job.Len() {
			close(w.finish)
			continue
		}
		kept = append(kept, w)
	}
	clear(b.queue[len(kept):])
	b.queue = kept
}
