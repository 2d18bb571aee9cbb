package parallel

import (
	"errors"
	"io"
	"slices"
)

// The buffers of an [Ahead]. A buffer fits in the second-level cache of a processor, so a
// task without helpers reads each byte twice from there.
const (
	aheadBuffers = 8
	aheadBytes   = 256 << 10
)

// An Ahead reads a stream, for instance one that it decompresses, before its bytes are
// asked for. It holds at most 2 MiB of them.
type Ahead struct {
	team *Team
	src  io.Reader

	// The rest is guarded by team.mu.
	ready [][]byte // buffers with bytes, in order
	empty [][]byte
	made  int   // number of buffers
	err   error // error of src, after the bytes in ready
	job   *Job  // reads src; nil before the first

	rest, buf []byte // bytes of buf that were not read yet; nobody else uses buf
}

// NewAhead returns a reader of src. Call [Ahead.Close] before src is closed.
func (t *Team) NewAhead(src io.Reader) *Ahead { return &Ahead{team: t, src: src} }

// Read implements [io.Reader].
func (a *Ahead) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(a.rest) == 0 {
		if err := a.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// advance sets rest to the next buffer with bytes.
func (a *Ahead) advance() error {
	t := a.team
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.buf != nil {
		a.empty, a.buf = append(a.empty, a.buf), nil
	}
	for len(a.ready) == 0 {
		if a.err != nil {
			return a.err
		}
		a.begin()
		if t.withdraw(a.job) { // no helper has begun it: one buffer, not all that are empty
			a.job = &Job{run: func() { a.fill(1) }, ahead: true}
			t.runHere(a.job)
		} else {
			t.until(func() bool { return len(a.ready) > 0 || a.job.done })
		}
		if a.job.failed != nil {
			panic(a.job.failed)
		}
	}
	a.buf = a.ready[0]
	a.rest = a.buf
	a.ready = a.ready[1:]
	if len(a.empty)+aheadBuffers-a.made >= aheadBuffers/2 {
		a.begin()
	}
	return nil
}

// begin starts a job that fills the buffers, unless there is one.
func (a *Ahead) begin() {
	if t := a.team; a.err == nil && (a.job == nil || a.job.done) && !(t.Alone() && len(a.ready) > 0) {
		a.job = t.start(&Job{run: func() { a.fill(aheadBuffers) }, ahead: true}, &t.first)
	}
}

// withdraw removes a waiting job from its queue and reports whether it was there.
func (t *Team) withdraw(j *Job) bool {
	for _, queue := range []*[]*Job{&t.first, &t.later} {
		if i := slices.Index(*queue, j); i >= 0 {
			t.remove(queue, i)
			return true
		}
	}
	return false
}

// fill fills up to n buffers, while there are empty ones.
func (a *Ahead) fill(n int) {
	for range n {
		buf := a.takeEmpty()
		if buf == nil {
			return
		}
		got, err := 0, error(nil)
		for got < len(buf) && err == nil {
			var more int
			more, err = a.src.Read(buf[got:])
			got += more
		}
		a.give(buf[:got], err)
	}
}

// takeEmpty returns an empty buffer, or nil if there is none or the stream has ended.
func (a *Ahead) takeEmpty() []byte {
	a.team.mu.Lock()
	defer a.team.mu.Unlock()
	switch n := len(a.empty); {
	case a.err != nil:
		return nil
	case n > 0:
		buf := a.empty[n-1]
		a.empty = a.empty[:n-1]
		return buf[:aheadBytes]
	case a.made == aheadBuffers:
		return nil
	}
	a.made++
	return make([]byte, aheadBytes)
}

// give adds a buffer that was filled. err is the error after its bytes.
func (a *Ahead) give(buf []byte, err error) {
	a.team.mu.Lock()
	defer a.team.mu.Unlock()
	if len(buf) > 0 {
		a.ready = append(a.ready, buf)
	}
	if a.err == nil { // else it was closed
		a.err = err
	}
	a.team.changed.Broadcast()
}

var errClosed = errors.New("reader closed")

// Close ends the reading of the stream. It waits for a helper that reads it.
func (a *Ahead) Close() error {
	t := a.team
	t.mu.Lock()
	defer t.mu.Unlock()
	a.err, a.ready = errClosed, nil
	if a.job == nil || t.withdraw(a.job) {
		return nil
	}
	for !a.job.done {
		t.changed.Wait()
	}
	return nil
}
