package comm

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// timing holds the intervals of a group.
type timing struct {
	beat      time.Duration // between heartbeats
	silence   time.Duration // without a heartbeat after which a rank is lost
	grace     time.Duration // that rank 0 waits for a better explanation of a broken connection
	handshake time.Duration // for which a stranger may occupy a connection
	linger    time.Duration // for the last messages of a group that ends
	notice    time.Duration // before a line says that a rank waits
}

var defaultTiming = timing{beat: time.Second, silence: 12 * time.Second, grace: time.Second,
	handshake: 10 * time.Second, linger: 2 * time.Second, notice: 2 * time.Second}

// A Group is one rank's side of a run. It implements [trainer.Comm].
//
// Collectives of one rank run one after the other. All other methods may be
// called at any time by any goroutine. Close it after use, or Abort it.
type Group struct {
	o      Options
	timing timing
	host   string // this machine's name

	// One goroutine, supervise, owns the links and decides when the run has
	// failed. Others hand it functions to run.
	tasks  chan func()
	failed chan struct{} // closed once err is set
	err    error         // why the group has ended; read it after failed is closed
	ended  chan struct{} // closed when supervise has returned, and all its goroutines
	supervised

	// The ring. Set when Join returns.
	next, prev net.Conn // to rank+1, from rank-1; nil if the rank is alone
	mu         sync.Mutex
	call       uint64        // collectives begun; guarded by mu
	begun      atomic.Uint64 // the same, for the supervisor
	chunk      []float64     // room for a chunk of a sum; guarded by mu
	completed  atomic.Uint64 // collectives that this rank has completed
	confirmed  atomic.Uint64 // collectives that the next rank has completed
	news       chan struct{} // confirmed has changed
	nextGone   chan struct{} // closed when the next rank has closed its end
}

// supervised is the state of a group's supervisor goroutine.
type supervised struct {
	links     []*link // rank 0: to every rank that has come; others: to rank 0
	welcome   *welcome
	welcomed  chan struct{} // closed once welcome is set
	ticked    time.Time
	ring      bool      // next and prev are set
	heardNext time.Time // last sign of life on the ring
	silent    bool      // the silence of the next rank was reported
	suspects  map[int]bool
	leaving   bool // Close was called
	readers   sync.WaitGroup
	refused   string // the last connection that was not a rank's; for the error of a rank that never came
	refusals  int

	misfitting *RankError // why the run will end; nil: all ranks so far fit
}

// A link is a control connection.
type link struct {
	rank  int // at the other end
	host  string
	conn  net.Conn
	heard time.Time
	port  int    // where the rank listens for the previous one of the ring
	left  bool   // the other end needs no further collective, or has read our bye
	calls uint64 // collectives that it had completed when it left
	gone  bool   // the connection is closed
}

func newGroup(o Options, t timing) *Group {
	g := &Group{o: o, timing: t, host: hostName(), tasks: make(chan func()), failed: make(chan struct{}), ended: make(chan struct{}),
		news: make(chan struct{}, 1), nextGone: make(chan struct{})}
	g.welcomed, g.suspects, g.ticked = make(chan struct{}), map[int]bool{}, time.Now()
	return g
}

// Rank implements [trainer.Comm].
func (g *Group) Rank() int { return g.o.Rank }

// Size implements [trainer.Comm].
func (g *Group) Size() int { return g.o.Ranks }

// LocalRank returns the number of this rank on its machine, from 0.
func (g *Group) LocalRank() int { return g.o.LocalRank }

// Failed returns a channel that is closed when a rank is lost or has aborted, or
// this one has closed the group.
func (g *Group) Failed() <-chan struct{} { return g.failed }

// Close ends this rank's part after its last collective. It waits until the next
// rank has received all data. The other ranks may continue, but a collective
// returns an error there. After a failure, Close returns at once.
func (g *Group) Close() error {
	if g.Size() == 1 {
		return nil
	}
	g.awaitNext()
	g.post(g.leave)
	<-g.ended
	return nil
}

// awaitNext waits until the next rank has completed all collectives of this one.
func (g *Group) awaitNext() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.next != nil && g.confirmed.Load() < g.call {
		select {
		case <-g.news:
		case <-g.nextGone:
			return
		case <-g.failed:
			return
		}
	}
}

// Abort ends the run on all ranks because of an error of this one. The others
// report the error's text with the name of this rank, and exit with the code of
// its kind. After a failure or Close it does nothing.
func (g *Group) Abort(cause error) {
	if g.Size() == 1 || cause == nil {
		return
	}
	g.post(func() {
		g.fail(&RankError{Rank: g.o.Rank, Host: g.host, Reason: shorten(cause.Error(), maxReason), kind: kindOf(cause)})
	})
	<-g.ended
}

// post has the supervisor run f. It returns false, and f does not run, if the group
// has failed.
func (g *Group) post(f func()) bool {
	select {
	case g.tasks <- f:
		return true
	case <-g.failed:
		return false
	}
}

// run is post that waits until f has run.
func (g *Group) run(f func()) bool {
	done := make(chan struct{})
	if !g.post(func() { f(); close(done) }) {
		return false
	}
	<-done
	return true
}

// supervise runs until the group fails or is closed.
func (g *Group) supervise() {
	defer close(g.ended)
	tick := time.NewTicker(g.timing.beat)
	defer tick.Stop()
	for g.err == nil {
		select {
		case f := <-g.tasks:
			f()
		case now := <-tick.C:
			g.tick(now)
		}
	}
	g.shutdown()
}

// endedEarly is the reason if a rank has closed its group before the others.
const endedEarly = "has ended its run while others continue"

// tick sends heartbeats and looks for ranks that have sent none.
func (g *Group) tick(now time.Time) {
	if now.Sub(g.ticked) > g.timing.silence/2 {
		// This process itself was stopped. What the others have sent meanwhile
		// is still to be read.
		for _, l := range g.links {
			l.heard = now
		}
		g.heardNext = now
	}
	g.ticked = now
	for _, l := range g.links {
		if !l.gone {
			g.send(l, appendFrame(nil, frameBeat, nil))
		}
		if !l.gone && !l.left && now.Sub(l.heard) > g.timing.silence {
			g.fail(g.lost(l.rank, fmt.Sprintf("has sent nothing for %v: it was stopped, or the network between is down", g.timing.silence)))
			return
		}
		if l.left && g.begun.Load() > l.calls {
			g.fail(g.lost(l.rank, endedEarly))
			return
		}
	}
	if !g.ring {
		return
	}
	g.confirm()
	if next := (g.o.Rank + 1) % g.o.Ranks; !g.silent && now.Sub(g.heardNext) > g.timing.silence {
		g.silent = true
		g.suspect(next, fmt.Sprintf("rank %d (%s) has heard nothing from it for %v", g.o.Rank, g.host, g.timing.silence))
	}
}

// confirm tells the previous rank of the ring that this one lives, and how many
// collectives it has completed. An error is left to the next collective.
func (g *Group) confirm() {
	g.prev.SetWriteDeadline(time.Now().Add(g.timing.silence))
	g.prev.Write(binary.LittleEndian.AppendUint64(nil, g.completed.Load()))
}

// readConfirmations reads what the next rank's confirm sends.
func (g *Group) readConfirmations() {
	defer close(g.nextGone)
	for {
		var b [8]byte
		if _, err := io.ReadFull(g.next, b[:]); err != nil {
			g.post(func() { g.silent = true }) // rank 0 sees whether it has left or died
			return
		}
		g.confirmed.Store(binary.LittleEndian.Uint64(b[:]))
		select {
		case g.news <- struct{}{}:
		default:
		}
		g.post(func() { g.heardNext = time.Now() })
	}
}

// send writes a frame to a link. An error is left to the link's reader.
func (g *Group) send(l *link, frame []byte) {
	l.conn.SetWriteDeadline(time.Now().Add(g.timing.linger))
	l.conn.Write(frame)
}

// addLink begins to read a control connection.
func (g *Group) addLink(l *link) {
	l.heard = time.Now()
	g.links = append(g.links, l)
	g.readers.Go(func() {
		for {
			kind, payload, err := readFrame(l.conn)
			g.post(func() { g.heard(l, kind, payload, err) })
			if err != nil {
				return
			}
		}
	})
}

// heard handles a frame, or the end of a link.
func (g *Group) heard(l *link, kind frameKind, payload []byte, err error) {
	if l.gone {
		return
	}
	l.heard = time.Now()
	if err != nil {
		g.linkEnded(l, err)
		return
	}
	switch kind {
	case frameWelcome:
		g.welcomedBy(payload)
	case frameFailure:
		g.failureFrom(l, payload)
	case frameBye:
		l.left, l.calls = true, math.MaxUint64
		if len(payload) == 8 {
			l.calls = binary.LittleEndian.Uint64(payload)
		}
		g.send(l, appendFrame(nil, frameByeSeen, nil))
		g.left()
	case frameByeSeen:
		l.left, l.calls = true, math.MaxUint64
		g.left()
	case frameHello:
		g.fail(g.lost(l.rank, "sent a second hello"))
	}
}

// linkEnded handles a control connection that has ended.
func (g *Group) linkEnded(l *link, err error) {
	l.gone = true
	switch {
	case l.left || g.leaving:
		if !l.left {
			l.left, l.calls = true, math.MaxUint64
		}
		g.left()
	case g.welcome == nil && g.o.Rank == 0:
		g.o.logf("rank %d (%s) has ended before the run began; waiting for it to start again", l.rank, l.host)
		l.conn.Close()
		g.removeLink(l)
	case err == io.EOF || isReset(err):
		g.fail(g.lost(l.rank, "ended without a message: it was killed or has crashed, see its log"))
	default:
		g.fail(g.lost(l.rank, err.Error()))
	}
}

// failureFrom handles a report of another rank. Rank 0's report is the verdict; on
// rank 0, a rank's report about itself is one too.
func (g *Group) failureFrom(l *link, payload []byte) {
	var m failureMessage
	if err := decode(payload, &m); err != nil || m.Rank < 0 || m.Rank >= g.o.Ranks {
		g.fail(g.lost(l.rank, "sent a malformed report"))
		return
	}
	if m.Suspect {
		g.suspect(m.Rank, m.Reason)
		return
	}
	g.fail(&RankError{Rank: m.Rank, Host: m.Host, Reason: m.Reason, kind: m.Kind})
}

// suspect handles a rank whose connection of the ring is broken or silent. Its own
// error, or rank 0's verdict, says more and arrives within the grace.
func (g *Group) suspect(rank int, reason string) {
	if g.suspects[rank] {
		return
	}
	g.suspects[rank] = true
	wait := g.timing.grace
	verdict := g.lost(rank, reason)
	for _, l := range g.links {
		if l.rank == rank && l.left {
			verdict.Reason = endedEarly
		}
		if g.o.Rank != 0 && !l.gone {
			g.send(l, encode(frameFailure, failureMessage{Rank: rank, Host: verdict.Host, Reason: reason, Kind: verdict.kind, Suspect: true}))
			wait *= 3
		}
	}
	time.AfterFunc(wait, func() { g.post(func() { g.fail(verdict) }) })
}

// lost returns the error for a rank that is not reached.
func (g *Group) lost(rank int, reason string) *RankError {
	return &RankError{Rank: rank, Host: g.hostOf(rank), Reason: reason, kind: kindNetwork}
}

// hostOf returns the host name of a rank; "" if it has not come.
func (g *Group) hostOf(rank int) string {
	if rank == g.o.Rank {
		return g.host
	}
	if g.welcome != nil {
		return g.welcome.Peers[rank].Host
	}
	for _, l := range g.links {
		if l.rank == rank {
			return l.host
		}
	}
	return ""
}

// fail ends the group with an error and tells the other ranks, unless the error
// came from rank 0.
func (g *Group) fail(err error) {
	if g.err != nil {
		return
	}
	g.err = err
	if e, ok := err.(*RankError); ok {
		frame := encode(frameFailure, failureMessage{Rank: e.Rank, Host: e.Host, Reason: e.Reason, Kind: e.kind})
		for _, l := range g.links {
			if !l.gone {
				g.send(l, frame)
			}
		}
	}
	close(g.failed)
}

// leave begins a good end.
func (g *Group) leave() {
	g.leaving = true
	for _, l := range g.links {
		if !l.left && !l.gone {
			g.send(l, appendFrame(nil, frameBye, binary.LittleEndian.AppendUint64(nil, g.completed.Load())))
		}
	}
	time.AfterFunc(g.timing.linger, func() { g.post(func() { g.fail(errClosed) }) })
	g.left()
}

// left ends a group that is closing once every other end knows it.
func (g *Group) left() {
	if !g.leaving {
		return
	}
	for _, l := range g.links {
		if !l.left {
			return
		}
	}
	g.fail(errClosed)
}

// shutdown closes all connections. The far end of a link must read the last
// message before it sees the end, so links close in both directions first.
func (g *Group) shutdown() {
	for _, c := range []net.Conn{g.next, g.prev} {
		if c != nil {
			c.Close()
		}
	}
	for _, l := range g.links {
		l.conn.SetReadDeadline(time.Now().Add(g.timing.linger))
		if c, ok := l.conn.(*net.TCPConn); ok {
			c.CloseWrite()
		}
		if g.err == errClosed || time.Since(l.heard) > g.timing.silence/2 {
			l.conn.Close() // it has had its bye, or reads nothing
		}
	}
	g.readers.Wait()
	for _, l := range g.links {
		l.conn.Close()
	}
}

func (g *Group) removeLink(gone *link) {
	for i, l := range g.links {
		if l == gone {
			g.links = append(g.links[:i], g.links[i+1:]...)
			return
		}
	}
}
