package download

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"pretext/internal/store"
)

// A sender serves one content that tests change, with ranges, and counts what it
// sends.
type sender struct {
	content, tag string
	ranges       []string // Range headers that came
}

func (s *sender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	if s.tag != "" {
		w.Header().Set("ETag", s.tag)
	}
	var from int
	fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
	if from == 0 || r.Header.Get("If-Range") != "" && r.Header.Get("If-Range") != s.tag {
		fmt.Fprint(w, s.content)
		return
	}
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(s.content)-1, len(s.content)))
	w.WriteHeader(http.StatusPartialContent)
	fmt.Fprint(w, s.content[from:])
}

// leave puts a partial file into a folder, as a killed run leaves it.
func leave(t *testing.T, out store.Folder, name, part, note string) {
	t.Helper()
	p, err := store.OpenPartial(out, name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte(part)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.SetNote([]byte(note)), p.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAnEarlierRunLeftIsUsedOnlyWhereItBelongs(t *testing.T) {
	const content = "the whole content of the file"
	sum := string(sumOf(content))
	for name, test := range map[string]struct {
		checksum, part, note string
		want                 string // Range of the first request
	}{
		"its beginning":                      {sum, "the whole", `{"url": "URL", "checksum": "` + sum + `", "validator": "\"1\""}`, "bytes=9-"},
		"without a validator but a checksum": {sum, "the whole", `{"url": "URL", "checksum": "` + sum + `"}`, "bytes=9-"},
		"without a note":                     {sum, "the whole", ``, ""},
		"with a damaged note":                {sum, "the whole", `{"url": "UR`, ""},
		"of another address":                 {sum, "the whole", `{"url": "https://example.org/", "checksum": "` + sum + `"}`, ""},
		"of another checksum":                {sum, "the whole", `{"url": "URL", "checksum": "` + string(sumOf("x")) + `"}`, ""},
		"longer than the whole":              {sum, content + "!", `{"url": "URL", "checksum": "` + sum + `", "total": 29}`, ""},
		"unverified, synced":                 {"", "the whole", `{"url": "URL", "validator": "\"1\"", "total": 29, "synced": 9}`, "bytes=9-"},
		"unverified, synced in part":         {"", "the who\x00\x00", `{"url": "URL", "validator": "\"1\"", "total": 29, "synced": 4}`, "bytes=4-"},
		"unverified, without a validator":    {"", "the whole", `{"url": "URL", "synced": 9}`, ""},
		"unverified, of another version":     {"", "an older one", `{"url": "URL", "validator": "\"0\"", "total": 29, "synced": 12}`, "bytes=12-"},
		"unverified, of a weak validator":    {"", "the whole", `{"url": "URL", "validator": "W/\"1\"", "total": 29, "synced": 9}`, ""},
		"unverified, of a date":              {"", "the whole", `{"url": "URL", "validator": "Tue, 01 Sep 2026 10:00:00 GMT", "total": 29, "synced": 9}`, ""},
		"unverified, of no known length":     {"", "the whole", `{"url": "URL", "validator": "\"1\"", "synced": 9}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sender{content: content, tag: `"1"`}
			server := httptest.NewServer(s)
			defer server.Close()
			out := folder(t)
			url := server.URL + "/x"
			leave(t, out, "x", test.part, strings.ReplaceAll(test.note, "URL", url))
			got, err := newClient(t, quick(server.URL)).Fetch(t.Context(), out.String(), File{Name: "x", URL: url, Checksum: Checksum(test.checksum)}, Hooks{})
			if err != nil {
				t.Fatal(err)
			}
			if b, err := store.ReadFile(t.Context(), out, "x"); err != nil || string(b) != content || "sha256:"+got.SHA256 != sum || got.Bytes != int64(len(content)) {
				t.Errorf("got %q, %v, %+v", b, err, got)
			}
			if s.ranges[0] != test.want {
				t.Errorf("asked for %q first, want %q", s.ranges[0], test.want)
			}
		})
	}
}

func TestAFileThatIsNeverRightIsDamagedAndKeepsNoName(t *testing.T) {
	s := &sender{content: "not what the list says"}
	server := httptest.NewServer(s)
	defer server.Close()
	out := folder(t)
	_, err := newClient(t, quick(server.URL)).Fetch(t.Context(), out.String(), File{Name: "x", URL: server.URL, Checksum: sumOf("other"), ChecksumSource: "SHA256SUMS"}, Hooks{})
	if !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), "SHA256SUMS says sha256:") {
		t.Errorf("got %v, want the checksum's source named", err)
	}
	if n := len(s.ranges); n > 2*(maxRestarts+1) {
		t.Errorf("%d requests, want it to be given up soon", n)
	}
	empty(t, out)
}

func TestAFileThatIsNotThereIsToldApartFromAServerThatIsNot(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch r.URL.Path {
		case "/gone":
			http.Error(w, "gone", http.StatusGone)
		case "/forbidden":
			http.Error(w, "who are you?", http.StatusForbidden)
		case "/broken":
			http.Error(w, "oh", http.StatusBadGateway)
		}
	}))
	c := newClient(t, quick(server.URL))
	for path, want := range map[string]struct {
		err      error
		requests int
	}{"/gone": {ErrNotFound, 1}, "/forbidden": {ErrNetwork, 1}, "/broken": {ErrNetwork, c.options.Attempts}} {
		requests = 0
		_, err := c.Fetch(t.Context(), folder(t).String(), File{Name: "x", URL: server.URL + path}, Hooks{})
		if !errors.Is(err, want.err) || requests != want.requests {
			t.Errorf("%s: %v after %d requests, want %v after %d", path, err, requests, want.err, want.requests)
		}
	}
	server.Close()
	if _, err := c.Fetch(t.Context(), folder(t).String(), File{Name: "x", URL: server.URL}, Hooks{}); !errors.Is(err, ErrNetwork) {
		t.Errorf("no server: got %v, want %v", err, ErrNetwork)
	}
}

func TestAnEmptyFileIsAFile(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for _, f := range []File{{Name: "x", URL: server.URL}, {Name: "x", URL: server.URL, Checksum: sumOf("")}} {
		if r, err := newClient(t, quick(server.URL)).Fetch(t.Context(), folder(t).String(), f, Hooks{}); err != nil || r.Bytes != 0 {
			t.Errorf("got %+v, %v", r, err)
		}
	}
}

func TestAServerThatDoesNotSayHowLongAFileIsGetsNoTrust(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		buf.WriteString("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nup to the end of the connection")
		buf.Flush()
		conn.Close()
	}))
	defer server.Close()
	o := quick(server.URL)
	o.Attempts = 2
	out := folder(t)
	if _, err := newClient(t, o).Fetch(t.Context(), out.String(), File{Name: "x", URL: server.URL}, Hooks{}); !errors.Is(err, ErrNetwork) {
		t.Errorf("without a checksum: got %v, want %v", err, ErrNetwork)
	}
	empty(t, out)
	if _, err := newClient(t, o).Fetch(t.Context(), out.String(), File{Name: "x", URL: server.URL, Checksum: sumOf("up to the end of the connection")}, Hooks{}); err != nil {
		t.Errorf("with a checksum: %v", err)
	}
}

func TestTheCallerMayKeepAFileFromGettingItsName(t *testing.T) {
	server := httptest.NewServer(&sender{content: "content"})
	defer server.Close()
	out := folder(t)
	fenced := errors.New("the folder belongs to another plan")
	_, err := newClient(t, quick(server.URL)).Fetch(t.Context(), out.String(), File{Name: "x", URL: server.URL}, Hooks{Commit: func(Committer) error { return fenced }})
	if !errors.Is(err, fenced) {
		t.Errorf("got %v, want %v", err, fenced)
	}
	empty(t, out)
}

// script answers the nth request with the nth of its steps, the last for all
// that follow.
type script struct {
	steps []func(w http.ResponseWriter, r *http.Request)
	asked int
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	step := s.steps[min(s.asked, len(s.steps)-1)]
	s.asked++
	step(w, r)
}

// whole sends a file in one piece.
func whole(content, tag string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		(&sender{content: content, tag: tag}).ServeHTTP(w, &http.Request{Header: http.Header{}})
	}
}

// cutAt announces a whole file and sends a part of it.
func cutAt(content, tag string, n int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", tag)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		fmt.Fprint(w, content[:n])
	}
}

// rest answers with a range, right or wrong.
func rest(contentRange, body, tag string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if tag != "" {
			w.Header().Set("ETag", tag)
		}
		w.Header().Set("Content-Range", contentRange)
		w.WriteHeader(http.StatusPartialContent)
		fmt.Fprint(w, body)
	}
}

// Nobody could tell a file without a checksum from a mixture of two, so each way
// to make one is shut by itself.
func TestNoPartOfAnythingElseIsMixedIn(t *testing.T) {
	const one, two = "0123456789abcdefghij", "ABCDEFGHIJ9876543210"
	for name, test := range map[string]struct {
		want  string
		steps []func(http.ResponseWriter, *http.Request)
	}{
		"another range than asked for": {one, []func(http.ResponseWriter, *http.Request){
			cutAt(one, `"1"`, 10), rest("bytes 0-9/20", one[:10], `"1"`), rest("bytes 10-19/20", one[10:], `"1"`)}},
		"a range of another version": {two, []func(http.ResponseWriter, *http.Request){
			cutAt(one, `"1"`, 10), rest("bytes 10-19/20", two[10:], `"2"`), whole(two, `"2"`)}},
		"a range of a file of another length": {two + "!", []func(http.ResponseWriter, *http.Request){
			cutAt(one, `"1"`, 10), rest("bytes 10-20/21", two[10:]+"!", ""), whole(two+"!", `"2"`)}},
		"a range nobody asked for": {one, []func(http.ResponseWriter, *http.Request){
			rest("bytes 0-9/10", two[:10], `"1"`), whole(one, `"1"`)}},
		"less than the range's length": {one, []func(http.ResponseWriter, *http.Request){
			cutAt(one, `"1"`, 10), rest("bytes 10-19/20", two[:3], `"1"`), rest("bytes 10-19/20", one[10:], `"1"`)}},
		"a server that heeds If-Range and says no more": {two, []func(http.ResponseWriter, *http.Request){
			cutAt(one, `"1"`, 10), func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("If-Range") != `"2"` && r.Header.Get("If-Range") != "" {
					whole(two, "")(w, r)
					return
				}
				rest("bytes 10-19/20", two[10:], "")(w, r)
			}}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&script{steps: test.steps})
			defer server.Close()
			out := folder(t)
			if _, err := newClient(t, quick(server.URL)).Fetch(t.Context(), out.String(), File{Name: "x", URL: server.URL}, Hooks{}); err != nil {
				t.Fatal(err)
			}
			if b, err := store.ReadFile(t.Context(), out, "x"); err != nil || string(b) != test.want {
				t.Errorf("got %q, %v, want %q", b, err, test.want)
			}
		})
	}
}

func TestAFileOfAnotherLengthThanItSeemedIsNotFetchedAnew(t *testing.T) {
	content := strings.Repeat("twenty thousand bytes", 1000)
	chunked := func(body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.(http.Flusher).Flush()
			fmt.Fprint(w, body)
		}
	}
	server200 := &sender{content: content, tag: `"1"`}
	for name, first := range map[string]func(http.ResponseWriter, *http.Request){
		"it ended early": chunked(content[:7000]),
		"it went on":     chunked(content + "garbage"),
	} {
		t.Run(name, func(t *testing.T) {
			end := func(w http.ResponseWriter, r *http.Request) {
				var from int
				if fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); from >= len(content) {
					w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(content)))
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
					return
				}
				server200.ServeHTTP(w, r)
			}
			server := httptest.NewServer(&script{steps: []func(http.ResponseWriter, *http.Request){first, end}})
			defer server.Close()
			c := newClient(t, quick(server.URL))
			if _, err := c.Fetch(t.Context(), folder(t).String(), File{Name: "x", URL: server.URL, Checksum: sumOf(content)}, Hooks{}); err != nil {
				t.Fatal(err)
			}
			if n := c.Received(); n > int64(len(content)+100) {
				t.Errorf("received %d bytes for a file of %d", n, len(content))
			}
		})
	}
}

func TestAServerThatRefusesEveryRangeIsGivenUp(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
	}
	s := &script{steps: []func(http.ResponseWriter, *http.Request){cutAt("ten bytes.", `"1"`, 5), refuse}}
	server := httptest.NewServer(s)
	defer server.Close()
	_, err := newClient(t, quick(server.URL)).Fetch(t.Context(), folder(t).String(), File{Name: "x", URL: server.URL}, Hooks{})
	if err == nil || !strings.Contains(err.Error(), "416") {
		t.Errorf("got %v, want the status", err)
	}
	if want := 1 + maxRestarts + 1; s.asked != want {
		t.Errorf("%d requests, want %d", s.asked, want)
	}
}

func TestAServerThatNeverAnswersIsGivenUp(t *testing.T) {
	quit := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-quit }))
	defer server.Close()
	defer close(quit)
	o := quick(server.URL)
	o.Stall, o.Attempts = 20*time.Millisecond, 2
	if _, err := newClient(t, o).Fetch(t.Context(), folder(t).String(), File{Name: "x", URL: server.URL}, Hooks{}); !errors.Is(err, ErrNetwork) {
		t.Errorf("got %v, want a network error", err)
	}
}

func TestWhatWasLeftBesideAWholeFileGoes(t *testing.T) {
	out := folder(t)
	part, err := store.OpenPartial(out, "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(part.SetNote([]byte("{}")), part.Close(), store.WriteFile(t.Context(), out, "x", []byte("all of it"))); err != nil {
		t.Fatal(err)
	}
	o := quick("http://127.0.0.1:9")
	o.Offline = true // nothing is asked for
	if _, err := newClient(t, o).Fetch(t.Context(), out.String(), File{Name: "x", URL: "http://127.0.0.1:9/x", Checksum: sumOf("all of it")}, Hooks{}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(out.String()); err != nil || len(entries) != 1 {
		t.Errorf("got %v, want the file alone (%v)", entries, err)
	}
}
