// Package metrics serves the metrics of a process to Prometheus, in its text format 0.0.4,
// under GET /metrics.
//
//	l, err := metrics.Listen("9400") // on the loopback interface
//	stop := metrics.Serve(l, func(t *metrics.Text) {
//		t.Counter("requests_total", "Requests answered.", metrics.Value{V: 7})
//	})
//	defer stop()
//
// The listener asks nobody who they are, so metrics must contain no secret.
package metrics

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"pretext/internal/trust"
)

// A Value is a sample of a metric.
type Value struct {
	Labels []string // names and values in turns
	V      float64
}

// A Text collects metrics in Prometheus' text format.
type Text struct{ b strings.Builder }

// String returns the text.
func (t *Text) String() string { return t.b.String() }

// Counter adds a metric that only grows while the process lives.
func (t *Text) Counter(name, help string, values ...Value) { t.add(name, "counter", help, values) }

// Gauge adds a metric that may also fall.
func (t *Text) Gauge(name, help string, values ...Value) { t.add(name, "gauge", help, values) }

// escaped are the characters of a label's value that the format escapes.
var escaped = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// add adds a metric, unless it has no values.
func (t *Text) add(name, kind, help string, values []Value) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(&t.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	for _, v := range values {
		t.b.WriteString(name)
		for i := 0; i < len(v.Labels); i += 2 {
			mark := ","
			if i == 0 {
				mark = "{"
			}
			fmt.Fprintf(&t.b, `%s%s="%s"`, mark, v.Labels[i], escaped.Replace(v.Labels[i+1]))
		}
		if len(v.Labels) > 0 {
			t.b.WriteByte('}')
		}
		t.b.WriteString(" " + strconv.FormatFloat(v.V, 'g', -1, 64) + "\n")
	}
}

// Listen opens a listener on an address: HOST:PORT, or a port alone, which means the
// loopback interface.
func Listen(address string) (net.Listener, error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	return net.Listen("tcp", address)
}

// Limits of requests.
const (
	timeout   = 10 * time.Second
	maxHeader = 16 << 10
	maxConns  = 64 // open connections; more wait, so that strangers cannot use up the process's files
)

// Serve answers requests on l until stop is called. write is called for each request. On a
// loopback address only requests to localhost are answered, see [trust.Local].
func Serve(l net.Listener, write func(*Text)) (stop func()) {
	a, ok := l.Addr().(*net.TCPAddr)
	loopback := ok && a.IP.IsLoopback()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if loopback && !trust.Local(r.Host) {
			http.Error(w, "a server on a loopback address answers requests to localhost only", http.StatusForbidden)
			return
		}
		var t Text
		write(&t)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		io.WriteString(w, t.String()) //nolint:errcheck // the client has gone
	})
	h := &http.Server{Handler: mux, ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Serve(netutil.LimitListener(l, maxConns)) //nolint:errcheck // it ends when stop closes the listener
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if h.Shutdown(ctx) != nil { // a slow reader
			h.Close() //nolint:errcheck // nothing else can be done
		}
		<-done
	}
}
