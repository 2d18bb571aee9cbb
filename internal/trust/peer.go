package trust

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// errUnknown is returned if the system does not report which user a peer belongs to.
var errUnknown = errors.New("the system does not report which user's process is at the other end")

// A StrangerError is the error for a peer that is another user's process.
type StrangerError struct {
	From net.Addr
	UID  int
}

func (e *StrangerError) Error() string {
	return fmt.Sprintf("%v is a process of another user (%d)", e.From, e.UID)
}

// SameUser returns nil if the other end of a TCP connection is a process of the same user
// as this one, or of root, on this machine and in this network namespace. It asks the kernel
// for the owner of the other end's socket. That socket must be open and connected: a closed
// socket has no owner, and older kernels report root for it. A socket that is not accepted
// yet has no owner either, so a client must call SameUser only after it has received the
// first bytes.
func SameUser(conn net.Conn) error {
	uid, err := peerUID(conn)
	if err != nil {
		return fmt.Errorf("%v: %w", conn.RemoteAddr(), err)
	}
	if !sameUser(uid, os.Getuid()) {
		return &StrangerError{conn.RemoteAddr(), uid}
	}
	return nil
}

// sameUser reports whether a process of user uid may act for user self.
func sameUser(uid, self int) bool { return uid == self || uid == 0 }

// CanTellUsers reports whether [SameUser] works on this system. It tries SameUser on a
// connection of this process to itself.
func CanTellUsers() bool {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return false
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return false
	}
	defer conn.Close()
	other, err := l.Accept()
	if err != nil {
		return false
	}
	defer other.Close()
	return SameUser(other) == nil && SameUser(conn) == nil
}

// A Listener accepts only connections that pass [SameUser] and closes all others. For each
// closed one it calls its refuse function, unless that is nil.
type Listener struct {
	net.Listener
	Refuse func(error)
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		err = SameUser(conn)
		if err == nil {
			return conn, nil
		}
		conn.Close()
		if l.Refuse != nil {
			l.Refuse(err)
		}
	}
}
