package download

import (
	"cmp"
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

// privateAddress reports whether an address is not public: it may belong to a
// service that only this machine or its local network should be able to reach.
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

// reserved are networks without public hosts that package netip does not classify as
// private (IANA's special-purpose address registries).
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), // IPv4 addresses, including private ones, through NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("fec0::/10"), // site-local
}

// schemeKey is the context key for the scheme of a request, "http" or "https".
type schemeKey struct{}

// A dialer connects only to public addresses. It checks the address of each
// connection after the host name was resolved, so a name that resolves to
// changing addresses cannot bypass the check.
type dialer struct {
	private bool // private addresses are allowed
	timeout time.Duration
	proxy   func(address string) bool // reports whether address is the user's proxy, which may be private
	count   func(opened int)          // called with +1 and -1; for tests
	limit   func(host string) int     // returns the maximum number of connections to a host

	mu    sync.Mutex
	slots map[string]chan struct{} // by address; each channel has one element per open connection
}

func newDialer(o Options, p *places) *dialer {
	limit := func(host string) int { return p.mannerOf(host).connections }
	return &dialer{private: o.AllowPrivate, timeout: min(30*time.Second, o.Stall), proxy: isProxy, limit: limit, slots: map[string]chan struct{}{}}
}

// DialContext connects to an address. It is called by [http.Transport].
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

// slotsOf returns the connection slots of an address. The limit of http.Transport does
// not suffice: it no longer counts a connection just before the connection is closed.
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
		return fmt.Errorf("%w: invalid address %q", ErrRefused, clip(resolved))
	}
	private := privateAddress(at.Addr())
	switch {
	case private && !d.private:
		return fmt.Errorf("%w: %s is an address of a private network (--allow-private allows it)", ErrRefused, at.Addr())
	case !private && scheme != "https":
		return fmt.Errorf("%w: plain http to %s, which is not a private address", ErrRefused, at.Addr())
	}
	return nil
}

// isProxy reports whether address is the address of the proxy set by environment
// variables.
func isProxy(address string) bool {
	for _, scheme := range []string{"https", "http"} {
		// Only the scheme matters here. Any host may be used.
		u, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "dumps.wikimedia.org"}})
		if err != nil || u == nil {
			continue
		}
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme])
		if net.JoinHostPort(u.Hostname(), port) == address {
			return true
		}
	}
	return false
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

// newTransport returns a transport that limits the connections to each host and
// does not decompress bodies. It uses HTTP/1.1, because with HTTP/2 a limit of
// connections would not limit the requests.
func newTransport(o Options, d *dialer) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            d.DialContext,
		DisableCompression:     true, // compressed files stay compressed
		MaxConnsPerHost:        o.Connections,
		MaxIdleConnsPerHost:    o.Connections,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    min(30*time.Second, o.Stall),
		ResponseHeaderTimeout:  o.Stall,
		MaxResponseHeaderBytes: 64 << 10,
		ReadBufferSize:         64 << 10,
	}
}
