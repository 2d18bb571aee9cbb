package download

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pretext/internal/store"
)

// empty wants a folder to hold no file under a final name.
func empty(t *testing.T, f store.Folder) {
	t.Helper()
	infos, err := f.List(t.Context())
	if err != nil && !os.IsNotExist(err) || len(infos) != 0 {
		t.Errorf("got %v, %v, want no files", infos, err)
	}
}

func TestRedirectsLeadNowhereSurprising(t *testing.T) {
	var asked atomic.Int64
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, "secret")
	}))
	defer inner.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(inner.URL, "http://"), ":")
	for name, location := range map[string]string{
		"to plain http":           "http://dumps.wikimedia.org/x",
		"to another host":         "https://example.org/x",
		"to this machine by name": "https://localhost:" + port + "/x",
		"to the cloud's metadata": "http://169.254.169.254/latest/meta-data/",
		"to metadata by https":    "https://169.254.169.254/latest/",
		"to a file":               "file:///etc/passwd",
		"to another protocol":     "ftp://dumps.wikimedia.org/x",
		"to a user's name":        "https://me:secret@127.0.0.1/x",
		"to nothing":              "",
		"to no URL":               "https://[::1",
		"to a script":             "javascript:alert(1)",
		"around in circles":       "/again",
	} {
		t.Run(name, func(t *testing.T) {
			hops := 0
			outer := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				hops++
				w.Header().Set("Location", location)
				w.WriteHeader(http.StatusFound)
			}))
			defer outer.Close()
			c := newClient(t, quick(outer.URL))
			trust(c, outer)
			out := folder(t)
			_, err := c.Fetch(t.Context(), out.String(), File{Name: "x", URL: outer.URL + "/x"}, Hooks{})
			if !errors.Is(err, ErrRefused) || !errors.Is(err, ErrNetwork) {
				t.Errorf("got %v, want a refusal", err)
			}
			if hops > maxHops+1 {
				t.Errorf("%d requests, want at most %d", hops, maxHops+1)
			}
			empty(t, out)
		})
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests reached the inner server, want none", n)
	}
}

// trust lets a client take the certificate of a test server.
func trust(c *Client, s *httptest.Server) {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	c.transport.TLSClientConfig = &tls.Config{RootCAs: pool}
}

func TestAddressesOfPrivateNetworksAreRefusedWhateverTheirName(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	o := DefaultOptions()
	o.Attempts = 5
	c := newClient(t, o)
	trust(c, server)
	for _, host := range []string{"127.0.0.1", "localhost"} { // an address, and a name that leads to it
		url := strings.Replace(server.URL, "127.0.0.1", host, 1) + "/x"
		_, err := c.Fetch(t.Context(), folder(t).String(), File{Name: "x", URL: url}, Hooks{})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "--allow-private") {
			t.Errorf("%s: got %v, want a refusal that says what lifts it", url, err)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests came, want none", n)
	}
}

func TestPrivateAddressesAreKnown(t *testing.T) {
	for address, private := range map[string]bool{
		"127.0.0.1": true, "127.8.8.8": true, "10.1.2.3": true, "172.16.0.1": true, "192.168.1.1": true, "169.254.169.254": true, "0.0.0.0": true,
		"100.64.0.1": true, "224.0.0.1": true, "255.255.255.255": true, "::1": true, "::": true, "fe80::1": true, "fd00::1": true, "ff02::1": true,
		"::ffff:127.0.0.1": true, "::ffff:10.0.0.1": true, "64:ff9b::a00:1": true, "2002:7f00:1::": true, "198.18.0.1": true,
		"208.80.154.71": false, "8.8.8.8": false, "172.32.0.1": false, "2620:0:861:2::1": false, "::ffff:8.8.8.8": false,
	} {
		if got := privateAddress(netip.MustParseAddr(address)); got != private {
			t.Errorf("%s: private %v, want %v", address, got, private)
		}
	}
}

func TestPlainHTTPIsSpokenInPrivateNetworksAlone(t *testing.T) {
	d := newDialer(quick("http://127.0.0.1"), &places{hosts: map[string]*site{}})
	for _, test := range []struct {
		scheme, address string
		ok              bool
	}{{"http", "127.0.0.1:80", true}, {"http", "8.8.8.8:80", false}, {"https", "8.8.8.8:443", true}, {"https", "10.0.0.1:443", true}, {"https", "nonsense", false}} {
		if err := d.check(test.scheme, test.address); (err == nil) != test.ok {
			t.Errorf("%s to %s: got %v", test.scheme, test.address, err)
		}
	}
	o := DefaultOptions()
	o.Mirrors = []Mirror{{SiteWikimedia, "http://mirror.example.org"}}
	if _, err := NewClient(o); err == nil {
		t.Error("a mirror over plain http: got no error")
	}
}

func TestACertificateThatIsNotTrustedEndsItAtOnce(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { asked.Add(1); return nil, nil }}
	server.Config.ErrorLog = discardLog()
	server.StartTLS()
	defer server.Close()
	c := newClient(t, quick(server.URL))
	_, err := c.Fetch(t.Context(), folder(t).String(), File{Name: "x", URL: server.URL + "/x"}, Hooks{})
	if !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v, want the certificate named", err)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("%d handshakes, want one: it will not be better the next time", n)
	}
}

func TestEveryErrorOfACertificateIsKnown(t *testing.T) {
	for _, err := range []error{&tls.CertificateVerificationError{}, x509.UnknownAuthorityError{}, x509.HostnameError{Certificate: &x509.Certificate{}}, x509.CertificateInvalidError{}} {
		if !isCertificate(fmt.Errorf("get: %w", err)) {
			t.Errorf("%T is taken for an error of the network", err)
		}
	}
	if isCertificate(io.ErrUnexpectedEOF) {
		t.Error("a cut connection is taken for an error of a certificate")
	}
}

func TestOfflineOpensNoConnection(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	o := quick(server.URL)
	o.Offline = true
	c := newClient(t, o)
	var dials highest
	watchConnections(c, &dials)
	out := folder(t)
	content := "what is there already"
	if err := store.WriteFile(t.Context(), out, "have", []byte(content)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Fetch(t.Context(), out.String(), File{Name: "have", URL: server.URL + "/have", Checksum: sumOf(content)}, Hooks{}); err != nil {
		t.Errorf("a file that is there: %v", err)
	}
	for _, f := range []File{{Name: "have", URL: server.URL + "/have", Checksum: sumOf("something else")}, {Name: "not", URL: server.URL + "/not"}} {
		if _, err := c.Fetch(t.Context(), out.String(), f, Hooks{}); !errors.Is(err, ErrOffline) {
			t.Errorf("%s: got %v, want %v", f.Name, err, ErrOffline)
		}
	}
	if _, err := c.Resolve(t.Context(), Request{Kind: Gutenberg}); !errors.Is(err, ErrOffline) {
		t.Errorf("resolve: got %v, want %v", err, ErrOffline)
	}
	if n := dials.get(); n != 0 || asked.Load() != 0 {
		t.Errorf("%d connections, %d requests, want none", n, asked.Load())
	}
}

func TestListsAndFilesHaveLimits(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/endless") {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}
		w.Header().Set("Content-Length", "99999999")
		w.Write(make([]byte, 1<<16))
	}))
	defer server.Close()
	o := quick(server.URL)
	o.MaxBytes = 1 << 20
	c := newClient(t, o)
	for _, path := range []string{"/endless", "/long"} {
		if _, err := c.get(t.Context(), server.URL+path, 1<<20); !errors.Is(err, ErrRefused) {
			t.Errorf("list %s: got %v, want a refusal", path, err)
		}
		_, err := c.Fetch(t.Context(), folder(t).String(), File{Name: "x", URL: server.URL + path, Checksum: sumOf("x")}, Hooks{})
		if !errors.Is(err, ErrRefused) {
			t.Errorf("file %s: got %v, want a refusal", path, err)
		}
	}
	if n := c.Received(); n > 8<<20 {
		t.Errorf("received %d bytes, want little more than the limits", n)
	}
}

func TestServersAreLeftAloneForAsLongAsTheyWish(t *testing.T) {
	clock := &fakeClock{now: time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)}
	start := clock.Now()
	answers := []struct{ status, after string }{{"429", "30"}, {"503", start.Add(90 * time.Second).Format(http.TimeFormat)}, {"429", "5"}, {"200", ""}}
	var times []time.Duration
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a := answers[len(times)]
		times = append(times, clock.Now().Sub(start))
		w.Header().Set("Retry-After", a.after)
		var status int
		fmt.Sscan(a.status, &status)
		w.WriteHeader(status)
	}))
	defer server.Close()
	c := newClient(t, quick(server.URL))
	c.setClock(clock)
	if _, err := c.get(t.Context(), server.URL+"/x", 10); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{0, 30 * time.Second, 90 * time.Second, 95 * time.Second}; !slices.Equal(times, want) {
		t.Errorf("asked at %v, want %v", times, want)
	}
	answers, times = []struct{ status, after string }{{"503", "86400"}}, nil
	if _, err := c.get(t.Context(), server.URL+"/x", 10); !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), "24h0m0s") {
		t.Errorf("a day's wait: got %v, want it to be named", err)
	}
}

func TestBandwidthIsSharedByAllConnections(t *testing.T) {
	content := strings.Repeat("x", 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, content) }))
	defer server.Close()
	o := quick(server.URL)
	o.Bandwidth = 256 << 10
	clock := &fakeClock{now: time.Unix(0, 0)}
	c := newClient(t, o)
	c.setClock(clock)
	out := folder(t)
	for _, name := range []string{"a", "b"} {
		if _, err := c.Fetch(t.Context(), out.String(), File{Name: name, URL: server.URL + "/" + name}, Hooks{}); err != nil {
			t.Fatal(err)
		}
	}
	if took := clock.Now().Sub(time.Unix(0, 0)); took < 7*time.Second || took > 9*time.Second {
		t.Errorf("2 MiB took %v, want 8 s", took)
	}
}

func TestADateThatIsGoneIsToldWithTheNearest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/other/mediawiki_content_current/tinywiki/":
			fmt.Fprint(w, `<a href="2026-07-01/"><a href="2026-08-01/">`)
		case "/tinywiki/":
			fmt.Fprint(w, `<a href="20260120/"><a href="20260601/">`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	c := newClient(t, quick(server.URL))
	for wiki, want := range map[string]string{"tinywiki@2026-05-20": "the nearest is tinywiki@2026-06-01", "tinywiki@20200101": "nearest is tinywiki@2026-01-20",
		"nowiki": "is that the name of a wiki?", "tinywiki": "none of the newest dumps is complete"} {
		r, err := ParseWiki(wiki)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Resolve(t.Context(), r); !errors.Is(err, ErrNotFound) || errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", wiki, err, want)
		}
	}
}
