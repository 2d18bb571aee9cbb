package comm

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"pretext/internal/trust"
)

// maxPending is the maximum number of connections in the handshake at once. A further
// connection closes the oldest.
const maxPending = 256

// sameUser is [trust.SameUser]; tests replace it.
var sameUser = trust.SameUser

// errCrowd is the error of a connection that was closed in the handshake because of
// too many newer connections.
var errCrowd = errors.New("too many connections")

// A door accepts connections and admits those of ranks: the other side must prove that
// it has the secret or, without a secret, that it is a process of the same user. Then
// it must send a hello.
type door struct {
	listener net.Listener
	secret   []byte
	limit    time.Duration         // timeout of the handshake, and separately of the hello
	admit    func(net.Conn, hello) // takes over an admitted connection
	refuse   func(net.Addr, error) // called after a connection was refused and closed

	wg      sync.WaitGroup
	pending trust.Crowd // connections without proof
	proved  trust.Crowd // connections with proof, but without hello
	closed  atomic.Bool
}

// openDoor accepts connections from ln until close is called. It calls admit and refuse
// from its own goroutines.
func openDoor(ln net.Listener, secret []byte, limit time.Duration, admit func(net.Conn, hello), refuse func(net.Addr, error)) *door {
	d := &door{listener: ln, secret: secret, limit: limit, admit: admit, refuse: refuse, pending: trust.Crowd{Max: maxPending}, proved: trust.Crowd{Max: 2 * maxRanks}}
	d.wg.Go(d.accept)
	return d
}

func (d *door) accept() {
	for {
		conn, err := d.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if !d.pending.Add(conn) {
			conn.Close()
			continue
		}
		d.wg.Go(func() { d.meet(conn) })
	}
}

// meet admits a connection or closes it.
func (d *door) meet(conn net.Conn) {
	h, err := d.greet(conn)
	if open := d.pending.Remove(conn) || d.proved.Remove(conn); !open && err == nil {
		err = errCrowd
	}
	if err != nil {
		conn.Close()
		if !d.closed.Load() {
			d.refuse(conn.RemoteAddr(), err)
		}
		return
	}
	d.admit(conn, h)
}

func (d *door) greet(conn net.Conn) (h hello, err error) {
	if len(d.secret) == 0 {
		if err := sameUser(conn); err != nil {
			return h, err
		}
		d.vouch(conn)
	}
	if err := handshakeServer(conn, d.secret, d.limit); err != nil {
		return h, err
	}
	d.vouch(conn)
	conn.SetReadDeadline(time.Now().Add(d.limit))
	defer conn.SetReadDeadline(time.Time{})
	kind, payload, err := readFrame(conn)
	if err == nil && kind != frameHello {
		err = errStranger
	}
	if err != nil {
		return h, err
	}
	return h, decode(payload, &h)
}

// vouch moves conn from pending to proved, after its other side has proved that it is a
// rank. Too many pending connections then no longer close it.
func (d *door) vouch(conn net.Conn) {
	if d.pending.Remove(conn) {
		d.proved.Add(conn)
	}
}

// close stops listening and ends all handshakes.
func (d *door) close() {
	d.listener.Close()
	d.closed.Store(true)
	d.pending.Close()
	d.proved.Close()
	d.wg.Wait()
}
