package download

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// privateAddress reports whether an address is of no public network: such a one
// would reach what only this machine and its neighbours may ask.
func privateAddress(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return true
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// reserved are the networks that netip does not count as private but that lead
// to no public host (IANA's special-purpose address registries).
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), // IPv4 addresses, private ones too, behind NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("fec0::/10"), // site-local
}

// schemeKey carries a request's scheme to the dialer, which has only a context.
type schemeKey struct{}

// A dialer connects to public addresses only. The address is checked after the
// name was looked up, when the connection is made: a name that answers
// differently each time gains nothing.
type dialer struct {
	private bool // private addresses are allowed
	timeout time.Duration
	proxy   func(address string) bool // whether it is the user's own proxy, which may be private
	count   func(opened int)          // +1 and -1; for tests
	limit   func(host string) int     // connections

	mu    sync.Mutex
	slots map[string]chan struct{} // by address
}

func newDialer(o Options, p *places) *dialer {
	limit := func(host string) int { return p.mannerOf(host).connections }
	return &dialer{private: o.AllowPrivate, timeout: min(30*time.Second, o.Stall), proxy: isProxy, limit: limit, slots: map[string]chan struct{}{}}
}

// DialContext is the dialer of an [http.Transport].
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	scheme, _ := ctx.Value(schemeKey{}).(string)
	control := func(_, resolved string, _ syscall.RawConn) error { return d.check(scheme, resolved) }
	if d.proxy(address) {
		control = nil
	}
	slots := d.slotsOf(address)
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c, err := (&net.Dialer{Timeout: d.timeout, Control: control}).DialContext(ctx, network, address)
	if err != nil {
		<-slots
		return nil, err
	}
	d.opened(1)
	return &countedConn{Conn: c, closed: sync.OnceFunc(func() { d.opened(-1); <-slots })}, nil
}

// slotsOf returns the slots of an address. The transport has a limit of its own,
// but takes a connection off it a moment before it closes it.
func (d *dialer) slotsOf(address string) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	slots := d.slots[address]
	if slots == nil {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		slots = make(chan struct{}, d.limit(host))
		d.slots[address] = slots
	}
	return slots
}

func (d *dialer) opened(n int) {
	if d.count != nil {
		d.count(n)
	}
}

func (d *dialer) check(scheme, resolved string) error {
	at, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return fmt.Errorf("%w: address %q cannot be understood", ErrRefused, clip(resolved))
	}
	private := privateAddress(at.Addr())
	switch {
	case private && !d.private:
		return fmt.Errorf("%w: %s is an address of a private network (--allow-private lets it be used)", ErrRefused, at.Addr())
	case !private && scheme != "https":
		return fmt.Errorf("%w: plain http to %s, which is no private address", ErrRefused, at.Addr())
	}
	return nil
}

// isProxy reports whether an address is that of the proxy which the environment
// names.
func isProxy(address string) bool {
	for _, scheme := range []string{"https", "http"} {
		// A host of no meaning: what matters is which proxy serves the scheme.
		u, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "dumps.wikimedia.org"}})
		if err == nil && u != nil && proxyAddress(u) == address {
			return true
		}
	}
	return false
}

func proxyAddress(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.closed()
	return err
}

// newTransport returns a transport that changes nothing of what servers send,
// speaks HTTP/1.1 (so that connections are what is counted) and has no more of
// them than manners allow.
func newTransport(o Options, d *dialer) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            d.DialContext,
		DisableCompression:     true, // what lies compressed is wanted so
		MaxConnsPerHost:        o.Connections,
		MaxIdleConnsPerHost:    o.Connections,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    min(30*time.Second, o.Stall),
		ResponseHeaderTimeout:  o.Stall,
		MaxResponseHeaderBytes: 64 << 10,
		ReadBufferSize:         64 << 10,
	}
}
