// Package guard restricts every gRPC server of this process to clients in the same
// process.
//
// Beam's Prism runner starts its servers itself: one on all interfaces, without
// authentication, that runs any program which a submitted pipeline names. Beam
// has no option to change that. [Install] adds options to all gRPC servers and
// connections that the process makes afterwards:
//
//   - A connection begins with a token: 32 random bytes, different in each process.
//   - A server reads these bytes before anything of HTTP/2 or gRPC. It closes a
//     connection whose peer is not a loopback address without reading at all, and
//     one whose bytes are wrong or late.
//   - A client connects to loopback addresses only, so that the token never leaves
//     the machine, and asks no resolver what localhost is.
//
// The loopback check alone is not enough: a machine may have several users.
package guard

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// The functions that add an option to every server and connection of a process.
// gRPC keeps them in an internal package, for libraries of its own, so they are
// reached by their symbols. Where gRPC renames them these variables stay nil and
// Install fails.
//
//go:linkname addGlobalServerOptions google.golang.org/grpc/internal.AddGlobalServerOptions
var addGlobalServerOptions any

//go:linkname addGlobalDialOptions google.golang.org/grpc/internal.AddGlobalDialOptions
var addGlobalDialOptions any

// ErrUnavailable is returned if the gRPC library lacks the hooks for the guard.
var ErrUnavailable = errors.New("gRPC servers of this process cannot be guarded: this version of google.golang.org/grpc lacks the internal functions that are needed")

const (
	tokenSize = 32
	// patience is how long a connection may take to send the token.
	patience = 30 * time.Second
	// maxWaiting is the maximum number of connections that have not sent
	// the token. Beyond it the oldest is closed, because connections of
	// this process send the token at once.
	maxWaiting = 64
)

// Install guards the gRPC servers that this process starts after the call. Its gRPC
// clients can then connect only to these. Further calls do nothing.
var Install = sync.OnceValue(func() error {
	return install(addGlobalServerOptions, addGlobalDialOptions)
})

// install is the implementation of Install. Its arguments are gRPC's functions
// that add an option to every server (server) and every client connection
// (dial).
func install(server, dial any) error {
	addServer, ok := server.(func(...grpc.ServerOption))
	if !ok {
		return ErrUnavailable
	}
	addDial, ok := dial.(func(...grpc.DialOption))
	if !ok {
		return ErrUnavailable
	}
	g := newGuard()
	addServer(grpc.Creds(g))
	addDial(grpc.WithContextDialer(g.dial))
	return nil
}

// A guard implements gRPC's transport credentials of servers. gRPC calls its
// ServerHandshake for each new connection before reading from it.
type guard struct {
	credentials.TransportCredentials
	token [tokenSize]byte

	mu      sync.Mutex
	waiting []net.Conn // connections that have not sent the token, the oldest first
}

func newGuard() *guard {
	g := &guard{TransportCredentials: insecure.NewCredentials()}
	rand.Read(g.token[:]) // never fails
	return g
}

// ServerHandshake accepts a connection that sends the token, so comes from this
// process. For any other connection it returns an error, and gRPC closes the
// connection.
func (g *guard) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if !isLoopback(conn.RemoteAddr()) {
		return nil, nil, fmt.Errorf("guard: connection from %s, want a loopback address", conn.RemoteAddr())
	}
	g.await(conn)
	defer g.arrived(conn)
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil { // gRPC lifts it when its own handshake is done
		return nil, nil, err
	}
	var got [tokenSize]byte
	if _, err := io.ReadFull(conn, got[:]); err != nil {
		return nil, nil, fmt.Errorf("guard: read token: %w", err)
	}
	if subtle.ConstantTimeCompare(got[:], g.token[:]) != 1 {
		return nil, nil, errors.New("guard: wrong token: the connection is not from this process")
	}
	return g.TransportCredentials.ServerHandshake(conn)
}

// Clone implements [credentials.TransportCredentials]; the copy shares the token.
func (g *guard) Clone() credentials.TransportCredentials { return g }

func (g *guard) await(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, conn)
	if len(g.waiting) > maxWaiting {
		g.waiting[0].Close()
		g.waiting = slices.Delete(g.waiting, 0, 1)
	}
}

func (g *guard) arrived(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, conn); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
}

// dial connects to a server of this process and sends the token.
func (g *guard) dial(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	hosts := []string{host}
	if host == "localhost" { // without a resolver: there may be none, or one that answers otherwise
		hosts = []string{"127.0.0.1", "::1"}
	}
	var errs []error
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip == nil || !ip.IsLoopback() {
			errs = append(errs, fmt.Errorf("guard: %s is not a loopback address", h))
			continue
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(h, port))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, err := conn.Write(g.token[:]); err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
	return nil, errors.Join(errs...)
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
