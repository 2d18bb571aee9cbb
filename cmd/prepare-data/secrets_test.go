//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/internal/democorpus"
)

// What no file, page, log or message may hold.
const (
	secretToken  = "Tk7secretQ"
	secretFolder = "Fd7secretQ"
)

// secretive serves a book and a dump to those who know a token, and leads astray
// those who ask for other things.
func secretive(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("token") != secretToken && !strings.Contains(r.URL.Path, "/token/"+secretToken+"/") {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		switch r.URL.Path {
		case "/a/book.txt":
			fmt.Fprint(w, "A book.\n\n", strings.Repeat("It has a sentence that is often said again. ", 200))
		case "/token/" + secretToken + "/second.txt;signature=" + secretToken:
			fmt.Fprint(w, "Another book.\n\n", strings.Repeat("It says something that no other book of these ever said. ", 200))
		case "/a/wiki.xml.bz2":
			w.Write(democorpus.Dump())
		case "/away.txt":
			http.Redirect(w, r, "https://Us"+secretToken+":x@elsewhere.example.org/a.txt?signature="+secretToken, http.StatusFound)
		case "/loop.txt":
			http.Redirect(w, r, "/loop.txt?"+r.URL.RawQuery+"&next="+secretToken, http.StatusFound)
		case "/bad.txt":
			w.Header().Set("Location", "http://%zz?"+secretToken)
			w.WriteHeader(http.StatusFound)
		case "/page.txt":
			fmt.Fprint(w, "<html>log in</html>")
		case "/broken.txt":
			w.Header().Set("Content-Range", "bytes */5")
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		case "/short.txt":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "A book")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// silent wants a text to hold none of the secrets.
func silent(t *testing.T, where, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s holds %s: …%s…", where, secret, text[max(0, i-100):min(len(text), i+60)])
		}
	}
}

// silentTree wants no file of a folder, hidden ones included, to hold any of the
// secrets in its content or name.
func silentTree(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		silent(t, path, strings.TrimPrefix(path, dir)+"\n"+string(b), secrets...)
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files of %s: %v", files, dir, err)
	}
}

func TestNothingOfARunHoldsTokensOrFolders(t *testing.T) {
	t.Parallel()
	server := secretive(t)
	dir := filepath.Join(t.TempDir(), secretFolder)
	out, books := filepath.Join(dir, "out"), filepath.Join(dir, "books")
	if err := os.MkdirAll(books, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(books, "mine.txt"), []byte(strings.Repeat("It was \xff late. He went home. ", 50)), 0o666); err != nil {
		t.Fatal(err)
	}
	query := "?token=" + secretToken
	args := []string{"run", "--set=allow-private", "--url", server.URL + "/a/book.txt" + query, "--url", server.URL + "/token/" + secretToken + "/second.txt;signature=" + secretToken, "--url=" + server.URL + "/a/wiki.xml.bz2" + query, "--books", books,
		"--dedup=exact", "--vocab-size=1000", "--shards=2", "--dupe-factor=1", "--out=" + out}
	run := prepareData(t, args...)
	run.succeed(t)
	silent(t, "standard error", run.stderr.String(), secretToken)
	silentTree(t, out, secretToken, secretFolder)
	again := prepareData(t, append(args, "--offline")...) // the same request, known by its hash
	again.succeed(t)
	other := append(append([]string{}, args...), "--url", server.URL+"/a/book.txt?token=x"+secretToken)
	p := prepareData(t, other...)
	p.fail(t, 2, "now also "+server.URL+"/a/book.txt?redacted", "--overwrite")
	silent(t, "the message", p.stderr.String(), secretToken)

	pages := filepath.Join(t.TempDir(), "pages")
	for _, command := range [][]string{{"report", out, "--out", filepath.Join(pages, "r.html")}, {"card", out, "--out", filepath.Join(pages, "c.md")}, {"plan", "--json", "--offline"}} {
		if command[0] == "plan" {
			command = append(append([]string{}, args...), command[1:]...)
			command[0] = "plan"
		} else if err := os.MkdirAll(pages, 0o777); err != nil {
			t.Fatal(err)
		}
		p := prepareData(t, command...)
		p.succeed(t)
		silent(t, command[0], p.stdout.String()+p.stderr.String(), secretToken)
	}
	silentTree(t, pages, secretToken, secretFolder)
	p = prepareData(t, "stats", "--json", out)
	p.succeed(t)
	silent(t, "stats", p.stdout.String(), secretToken)
	info, err := os.ReadFile(filepath.Join(out, "documents", "run.json"))
	if err != nil || strings.Contains(string(info), `"host"`) || !strings.Contains(string(info), `--out=out`) {
		t.Errorf("run.json: %v, want no host and the last elements of paths:\n%s", err, info)
	}
}

func TestPlacesAreRecordedWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	server := secretive(t)
	out := filepath.Join(t.TempDir(), secretFolder)
	prepareData(t, "download", "--quiet", "--set=allow-private", "--set=record-paths", "--url", server.URL+"/a/book.txt?token="+secretToken, "--out="+out).succeed(t)
	silentTree(t, out, secretToken)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.ReadFile(filepath.Join(out, "run.json"))
	if err != nil || !strings.Contains(string(info), `"--out=`+out+`"`) || !strings.Contains(string(info), `"host": "`+host+`"`) {
		t.Errorf("run.json: %v, want the host and whole paths:\n%s", err, info)
	}
}

func TestNoMessageHoldsTokens(t *testing.T) {
	t.Parallel()
	server := secretive(t)
	query := "?token=" + secretToken
	for _, test := range []struct {
		code int
		word string
		args []string
	}{
		{5, "https://redacted@elsewhere.example.org/a.txt?redacted", []string{"--url", server.URL + "/away.txt" + query}},
		{5, "more than 5 redirects", []string{"--url", server.URL + "/loop.txt" + query}},
		{5, "which is not a URL", []string{"--url", server.URL + "/bad.txt" + query}},
		{5, "web page in place of page.txt", []string{"--url", server.URL + "/page.txt" + query}},
		{5, "416", []string{"--url", server.URL + "/broken.txt" + query}},
		{5, "unexpected EOF", []string{"--url", server.URL + "/short.txt" + query}},
		{2, "not found", []string{"--url", server.URL + "/nothing.txt" + query}},
		{5, "403", []string{"--url", server.URL + "/a/book.txt?token=x" + secretToken}},
		{5, "refused", []string{"--url", "http://127.0.0.1:1/x.txt" + query}},
		{5, "offline", []string{"--offline", "--url", server.URL + "/a/book.txt" + query}},
		{2, "no user", []string{"--url", "https://" + secretToken + ":pw@example.org/a.txt"}},
		{2, "must begin with https", []string{"--url", "ftp://example.org/a.txt" + query}},
		{2, "not a URL", []string{"--url", "https://%zz/" + query}},
		{2, "is no sha256 checksum", []string{"--url", "https://example.org/a.txt" + query, "--sha256", "12"}},
		{2, "no user", []string{"--url", server.URL + "/a/book.txt" + query, "--set", "mirror=wikimedia=https://me:" + secretToken + "@example.org"}},
		{2, "https://example.org/a.txt?redacted", []string{"https://example.org/a.txt" + query}},
	} {
		out := t.TempDir()
		p := prepareData(t, append([]string{"download", "--quiet", "--set=allow-private", "--backoff=1ms", "--set=attempts=2", "--out", out}, test.args...)...)
		p.fail(t, test.code, test.word)
		silent(t, strings.Join(test.args, " "), p.stderr.String()+p.stdout.String(), secretToken)
		if len(readTree(t, out)) > 0 {
			silentTree(t, out, secretToken)
		}
	}
}
