package comm

import (
	"errors"
	"net"
	"sync"
	"time"

	"pretext/internal/trust"
)

// maxPending is the number of connections that may be in the handshake at once.
// Others are closed; ranks try again.
const maxPending = 256

// sameUser is [trust.SameUser], a variable for tests of what happens without it.
var sameUser = trust.SameUser

// A door accepts connections. It admits a connection whose other side proves that it
// has the secret or, without a secret, is a process of the same user, and sends a hello.
type door struct {
	listener net.Listener
	secret   []byte
	limit    time.Duration         // timeout of the handshake, and again of the hello
	admit    func(net.Conn, hello) // takes over an admitted connection
	refuse   func(net.Addr, error) // called after a connection was refused and closed

	wg      sync.WaitGroup
	mu      sync.Mutex
	pending map[net.Conn]bool
	closed  bool
}

// openDoor accepts connections from ln until close. It calls admit and refuse from
// goroutines of its own.
func openDoor(ln net.Listener, secret []byte, limit time.Duration, admit func(net.Conn, hello), refuse func(net.Addr, error)) *door {
	d := &door{listener: ln, secret: secret, limit: limit, admit: admit, refuse: refuse, pending: map[net.Conn]bool{}}
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
		if !d.hold(conn) {
			conn.Close()
			continue
		}
		d.wg.Go(func() { d.meet(conn) })
	}
}

// hold adds conn to d.pending. It returns false if maxPending connections are already
// in the handshake or the door is closed.
func (d *door) hold(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || len(d.pending) >= maxPending {
		return false
	}
	d.pending[conn] = true
	return true
}

// release removes conn from d.pending. It returns false if the door is closed.
func (d *door) release(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.pending, conn)
	return !d.closed
}

// meet admits a connection or closes it.
func (d *door) meet(conn net.Conn) {
	h, err := d.greet(conn)
	if open := d.release(conn); !open || err != nil {
		conn.Close()
		if open {
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
	}
	if err := handshakeServer(conn, d.secret, d.limit); err != nil {
		return h, err
	}
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

// close stops listening and ends all handshakes.
func (d *door) close() {
	d.listener.Close()
	d.mu.Lock()
	d.closed = true
	for conn := range d.pending {
		conn.Close()
	}
	d.mu.Unlock()
	d.wg.Wait()
}
