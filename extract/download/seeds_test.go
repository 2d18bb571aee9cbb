package download

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"pretext/internal/dev/torture"
	"pretext/internal/store"
)

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

// A tally sums up what was met over all servers.
type tally struct {
	sync.Mutex
	files            int
	needed, received int64
	met              map[fault]int
	connections      int // most at a time
}

func TestNoMisbehaviourOfAServerGivesAWrongFileOrTooMuchTraffic(t *testing.T) {
	all := &tally{met: map[fault]int{}}
	t.Run("seeds", func(t *testing.T) {
		for seed := range torture.Times(t, "PRETEXT_SERVERS", 100, 1000) {
			t.Run(strconv.Itoa(seed), func(t *testing.T) {
				t.Parallel()
				meet(t, uint64(seed), all)
			})
		}
	})
	ratio := float64(all.received) / float64(all.needed)
	t.Logf("%d files, %d bytes needed, %d received (%.3f times), at most %d connections, met: %v", all.files, all.needed, all.received, ratio, all.connections, all.met)
	if ratio > 1.2 {
		t.Errorf("received %.3f times what was needed, want at most 1.2", ratio)
	}
}

// patience is that of a client on a machine that may be busy: a sound answer is
// never late.
const patience = 10 * time.Minute

// stallHeader is in answers that will bring nothing more after a while.
const stallHeader = "Test-Stalls"

// stallOf makes a client give up soon what will stall, and nothing else: which
// faults a run meets depends on no clock.
func stallOf(h http.Header) time.Duration {
	if h.Get(stallHeader) != "" {
		return 10 * time.Millisecond
	}
	return patience
}

// meet downloads all that one server has.
func meet(t *testing.T, seed uint64, all *tally) {
	o := DefaultOptions()
	o.Product, o.Contact, o.AllowPrivate = "pretext-test/1", "tests@example.org", true
	o.Stall = patience
	s := newHostileServer(seed, o.userAgent())
	defer func() { close(s.quit); s.Close() }()
	site := SiteWikimedia
	if s.requests[0].Kind == Gutenberg {
		site = SiteGutenberg
	}
	o.Mirrors = []Mirror{{site, s.URL}}
	out := folder(t)
	var received int64
	var opened highest
	run := func(ctx context.Context, stopAfter int64) error {
		c := newClient(t, o)
		c.setClock(s.clock)
		c.stallOf = stallOf
		defer func() { received += c.Received(); c.Close() }()
		watchConnections(c, &opened)
		watchPauses(t, c)
		if s.secure {
			pool := x509.NewCertPool()
			pool.AddCert(s.Certificate())
			c.transport.TLSClientConfig = &tls.Config{RootCAs: pool}
		}
		return fetchAll(ctx, c, out, s.requests, stopAfter)
	}
	if seed%3 == 0 { // the first run is cut short
		if err := run(t.Context(), 20_000); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if err := run(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	check(t, s, out)
	limit := 2
	if site == SiteGutenberg {
		limit = 1
	}
	most := opened.get()
	if most < 1 || most > limit {
		t.Errorf("%d connections at a time, want 1 to %d", most, limit)
	}
	all.Lock()
	defer all.Unlock()
	all.files += len(s.files)
	all.needed += s.dataBytes()
	all.received += received
	all.connections = max(all.connections, most)
	for f, n := range s.met {
		all.met[f] += n
	}
}

// A highest is the highest number of connections of a client at a time. Several clients,
// one after another, may share one: an earlier one may still close connections.
type highest struct {
	mu sync.Mutex
	n  int
}

func (h *highest) get() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n
}

// watchConnections counts the open connections of a client.
func watchConnections(c *Client, most *highest) {
	open := 0
	d := newDialer(c.options, c.places)
	d.count = func(n int) {
		most.mu.Lock()
		defer most.mu.Unlock()
		open += n
		most.n = max(most.n, open)
	}
	c.transport.DialContext = d.DialContext
}

// fetchAll resolves and fetches with more goroutines than may be served, and
// stops after so many bytes where stopAfter is not negative.
func fetchAll(ctx context.Context, c *Client, out store.Folder, requests []Request, stopAfter int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var got int64
	progress := func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		if got += n; stopAfter >= 0 && got > stopAfter {
			cancel()
		}
	}
	var errs []error
	var wg sync.WaitGroup
	for _, r := range requests {
		list, err := c.Resolve(ctx, r)
		if err != nil {
			return err
		}
		for _, f := range list.Files {
			wg.Go(func() {
				_, err := c.Fetch(ctx, out.String(), f, Hooks{Progress: progress})
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			})
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// check wants every file to be what the server has.
func check(t *testing.T, s *hostileServer, out store.Folder) {
	t.Helper()
	for at, f := range s.files {
		if f.list {
			continue
		}
		name := SafeName(path.Base(at))
		b, err := store.ReadFile(t.Context(), out, name)
		if err != nil || !slices.Equal(b, f.content) {
			t.Errorf("%s: wrong file: %d bytes, want %d (%v)", name, len(b), len(f.content), err)
		}
	}
	for _, p := range s.problems {
		t.Error(p)
	}
}

// watchPauses wants requests to a host to keep its pause.
func watchPauses(t *testing.T, c *Client) {
	last := map[string]time.Time{}
	c.pace.began = func(host string, at time.Time) {
		pause := c.places.mannerOf(host).pause
		if before, ok := last[host]; ok && at.Sub(before) < pause {
			t.Errorf("a request to %s %v after the one before it, want %v", host, at.Sub(before), pause)
		}
		last[host] = at
	}
}
