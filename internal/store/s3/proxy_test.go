package s3_test

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/store"
	"pretext/pipeline"
	"pretext/pipeline/stage"
)

// A badNetwork is a proxy before the server that fails a part of the requests.
// It fails none until its tests say so.
type badNetwork struct {
	proxy *httputil.ReverseProxy

	mu     sync.Mutex
	random *rand.Rand // nil: nothing fails
	met    map[string]int
}

// network stands between the client of all tests and MinIO.
var network badNetwork

// start starts the proxy before a server and returns its address.
func (n *badNetwork) start(server string) (address string, stop func()) {
	n.proxy = &httputil.ReverseProxy{
		// The Host header, which the client has signed, stays.
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: server})
			r.Out.Host = r.In.Host
		},
	}
	s := httptest.NewServer(n)
	return s.Listener.Addr().String(), s.Close
}

// spoil makes requests fail until the test ends, and returns a function for the
// number of each fault that was met.
func (n *badNetwork) spoil(t *testing.T) (met func() map[string]int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.random, n.met = rand.New(rand.NewPCG(1, 2)), map[string]int{}
	t.Cleanup(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.random = nil
	})
	return func() map[string]int {
		n.mu.Lock()
		defer n.mu.Unlock()
		return maps.Clone(n.met)
	}
}

// fault draws what happens to a request, "" for nothing.
func (n *badNetwork) fault(method string) (name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.random == nil {
		return ""
	}
	switch k := n.random.IntN(100); {
	case k < 5:
		name = "error"
	case k < 7:
		name = "reset"
	case k < 9:
		name = "delay"
	case k < 12 && method != http.MethodGet && method != http.MethodHead:
		name = "lost reply"
	case k < 12 && method == http.MethodGet:
		name = "truncated"
	default:
		return ""
	}
	n.met[name]++
	return name
}

func (n *badNetwork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch n.fault(r.Method) {
	case "error":
		http.Error(w, "<Error><Code>InternalError</Code></Error>", http.StatusInternalServerError)
	case "reset":
		panic(http.ErrAbortHandler)
	case "delay":
		time.Sleep(500 * time.Millisecond)
		n.proxy.ServeHTTP(w, r)
	case "lost reply":
		n.proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case "truncated":
		reply := httptest.NewRecorder()
		n.proxy.ServeHTTP(reply, r)
		maps.Copy(w.Header(), reply.Header())
		body := reply.Body.Bytes()
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(reply.Code)
		w.Write(body[:len(body)/2]) //nolint:errcheck // the connection is cut anyway
		panic(http.ErrAbortHandler)
	default:
		n.proxy.ServeHTTP(w, r)
	}
}

// A run and a large file survive a network that fails one request in eight,
// also after the server has done it.
func TestS3SurvivesABadNetwork(t *testing.T) {
	out := location(t)
	disk := pipeline.DemoConfig(filepath.Join(t.TempDir(), "run"))
	if _, err := pipeline.Demo(t.Context(), stage.Runner{Workers: 2}, disk); err != nil {
		t.Fatal(err)
	}
	met := network.spoil(t)
	if _, err := pipeline.Demo(t.Context(), stage.Runner{Workers: 2}, pipeline.DemoConfig(out)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(hashes(t, disk.Out), hashes(t, out)); diff != "" {
		t.Errorf("-disk +S3:\n%s", diff)
	}
	if err := writeAndRead(t, out); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"error", "reset", "delay", "lost reply", "truncated"} {
		if met()[name] == 0 {
			t.Errorf("the fault %q was not met: %v", name, met())
		}
	}
	t.Log(met())
}

// writeAndRead writes a file in parts and reads it back.
func writeAndRead(t *testing.T, out string) error {
	folder, err := store.Open(out)
	if err != nil {
		return err
	}
	random := rand.NewChaCha8([32]byte{7})
	content := make([]byte, 40<<20)
	if _, err := io.ReadFull(random, content); err != nil {
		return err
	}
	if err := store.WriteFile(t.Context(), folder, "large.bin", content); err != nil {
		return err
	}
	got, err := store.ReadFile(t.Context(), folder, "large.bin")
	if err != nil {
		return err
	}
	if string(got) != string(content) {
		return fmt.Errorf("large.bin has other content: %d bytes, want %d", len(got), len(content))
	}
	return nil
}
