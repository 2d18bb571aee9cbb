package download

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestListsOfChecksumsAreReadInBothForms(t *testing.T) {
	digits := strings.Repeat("ab", 32)
	got, err := parseSums([]byte(digits+"  a.xml.bz2\n"+strings.ToUpper(digits)+" *dir/b.xml.bz2\r\n\n"), "sha256")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Checksum{"a.xml.bz2": Checksum("sha256:" + digits), "b.xml.bz2": Checksum("sha256:" + digits)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{digits, digits[:63] + "  a", digits + "  ", "x" + digits[1:] + "  a", digits + "  a\n" + strings.Repeat("cd", 32) + "  a", "<html>"} {
		if _, err := parseSums([]byte(bad), "sha256"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: got %v, want %v", bad, err, ErrCorrupt)
		}
	}
}

func FuzzSums(f *testing.F) {
	f.Add([]byte(strings.Repeat("ab", 32) + "  a.xml.bz2\n"))
	f.Add([]byte(strings.Repeat("AB", 32) + " *b\r\n\n"))
	f.Fuzz(func(t *testing.T, list []byte) {
		sums, err := parseSums(list, "sha256")
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, name := range slices.Sorted(maps.Keys(sums)) {
			digits := strings.TrimPrefix(string(sums[name]), "sha256:")
			if _, err := newChecksum("sha256", digits); err != nil || strings.Contains(name, "/") && name != "/" {
				t.Fatalf("%q: %q, %v", name, digits, err)
			}
			fmt.Fprintf(&again, "%s *%s\n", digits, name)
		}
		back, err := parseSums(again.Bytes(), "sha256")
		if err != nil || !maps.Equal(back, sums) {
			t.Fatalf("written and read again: %v, %v, want %v", back, err, sums)
		}
	})
}

const statusOfTinywiki = `{"version": "0.8", "jobs": {
 "articlesdump": {"status": "done", "updated": "2026-08-21 01:02:03", "files": {
  "tinywiki-20260820-pages-articles2.xml-p11p99.bz2": {"size": 7, "url": "/x", "md5": "%s"},
  "tinywiki-20260820-pages-articles1.xml-p1p10.bz2": {"size": 5, "url": "/x", "md5": "%[1]s", "sha1": "%[2]s"},
  "../../evil.xml.bz2": {"size": 5, "url": "/x"}}},
 "articlesmultistreamdump": {"status": "done", "files": {
  "tinywiki-20260820-pages-articles-multistream.xml.bz2": {"size": 9, "url": "/x", "sha1": "%[2]s"},
  "tinywiki-20260820-pages-articles-multistream-index.txt.bz2": {"size": 3, "url": "/x"}}},
 "metahistorybz2dump": {"status": "waiting"}}}`

func tinyStatus() []byte {
	return fmt.Appendf(nil, statusOfTinywiki, strings.Repeat("ab", 16), strings.Repeat("cd", 20))
}

func TestTheStatusOfADumpNamesItsArticles(t *testing.T) {
	got, err := parseDumpStatus(tinyStatus(), Request{Wiki: "tinywiki"}, "20260820")
	want := []File{
		{Name: "tinywiki-20260820-pages-articles1.xml-p1p10.bz2", Bytes: 5, Checksum: Checksum("sha1:" + strings.Repeat("cd", 20))},
		{Name: "tinywiki-20260820-pages-articles2.xml-p11p99.bz2", Bytes: 7, Checksum: Checksum("md5:" + strings.Repeat("ab", 16))},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	got, err = parseDumpStatus(tinyStatus(), Request{Wiki: "tinywiki", Multistream: true}, "20260820")
	if err != nil || len(got) != 1 || got[0].Name != "tinywiki-20260820-pages-articles-multistream.xml.bz2" {
		t.Errorf("multistream: got %v, %v, want the dump without its index", got, err)
	}
	for _, bad := range []string{`{}`, `{"jobs": {"articlesdump": {"status": "in-progress", "files": {}}}}`, `{"jobs": {"articlesdump": {"status": "done"}}}`} {
		if _, err := parseDumpStatus([]byte(bad), Request{Wiki: "tinywiki"}, "20260820"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got %v, want %v", bad, err, ErrNotFound)
		}
	}
	for _, bad := range []string{``, `[]`, `<html>`, strings.Replace(string(tinyStatus()), "cdcd", "zz", 1), strings.Replace(string(tinyStatus()), `"size": 7`, `"size": -7`, 1)} {
		if _, err := parseDumpStatus([]byte(bad), Request{Wiki: "tinywiki"}, "20260820"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v, want %v", bad, err, ErrCorrupt)
		}
	}
}

func FuzzDumpStatus(f *testing.F) {
	f.Add(tinyStatus(), false)
	f.Add(tinyStatus(), true)
	f.Fuzz(func(t *testing.T, raw []byte, multistream bool) {
		files, err := parseDumpStatus(raw, Request{Wiki: "tinywiki", Multistream: multistream}, "20260820")
		if (err == nil) != (len(files) > 0) {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, file := range files {
			if SafeName(file.Name) != file.Name || file.Bytes < 0 || !strings.HasPrefix(file.Name, "tinywiki-20260820-") {
				t.Fatalf("%+v", file)
			}
			if _, _, ok := strings.Cut(string(file.Checksum), ":"); file.Checksum != "" && !ok {
				t.Fatalf("%+v", file)
			}
		}
	})
}

const catalogue = "\ufeffText#,Type,Issued,Title,Language,Authors,Subjects,LoCC,Bookshelves\n" +
	"1,Text,1971-12-01,\"A Title,\nin two \"\"lines\"\"\",en,\"Someone, 1743-1826\",,,\n" +
	"2,Sound,1972-12-01,A Song,en,,,,\n3,Text,1973-11-01,Zwei Sprachen,de; en,,,,\n4,Text,1,Un livre,\"fr, en\",,,,\nx,Text,1,No number,en,,,,\n"

func TestTheCatalogueNamesTexts(t *testing.T) {
	got, err := parseCSV(strings.NewReader(catalogue))
	want := []book{{1, []string{"en"}}, {3, []string{"de", "en"}}, {4, []string{"fr", "en"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(book{})); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, bad := range []string{"", "<html>", "a,b\n1,2\n"} {
		if _, err := parseCSV(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(catalogue))
	z.Close()
	if _, err := parseCatalogue(bytes.NewReader(packed.Bytes()[:packed.Len()-6])); !errors.Is(err, ErrCorrupt) {
		t.Errorf("cut short: got %v, want %v", err, ErrCorrupt)
	}
}

func FuzzCatalogue(f *testing.F) {
	f.Add([]byte(catalogue))
	f.Add([]byte("Language,Type,Text#\nen,Text,7"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		books, err := parseCSV(bytes.NewReader(raw))
		if err != nil {
			return
		}
		for _, b := range books {
			if b.id < 1 || b.id > maxBookID {
				t.Fatalf("book %d", b.id)
			}
			for _, l := range b.languages {
				if l == "" || l != strings.ToLower(l) || strings.ContainsAny(l, " ,;") {
					t.Fatalf("language %q", l)
				}
			}
		}
		if len(books) > bytes.Count(raw, []byte("Text")) {
			t.Fatalf("%d books of %q", len(books), raw)
		}
	})
}

func FuzzContentRange(f *testing.F) {
	for _, s := range []string{"bytes 5-9/10", "bytes 0-0/*", "bytes */10", "bytes 9-5/10", "bytes 5-10/10", "bytes */*", "octets 1-2/3", "bytes 5-99999999999999999999/*", "bytes -1-2/3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseContentRange(s)
		if err != nil {
			return
		}
		if r.first > r.last || r.total >= 0 && r.last >= r.total || (r.first < 0) != (r.last < 0) || r.first < 0 && r.total < 0 {
			t.Fatalf("%q: %+v", s, r)
		}
		if back, err := parseContentRange(r.String()); err != nil || back != r {
			t.Fatalf("%q: %+v, written %q and read as %+v, %v", s, r, r, back, err)
		}
	})
}

func TestContentRangesAreUnderstoodOrRefused(t *testing.T) {
	for s, want := range map[string]contentRange{"bytes 5-9/10": {5, 9, 10}, "bytes 0-0/*": {0, 0, -1}, "bytes */10": {-1, -1, 10}} {
		if got, err := parseContentRange(s); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "bytes", "bytes 9-5/10", "bytes 5-10/10", "bytes */*", "octets 1-2/3", "bytes 5-9", "bytes 5-9/1x", "bytes +5-9/10", "bytes 5-99999999999999999999/*"} {
		if got, err := parseContentRange(s); err == nil {
			t.Errorf("%q: got %+v, want an error", s, got)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)
	for _, s := range []string{"120", "0", "99999999999", "Thu, 03 Sep 2026 12:01:00 GMT", "Thursday, 03-Sep-26 11:00:00 GMT", "-5", "soon"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		wait, ok := parseRetryAfter(s, now)
		if wait < 0 || wait > maxRetryAfter || !ok && wait != 0 {
			t.Fatalf("%q: %v, %v", s, wait, ok)
		}
		if later, ok2 := parseRetryAfter(s, now.Add(time.Hour)); ok2 != ok || later > wait {
			t.Fatalf("%q: %v an hour later, %v now", s, later, wait)
		}
	})
}

func TestBothFormsOfRetryAfterAreRead(t *testing.T) {
	now := time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]time.Duration{"120": 2 * time.Minute, "0": 0, now.Add(time.Minute).Format(http.TimeFormat): time.Minute,
		now.Add(-time.Minute).Format(http.TimeFormat): 0, "9999999999": maxRetryAfter, "99999999999999999999": maxRetryAfter} {
		if got, ok := parseRetryAfter(s, now); !ok || got != want {
			t.Errorf("%q: got %v, %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "soon", "-1", "1.5"} {
		if got, ok := parseRetryAfter(s, now); ok {
			t.Errorf("%q: got %v, want none", s, got)
		}
	}
}

func FuzzSafeName(f *testing.F) {
	for _, s := range []string{"a.txt", "../../etc/passwd", ".hidden", "-rf", "", "a b", "ü.zip", "C:\\x", strings.Repeat("a", 500) + ".tar.gz", ".part-x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := SafeName(s)
		if name == "" || len(name) > maxName || strings.ContainsAny(name, "/\\:\x00 ") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") {
			t.Fatalf("%q became %q", s, name)
		}
		if SafeName(name) != name {
			t.Fatalf("%q became %q, then %q", s, name, SafeName(name))
		}
	})
}

func TestFilesOfOneNameBecomeDistinct(t *testing.T) {
	files := []File{{Name: "a.tar.gz"}, {Name: "a.tar.gz"}, {Name: "a-2.tar.gz"}, {Name: "a.tar.gz"}, {Name: "b"}, {Name: "b"}}
	Distinct(files)
	var got []string
	for _, f := range files {
		got = append(got, f.Name)
	}
	if want := []string{"a.tar.gz", "a-2.tar.gz", "a-2-2.tar.gz", "a-3.tar.gz", "b", "b-2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRequestsAndOptionsSayWhatIsWrong(t *testing.T) {
	for _, s := range []string{"", "Simple", "en/../x", "enwiki@", "enwiki@2026", "enwiki@2026-8-1", "a", strings.Repeat("a", 70)} {
		if r, err := ParseWiki(s); err == nil {
			t.Errorf("wiki %q: got %+v, want an error", s, r)
		}
	}
	for _, r := range []Request{{}, {Kind: "ftp"}, {Kind: Gutenberg, Language: "english"}, {Kind: Gutenberg, IDs: []int{0}}, {Kind: Gutenberg, Limit: -1},
		{Kind: URL}, {Kind: URL, URL: "file:///etc/passwd"}, {Kind: URL, URL: "https://u:p@example.org/"}, {Kind: URL, URL: "https://example.org/a", SHA256: "12"},
		{Kind: Wiki, Wiki: "enwiki", Date: Latest, Layout: "new"}, {Kind: Wiki, Wiki: "enwiki", Date: Latest, Layout: LayoutContent, Multistream: true}} {
		if err := r.Validate(); err == nil {
			t.Errorf("%+v: got no error", r)
		}
	}
	for name, change := range map[string]func(*Options){
		"contact with a line feed": func(o *Options) { o.Contact = "a\r\nX: y" }, "many connections": func(o *Options) { o.Connections = 4 },
		"a trickle": func(o *Options) { o.Bandwidth = 10 }, "mirror of nobody": func(o *Options) { o.Mirrors = []Mirror{{"nobody", "https://example.org"}} },
		"mirror twice": func(o *Options) {
			o.Mirrors = []Mirror{{SiteGutenberg, "https://a.org"}, {SiteGutenberg, "https://b.org"}}
		}, "no attempts": func(o *Options) { o.Attempts = 0 },
	} {
		o := DefaultOptions()
		change(&o)
		if err := o.Validate(); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}

func TestFilesAndOptionsArePlainData(t *testing.T) {
	o := quick("https://example.org")
	raw, err := json.Marshal(o)
	var back Options
	if err != nil || json.Unmarshal(raw, &back) != nil || !cmp.Equal(o, back) {
		t.Errorf("options came back as %+v (%v)", back, err)
	}
}
