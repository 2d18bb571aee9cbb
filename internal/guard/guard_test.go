package guard

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// serve starts a server as Beam does: on all interfaces, with no options.
func serve(t *testing.T) (port string) {
	t.Helper()
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	go s.Serve(listener)
	t.Cleanup(s.Stop)
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port
}

// ask asks a server for its health.
func ask(t *testing.T, target string, options ...grpc.DialOption) error {
	t.Helper()
	conn, err := grpc.NewClient(target, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	return err
}

// stranger dials without the guard, what is before gRPC's own bytes first.
func stranger(first []byte) grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			_, err = conn.Write(first)
		}
		return conn, err
	})
}

func TestOnlyThisProcessReachesItsServers(t *testing.T) {
	open := serve(t)
	if err := ask(t, "passthrough:127.0.0.1:"+open, stranger(nil)); err != nil {
		t.Fatalf("the server from before the guard refuses a stranger: %v", err)
	}
	if err := Install(); err != nil {
		t.Fatalf("%v: find out how google.golang.org/grpc/internal calls AddGlobalServerOptions and AddGlobalDialOptions now", err)
	}
	port := serve(t)
	for _, target := range []string{"passthrough:localhost:", "passthrough:127.0.0.1:", "passthrough:[::1]:", "dns:127.0.0.1:"} {
		if err := ask(t, target+port); err != nil {
			t.Errorf("%s: this process is refused: %v", target, err)
		}
	}
	for name, first := range map[string][]byte{"no token": nil, "a wrong token": make([]byte, tokenSize), "a long token": make([]byte, 1<<20), "a short token": {1}} {
		if err := ask(t, "passthrough:127.0.0.1:"+port, stranger(first)); err == nil {
			t.Errorf("%s: a stranger is served", name)
		}
	}
	if other := serveElsewhere(t); other != "" {
		if err := ask(t, "passthrough:"+other); err == nil || !strings.Contains(err.Error(), "not a loopback address") {
			t.Errorf("got %v of a server on %s, want no connection but to loopback", err, other)
		}
	}
	if err := ask(t, "passthrough:example.invalid:1"); err == nil || !strings.Contains(err.Error(), "not a loopback address") {
		t.Errorf("got %v, want no resolver asked", err)
	}
}

// serveElsewhere returns the address of a server on an interface of this machine
// that is not loopback, "" where there is none.
func serveElsewhere(t *testing.T) string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(addresses, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && !n.IP.IsLoopback() && n.IP.To4() != nil
	})
	if i < 0 {
		return ""
	}
	return net.JoinHostPort(addresses[i].(*net.IPNet).IP.String(), serve(t))
}

// Whoever is not on this machine is not even read from.
func TestAPeerOfAnotherMachineIsRefusedWithTheRightToken(t *testing.T) {
	g := newGuard()
	ours, theirs := net.Pipe()
	go theirs.Write(g.token[:])
	if _, _, err := g.ServerHandshake(from{ours, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1}}); err == nil {
		t.Error("192.0.2.7 with the token is served")
	}
	if _, _, err := g.ServerHandshake(from{ours, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}}); err != nil {
		t.Errorf("127.0.0.1 with the token is refused: %v", err)
	}
}

type from struct {
	net.Conn
	peer net.Addr
}

func (f from) RemoteAddr() net.Addr { return f.peer }

// Strangers that connect and wait hold no more than a few descriptors, and do not
// keep this process out.
func TestConnectionsThatWaitAreBounded(t *testing.T) {
	if err := Install(); err != nil {
		t.Fatal(err)
	}
	port := serve(t)
	var conns []net.Conn
	for range 4 * maxWaiting {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	if err := ask(t, "passthrough:localhost:"+port); err != nil {
		t.Errorf("while strangers wait this process is refused: %v", err)
	}
	closed := 0
	for _, conn := range conns[:2*maxWaiting] { // the order of arrival is not quite that of dialing
		conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := conn.Read(make([]byte, 1)); err != nil && !isTimeout(err) {
			closed++
		}
	}
	if closed < maxWaiting {
		t.Errorf("%d of the first %d connections were closed, want at least %d", closed, 2*maxWaiting, maxWaiting)
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func TestWithoutItsHooksTheGuardFails(t *testing.T) {
	for _, hooks := range [][2]any{{nil, nil}, {addGlobalServerOptions, nil}, {nil, addGlobalDialOptions}, {func(int) {}, addGlobalDialOptions}} {
		if err := install(hooks[0], hooks[1]); !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
	}
}
