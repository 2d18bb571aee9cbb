package serve_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pretext/cmd/train-bert/internal/serve"
	"pretext/trainer"
)

// Another name for 127.0.0.1 is one that a web page gave itself.
func TestALoopbackServerAnswersRequestsToLoopbackOnly(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 2}, false, nil)
	ask := func(method, path, host string) answer {
		t.Helper()
		r, err := http.NewRequest(method, x.url+path, strings.NewReader(`{"text": "the cat"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Content-Type", "application/json")
		return read(x.client.Do(r))
	}
	for _, host := range []string{"localhost", "LocalHost:8080", "localhost.", "127.0.0.1", "127.8.9.1:1", "[::1]", "[::1]:8080", "[::ffff:127.0.0.1]:80"} {
		ask("POST", "/v1/classify", host).want(t, http.StatusOK, `"classes"`)
	}
	for _, host := range []string{"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.0.1", "[::2]:80", "0.0.0.0", "localhost@evil.example"} {
		for _, path := range []string{"/v1/classify", "/healthz", "/metrics", "/nothing"} {
			ask("POST", path, host).want(t, http.StatusForbidden, "localhost only")
		}
	}
}

// A page in a browser may send forms and plain text to any site, and nothing else without
// asking it first. Neither is answered, nor computed.
func TestAPageOfAnotherSiteIsRefused(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 2}, false, nil)
	for _, c := range []struct {
		name, method, kind, origin, site string
		code                             int
	}{
		{name: "a program", kind: "application/json", code: 200},
		{name: "with a character set", kind: "application/json; charset=utf-8", code: 200},
		{name: "a page of the server", kind: "application/json", origin: x.url, site: "same-origin", code: 200},
		{name: "typed by the user", kind: "application/json", site: "none", code: 200},
		{name: "text", kind: "text/plain", code: 415},
		{name: "JSON as text", kind: "text/plain; x=application/json", code: 415},
		{name: "a form", kind: "application/x-www-form-urlencoded", code: 415},
		{name: "a file", kind: "multipart/form-data; boundary=x", code: 415},
		{name: "nothing", code: 415},
		{name: "garbage", kind: ";;", code: 415},
		{name: "a page's text", kind: "text/plain", origin: "http://evil.example", site: "cross-site", code: 403},
		{name: "a page's JSON", kind: "application/json", origin: "http://evil.example", code: 403},
		{name: "a page without an origin", kind: "application/json", origin: "null", code: 403},
		{name: "another port", kind: "application/json", origin: "http://127.0.0.1:1", site: "same-site", code: 403},
		{name: "may I?", method: http.MethodOptions, origin: "http://evil.example", site: "cross-site", code: 405},
	} {
		r, err := http.NewRequest(cmp.Or(c.method, http.MethodPost), x.url+"/v1/classify", strings.NewReader(`{"text": "the cat"}`))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": c.kind, "Origin": c.origin, "Sec-Fetch-Site": c.site} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if a := read(x.client.Do(r)); a.err != nil || a.code != c.code || (a.code == 200) != strings.Contains(a.body, "classes") {
			t.Errorf("%s: got %+v, want %d", c.name, a, c.code)
		}
	}
}

// Where the server listens on another address, its name is the user's affair.
func TestAServerOfANetworkAnswersAnyHost(t *testing.T) {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	h := trainer.Heads{Labels: 2}
	b := serve.NewBatcher(newModel(t, h), h, serve.Limits{Tokens: 64, Queue: 4})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve.New(newPredictor(t, h), b, serve.DefaultOptions()).Run(ctx, l) }()
	defer func() { stop(); within(t, ended, "the end"); b.Close() }()
	r, err := http.NewRequest("GET", fmt.Sprintf("http://127.0.0.1:%d/healthz", l.Addr().(*net.TCPAddr).Port), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Close = "models.example", true
	read((&http.Client{Transport: &http.Transport{}}).Do(r)).want(t, http.StatusOK, `"ok"`)
}

func TestConnectionsAreLimited(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 2}, false, func(o *serve.Options, _ *serve.Limits) { o.MaxConns = 1 })
	c, err := net.Dial("tcp", strings.TrimPrefix(x.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	// Make sure that this one is served first.
	io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("got %q, %v", line, err)
	}
	second := x.later("/v1/classify", `{"text": "the cat"}`)
	select {
	case a := <-second:
		t.Errorf("a second connection was served: %+v", a)
	case <-time.After(100 * time.Millisecond):
	}
	c.Close()
	within(t, second, "an answer").want(t, http.StatusOK, `"classes"`)
}

// 64 clients open connections that send nothing or invalid requests. This may make the
// server slower, but it answers every valid request, because it accepts more connections.
func TestAServerThatIsFloodedAnswers(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 2}, false, nil)
	run := func() time.Duration {
		begin := time.Now()
		for range 50 {
			x.client.CloseIdleConnections()
			x.post("/v1/classify", `{"text": "the cat"}`).want(t, http.StatusOK, `"classes"`)
		}
		return time.Since(begin)
	}
	calm := run()
	ctx, cancel := context.WithCancel(t.Context())
	var floods sync.WaitGroup
	for i := range 64 {
		floods.Go(func() {
			for ctx.Err() == nil {
				c, err := net.Dial("tcp", strings.TrimPrefix(x.url, "http://"))
				if err != nil {
					continue
				}
				io.WriteString(c, []string{"", "\x16\x03\x01\xff\r\n\r\n", "POST /v1/classify HTTP/1.1\r\n", "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n"}[i%4])
				c.SetReadDeadline(time.Now().Add(time.Duration(i) * time.Millisecond))
				io.Copy(io.Discard, c)
				c.Close()
			}
		})
	}
	flooded := run()
	cancel()
	floods.Wait()
	t.Logf("fifty requests in %v, flooded in %v", calm, flooded)
}
