package pipeline

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pretext/counts"
	"pretext/pipeline/stage"
	dataset "pretext/sharding/verify"

	"github.com/google/go-cmp/cmp"

	"pretext/extract/download"
	"pretext/sharding"
)

// sourceSite is a small Wikimedia and Project Gutenberg in one.
type sourceSite struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte // by path
}

func newSourceSite(t *testing.T) *sourceSite {
	t.Helper()
	s := &sourceSite{files: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		content, ok := s.files[r.URL.Path]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(content)
	}))
	t.Cleanup(s.Close)
	s.export("2026-08-01")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("Text#,Type,Issued,Title,Language\n7,Text,2001,A,en\n8,Text,2001,B,en\n9,Text,2001,C,fr\n"))
	z.Close()
	s.files["/cache/epub/feeds/pg_catalog.csv.gz"] = packed.Bytes()
	s.files["/cache/epub/7/pg7.txt"] = []byte("A short book.\n\n" + strings.Repeat("It says the same thing again and again. ", 50))
	return s
}

// export adds the content export of a date.
func (s *sourceSite) export(date string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const root = "/other/mediawiki_content_current/tinywiki/"
	s.files[root] = append(s.files[root], fmt.Sprintf(`<a href="%s/">%[1]s/</a>`, date)...)
	folder := root + date + "/xml/bzip2/"
	var sums []byte
	for i := range 3 {
		name := fmt.Sprintf("tinywiki-%s-p%dp%d.xml.bz2", date, 10*i+1, 10*i+10)
		content := []byte(fmt.Sprintf(`<mediawiki xml:lang="en"><siteinfo><dbname>tinywiki</dbname></siteinfo>
<page><title>Page %d</title><ns>0</ns><id>%[1]d</id><revision><text>Words of page %[1]d as of %s, and some more of them.</text></revision></page>
</mediawiki>`, i, date))
		s.files[folder+name] = content
		sums = fmt.Appendf(sums, "%x  %s\n", sha256.Sum256(content), name)
	}
	s.files[folder+"SHA256SUMS"], s.files[folder+"_SUCCESS"] = sums, nil
}

func (s *sourceSite) config(out string) DownloadConfig {
	o := download.DefaultOptions()
	o.AllowPrivate, o.BookPause, o.Backoff, o.MaxBackoff = true, 0, 0, 0
	o.Mirrors = []download.Mirror{{Site: download.SiteWikimedia, Base: s.URL}, {Site: download.SiteGutenberg, Base: s.URL}}
	return DownloadConfig{Target: stage.Target{Out: out}, Client: o, Requests: []download.Request{
		{Kind: download.Wiki, Wiki: "tinywiki", Date: download.Latest, Layout: download.LayoutAuto},
		{Kind: download.Gutenberg, Language: "en"},
		{Kind: download.URL, URL: s.URL + "/cache/epub/7/pg7.txt"},
	}}
}

// contents reads all files of a folder but run.json.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == sharding.RunName {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestDownloadsAreTheSameForAnyWorkersAndRunner(t *testing.T) {
	s := newSourceSite(t)
	var first map[string]string
	for _, r := range []stage.Runner{{Name: "direct", Workers: 1}, {Name: "direct", Workers: 7}} {
		out := t.TempDir()
		m, err := Download(t.Context(), r, s.config(out))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Counts; got[counts.KeyOf("downloads")] != 5 || got[counts.KeyOf("unverified_downloads")] != 2 || got[counts.KeyOf("missing_downloads")] != 1 {
			t.Errorf("counts %v, want 5 files, 2 of them without a checksum, and one book of the catalogue that is not there", got)
		}
		tree := contents(t, out)
		if first == nil {
			first = tree
		}
		if diff := cmp.Diff(first, tree); diff != "" {
			t.Error(diff)
		}
		v, err := dataset.Dataset(t.Context(), out, dataset.Options{Workers: 2})
		if err != nil || !v.OK() {
			t.Errorf("verify: %+v, %v", v, err)
		}
	}
	for name, content := range first {
		if strings.Contains(content, s.URL) && name != "/manifest.json" && name != "/plan.json" && !strings.Contains(name, "pg7-2") && !strings.HasPrefix(name, "/plan/") {
			t.Errorf("%s names the mirror: what served a file decides no byte", name)
		}
	}
}

func TestWhatTheNewestMeantIsKeptUntilItIsOverwritten(t *testing.T) {
	s := newSourceSite(t)
	out := t.TempDir()
	c := s.config(out)
	r := stage.Runner{Name: "direct", Workers: 2}
	old, err := Download(t.Context(), r, c)
	if err != nil {
		t.Fatal(err)
	}
	s.export("2026-09-01")
	again, err := Download(t.Context(), r, c)
	if err != nil || again.Fingerprint != old.Fingerprint {
		t.Fatalf("again: %v, want the same files as before", err)
	}
	c.Overwrite = true
	if _, err = Download(t.Context(), r, c); err != nil {
		t.Fatal(err)
	}
	for name := range contents(t, out) {
		if strings.Contains(name, "2026-08-01") {
			t.Errorf("%s is still there", name)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "tinywiki-2026-09-01-p1p10.xml.bz2")); err != nil {
		t.Error(err)
	}
}

func TestDifferentBooksOfTheSameBytesAreRefusedAndAskedForAgain(t *testing.T) {
	s := newSourceSite(t)
	page := []byte("Welcome to the network of this hotel. Please log in.")
	book := s.files["/cache/epub/7/pg7.txt"]
	s.files["/cache/epub/7/pg7.txt"], s.files["/cache/epub/8/pg8.txt"] = page, page
	out := t.TempDir()
	c := s.config(out)
	r := stage.Runner{Name: "direct", Workers: 2}
	_, err := Download(t.Context(), r, c)
	if !errors.Is(err, download.ErrRefused) || !strings.Contains(err.Error(), "pg7.txt and pg8.txt have the same 52 bytes") {
		t.Fatalf("got %v, want the two books named", err)
	}
	for name := range contents(t, out) {
		if strings.Contains(name, "pg") || name == "/manifest.json" {
			t.Errorf("%s is still there", name)
		}
	}
	s.files["/cache/epub/7/pg7.txt"], s.files["/cache/epub/8/pg8.txt"] = book, append(slices.Clip(book), "And it ends."...)
	if m, err := Download(t.Context(), r, c); err != nil || m.Counts[counts.KeyOf("downloads")] != 6 {
		t.Errorf("the same command again: %v, %+v", err, m)
	}
}

func TestADownloadFolderIsASourceOfBothKinds(t *testing.T) {
	s := newSourceSite(t)
	out := t.TempDir()
	r := stage.Runner{Name: "direct", Workers: 2}
	if _, err := Download(t.Context(), r, s.config(out)); err != nil {
		t.Fatal(err)
	}
	sources, err := downloadSources(t.Context(), out)
	if err != nil || !slices.Equal(sources, []Source{{KindWiki, out}, {KindBooks, out}}) {
		t.Fatalf("got %v, %v", sources, err)
	}
	m, err := Extract(t.Context(), r, ExtractConfig{Target: stage.Target{Out: t.TempDir()}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	if m.Counts[counts.KeyOf("documents")] != 5 || m.Counts[counts.KeyOf("skipped_files")] != 0 {
		t.Errorf("counts %v, want 3 pages and 2 books", m.Counts)
	}
	var order []string
	for _, in := range m.Inputs {
		order = append(order, in.Name)
	}
	if want := []string{"tinywiki-2026-08-01-p1p10.xml.bz2", "tinywiki-2026-08-01-p11p20.xml.bz2", "tinywiki-2026-08-01-p21p30.xml.bz2", filepath.Base(out)}; !slices.Equal(order, want) {
		t.Errorf("inputs %v, want %v", order, want)
	}

	half := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	c := s.config(half)
	c.Requests = c.Requests[:1]
	r.Watch = func(*stage.Meter) func() { cancel(); return func() {} }
	if _, err := Download(ctx, r, c); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want %v", err, context.Canceled)
	}
	r.Watch = nil
	unfinished := ExtractConfig{Target: stage.Target{Out: t.TempDir()}, Reading: Reading{Extract: DefaultExtractOptions()}, Sources: []Source{{KindWiki, half}}}
	if _, err := Extract(t.Context(), r, unfinished); !errors.Is(err, sharding.ErrUnfinished) {
		t.Errorf("half a download as a source: got %v, want %v", err, sharding.ErrUnfinished)
	}
	if _, err := Download(t.Context(), r, c); err != nil {
		t.Fatal(err)
	}
	unfinished.Sources[0].Kind = KindBooks
	if _, err := Extract(t.Context(), r, unfinished); err == nil || !strings.Contains(err.Error(), "none of kind books") {
		t.Errorf("dumps as books: got %v", err)
	}
}

func TestDownloadsTakeNoNameOfTheStage(t *testing.T) {
	files := []download.File{{Name: "manifest.json"}, {Name: "plan.json"}, {Name: "a.txt"}, {Name: "a.txt.json"}, {Name: "train-00000-of-00001.tfrecord"}, {Name: "a.txt"}, {Name: "documents-x"}}
	nameDownloads(files)
	seen := map[string]bool{}
	for _, f := range files {
		for _, name := range []string{f.Name, f.Name + sharding.SideCarSuffix} {
			if seen[name] || sharding.IsStageFile(f.Name) {
				t.Errorf("%s: taken", name)
			}
			seen[name] = true
		}
	}
}
