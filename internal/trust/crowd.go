package trust

import (
	"net"
	"slices"
	"sync"
)

// A Crowd limits the number of connections that are not authenticated yet. If it is full, a
// new connection closes the oldest one. A legitimate peer authenticates within milliseconds,
// so peers that only wait cannot keep it out, even if there are many of them.
type Crowd struct {
	Max int

	mu     sync.Mutex
	conns  []net.Conn // the oldest first
	closed bool
}

// Add admits conn to the crowd and closes the oldest one if there are too many. It
// returns false if the crowd is closed.
func (c *Crowd) Add(conn net.Conn) bool {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	var oldest net.Conn
	if len(c.conns) >= c.Max {
		oldest = c.conns[0]
		c.conns = slices.Delete(c.conns, 0, 1)
	}
	c.conns = append(c.conns, conn)
	c.mu.Unlock()
	if oldest != nil {
		oldest.Close()
	}
	return true
}

// Remove takes conn out of the crowd. It returns false if conn was closed before.
func (c *Crowd) Remove(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.conns, conn)
	if i < 0 {
		return false
	}
	c.conns = slices.Delete(c.conns, i, i+1)
	return true
}

// Vouch takes the connection from the given address out of the crowd, because it is
// authenticated. Newer connections no longer close it.
func (c *Crowd) Vouch(from net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = slices.DeleteFunc(c.conns, func(conn net.Conn) bool { return conn.RemoteAddr().String() == from.String() })
}

// Close closes all connections of the crowd and admits no more.
func (c *Crowd) Close() {
	c.mu.Lock()
	conns := c.conns
	c.closed, c.conns = true, nil
	c.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
}

// Listener returns a listener that adds its connections to the crowd. They leave it when
// they are closed, or when the server calls [Crowd.Vouch].
func (c *Crowd) Listener(l net.Listener) net.Listener { return &crowded{l, c} }

type crowded struct {
	net.Listener
	crowd *Crowd
}

// Accept implements [net.Listener].
func (l *crowded) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.crowd.Add(conn)
	return &member{Conn: conn, crowd: l.crowd}, nil
}

// A member is a connection that leaves the crowd when it is closed.
type member struct {
	net.Conn
	crowd *Crowd
}

// Close implements [net.Conn].
func (m *member) Close() error {
	m.crowd.Remove(m.Conn)
	return m.Conn.Close()
}
