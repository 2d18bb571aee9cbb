package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pretext/internal/redact"
)

// A Client asks servers. It holds connections: call [Client.Close] at the end.
type Client struct {
	options   Options
	places    *places
	pace      *pace
	clock     clock
	transport *http.Transport
	received  atomic.Int64
	answered  atomic.Bool // whether any server ever did

	// stallOf replaces [Options.Stall] for the body of an answer: tests of what
	// brings nothing need not wait, and those of what does need not hurry. Nil
	// but in tests.
	stallOf func(http.Header) time.Duration
}

// NewClient returns a client.
func NewClient(o Options) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	p, err := newPlaces(o)
	if err != nil {
		return nil, err
	}
	c := &Client{options: o, places: p, transport: newTransport(o, newDialer(o, p))}
	c.setClock(systemClock{})
	return c, nil
}

func (c *Client) setClock(k clock) {
	c.clock, c.pace = k, &pace{clock: k, places: c.places, hosts: map[string]*hostPace{}}
}

// Close closes the connections that wait for more requests.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Received is how many bytes of bodies came in so far.
func (c *Client) Received() int64 { return c.received.Load() }

// maxHops is how many redirects are followed in a row.
const maxHops = 5

// A response is an answer with its slot at the host.
type response struct {
	*http.Response
	host   string
	finish func()
}

// close ends the transfer, whole or not, and gives the slot back.
func (r *response) close() {
	r.Body.Close()
	r.finish()
}

// open sends a request and follows redirects. The body's reads end with an error
// when nothing comes for too long.
func (c *Client) open(ctx context.Context, method, address string, header http.Header) (*response, error) {
	if c.options.Offline {
		return nil, fmt.Errorf("get %s: %w: no connection may be opened", redact.URL(address), ErrOffline)
	}
	u, err := c.places.locate(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for hop := 0; ; hop++ {
		r, err := c.send(ctx, method, u, header)
		if err != nil {
			return nil, fmt.Errorf("get %s: %w", redact.URL(u.String()), err)
		}
		if !isRedirect(r.StatusCode) {
			return r, nil
		}
		location := r.Header.Get("Location")
		r.close()
		if hop == maxHops {
			return nil, fmt.Errorf("get %s: %w: more than %d redirects", redact.URL(address), ErrRefused, maxHops)
		}
		if u, err = c.redirect(u, location); err != nil {
			return nil, fmt.Errorf("get %s: %w", redact.URL(address), err)
		}
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirect checks where a redirect leads.
func (c *Client) redirect(from *url.URL, location string) (*url.URL, error) {
	to, err := from.Parse(location)
	if err != nil || location == "" {
		return nil, fmt.Errorf("%w: redirect to %q, which is no URL", ErrRefused, clip(redact.URL(location)))
	}
	if _, err := parseURL(to.String(), c.options.AllowPrivate); err != nil {
		return nil, fmt.Errorf("%w: redirect to %w", ErrRefused, err)
	}
	if from.Scheme == "https" && to.Scheme != "https" {
		return nil, fmt.Errorf("%w: redirect from https to %s", ErrRefused, clip(redact.URL(to.String())))
	}
	if !c.places.mayFollow(from.Hostname(), to.Hostname()) {
		return nil, fmt.Errorf("%w: redirect to another host, %s (--allow-host %s lets it be followed)", ErrRefused, clip(redact.URL(to.String())), to.Hostname())
	}
	return to, nil
}

// send sends one request within the host's manners.
func (c *Client) send(ctx context.Context, method string, u *url.URL, header http.Header) (*response, error) {
	release, err := c.pace.acquire(ctx, u.Hostname())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, schemeKey{}, u.Scheme))
	finish := func() { cancel(nil); release() }
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		finish()
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", c.options.userAgent())
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		err = causeOf(ctx, err) // before finish gives it one of its own
		finish()
		return nil, err
	}
	c.answered.Store(true)
	w := &watched{client: c, body: resp.Body, ctx: ctx}
	stall := c.options.Stall
	if c.stallOf != nil {
		stall = c.stallOf(resp.Header)
	}
	w.watch(cancel, stall)
	resp.Body = w
	return &response{resp, u.Hostname(), finish}, nil
}

// causeOf prefers the reason why a request was given up to the way it shows.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// errStalled says that a transfer brought nothing for too long.
var errStalled = errors.New("no data for too long")

// slowest is how few bytes in the time of Options.Stall are taken for none: a
// server that sends a byte now and then would hold a run for ever.
const slowest = 1 << 10

// watched is a body that is given up when it stalls.
type watched struct {
	client  *Client
	body    io.ReadCloser
	ctx     context.Context
	bytes   atomic.Int64 // since the timer last fired
	waiting atomic.Bool  // for the server, not for our own limits

	mu     sync.Mutex // guards what follows
	timer  *time.Timer
	closed bool
}

func (w *watched) watch(cancel context.CancelCauseFunc, stall time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting.Store(true)
	w.timer = time.AfterFunc(stall, func() {
		if w.waiting.Load() && w.bytes.Swap(0) < slowest {
			cancel(fmt.Errorf("%w (%v)", errStalled, stall))
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.closed {
			w.timer.Reset(stall)
		}
	})
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	w.bytes.Add(int64(n))
	w.client.received.Add(int64(n))
	if err != nil && err != io.EOF {
		err = causeOf(w.ctx, err)
	}
	if n > 0 {
		w.waiting.Store(false)
		if err := w.client.pace.spend(w.ctx, n); err != nil {
			return n, err
		}
		w.waiting.Store(true)
	}
	return n, err
}

func (w *watched) Close() error {
	w.mu.Lock()
	w.closed = true
	w.timer.Stop()
	w.mu.Unlock()
	return w.body.Close()
}

// A statusError is an answer that is not what was asked for.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string {
	hint := ""
	switch e.status {
	case http.StatusForbidden, http.StatusUnauthorized:
		hint = ": the server refuses us; with --contact it knows whom it deals with"
	}
	return fmt.Sprintf("status %s%s", clip(strings.TrimSpace(e.text)), hint)
}

// statusOf turns an answer's status into an error, nil for success. What may be
// better later is a plain error; what will not is marked.
func (c *Client) statusOf(r *response) error {
	s := r.StatusCode
	failure := &statusError{s, r.Status}
	switch {
	case s == http.StatusOK || s == http.StatusPartialContent:
		return nil
	case s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable:
		return c.throttled(r, failure)
	case s == http.StatusNotFound || s == http.StatusGone:
		return &fatalError{fmt.Errorf("%w: %w", ErrNotFound, failure)}
	case s == http.StatusRequestTimeout || s == http.StatusTooEarly || s >= 500:
		return failure
	}
	return &fatalError{failure}
}

// throttled holds the host for as long as it wishes.
func (c *Client) throttled(r *response, failure error) error {
	wait, ok := parseRetryAfter(r.Header.Get("Retry-After"), c.clock.Now())
	if !ok {
		return failure
	}
	if wait > c.options.MaxWait {
		return &fatalError{&waitError{r.StatusCode, wait}}
	}
	c.pace.hold(r.host, wait)
	return &heldError{failure}
}

// A heldError is a failure after which the host named the time to wait, so that
// none is added.
type heldError struct{ error }

func (e *heldError) Unwrap() error { return e.error }

// A fatalError is one that asking again will not mend.
type fatalError struct{ error }

func (e *fatalError) Unwrap() error { return e.error }

// isFatal reports whether asking again cannot help.
func isFatal(ctx context.Context, err error) bool {
	var fatal *fatalError
	return ctx.Err() != nil || errors.As(err, &fatal) || errors.Is(err, ErrRefused) || errors.Is(err, ErrOffline) || isCertificate(err)
}
