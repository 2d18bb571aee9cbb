package comm

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pretext/internal/failure"
)

// timing holds the intervals of a group.
type timing struct {
	beat      time.Duration // interval of heartbeats
	silence   time.Duration // a rank without a heartbeat for this time is lost
	grace     time.Duration // after a broken connection, time for a rank to report the reason
	handshake time.Duration // timeout of a handshake
	linger    time.Duration // timeout of the last messages of a group that ends
	notice    time.Duration // a rank that has waited for this time logs it

	count func(next net.Conn) net.Conn // wraps the connection to the next rank, for tests that count bytes; nil: no wrapper
}

var defaultTiming = timing{beat: time.Second, silence: 12 * time.Second, grace: time.Second,
	handshake: 10 * time.Second, linger: 2 * time.Second, notice: 2 * time.Second}

// timing returns the intervals of a group with these options.
func (o Options) timing() timing {
	t := defaultTiming
	if o.Silence > 0 {
		t.beat, t.silence = o.Silence/12, o.Silence
	}
	return t
}

// A Group is one rank's side of a run. It implements [trainer.Comm].
//
// The collectives of a rank run one after the other. All other methods may be called
// at any time by any goroutine. Call Close or Abort after use.
type Group struct {
	o      Options
	timing timing
	host   string // this machine's name

	// The supervisor, a goroutine running supervise, owns the links and decides when
	// the run has failed. Other goroutines send functions on tasks for it to run.
	tasks  chan func()
	failed chan struct{} // closed once err is set
	err    error         // why the group has ended; read it after failed is closed
	ended  chan struct{} // closed when supervise and all its goroutines have returned
	supervised

	// The ring. Set when Join returns.
	next, prev net.Conn // to rank+1, from rank-1; nil if the rank is alone
	mu         sync.Mutex
	call       uint64        // collectives begun; guarded by mu
	begun      atomic.Uint64 // a copy of call for the supervisor
	chunk      []float64     // room for a chunk of a sum; guarded by mu
	completed  atomic.Uint64 // collectives that this rank has completed
	confirmed  atomic.Uint64 // collectives that the next rank has completed
	news       chan struct{} // gets an element when confirmed has changed
	nextGone   chan struct{} // closed when the next rank has closed its connection
}

// supervised is the state of a group's supervisor goroutine.
type supervised struct {
	links     []*link       // on rank 0: to every rank that has connected; on other ranks: to rank 0
	welcome   *welcome      // nil until all ranks have connected
	welcomed  chan struct{} // closed once welcome is set
	ticked    time.Time     // last call of tick
	ring      bool          // next and prev are set
	heardNext time.Time     // time of the last message from the next rank of the ring
	silent    bool          // the silence of the next rank was reported
	suspects  map[int]bool  // ranks for which suspect was called
	leaving   bool          // Close was called
	readers   sync.WaitGroup
	refused   string // address and error of the last refused connection; for the error if a rank never connects
	refusals  int    // number of refused connections

	misfitting *RankError // the first rank that does not fit the run and ends it; nil: none
}

// A link is a control connection.
type link struct {
	rank  int // the rank at the other end
	host  string
	conn  net.Conn
	heard time.Time // when the last frame arrived
	port  int       // port on which the rank listens for the previous rank of the ring
	left  bool      // the rank has sent frameBye or frameByeSeen
	calls uint64    // collectives that the rank had completed when it left
	gone  bool      // the connection is closed
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

// Failed returns a channel that is closed when a rank is lost, a rank has aborted, or
// this rank has closed the group.
func (g *Group) Failed() <-chan struct{} { return g.failed }

// Close leaves the group after this rank's last collective. It waits until the next
// rank of the ring has received all data. The other ranks may continue, but further
// collectives return an error there. After a failure, Close returns at once.
func (g *Group) Close() error {
	if g.Size() == 1 {
		return nil
	}
	g.mu.Lock()
	for ended := g.next == nil; !ended && g.confirmed.Load() < g.call; {
		select {
		case <-g.news:
		case <-g.nextGone:
			ended = true
		case <-g.failed:
			ended = true
		}
	}
	g.mu.Unlock()
	g.post(g.leave)
	<-g.ended
	return nil
}

// Abort ends the run on all ranks because of an error of this rank. The other ranks
// get a [*RankError] with this rank's number and the text and kind of cause. After a
// failure or Close it does nothing.
func (g *Group) Abort(cause error) {
	if g.Size() == 1 || cause == nil {
		return
	}
	g.post(func() {
		g.fail(&RankError{Rank: g.o.Rank, Host: g.host, Reason: shorten(cause.Error(), maxReason), kind: failure.Kind(cause)})
	})
	<-g.ended
}

// post sends f to the supervisor to run, and does not wait. It returns false, and f does
// not run, if the group has failed.
func (g *Group) post(f func()) bool {
	select {
	case g.tasks <- f:
		return true
	case <-g.failed:
		return false
	}
}

// run sends f to the supervisor and waits until f has run. It returns false, and f does
// not run, if the group has failed.
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

// endedEarly is the RankError.Reason for a rank that has closed its group before the
// others.
const endedEarly = "has ended its run while others continue"

// tick sends heartbeats, and ends the run if a rank has sent none for timing.silence.
func (g *Group) tick(now time.Time) {
	if now.Sub(g.ticked) > g.timing.silence/2 {
		// This process itself was stopped. Frames that the other ranks have sent
		// meanwhile are still unread, so no rank is silent.
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

// confirm sends the number of collectives that this rank has completed to the previous
// rank of the ring. It also serves as a heartbeat. Errors are ignored: the next
// collective reports them.
func (g *Group) confirm() {
	g.prev.SetWriteDeadline(time.Now().Add(g.timing.silence))
	g.prev.Write(binary.LittleEndian.AppendUint64(nil, g.completed.Load()))
}

// readConfirmations reads the numbers that the next rank of the ring sends by confirm,
// until the connection ends.
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

// send writes a frame to a link. Errors are ignored: the link's reader reports them.
func (g *Group) send(l *link, frame []byte) {
	l.conn.SetWriteDeadline(time.Now().Add(g.timing.linger))
	l.conn.Write(frame)
}

// addLink adds l to g.links and starts a goroutine that reads its frames.
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

// heard handles a frame received on l or, if err is not nil, the end of the connection.
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

// linkEnded handles the end of a control connection. The run then fails, unless one side
// has left, or this is rank 0 and the run has not begun.
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
		g.links = slices.DeleteFunc(g.links, func(other *link) bool { return other == l })
	case err == io.EOF || isReset(err):
		g.fail(g.lost(l.rank, "ended without a message: it was killed or has crashed, see its log"))
	default:
		g.fail(g.lost(l.rank, err.Error()))
	}
}

// failureFrom handles a failureMessage received on l. A message without Suspect ends
// the group: it is the decision of rank 0 or, on rank 0, the error of a rank that
// aborts.
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

// suspect handles a broken or silent ring connection to a rank. It tells rank 0. If
// within timing.grace neither that rank's own error nor rank 0's decision arrives, it
// ends the group with reason.
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

// lost returns the error for a rank that cannot be reached.
func (g *Group) lost(rank int, reason string) *RankError {
	return &RankError{Rank: rank, Host: g.hostOf(rank), Reason: reason, kind: failure.KindNetwork}
}

// hostOf returns the host name of a rank; "" if the rank has not connected.
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

// fail ends the group with err. It sends a *RankError to the ranks at the other ends
// of the links.
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

// leave sends a bye to all links. The group ends when all have answered, or after
// timing.linger.
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

// left ends the group if it is closing, and every linked rank has left or has answered
// the bye.
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

// shutdown closes all connections. It first closes only the sending direction of a
// link and waits for the other side, so that the last message arrives.
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
			l.conn.Close() // the rank has read the bye, or no longer reads
		}
	}
	g.readers.Wait()
	for _, l := range g.links {
		l.conn.Close()
	}
}
