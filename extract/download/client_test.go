package download

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pretext/internal/store"
)

// quick are options for servers on this machine, with waits that tests can wait
// for.
func quick(base string) Options {
	o := DefaultOptions()
	o.Product, o.Contact = "pretext-test/1", "tests@example.org"
	o.Mirrors = []Mirror{{SiteWikimedia, base}, {SiteGutenberg, base}}
	o.AllowPrivate = true
	o.Stall, o.Backoff, o.MaxBackoff, o.BookPause = patience, time.Microsecond, time.Millisecond, 0
	return o
}

func newClient(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func folder(t *testing.T) store.Folder {
	t.Helper()
	f, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func sumOf(content string) Checksum {
	return Checksum(fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))))
}

func TestAContentExportIsResolvedAndFetched(t *testing.T) {
	parts := map[string]string{"tinywiki-2026-08-01-p1p9.xml.bz2": "first part", "tinywiki-2026-08-01-p10p99.xml.bz2": "second part"}
	const root = "/other/mediawiki_content_current/tinywiki/"
	mux := http.NewServeMux()
	mux.HandleFunc(root+"{$}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `<a href="../">..</a> <a href="2026-07-01/">2026-07-01/</a> <a href="2026-08-01/">x</a> <a href="2026-09-01/">in the making</a>`)
	})
	mux.HandleFunc(root+"2026-08-01/xml/bzip2/{name}", func(w http.ResponseWriter, r *http.Request) {
		switch name := r.PathValue("name"); name {
		case "_SUCCESS":
		case "SHA256SUMS":
			for name, content := range parts {
				fmt.Fprintf(w, "%s  %s\n", strings.TrimPrefix(string(sumOf(content)), "sha256:"), name)
			}
		default:
			fmt.Fprint(w, parts[name])
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	c := newClient(t, quick(server.URL))
	r, err := ParseWiki("tinywiki")
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Resolve(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Files) != 2 || list.Files[0].Name != "tinywiki-2026-08-01-p1p9.xml.bz2" {
		t.Fatalf("got %+v, want both parts in the order of their pages", list.Files)
	}
	out := folder(t)
	for _, f := range list.Files {
		if _, err := c.Fetch(t.Context(), out.String(), f, Hooks{}); err != nil {
			t.Fatal(err)
		}
		b, err := store.ReadFile(context.Background(), out, f.Name)
		if err != nil || string(b) != parts[f.Name] {
			t.Errorf("%s: got %q, %v", f.Name, b, err)
		}
	}
}
