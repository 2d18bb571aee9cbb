package comm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"pretext/internal/failure"
	"pretext/internal/trust"
)

// Join connects this process to the other ranks and returns when all ranks are
// connected. It waits up to Options.Wait for ranks that start late. All ranks get an
// error if
//
//   - a rank does not connect in time;
//   - two processes have the same rank;
//   - WORLD_SIZE or a fingerprint differs from rank 0's.
//
// If ctx is done first, Join ends the other ranks too and returns the cause. ctx has
// no effect after Join has returned.
func Join(ctx context.Context, o Options) (*Group, error) { return join(ctx, o, o.timing()) }

// Alone returns the group of a run with one rank. It uses no network.
func Alone() *Group { return newGroup(Options{Ranks: 1}, defaultTiming) }

func join(ctx context.Context, o Options, t timing) (*Group, error) {
	if o.Wait == 0 {
		o.Wait = 5 * time.Minute
	}
	if err := o.Validate(); err != nil {
		return nil, failure.Usage(err)
	}
	g := newGroup(o, t)
	if o.Ranks == 1 {
		return g, nil
	}
	if err := o.withoutSecret(ctx); err != nil {
		return nil, err
	}
	j := &joining{Group: g, arrivals: make(chan net.Conn, 1)}
	defer j.close()
	start := j.visit
	if o.Rank == 0 {
		start = j.receive
	}
	if err := start(ctx); err != nil {
		return nil, err
	}
	if err := j.connect(ctx); err != nil {
		return nil, err
	}
	return g, nil
}

// joining holds the state that a rank needs only until all ranks are connected.
type joining struct {
	*Group
	door     *door         // accepts connections; nil: not listening yet
	arrivals chan net.Conn // the connection from the previous rank of the ring
}

func (j *joining) close() {
	if j.door != nil {
		j.door.close()
	}
	select {
	case c := <-j.arrivals:
		c.Close()
	default:
	}
}

// refuse counts and logs a connection that failed the handshake.
func (j *joining) refuse(from net.Addr, err error) {
	go j.post(func() {
		j.refused = fmt.Sprintf("%v (%v)", from, err)
		if j.refusals++; j.refusals <= 3 {
			j.o.logf("refused a connection from %s", j.refused)
		}
	})
}

// admit handles a connection whose other side has proved the secret: on rank 0 a
// control connection, on any rank the ring's connection from the previous rank. It
// closes any other connection.
func (j *joining) admit(conn net.Conn, h hello) {
	if h.Ring == "" && j.o.Rank == 0 {
		if !j.run(func() { j.arrive(conn, h) }) {
			conn.Close()
		}
		return
	}
	select {
	case <-j.welcomed: // the previous rank may have been welcomed earlier
	case <-j.failed:
	}
	ok := false
	j.run(func() {
		ok = j.welcome != nil && h.Ring == j.welcome.Run && h.Rank == (j.o.Rank+j.o.Ranks-1)%j.o.Ranks
	})
	if ok {
		select {
		case j.arrivals <- conn:
			return
		default:
		}
	}
	conn.Close()
}

// visit connects to rank 0 as soon as rank 0 listens, and returns when its welcome has
// arrived. All ranks except 0 call it.
func (j *joining) visit(ctx context.Context) error {
	conn, err := j.reach(ctx)
	if err != nil {
		return err
	}
	host := ipOf(conn.LocalAddr())
	if isLoopback(host) && j.o.listenHost() == "" {
		host = "" // listen on all addresses: ranks on other machines connect too
	}
	ln, err := listen(ctx, host, 0)
	if err != nil {
		conn.Close()
		return failure.Network(err.Error())
	}
	j.door = openDoor(ln, j.o.Secret, j.timing.handshake, j.admit, j.refuse)
	l := &link{rank: 0, host: j.o.Host, conn: conn}
	j.send(l, encode(frameHello, hello{Rank: j.o.Rank, Ranks: j.o.Ranks, Host: j.host, Port: portOf(ln.Addr()), Fingerprints: j.o.Fingerprints}))
	j.addLink(l)
	go j.supervise()
	select {
	case <-j.welcomed:
		return nil
	case <-j.failed:
		return j.failure()
	case <-ctx.Done():
		j.Abort(context.Cause(ctx))
		return context.Cause(ctx)
	}
}

// reach opens the control connection to rank 0. It retries for up to Options.Wait,
// because rank 0 may start later, and its host name may not resolve yet.
func (j *joining) reach(ctx context.Context) (net.Conn, error) {
	begin, told := time.Now(), false
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		conn, err := j.dial(ctx, j.o.address())
		switch waited := time.Since(begin); {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case failure.IsUsage(err):
			return nil, fmt.Errorf("rank 0 at %s: %w", j.o.address(), err)
		case waited > j.o.Wait:
			return nil, failure.Network(fmt.Sprintf("rank 0 did not answer at %s within %v: %v", j.o.address(), j.o.Wait, err))
		case waited > j.timing.notice && !told:
			told = true
			j.o.logf("rank %d waits up to %v for rank 0 at %s (%v)", j.o.Rank, j.o.Wait, j.o.address(), err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// dial connects to another rank and completes the handshake.
func (j *joining) dial(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: j.timing.handshake}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	err = handshakeClient(conn, j.o.Secret, j.timing.handshake)
	if err == nil && len(j.o.Secret) == 0 {
		err = checkServer(conn)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// persist dials again after errors, until timing.handshake has passed: if a rank gets too
// many foreign connections at once, it may also close the connection of a rank.
func (j *joining) persist(ctx context.Context, address string) (net.Conn, error) {
	for begin := time.Now(); ; {
		conn, err := j.dial(ctx, address)
		if err == nil || failure.IsUsage(err) || ctx.Err() != nil || time.Since(begin) > j.timing.handshake {
			return conn, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// checkServer returns nil if a process of the same user has accepted conn. If it was a
// process of another user, it returns a usage error, which ends all attempts; otherwise
// any other error.
func checkServer(conn net.Conn) error {
	err := sameUser(conn)
	if stranger := (*trust.StrangerError)(nil); errors.As(err, &stranger) {
		return failure.Usagef("%w: choose another MASTER_PORT, or give the ranks a secret (%s)", err, secretFileVariable)
	}
	return err
}

// welcomedBy parses the message with which rank 0 admits this process to the
// group, and stores it in g. A malformed message makes the group fail.
func (g *Group) welcomedBy(payload []byte) {
	var w welcome
	if err := decode(payload, &w); err != nil || len(w.Peers) != g.o.Ranks || g.o.Rank == 0 || g.welcome != nil {
		g.fail(g.lost(0, "sent a malformed welcome"))
		return
	}
	g.welcome = &w
	close(g.welcomed)
}

// connect connects to the next rank, waits for the connection of the previous rank,
// and returns once every rank has done so.
func (j *joining) connect(ctx context.Context) error {
	number := (j.o.Rank + 1) % j.o.Ranks
	address, run := "", ""
	if !j.run(func() { address, run = j.addressOf(number), j.welcome.Run }) {
		return j.failure()
	}
	dialing, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-j.failed:
			stop()
		case <-dialing.Done():
		}
	}()
	next, err := j.persist(dialing, address)
	if err != nil {
		return j.unreachable(ctx, number, fmt.Errorf("rank %d (%s) cannot reach it at %s: %w", j.o.Rank, j.host, address, err))
	}
	next.Write(encode(frameHello, hello{Ring: run, Rank: j.o.Rank, Ranks: j.o.Ranks, Host: j.host}))
	var prev net.Conn
	select {
	case prev = <-j.arrivals:
	case <-j.failed:
	case <-ctx.Done():
		j.Abort(context.Cause(ctx))
	}
	if prev == nil || !j.run(func() { j.openRing(next, prev) }) {
		next.Close()
		if prev != nil {
			prev.Close()
		}
		return j.unreachable(ctx, number, errClosed)
	}
	if err := j.Barrier(); err != nil {
		return j.failure()
	}
	return nil
}

// unreachable reports that this rank cannot reach another one, waits until the run has
// failed, and returns the reason of the failure.
func (j *joining) unreachable(ctx context.Context, rank int, cause error) error {
	if ctx.Err() != nil {
		j.Abort(context.Cause(ctx))
		return context.Cause(ctx)
	}
	j.post(func() { j.suspect(rank, cause.Error()) })
	<-j.failed
	return j.failure()
}

// addressOf returns the address, host:port, at which this rank reaches another one.
func (g *Group) addressOf(rank int) string {
	if rank == 0 {
		return g.links[0].conn.RemoteAddr().String()
	}
	p := g.welcome.Peers[rank]
	if g.o.Rank != 0 && isLoopback(p.IP) {
		p.IP = ipOf(g.links[0].conn.RemoteAddr()) // the rank runs on rank 0's machine
	}
	return net.JoinHostPort(p.IP, strconv.Itoa(p.Port))
}

// openRing stores the ring's connections and begins to read confirmations. It runs on
// the supervisor.
func (g *Group) openRing(next, prev net.Conn) {
	if g.timing.count != nil {
		next = g.timing.count(next)
	}
	g.next, g.prev, g.ring, g.heardNext = next, prev, true, time.Now()
	limitUnacknowledged(prev, g.timing.silence)
	g.readers.Go(g.readConfirmations)
}

// failure waits until the supervisor has ended and returns the reason why Join failed.
func (j *joining) failure() error {
	<-j.ended
	return fmt.Errorf("join the ranks: %w", j.err)
}

// listenHost returns the address at which rank 0 listens; "" means all addresses of
// the machine.
func (o *Options) listenHost() string {
	if len(o.Secret) > 0 && !o.Local {
		return ""
	}
	return o.Host
}

func listen(ctx context.Context, host string, port int) (net.Listener, error) {
	var c net.ListenConfig
	return c.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

func ipOf(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	return ""
}

func portOf(a net.Addr) int {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}

// hostName returns this machine's name, or "unknown host".
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return shorten(name, maxHost)
}
