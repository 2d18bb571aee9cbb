//go:build unix

package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"pretext/internal/democorpus"
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

// mirrored are the flags that lead to a server on this machine.
func mirrored(server *httptest.Server, args ...string) []string {
	return append(args, "--allow-private", "--mirror", "wikimedia="+server.URL, "--mirror", "gutenberg="+server.URL, "--book-pause=0s", "--contact=tests@example.org")
}

func TestARunDownloadsItsSources(t *testing.T) {
	t.Parallel()
	server := aWiki(t)
	out := t.TempDir()
	args := mirrored(server, "run", "--quiet", "--wiki=demowiki", "--gutenberg-ids=7", "--vocab-size=1000", "--shards=2", "--dupe-factor=1", "--out", out)
	prepareData(t, args...).succeed(t)
	prepareData(t, "verify", out).succeed(t)
	server.Close()
	prepareData(t, append(args, "--offline")...).succeed(t) // all is there
	again := t.TempDir()
	sources := filepath.Join(out, "sources")
	prepareData(t, "extract", "--quiet", "--wiki-dump", sources, "--books", sources, "--out", again).succeed(t)
}
