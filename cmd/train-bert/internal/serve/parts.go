package serve

import (
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"pretext/internal/trust"
)

// localOnly passes requests to h if their Host is localhost or a loopback address, and
// answers all others with 403. This stops DNS rebinding, see [trust.Local].
func localOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !trust.Local(r.Host) {
			reply(w, http.StatusForbidden, map[string]string{
				"error": fmt.Sprintf("host %q: a server on a loopback address answers requests to localhost only; a proxy in front of it must send Host: localhost", r.Host)})
			return
		}
		h.ServeHTTP(w, r)
	})
}

// noPages rejects requests from web pages of other sites. It answers 403 if the request's
// headers show that it comes from such a page, and 415 if the body is not declared as JSON:
// without asking a server first, a page may send it only bodies of other types.
func noPages(h http.Handler) http.Handler {
	p := http.NewCrossOriginProtection()
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusForbidden, map[string]string{"error": fmt.Sprintf("a web page of another site (Origin %.200q) may not send requests here", r.Header.Get("Origin"))})
	}))
	return p.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := r.Header.Get("Content-Type")
		if media, _, err := mime.ParseMediaType(kind); r.Method == http.MethodPost && (err != nil || media != "application/json") {
			reply(w, http.StatusUnsupportedMediaType, map[string]string{"error": fmt.Sprintf("Content-Type %.200q: must be application/json (curl --json)", kind)})
			return
		}
		h.ServeHTTP(w, r)
	}))
}

// quiet returns a logger that discards net/http's messages about broken connections.
func quiet() *log.Logger { return slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) }

// counts holds the metrics of finished requests.
type counts struct {
	mu       sync.Mutex
	requests map[string]int64 // by endpoint and status, as labels
	seconds  float64
	finished int64
}

func (c *counts) add(task string, code int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[string]int64{}
	}
	c.requests[fmt.Sprintf(`{endpoint="%s",code="%d"}`, task, code)]++
	c.seconds += took.Seconds()
	c.finished++
}

// metrics writes the metrics in Prometheus' text format.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	metric := func(name, kind, help string, value any) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s %v\n", name, help, name, kind, name, value)
	}
	c := &s.counts
	c.mu.Lock()
	b.WriteString("# HELP train_bert_requests_total Requests answered.\n# TYPE train_bert_requests_total counter\n")
	for _, labels := range slices.Sorted(maps.Keys(c.requests)) {
		fmt.Fprintf(&b, "train_bert_requests_total%s %d\n", labels, c.requests[labels])
	}
	fmt.Fprintf(&b, "# HELP train_bert_request_seconds Time from a request to its answer.\n# TYPE train_bert_request_seconds summary\n"+
		"train_bert_request_seconds_sum %g\ntrain_bert_request_seconds_count %d\n", c.seconds, c.finished)
	c.mu.Unlock()
	metric("train_bert_waiting", "gauge", "Requests waiting or in progress.", s.b.Waiting())
	metric("train_bert_batches_total", "counter", "Batches computed.", s.b.batches.Load())
	metric("train_bert_sequences_total", "counter", "Sequences computed.", s.b.sequences.Load())
	metric("train_bert_tokens_total", "counter", "Tokens computed.", s.b.computed.Load())
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	io.WriteString(w, b.String())
}
