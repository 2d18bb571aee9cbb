package download

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pretext/internal/dev/torture"
	"pretext/internal/store"
)

// A moving file has no published checksum and is replaced at the server while it
// is fetched.
type moving struct {
	name     string
	versions [][]byte // all that ever lay there, the last one now
	style    int      // of its validator
	lenient  bool     // If-Range is not heeded
	forgets  bool     // a 206 has no ETag
	keepsTag bool     // though the bytes changed, where the tag is weak
}

// How a server names the version of a file.
const (
	strongStyle = iota
	weakStyle
	dateStyle
	noStyle
	styles
)

// A movingServer serves moving files over bad connections, and portals in their
// place, by a seed.
type movingServer struct {
	*httptest.Server
	mu       sync.Mutex
	random   *rand.Rand
	files    map[string]*moving
	troubles int // that are still to come
	resumed  int // ranges that were served
	portals  int // pages that were served
}

// magicOf begins the content of a file of a name, so that its form is right.
var magicOf = map[string]string{".txt": "A book. ", ".zip": "PK\x03\x04", ".epub": "PK\x03\x04", ".bz2": "BZh9"}

func newMovingServer(seed uint64) *movingServer {
	s := &movingServer{random: rand.New(rand.NewPCG(seed, 10)), files: map[string]*moving{}}
	for i := range 2 + s.random.IntN(2) {
		ending := []string{".txt", ".zip", ".epub", ".bz2"}[s.random.IntN(4)]
		f := &moving{name: fmt.Sprintf("file%d%s", i, ending), style: s.random.IntN(styles), lenient: s.random.IntN(2) == 0,
			forgets: s.random.IntN(3) == 0, keepsTag: s.random.IntN(2) == 0}
		s.replace(f)
		s.files["/"+f.name] = f
	}
	s.troubles = 1 + s.random.IntN(6)
	s.Server = httptest.NewServer(s)
	s.Config.ErrorLog = discardLog()
	return s
}

// replace puts another version in place of a file's, half of the time one of the
// same length.
func (s *movingServer) replace(f *moving) {
	n := 500 + s.random.IntN(40<<10)
	if len(f.versions) > 0 && s.random.IntN(2) == 0 {
		n = len(f.versions[len(f.versions)-1])
	}
	b := []byte(magicOf[f.name[strings.LastIndexByte(f.name, '.'):]])
	for len(b) < n {
		b = append(b, byte('a'+s.random.IntN(26)))
	}
	f.versions = append(f.versions, b)
}

// header sets what tells the version, as the file's style has it.
func (f *moving) header(h http.Header, partial bool) (tag string) {
	version := len(f.versions)
	switch f.style {
	case strongStyle:
		tag = fmt.Sprintf(`"v%d"`, version)
	case weakStyle:
		tag = fmt.Sprintf(`W/"v%d"`, version)
		if f.keepsTag {
			tag = `W/"v"`
		}
	case dateStyle:
		tag = "Tue, 01 Sep 2026 10:00:00 GMT" // replaced within the second
		h.Set("Last-Modified", tag)
		return tag
	}
	if tag != "" && !(partial && f.forgets) {
		h.Set("ETag", tag)
	}
	return tag
}

func (s *movingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[strings.TrimPrefix(r.URL.Path, "/session")]
	if f == nil { // where a redirect led
		s.portal(w, "text/html; charset=utf-8")
		return
	}
	trouble := -1
	if s.troubles > 0 {
		s.troubles--
		trouble = s.random.IntN(10)
	}
	if s.random.IntN(3) == 0 {
		s.replace(f)
	}
	switch trouble {
	case 0:
		s.portal(w, "text/html")
	case 1: // a portal that does not say what it sends
		s.portal(w, []string{"application/octet-stream", "text/plain", ""}[s.random.IntN(3)])
	case 2:
		http.Redirect(w, r, "/login?back="+r.URL.Path, http.StatusFound)
	default:
		s.serve(w, r, f, trouble)
	}
}

// portal sends a web page with status 200.
func (s *movingServer) portal(w http.ResponseWriter, contentType string) {
	s.portals++
	w.Header()["Content-Type"] = []string{contentType}
	w.Header().Set("ETag", `"portal"`)
	page := []string{"<!DOCTYPE html><html>Log in</html>", "\ufeff\n<!-- hotel -->\n<HTML><body>Log in", `<?xml version="1.0"?><!DOCTYPE html PUBLIC "x"><html/>`}
	fmt.Fprint(w, page[s.random.IntN(len(page))])
}

// serve sends a file, or the part that was asked for, wrongly where there is
// trouble: 3 to 6 cut the connection, 7 names another length of the whole, 8
// ignores the range, 9 answers with the whole as a part of itself.
func (s *movingServer) serve(w http.ResponseWriter, r *http.Request, f *moving, trouble int) {
	content := f.versions[len(f.versions)-1]
	var from int
	n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
	if n == 0 || trouble == 8 || from >= len(content) {
		from = 0
	}
	partial := from > 0
	tag := f.header(w.Header(), partial)
	if want := r.Header.Get("If-Range"); partial && !f.lenient && want != "" && want != tag {
		from, partial = 0, false
		f.header(w.Header(), false)
	}
	status, body, total := http.StatusOK, content[from:], len(content)
	if partial {
		s.resumed++
		status = http.StatusPartialContent
		if trouble == 7 {
			total += 7
		}
		if trouble == 9 {
			body = content
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+len(body)-1, max(total, from+len(body))))
	}
	cut := len(body)
	if trouble >= 3 && trouble <= 6 {
		cut = s.random.IntN(len(body))
	}
	if s.random.IntN(3) > 0 || cut == len(body) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	w.Write(body[:cut])
	if cut < len(body) {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// A versionTally sums up what came of the files of all servers.
type versionTally struct {
	sync.Mutex
	files, got, resumed, portals int
}

func TestNoFileWithoutAChecksumIsAMixtureOfVersionsOrAWebPage(t *testing.T) {
	all := &versionTally{}
	t.Run("seeds", func(t *testing.T) {
		for seed := range torture.Times(t, "PRETEXT_SERVERS", 200, 1000) {
			t.Run(strconv.Itoa(seed), func(t *testing.T) {
				t.Parallel()
				fetchMoving(t, uint64(seed), all)
			})
		}
	})
	t.Logf("%d of %d files came, %d ranges were served and %d portals met", all.got, all.files, all.resumed, all.portals)
	if all.got*10 < all.files*8 || all.resumed == 0 || all.portals == 0 {
		t.Error("too few files, ranges or portals for this to prove anything")
	}
}

// fetchMoving downloads the files of one server in up to three runs, each but the
// last cut short, and wants each that got its name to be one of its versions.
func fetchMoving(t *testing.T, seed uint64, all *versionTally) {
	s := newMovingServer(seed)
	defer s.Close()
	out := folder(t)
	runs := 1 + int(seed%3)
	for run := range runs {
		o := quick(s.URL)
		c := newClient(t, o)
		c.setClock(&fakeClock{now: time.Unix(0, 0)})
		stopAfter := int64(-1)
		if run < runs-1 {
			stopAfter = 3000
		}
		var requests []Request
		for path := range s.files {
			requests = append(requests, Request{Kind: URL, URL: s.URL + path})
		}
		slices.SortFunc(requests, func(a, b Request) int { return strings.Compare(a.URL, b.URL) })
		err := fetchAll(t.Context(), c, out, requests, stopAfter)
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, ErrNetwork) {
			t.Error(err)
		}
		c.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all.Lock()
	defer all.Unlock()
	all.resumed, all.portals = all.resumed+s.resumed, all.portals+s.portals
	for _, f := range s.files {
		all.files++
		b, err := store.ReadFile(t.Context(), out, f.name)
		if err != nil {
			continue
		}
		all.got++
		if !slices.ContainsFunc(f.versions, func(v []byte) bool { return string(v) == string(b) }) {
			t.Errorf("%s: %d bytes that were never there (validator of style %d): %.40q", f.name, len(b), f.style, b)
		}
	}
}

func TestAStrongTagIsTold(t *testing.T) {
	for tag, want := range map[string]bool{`"a"`: true, `""`: true, `W/"a"`: false, `w/"a"`: false, `a`: false, `"a`: false, `"a"b"`: false,
		"Tue, 01 Sep 2026 10:00:00 GMT": false, `"` + strings.Repeat("a", maxValidator) + `"`: false} {
		if got := strongTag(http.Header{"Etag": {tag}}) != ""; got != want {
			t.Errorf("%.60s: got %v, want %v", tag, got, want)
		}
	}
	if strongTag(http.Header{"Etag": {`"a"`, `"b"`}}) != "" {
		t.Error("two tags pass for one")
	}
}

func TestAPageIsToldFromABookAndADump(t *testing.T) {
	for text, want := range map[string]bool{
		"<!DOCTYPE html>": true, "\ufeff \r\n<HTML lang=x>": true, "<?xml version='1.0'?>\n<!DOCTYPE HTML PUBLIC": true, "<!-- a --><!-- b --><head>": true,
		"<mediawiki xmlns=": false, "<?xml version='1.0'?><mediawiki": false, "The <html> of a book": false, "": false, "<!-- never ends": false, "<title>Login": true,
	} {
		if got := looksLikePage([]byte(text)); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestAPortalKeepsWhatWasGotOfAFile(t *testing.T) {
	const content = "the whole content of the file"
	portal := true
	s := &sender{content: content, tag: `"1"`}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if portal {
			fmt.Fprint(w, "<html>log in</html>")
			return
		}
		s.ServeHTTP(w, r)
	}))
	defer server.Close()
	for _, checksum := range []Checksum{"", sumOf(content)} {
		portal = true
		out, url := folder(t), server.URL+"/x.txt"
		leave(t, out, "x.txt", "the whole", fmt.Sprintf(`{"url": %q, "checksum": %q, "validator": "\"1\"", "total": 29, "synced": 9}`, url, checksum))
		c := newClient(t, quick(server.URL))
		_, err := c.Fetch(t.Context(), out.String(), File{Name: "x.txt", URL: url, Checksum: checksum}, Hooks{})
		if !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), "web page in place of x.txt") || !strings.Contains(err.Error(), "(3 attempts)") {
			t.Errorf("got %v, want the page named after three attempts", err)
		}
		portal, s.ranges = false, nil
		if _, err := c.Fetch(t.Context(), out.String(), File{Name: "x.txt", URL: url, Checksum: checksum}, Hooks{}); err != nil || s.ranges[0] != "bytes=9-" {
			t.Errorf("after the portal: %v, asked for %q, want the rest alone", err, s.ranges)
		}
	}
}

func TestARestMustRepeatTheTagAndTheLengthOfTheWhole(t *testing.T) {
	for name, test := range map[string]struct {
		checksum Checksum
		tag      string
		total    int64
		want     bool
	}{
		"both":                               {"", `"1"`, 9, true},
		"no tag":                             {"", "", 9, false},
		"another tag":                        {"", `"2"`, 9, false},
		"a weak tag":                         {"", `W/"1"`, 9, false},
		"another length":                     {"", `"1"`, 10, false},
		"no length":                          {"", `"1"`, -1, false},
		"a checksum, no tag":                 {sumOf("x"), "", 9, true},
		"a checksum, another tag":            {sumOf("x"), `"2"`, 9, false},
		"a checksum, another length":         {sumOf("x"), `"1"`, 10, false},
		"a checksum, neither tag nor length": {sumOf("x"), "", -1, true},
	} {
		tr := &transfer{file: File{Checksum: test.checksum}, note: note{Validator: `"1"`, Total: 9}}
		r := &response{Response: &http.Response{Header: http.Header{}}}
		if test.tag != "" {
			r.Header.Set("ETag", test.tag)
		}
		if got := tr.belongs(r, contentRange{3, 8, test.total}); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
