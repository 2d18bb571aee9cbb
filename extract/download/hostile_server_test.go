package download

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// A fault is one way in which a server answers wrongly, once.
type fault string

const (
	reset         fault = "connection reset"
	short         fault = "body shorter than announced"
	throttled     fault = "429 with seconds"
	unavailable   fault = "503 with a date"
	broken        fault = "500"
	stall         fault = "nothing comes any more"
	ignoredRange  fault = "whole file instead of a range"
	wrongRange    fault = "another range than asked for"
	wrongLength   fault = "announced length too small"
	cleanCut      fault = "body of unknown length ends early"
	flippedByte   fault = "a byte is not what it was"
	changedTag    fault = "another version"
	garbageTail   fault = "bytes after the end"
	unsatisfiable fault = "416 for a sound range"
	packedBody    fault = "packed though asked not to"
	brokenTLS     fault = "TLS handshake fails"
	wholeRedirect fault = "redirect to itself and back" // one hop, harmless
)

// Faults that any file may have; that only files with a checksum may have, since
// nobody could notice; and those that need bytes to be there already.
var (
	plainFaults    = []fault{reset, short, throttled, unavailable, broken, stall, brokenTLS, wholeRedirect}
	bookFaults     = append(slices.Clip(plainFaults), ignoredRange, wrongRange, changedTag, unsatisfiable, packedBody)
	verifiedFaults = append(slices.Clip(bookFaults), wrongLength, cleanCut, flippedByte, garbageTail)
	rangeFaults    = []fault{ignoredRange, wrongRange, changedTag, unsatisfiable}
)

// A served file is what lies at a path, and what goes wrong with it.
type served struct {
	content []byte
	version int
	faults  []fault // of the next requests
	list    bool
	book    bool // no checksum tells what is right
}

// A hostileServer imitates the layouts of Wikimedia and Project Gutenberg and
// misbehaves by a seed.
type hostileServer struct {
	*httptest.Server
	clock  *fakeClock
	agent  string
	secure bool

	mu         sync.Mutex
	random     *rand.Rand
	files      map[string]*served
	requests   []Request
	problems   []string
	handshakes int // that still fail
	met        map[fault]int
	quit       chan struct{}
}

// fakeClock moves only when somebody sleeps.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d > 0 {
		c.now = c.now.Add(d)
	}
	return ctx.Err()
}

func newHostileServer(seed uint64, agent string) *hostileServer {
	s := &hostileServer{random: rand.New(rand.NewPCG(seed, 6)), files: map[string]*served{}, agent: agent, met: map[fault]int{}, quit: make(chan struct{}),
		clock: &fakeClock{now: time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)}}
	s.secure = s.random.IntN(2) == 0
	switch s.random.IntN(4) {
	case 0:
		s.contentExport()
	case 1:
		s.legacyDump()
	case 2:
		s.bookMirror()
	case 3:
		s.plainFiles()
	}
	s.assignFaults()
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.answer))
	s.Config.ErrorLog = discardLog()
	if s.secure {
		s.TLS = &tls.Config{GetConfigForClient: s.hello}
		s.StartTLS()
	} else {
		s.Start()
	}
	for i := range s.requests {
		if r := &s.requests[i]; r.Kind == URL {
			r.URL = s.URL + r.URL
		}
	}
	return s
}

func (s *hostileServer) hello(*tls.ClientHelloInfo) (*tls.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handshakes > 0 {
		s.handshakes--
		s.met[brokenTLS]++
		return nil, errors.New("not now")
	}
	return nil, nil
}

func (s *hostileServer) bytes() []byte {
	b := make([]byte, 1+s.random.IntN(96<<10))
	for i := range b {
		b[i] = byte(s.random.Uint32())
	}
	return b
}

func (s *hostileServer) contentExport() {
	const root = "/other/mediawiki_content_current/tinywiki/"
	folder := root + "2026-08-01/xml/bzip2/"
	var sums strings.Builder
	for i := range 1 + s.random.IntN(3) {
		name := fmt.Sprintf("tinywiki-2026-08-01-p%dp%d.xml.bz2", 100*i+1, 100*i+100)
		f := &served{content: s.bytes()}
		s.files[folder+name] = f
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.content), name)
	}
	s.files[root] = &served{list: true, content: []byte(`<a href="../">../</a><a href="2026-08-01/">2026-08-01/</a><a href="2026-09-01/">2026-09-01/</a>`)}
	s.files[folder+"_SUCCESS"] = &served{list: true}
	s.files[folder+"SHA256SUMS"] = &served{list: true, content: []byte(sums.String())}
	s.requests = []Request{{Kind: Wiki, Wiki: "tinywiki", Date: Latest, Layout: LayoutAuto}}
}

func (s *hostileServer) legacyDump() {
	const folder = "/tinywiki/20260820/"
	var entries []string
	for i := range 1 + s.random.IntN(3) {
		name := fmt.Sprintf("tinywiki-20260820-pages-articles%d.xml-p%dp%d.bz2", i+1, 100*i+1, 100*i+100)
		f := &served{content: s.bytes()}
		s.files[folder+name] = f
		entries = append(entries, fmt.Sprintf(`%q: {"size": %d, "url": "%s%s", "sha1": "%x"}`, name, len(f.content), folder, name, sha1.Sum(f.content)))
	}
	s.files["/tinywiki/"] = &served{list: true, content: []byte(`<a href="20260820/">20260820</a><a href="latest/">latest</a>`)}
	s.files[folder+"dumpstatus.json"] = &served{list: true, content: fmt.Appendf(nil,
		`{"version": "0.8", "jobs": {"articlesdump": {"status": "done", "updated": "2026-08-21 01:02:03", "files": {%s}}}}`, strings.Join(entries, ", "))}
	s.requests = []Request{{Kind: Wiki, Wiki: "tinywiki", Date: Latest, Layout: LayoutLegacy}}
}

func (s *hostileServer) bookMirror() {
	var rows strings.Builder
	rows.WriteString("Text#,Type,Issued,Title,Language,Authors,Subjects,LoCC,Bookshelves\n")
	for i := range 2 + s.random.IntN(3) {
		id := 10 + i
		fmt.Fprintf(&rows, "%d,Text,2001-01-01,\"A Book,\nin two lines\",%s,\"Nobody, N.\",,,\n", id, []string{"en", "de; en"}[i%2])
		s.files[fmt.Sprintf("/cache/epub/%d/pg%d.txt", id, id)] = &served{content: s.bytes(), book: true}
	}
	rows.WriteString("99,Sound,2001-01-01,A Song,en,,,,\n98,Text,2001-01-01,Un livre,fr,,,,\n")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(rows.String()))
	z.Close()
	s.files["/cache/epub/feeds/pg_catalog.csv.gz"] = &served{list: true, content: packed.Bytes()}
	s.requests = []Request{{Kind: Gutenberg, Language: "en"}}
}

func (s *hostileServer) plainFiles() {
	for i := range 1 + s.random.IntN(2) {
		path := fmt.Sprintf("/corpus/part%d.tar.gz", i)
		f := &served{content: s.bytes()}
		s.files[path] = f
		s.requests = append(s.requests, Request{Kind: URL, URL: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(f.content))})
	}
	path := "/corpus/without-checksum.txt"
	s.files[path] = &served{content: s.bytes(), book: true}
	s.requests = append(s.requests, Request{Kind: URL, URL: path})
}

// assignFaults gives each of one to four faults to a file.
func (s *hostileServer) assignFaults() {
	var paths []string
	for p := range s.files {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for range 1 + s.random.IntN(4) {
		f := s.files[paths[s.random.IntN(len(paths))]]
		from := verifiedFaults
		switch {
		case f.list:
			from = plainFaults
		case f.book:
			from = bookFaults
		}
		f.faults = append(f.faults, from[s.random.IntN(len(from))])
	}
}

// dataBytes is what has to be sent at least.
func (s *hostileServer) dataBytes() (n int64) {
	for _, f := range s.files {
		n += int64(len(f.content))
	}
	return n
}

func (s *hostileServer) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if r.UserAgent() != s.agent {
		s.problems = append(s.problems, "user agent "+r.UserAgent())
	}
	path := r.URL.Path
	f := s.files[path]
	if f == nil {
		s.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	var now fault
	ranged := r.Header.Get("Range") != ""
	switch {
	case r.URL.Query().Has("hop") || r.Method == http.MethodHead:
	case len(f.faults) > 0 && !ranged && slices.Contains(rangeFaults, f.faults[0]):
		now = reset // so that there is something to ask the rest of
	case len(f.faults) > 0:
		now, f.faults = f.faults[0], f.faults[1:]
	}
	if now == changedTag {
		f.version++
		if f.book {
			f.content = s.bytes()
		}
	}
	if now == brokenTLS {
		if s.secure {
			s.handshakes++
		}
		now = reset
	} else if now != "" {
		s.met[now]++
	}
	a := &answer{w: w, r: r, fault: now, content: f.content, tag: fmt.Sprintf(`"v%d"`, f.version), cut: s.random.IntN(len(f.content) + 1), clock: s.clock, quit: s.quit}
	a.rangeAnyway = s.random.IntN(2) == 0
	s.mu.Unlock()
	a.send()
}

// An answer is one response under a fault.
type answer struct {
	w           http.ResponseWriter
	r           *http.Request
	fault       fault
	content     []byte
	tag         string
	cut         int // a place in content
	rangeAnyway bool
	clock       *fakeClock
	quit        chan struct{}
}

func (a *answer) send() {
	h := a.w.Header()
	h.Set("ETag", a.tag)
	h.Set("Content-Type", "application/octet-stream")
	switch a.fault {
	case throttled:
		h.Set("Retry-After", "7")
		a.w.WriteHeader(http.StatusTooManyRequests)
	case unavailable:
		h.Set("Retry-After", a.clock.Now().Add(5*time.Second).Format(http.TimeFormat))
		a.w.WriteHeader(http.StatusServiceUnavailable)
	case broken:
		a.w.WriteHeader(http.StatusInternalServerError)
	case unsatisfiable:
		a.w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
	case wholeRedirect:
		http.Redirect(a.w, a.r, a.r.URL.Path+"?hop", http.StatusFound)
	case packedBody:
		h.Set("Content-Encoding", "gzip")
		a.w.Write([]byte("not even packed"))
	default:
		a.body()
	}
}

// body sends the content, or the rest of it that was asked for.
func (a *answer) body() {
	content := a.content
	if a.fault == flippedByte && len(content) > 0 {
		content = bytes.Clone(content)
		content[min(a.cut, len(content)-1)] ^= 0x20
	}
	var from int
	if n, _ := fmt.Sscanf(a.r.Header.Get("Range"), "bytes=%d-", &from); n == 1 && a.fault != ignoredRange {
		tag := a.r.Header.Get("If-Range")
		if (tag != "" && tag != a.tag) && !(a.fault == changedTag && a.rangeAnyway) {
			from = 0
		}
	} else {
		from = 0
	}
	h := a.w.Header()
	status := http.StatusOK
	if from > 0 {
		if from >= len(content) {
			h.Set("Content-Range", fmt.Sprintf("bytes */%d", len(content)))
			a.w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		status = http.StatusPartialContent
		first := from
		if a.fault == wrongRange {
			first = from / 2
		}
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, len(content)-1, len(content)))
		content = content[first:]
	}
	a.transfer(status, content)
}

// transfer sends a body, as the fault has it.
func (a *answer) transfer(status int, content []byte) {
	cut := min(a.cut, len(content))
	h := a.w.Header()
	switch a.fault {
	case cleanCut, garbageTail: // without a length: chunks
		if a.fault == cleanCut {
			content = content[:cut]
		} else {
			content = append(slices.Clip(content), "bytes that are not of the file"...)
		}
		a.w.WriteHeader(status)
		a.w.(http.Flusher).Flush()
		a.w.Write(content)
		return
	case wrongLength:
		if status == http.StatusOK {
			content = content[:cut]
		}
	}
	h.Set("Content-Length", fmt.Sprint(len(content)))
	if a.fault == reset || a.fault == short || a.fault == stall {
		a.stop(status, content[:cut])
		return
	}
	a.w.WriteHeader(status)
	a.w.Write(content)
}

// stop sends a part and then no more.
func (a *answer) stop(status int, part []byte) {
	if a.fault == stall {
		a.w.Header().Set(stallHeader, "yes")
		a.w.Header().Set("Connection", "close") // where all was sent, the next request would wait behind this one
	}
	a.w.WriteHeader(status)
	a.w.Write(part)
	a.w.(http.Flusher).Flush()
	if a.fault == stall {
		select {
		case <-a.r.Context().Done():
		case <-a.quit: // a client that sent its next request already is not seen to leave
		}
		return
	}
	conn, _, err := a.w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if raw, ok := conn.(*net.TCPConn); ok && a.fault == reset {
		raw.SetLinger(0)
	}
	conn.Close()
}
