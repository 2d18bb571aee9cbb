package trust

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"pretext/internal/dev/realdata"
	"pretext/internal/dev/stranger"
)

// dialVariable makes this program a process that connects to its value, and closes the
// connection at once if dialClose is set.
const (
	dialVariable = "PRETEXT_TEST_DIAL"
	dialClose    = "PRETEXT_TEST_DIAL_CLOSE"
	serveAs      = "PRETEXT_TEST_SERVE"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(dialVariable); address != "" {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if os.Getenv(dialClose) != "" {
			conn.Write([]byte("hello"))
			conn.Close()
			return
		}
		io.Copy(io.Discard, conn)
		return
	}
	if os.Getenv(serveAs) != "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			os.Exit(1)
		}
		fmt.Println(l.Addr())
		if conn, err := l.Accept(); err == nil {
			conn.Write([]byte("x"))
			io.Copy(io.Discard, conn)
		}
		return
	}
	os.Exit(m.Run())
}

// self returns a command that runs this program as another user.
func self(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	args := stranger.Args(t, "", stranger.Program(t))
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir = append(os.Environ(), env...), "/"
	return cmd
}

// accept accepts one connection of a command.
func accept(t *testing.T, l net.Listener, cmd *exec.Cmd) net.Conn {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		realdata.Missing(t, err.Error())
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// The other end's user is told over IPv4, over IPv6 and between the two.
func TestAProcessOfTheSameUserIsTrusted(t *testing.T) {
	if !CanTellUsers() {
		realdata.Missing(t, "the system does not tell whose a connection is")
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l := listen(t, address)
		_, port, _ := net.SplitHostPort(l.Addr().String())
		for _, host := range []string{"127.0.0.1", "::1"} {
			conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
			if err != nil {
				continue // a listener of the other family
			}
			other, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(SameUser(conn), SameUser(other)); err != nil {
				t.Errorf("%s from %s: %v", address, host, err)
			}
			conn.Close()
			time.Sleep(time.Millisecond)
			if err := SameUser(other); err == nil {
				t.Errorf("%s from %s: a closed connection is trusted", address, host)
			}
			other.Close()
		}
	}
}

func TestAProcessOfAnotherUserIsNotTrusted(t *testing.T) {
	for name, env := range map[string][]string{"stays": nil, "sends and closes": {dialClose + "=1"}} {
		l := listen(t, "127.0.0.1:0")
		cmd := self(t, append(env, dialVariable+"="+l.Addr().String())...)
		conn := accept(t, l, cmd)
		if env != nil {
			cmd.Wait() // its socket has no owner any more
		}
		err := SameUser(conn)
		var who *StrangerError
		if err == nil || env == nil && (!errors.As(err, &who) || who.UID != stranger.UID) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A rank asks who has accepted its connection: it may be a stranger that took the port.
func TestAServerOfAnotherUserIsNotTrusted(t *testing.T) {
	cmd := self(t, serveAs+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	var address string
	if _, err := fmt.Fscanln(out, &address); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	var who *StrangerError
	if err := SameUser(conn); !errors.As(err, &who) || who.UID != stranger.UID {
		t.Errorf("got %v", err)
	}
}

// A listener of a process closes what others open, and serves its own.
func TestAListenerServesTheSameUserAlone(t *testing.T) {
	refused := make(chan error, 1)
	l := &Listener{Listener: listen(t, "127.0.0.1:0"), Refuse: func(err error) { refused <- err }}
	cmd := self(t, dialVariable+"="+l.Addr().String())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		if conn, err := l.Accept(); err == nil {
			accepted <- conn
		}
	}()
	if err := <-refused; err == nil {
		t.Error("nothing was refused")
	}
	cmd.Wait() // its connection was closed
	own, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	conn := <-accepted
	defer conn.Close()
	if conn.RemoteAddr().String() != own.LocalAddr().String() {
		t.Errorf("accepted %v, want %v", conn.RemoteAddr(), own.LocalAddr())
	}
}
