//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/democorpus"
	"pretext/internal/store"
	"pretext/sharding"
)

// aWiki serves the demo's dump as a content export of demowiki, and one book.
func aWiki(t *testing.T) *httptest.Server {
	t.Helper()
	const root, name = "/other/mediawiki_content_current/demowiki/", "demowiki-2026-09-01-p1p999.xml.bz2"
	mux := http.NewServeMux()
	mux.HandleFunc(root+"{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<a href="2026-09-01/">2026-09-01/</a>`) })
	folder := root + "2026-09-01/xml/bzip2/"
	mux.HandleFunc(folder+"_SUCCESS", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc(folder+"SHA256SUMS", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(democorpus.Dump()), name)
	})
	mux.HandleFunc(folder+name, func(w http.ResponseWriter, _ *http.Request) { w.Write(democorpus.Dump()) })
	mux.HandleFunc("/cache/epub/7/pg7.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("A short book.\n\n" + strings.Repeat("It has a sentence that is often said again. ", 200)))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// mirrored are the flags that make downloads use a server on this machine.
func mirrored(server *httptest.Server, args ...string) []string {
	return append(args, "--set=allow-private", "--set", "mirror=wikimedia="+server.URL, "--set", "mirror=gutenberg="+server.URL, "--set=book-pause=0s", "--contact=tests@example.org")
}

func TestARunDownloadsItsSources(t *testing.T) {
	t.Parallel()
	server := aWiki(t)
	out := t.TempDir()
	args := mirrored(server, "run", "--quiet", "--wiki=demowiki", "--gutenberg-ids=7", "--vocab-size=1000", "--shards=2", "--dupe-factor=1", "--out", out)
	prepareData(t, args...).succeed(t)
	prepareData(t, "verify", out).succeed(t)
	again := filepath.Join(t.TempDir(), "again")
	asTheCardSays(t, out, mirrored(server, "--quiet", "--out", again)...)
	for _, folder := range []string{"documents", "shards"} {
		want, err := os.ReadFile(filepath.Join(out, folder, sharding.ManifestName))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(again, folder, sharding.ManifestName)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("the command on the card makes other %s (%v)", folder, err)
		}
	}
	server.Close()
	prepareData(t, append(args, "--offline")...).succeed(t) // all is there
	sources := filepath.Join(out, "sources")
	prepareData(t, "extract", "--quiet", "--wiki-dump", sources, "--books", sources, "--out", t.TempDir()).succeed(t)
}

// asTheCardSays runs the command in the card of a run, with additional flags.
func asTheCardSays(t *testing.T, run string, more ...string) {
	t.Helper()
	card := filepath.Join(t.TempDir(), "README.md")
	prepareData(t, "card", run, "--out", card).succeed(t)
	b, err := os.ReadFile(card)
	if err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(string(b), "\nprepare-data run \\\n")
	command, _, found := strings.Cut(command, " \\\n  --out DIR")
	if !found {
		t.Fatalf("no command on the card:\n%s", b)
	}
	for _, want := range []string{"--wiki demowiki@2026-09-01", "--set wiki-layout=content", "--gutenberg-ids 7"} {
		if !strings.Contains(command, want) {
			t.Errorf("got the command\n%s\nwant %s in it", command, want)
		}
	}
	args := strings.Fields(strings.ReplaceAll(command, "\\\n", ""))
	prepareData(t, slices.Concat([]string{"run"}, args, more)...).succeed(t)
}

// A slowWiki serves files slowly, so that a process can be stopped in the middle, and
// counts the bytes sent of each file.
type slowWiki struct {
	*httptest.Server
	content map[string][]byte // by path
	sent    atomic.Int64
	asked   atomic.Int64
	stopAt  atomic.Int64 // offset at which responses wait for their client to go; 0: none

	mu     sync.Mutex
	ranges map[string][]int // by path: the offsets from which requests asked for content
}

// takeRanges returns the offsets from which content was requested, by path, and
// clears the list.
func (s *slowWiki) takeRanges() map[string][]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.ranges
	s.ranges = map[string][]int{}
	return taken
}

func newSlowWiki(t *testing.T, files, bytes int) *slowWiki {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	s := &slowWiki{content: map[string][]byte{}, ranges: map[string][]int{}}
	for i := range files {
		b := make([]byte, bytes)
		for j := range b {
			b[j] = byte(random.Uint32())
		}
		s.content[fmt.Sprintf("/corpus/part%d.tar.gz", i)] = b
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *slowWiki) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	content := s.content[r.URL.Path]
	from := 0
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		return
	}
	w.Header().Set("ETag", `"1"`)
	if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); n == 1 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
		w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	}
	s.mu.Lock()
	s.ranges[r.URL.Path] = append(s.ranges[r.URL.Path], from)
	s.mu.Unlock()
	for rest := content[from:]; len(rest) > 0; {
		n := min(len(rest), 8<<10)
		if stop := int(s.stopAt.Load()); stop > 0 {
			n = min(n, stop-(len(content)-len(rest)))
		}
		if n <= 0 {
			<-r.Context().Done()
			return
		}
		if _, err := w.Write(rest[:n]); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		s.sent.Add(int64(n))
		rest = rest[n:]
		time.Sleep(5 * time.Millisecond)
	}
}

// args returns the flags that download all files of the server.
func (s *slowWiki) args(out string) []string {
	args := []string{"download", "--quiet", "--set=allow-private", "--out", out}
	for _, path := range slices.Sorted(maps.Keys(s.content)) {
		args = append(args, "--url", s.URL+path, "--sha256", fmt.Sprintf("%x", sha256.Sum256(s.content[path])))
	}
	return args
}

// Each process is killed when the server has sent a certain number of bytes of every
// file and all of them are in the partial files. So the test does not depend on the
// speed of the machine.
func TestADownloadThatIsKilledResumesInTheMiddleOfItsFiles(t *testing.T) {
	t.Parallel()
	const size = 300_000
	s := newSlowWiki(t, 3, size)
	undisturbed := t.TempDir()
	prepareData(t, s.args(undisturbed)...).succeed(t)
	s.takeRanges()
	out := t.TempDir()
	want := []int{}
	for at := 50_000; at < size; at += 100_000 {
		s.stopAt.Store(int64(at))
		p := prepareData(t, append(s.args(out), "--set=max-conn=3")...)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan int, 1)
		go func() { done <- p.wait(t) }()
		for !partialsAre(t, out, 3, at) {
			if len(done) > 0 {
				t.Fatalf("exit code %d before a byte after %d was sent: %s", <-done, at, p.stderr.String())
			}
			time.Sleep(time.Millisecond)
		}
		p.Process.Kill()
		<-done
		if _, err := os.Stat(filepath.Join(out, sharding.ManifestName)); err == nil {
			t.Fatal("a manifest stands in a folder that is not finished")
		}
		want = append(want, at)
	}
	s.stopAt.Store(0)
	prepareData(t, s.args(out)...).succeed(t)
	if diff := cmp.Diff(readTree(t, undisturbed), readTree(t, out)); diff != "" {
		t.Errorf("other files than of an undisturbed run (-want +got):\n%s", diff)
	}
	want = append([]int{0}, want...)
	for path, got := range s.takeRanges() {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: starts of the requests differ, bytes were sent twice or left out (-want +got):\n%s", path, diff)
		}
	}
	prepareData(t, "verify", out).succeed(t)
}

// partialsAre reports whether a folder holds n partial files of a size.
func partialsAre(t *testing.T, folder string, n, size int) bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, store.PartialPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Size() == int64(size) {
			n--
		}
	}
	return n == 0
}

func TestAnInterruptedDownloadGoesOn(t *testing.T) {
	t.Parallel()
	s := newSlowWiki(t, 2, 2_000_000)
	out := t.TempDir()
	p := prepareData(t, s.args(out)...)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	for s.sent.Load() < 100_000 {
		time.Sleep(time.Millisecond)
	}
	p.Process.Signal(syscall.SIGINT)
	if code := p.wait(t); code != 130 {
		t.Errorf("exit code %d, want 130: %s", code, p.stderr.String())
	}
	p.oneLine(t, "interrupted", "run the same command again")
	noTemporary(t, "interrupted", out, p.temp)
	prepareData(t, append(s.args(out), "--url", s.URL+"/other")...).fail(t, 2, "other options", "now also "+s.URL+"/other", "--overwrite")
	prepareData(t, append(s.args(out), "--offline")...).fail(t, 5, "offline")
}

func TestDownloadsThatFailSayWhy(t *testing.T) {
	t.Parallel()
	s := newSlowWiki(t, 1, 10_000)
	url := s.URL + "/corpus/part0.tar.gz"
	wrong := strings.Repeat("ab", 32)
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	for _, test := range []struct {
		name string
		code int
		word string
		args []string
	}{
		{"a checksum that is not the file's", 4, "the command line says sha256:" + wrong, []string{"--url", url, "--sha256", wrong}},
		{"an address of this machine", 5, "--set allow-private", []string{"--url", "https" + strings.TrimPrefix(url, "http"), "--set=allow-private=false"}},
		{"a wiki that is not there", 2, "is that the name of a wiki", []string{"--wiki", "nowiki", "--contact=x", "--set", "mirror=wikimedia=" + gone.URL}},
		{"a server that is not there", 5, "refused", []string{"--url", "http://127.0.0.1:1/x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := t.TempDir()
			p := prepareData(t, append([]string{"download", "--quiet", "--set=allow-private", "--backoff=1ms", "--out", out}, test.args...)...)
			p.fail(t, test.code, test.word)
			if _, err := os.Stat(filepath.Join(out, sharding.ManifestName)); err == nil {
				t.Error("a manifest stands in a folder that is not finished")
			}
		})
	}
}

func TestAFullDiskEndsADownloadThatLaterGoesOn(t *testing.T) {
	t.Parallel()
	s := newSlowWiki(t, 1, 300_000)
	out := t.TempDir()
	shell(t, "ulimit -f 100", s.args(out)...).fail(t, 6, "part0.tar.gz", "run the same command again")
	s.sent.Store(0)
	prepareData(t, s.args(out)...).succeed(t)
	if sent := s.sent.Load(); sent > 280_000 {
		t.Errorf("%d bytes sent again, want only the rest", sent)
	}
	prepareData(t, "verify", out).succeed(t)
}
