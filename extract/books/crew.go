package books

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"pretext/extract"
	"pretext/extract/parallel"
)

// Limits of the members of an archive that are in memory while a team converts them.
const (
	batchBytes   = 256 << 10 // size of members from which a job converts them
	batchMembers = 1024
	maxHeldBytes = 4 << 20  // bytes of a member in the archive; a larger one is read where it stands, by the task alone
	maxAhead     = 8 << 20  // size of members whose documents were not yielded yet
	maxResults   = 16 << 20 // bytes of texts that were not yielded yet; from there on helpers convert nothing
)

// maxWaiting is the number of jobs that wait without a helper before the task runs one.
const maxWaiting = 4

// A crew converts the members of an archive in jobs of a team. It yields their documents
// in the order of the archive.
type crew struct {
	r       *Reader
	team    *parallel.Team
	open    *batch   // collects members; nil: none
	started []*batch // in order
	ahead   int64    // sizes of the batches in started
	spares  [][]byte // buffers of batches that were yielded

	results atomic.Int64 // bytes of texts that were not yielded yet

	mu    sync.Mutex
	tools []tools // not in use
}

// tools are the buffers with which a [Reader] converts books.
type tools struct {
	peek *bufio.Reader // the beginning of a text file; nil before the first
	buf  []byte        // buffer for reading, reused because archives may have a million small books
	inflater
}

// A batch has consecutive members of an archive.
type batch struct {
	members []held
	data    []byte
	size    int64 // of the members
	job     *parallel.Job

	done  bool // the members are converted
	err   error
	books []converted
	bytes int64 // of the texts in books
}

// A converted is an archive member after its conversion.
type converted struct {
	stats  Stats
	events []event
}

// A held is an archive member in a batch.
type held struct {
	name string
	size int64 // bytes of its content, as the archive says
	end  int   // offset in the data of the batch where its bytes in the archive end
	// open returns the content of the member, of which data has the bytes in the archive.
	open func(data io.Reader, with *inflater) (io.Reader, error)
}

// An event is a document or a reject.
type event struct {
	doc      *extract.Document
	whole    bool // the document is a whole book
	rejected *extract.Rejected
}

// Share lets a team convert the books of an archive. The documents stay the same.
func (r *Reader) Share(team *parallel.Team) { r.team = team }

// takes reports whether add is for a member of n bytes. Lines and rows are documents too
// small to be passed from one goroutine to another.
func (c *crew) takes(n int64) bool { return n <= maxHeldBytes && c.r.opts.LinesPerDocument == 0 }

// add reads the n bytes of a member from src. They are converted later. An EPUB, whose text
// may be much larger, is the last of its batch.
func (c *crew) add(h held, n int64, src io.Reader) error {
	if c.open == nil {
		c.open = new(batch)
		if last := len(c.spares) - 1; last >= 0 {
			c.open.data, c.spares = c.spares[last][:0], c.spares[:last]
		}
	}
	b := c.open
	begin := len(b.data)
	h.end = begin + int(n)
	if cap(b.data) < h.end {
		b.data = append(make([]byte, 0, max(h.end, 2*batchBytes)), b.data...)
	}
	if _, err := io.ReadFull(src, b.data[begin:h.end]); err != nil {
		return err
	}
	b.data = b.data[:h.end]
	b.members = append(b.members, h)
	b.size += max(h.size, n)
	if b.size < batchBytes && len(b.members) < batchMembers && kindOf(h.name) != epub {
		return nil
	}
	return c.start()
}

// start starts to convert the open batch, and yields what can be or must be.
func (c *crew) start() error {
	b := c.open
	if b == nil {
		return nil
	}
	c.open = nil
	b.job = c.team.Start(func() {
		if c.results.Load() < maxResults {
			c.convert(b)
		}
	})
	c.started = append(c.started, b)
	c.ahead += b.size
	for len(c.started) > 0 && (c.full() || c.team.Done(c.started[0].job)) {
		if err := c.yieldFirst(); err != nil {
			return err
		}
	}
	return nil
}

// full reports whether a batch must be yielded before another one is started.
func (c *crew) full() bool {
	return c.team.Alone() || c.ahead > maxAhead || len(c.started) > maxWaiting && !c.team.Helped()
}

// drain yields all members that were added.
func (c *crew) drain() error {
	if err := c.start(); err != nil {
		return err
	}
	for len(c.started) > 0 {
		if err := c.yieldFirst(); err != nil {
			return err
		}
	}
	return nil
}

// yieldFirst yields the documents of the first batch that was started.
func (c *crew) yieldFirst() error {
	b := c.started[0]
	c.started = slices.Delete(c.started, 0, 1) // forgets b and its texts
	c.team.Wait(b.job)
	if !b.done { // there were too many results
		c.team.Wait(c.team.StartFirst(func() { c.convert(b) }))
	}
	c.ahead -= b.size
	c.spares = append(c.spares, b.data)
	c.results.Add(-b.bytes)
	for i := range b.books {
		c.r.stats.add(&b.books[i].stats)
		for _, e := range b.books[i].events {
			if e.rejected != nil {
				c.r.onReject(e.rejected)
			} else if err := c.r.emit(e.doc, e.whole); err != nil {
				return err
			}
		}
	}
	return b.err
}

// convert converts the members of a batch. It may run on another goroutine.
func (c *crew) convert(b *batch) {
	r := &Reader{task: c.r.task, opts: c.r.opts, limit: c.r.limit, fileLimit: c.r.fileLimit, given: c.r.given, tools: c.takeTools(),
		gather: func(e event) {
			last := &b.books[len(b.books)-1]
			last.events = append(last.events, e)
			if e.doc != nil {
				b.bytes += int64(len(e.doc.Text))
			}
		}}
	if c.r.onReject != nil {
		r.onReject = func(rejected *extract.Rejected) { r.gather(event{rejected: rejected}) }
	}
	begin := 0
	for _, h := range b.members {
		data := bytes.NewReader(b.data[begin:h.end])
		begin = h.end
		b.books = append(b.books, converted{})
		r.stats = Stats{Rejects: map[extract.Reject]int64{}}
		b.err = r.readMember(h.name, func() (io.Reader, error) { return h.open(data, &r.inflater) })
		b.books[len(b.books)-1].stats = r.stats
		if b.err != nil {
			break
		}
	}
	b.done = true
	c.results.Add(b.bytes)
	c.giveTools(r.tools)
}

func (c *crew) takeTools() (t tools) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.tools) - 1; last >= 0 {
		t, c.tools = c.tools[last], c.tools[:last]
	}
	return t
}

func (c *crew) giveTools(t tools) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools = append(c.tools, t)
}
