package metrics

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestTheTextHasPrometheusForm(t *testing.T) {
	var text Text
	text.Counter("a_total", "Things.", Value{V: 3})
	text.Gauge("b", "Others.", Value{Labels: []string{"x", "a\"b\\c\nd", "y", "z"}, V: 0.5}, Value{Labels: []string{"x", ""}, V: 1e9})
	text.Gauge("none", "Without values.")
	want := "# HELP a_total Things.\n# TYPE a_total counter\na_total 3\n# HELP b Others.\n# TYPE b gauge\n" +
		`b{x="a\"b\\c\nd",y="z"} 0.5` + "\n" + `b{x=""} 1e+09` + "\n"
	if got := text.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Connections that say nothing wait once there are too many, instead of using up the files
// of the process.
func TestConnectionsAreLimited(t *testing.T) {
	l, err := Listen("0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := &counted{Listener: l}
	stop := Serve(accepted, func(*Text) {})
	defer stop()
	for range maxConns + 8 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for begin := time.Now(); accepted.n.Load() < maxConns && time.Since(begin) < 5*time.Second; {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	if n := accepted.n.Load(); n != maxConns {
		t.Errorf("%d connections are open, want %d", n, maxConns)
	}
}

// counted counts the connections that it accepts.
type counted struct {
	net.Listener
	n atomic.Int64
}

// Accept implements [net.Listener].
func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

func TestAPortAloneIsOnLoopbackAndServesLocalhostOnly(t *testing.T) {
	defer goleak.VerifyNone(t)
	l, err := Listen("0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if !strings.HasPrefix(address, "127.0.0.1:") {
		t.Errorf("listens on %s", address)
	}
	stop := Serve(l, func(t *Text) { t.Gauge("a", "A.", Value{V: 1}) })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, c := range []struct {
		path, host string
		code       int
	}{
		{"/metrics", "", 200}, {"/metrics", "localhost:1", 200}, {"/metrics", "rebound.example", 403}, {"/", "", 404},
	} {
		r, _ := http.NewRequest("GET", "http://"+address+c.path, nil)
		r.Host = c.host
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != c.code {
			t.Errorf("%s at %q: %d, want %d", c.path, c.host, answer.StatusCode, c.code)
		}
		if has := strings.Contains(string(body), "\na 1\n"); has != (c.code == 200) {
			t.Errorf("%s at %q: %q", c.path, c.host, body)
		}
	}
	stop()
	if _, err := client.Get("http://" + address + "/metrics"); err == nil {
		t.Error("answers after the stop")
	}
}
