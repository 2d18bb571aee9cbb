package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pretext/internal/redact"
)

// A Client sends requests to servers. Connections stay open until [Client.Close].
type Client struct {
	options   Options
	places    *places
	pace      *pace
	clock     clock
	transport *http.Transport
	received  atomic.Int64
	answered  atomic.Bool // some server has responded

	// stallOf replaces [Options.Stall] for the body of a response. Only tests
	// set it, to a shorter or longer time.
	stallOf func(http.Header) time.Duration
}

// NewClient returns a client with the options o, or an error if they are
// invalid.
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

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Received returns the number of bytes of response bodies received so far.
func (c *Client) Received() int64 { return c.received.Load() }

// maxHops is the maximum number of consecutive redirects that are followed.
const maxHops = 5

// A response is an HTTP response. It occupies one of its host's slots ([pace]) until it
// is closed.
type response struct {
	*http.Response
	host   string
	finish func()
}

// close closes the body and releases the slot.
func (r *response) close() {
	r.Body.Close()
	r.finish()
}

// open sends a request and follows redirects. If hardly any data arrives for
// [Options.Stall], reading the response's body fails.
func (c *Client) open(ctx context.Context, method, address string, header http.Header) (*response, error) {
	if c.options.Offline {
		return nil, fmt.Errorf("get %s: %w: no connection is allowed", redact.URL(address), ErrOffline)
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
		if !slices.Contains(redirects, r.StatusCode) {
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

// redirects are the HTTP status codes that mean a redirect.
var redirects = []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}

// redirect returns the target of a redirect, or an error if the redirect is not
// allowed.
func (c *Client) redirect(from *url.URL, location string) (*url.URL, error) {
	to, err := from.Parse(location)
	if err != nil || location == "" {
		return nil, fmt.Errorf("%w: redirect to %q, which is not a URL", ErrRefused, clip(redact.URL(location)))
	}
	if _, err := parseURL(to.String(), c.options.AllowPrivate); err != nil {
		return nil, fmt.Errorf("%w: redirect to %w", ErrRefused, err)
	}
	if from.Scheme == "https" && to.Scheme != "https" {
		return nil, fmt.Errorf("%w: redirect from https to %s", ErrRefused, clip(redact.URL(to.String())))
	}
	if !c.places.mayFollow(from.Hostname(), to.Hostname()) {
		return nil, fmt.Errorf("%w: redirect to another host, %s (--allow-host %s allows it)", ErrRefused, clip(redact.URL(to.String())), to.Hostname())
	}
	return to, nil
}

// send waits until the limits of the host allow a request, and sends it. It does not
// follow redirects.
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
		err = causeOf(ctx, err) // finish may set another cause, so get the cause first
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

// causeOf returns the cause for which ctx was cancelled, or err if ctx was not
// cancelled.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// errStalled reports that no data arrived for too long.
var errStalled = errors.New("no data for too long")

// slowest is the minimum number of bytes that must arrive in each period of
// [Options.Stall]. Without this limit, a server that sends single bytes could block a
// run forever.
const slowest = 1 << 10

// A watched is a response body. It cancels its request if hardly any data arrives.
type watched struct {
	client  *Client
	body    io.ReadCloser
	ctx     context.Context
	bytes   atomic.Int64 // bytes received since the timer last fired
	waiting atomic.Bool  // waiting for the server, not for the bandwidth limit

	mu     sync.Mutex // guards timer and closed
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

// A statusError reports a response with an error status.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string {
	hint := ""
	switch e.status {
	case http.StatusForbidden, http.StatusUnauthorized:
		hint = ": the server refuses the request; --contact may help"
	}
	return fmt.Sprintf("status %s%s", clip(strings.TrimSpace(e.text)), hint)
}

// statusOf returns the error for a response's status, or nil for success. If another
// attempt cannot succeed, the error is a [fatalError].
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

// throttled handles a response with Retry-After. It delays further requests to the
// host. If the delay is longer than Options.MaxWait, it returns a [fatalError].
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

// A heldError is a failure with a Retry-After header. The delay before the next attempt
// is already set.
type heldError struct{ error }

func (e *heldError) Unwrap() error { return e.error }

// A fatalError is an error after which another attempt is useless.
type fatalError struct{ error }

func (e *fatalError) Unwrap() error { return e.error }

// isFatal reports whether another attempt after err is useless.
func isFatal(ctx context.Context, err error) bool {
	var fatal *fatalError
	return ctx.Err() != nil || errors.As(err, &fatal) || errors.Is(err, ErrRefused) || errors.Is(err, ErrOffline) || isCertificate(err)
}
