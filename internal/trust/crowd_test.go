package trust

import (
	"io"
	"net"
	"testing"
)

// However many wait in silence, who comes last is served.
func TestTheOldestOfACrowdHasToGo(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	crowd := &Crowd{Max: 3}
	l := crowd.Listener(inner)
	var clients, servers []net.Conn
	for range 5 {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		clients, servers = append(clients, conn), append(servers, server)
	}
	for i, conn := range clients {
		if _, err := servers[i].Write([]byte("x")); (err == nil) != (i >= 2) {
			t.Errorf("connection %d: %v", i, err)
		}
		if n, _ := io.ReadFull(conn, make([]byte, 1)); (n == 1) != (i >= 2) {
			t.Errorf("connection %d: %d bytes", i, n)
		}
	}
	servers[3].Close()
	if len(crowd.conns) != 2 {
		t.Errorf("%d are left, want 2", len(crowd.conns))
	}
	crowd.Vouch(servers[4].RemoteAddr())
	for range 2 * crowd.Max {
		crowd.Add(servers[2])
	}
	if _, err := servers[4].Write([]byte("x")); err != nil {
		t.Errorf("a connection that somebody vouched for was closed: %v", err)
	}
	crowd.Close()
	if crowd.Add(clients[4]) {
		t.Error("a closed crowd admits")
	}
}

func TestRootActsForEveryUserAndNobodyElseDoes(t *testing.T) {
	for _, c := range []struct {
		uid, self int
		want      bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1001, 1000, false}, {1000, 0, false}} {
		if got := sameUser(c.uid, c.self); got != c.want {
			t.Errorf("user %d for user %d: got %v", c.uid, c.self, got)
		}
	}
}
