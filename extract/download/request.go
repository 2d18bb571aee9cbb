package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pretext/internal/redact"
)

// The kinds of requests.
const (
	Wiki      = "wiki"
	Gutenberg = "gutenberg"
	URL       = "url"
)

// Latest is the value of Request.Date for the newest complete dump.
const Latest = "latest"

// The layouts of Wikimedia's dumps.
const (
	LayoutAuto    = "auto"    // content exports, or legacy dumps if there are none
	LayoutContent = "content" // MediaWiki Content File Exports, monthly since 2025
	LayoutLegacy  = "legacy"  // XML dumps, twice a month
)

// A Request names a source. Kind determines which of the other fields are used. A
// Request is plain data.
type Request struct {
	Kind string `json:"kind"` // [Wiki], [Gutenberg] or [URL]

	Wiki        string `json:"wiki,omitempty"`        // database name, "enwiki"
	Date        string `json:"date,omitempty"`        // [Latest] or "2026-08-01"
	Layout      string `json:"layout,omitempty"`      // [LayoutAuto] …
	Multistream bool   `json:"multistream,omitempty"` // the multistream variant of a legacy dump

	Language string `json:"language,omitempty"` // language of the books: "en"
	IDs      []int  `json:"ids,omitempty"`      // numbers of books; if empty, all books in the catalogue
	Limit    int    `json:"limit,omitempty"`    // maximum number of books, 0: no limit

	URL       string `json:"url,omitempty"`
	URLSHA256 string `json:"url_sha256,omitempty"` // hash of the complete URL, if URL is redacted ([Request.Redacted])
	SHA256    string `json:"sha256,omitempty"`     // checksum of the file at URL, in hexadecimal
}

var (
	wikiName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{1,62}$`) })
	wikiDate = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{4})-?(\d{2})-?(\d{2})$`) })
	language = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2,3}$`) })
)

// ParseWiki parses the name of a wiki with an optional date: simplewiki,
// simplewiki@2026-08-01 or simplewiki@latest.
func ParseWiki(s string) (Request, error) {
	name, date, dated := strings.Cut(s, "@")
	r := Request{Kind: Wiki, Wiki: name, Date: Latest, Layout: LayoutAuto}
	if dated && date != Latest {
		m := wikiDate().FindStringSubmatch(date)
		if m == nil {
			return r, fmt.Errorf("%q: a date is like 2026-08-01, or %s", s, Latest)
		}
		r.Date = m[1] + "-" + m[2] + "-" + m[3]
		if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
			return r, fmt.Errorf("%q: there is no such date", s)
		}
	}
	return r, r.Validate()
}

// family matches the suffixes of the database names of all Wikimedia wikis.
var family = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`.(wiki|wiktionary|wikibooks|wikinews|wikiquote|wikisource|wikiversity|wikivoyage|wikimedia)$`)
})

// siteName matches other common ways to name a wiki: de, dewikipedia, de.wikipedia.org,
// https://de.wikipedia.org/wiki/X.
var siteName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:https?://)?([a-z][a-z_-]{1,11}?)(?:[._-]?(wikipedia|wiktionary|wikibooks|wikinews|wikiquote|wikisource|wikiversity|wikivoyage)(?:\.org.*)?)?$`)
})

// meantWiki returns the database name that the user probably meant by name, which is
// not a database name; "" if that is unclear.
func meantWiki(name string) string {
	m := siteName().FindStringSubmatch(strings.ToLower(name))
	switch {
	case m == nil, m[2] == "" && len(m[1]) > 3 && m[1] != "simple":
		return ""
	case m[2] == "" || m[2] == "wikipedia":
		m[2] = "wiki"
	}
	return strings.ReplaceAll(m[1], "-", "_") + m[2]
}

// Validate reports every field whose value is invalid, in one error.
func (r Request) Validate() error {
	var p problems
	switch r.Kind {
	case Wiki:
		if !wikiName().MatchString(r.Wiki) || !family().MatchString(r.Wiki) {
			p.add("no wiki is called %q: it must be a database name such as %s", r.Wiki, cmp.Or(meantWiki(r.Wiki), "simplewiki or enwiki"))
		}
		if r.Date != Latest && !wikiDate().MatchString(r.Date) {
			p.add("date %q: must be like 2026-08-01 or %s", r.Date, Latest)
		}
		if !slices.Contains([]string{LayoutAuto, LayoutContent, LayoutLegacy}, r.Layout) {
			p.add("layout %q: must be %s, %s or %s", r.Layout, LayoutAuto, LayoutContent, LayoutLegacy)
		}
		if r.Multistream && r.Layout == LayoutContent {
			p.add("content exports have no multistream variant")
		}
	case Gutenberg:
		if r.Language != "" && !language().MatchString(r.Language) {
			p.add("language %q: must be a code such as en", r.Language)
		}
		if r.Limit < 0 || slices.ContainsFunc(r.IDs, func(id int) bool { return id < 1 || id > maxBookID }) {
			p.add("limit and numbers of books must be positive")
		}
	case URL:
		if _, err := parseURL(r.URL, true); err != nil {
			p.add("url %w", err)
		} else if r.URLSHA256 != "" {
			p.add("url %s: parts that may be secret were removed, want the complete URL", r.URL)
		}
		if r.SHA256 != "" {
			if _, err := newChecksum("sha256", r.SHA256); err != nil {
				p.add("url %s: %w", redact.URL(r.URL), err)
			}
		}
	default:
		p.add("unknown kind of request %q", r.Kind)
	}
	return errors.Join(p...)
}

// problems collects all errors of a request or of options.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// String returns a short name of the request, for messages.
func (r Request) String() string {
	switch r.Kind {
	case Wiki:
		return r.Wiki + "@" + r.Date
	case Gutenberg:
		what := "Project Gutenberg"
		if r.Language != "" {
			what += " (" + r.Language + ")"
		}
		return what
	}
	return redact.URL(r.URL)
}

// Redacted returns the request without the parts of its URL that may be secret.
// URLSHA256 is then the hash of the complete URL.
func (r Request) Redacted() Request {
	if sum := redact.Hash(r.URL); sum != "" {
		r.URL, r.URLSHA256 = redact.URL(r.URL), sum
	}
	return r
}

// LicenceOf returns the licence of the files of a request.
func LicenceOf(r Request) string {
	switch r.Kind {
	case Wiki:
		return wikiLicence
	case Gutenberg:
		return booksLicence
	}
	return "not known"
}

// An Index describes a list of files, or of checksums, that a source publishes.
type Index struct {
	Name   string
	Bytes  int64
	SHA256 string
}

// A List holds the current files of a request, and descriptions of the published lists
// that were used to find them.
type List struct {
	Files   []File
	Indices []Index
}

// Resolve asks the source for the current files of a request. The error matches
// [ErrNotFound], [ErrNetwork], [ErrCorrupt], [ErrRefused] or [ErrOffline]. The text of
// an ErrNotFound names what is available.
func (c *Client) Resolve(ctx context.Context, r Request) (*List, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	switch r.Kind {
	case Wiki:
		return c.resolveWiki(ctx, r)
	case Gutenberg:
		return c.resolveBooks(ctx, r)
	}
	return resolveURL(r)
}

// resolveURL returns a list with one file, the file at the URL of r. If the file name
// is that of an XML file, the file is a dump. resolveURL does not contact the server.
func resolveURL(r Request) (*List, error) {
	u, err := parseURL(r.URL, true)
	if err != nil {
		return nil, err
	}
	f := File{Name: SafeName(redact.Name(u.EscapedPath())), URL: r.URL, Kind: kindBooks, Licence: "not known"}
	stem := f.Name
	for _, packed := range []string{".bz2", ".gz", ".zst"} {
		stem = strings.TrimSuffix(stem, packed)
	}
	if strings.HasSuffix(stem, ".xml") || strings.Contains(f.Name, ".xml-p") {
		f.Kind = kindWiki
	}
	if r.SHA256 != "" {
		f.Checksum, f.ChecksumSource = Checksum("sha256:"+strings.ToLower(r.SHA256)), "the command line"
	}
	return &List{Files: []File{f}}, nil
}

// maxName is the maximum length of a file name in bytes.
const maxName = 150

// SafeName converts a name from a server or URL to a safe file name. ASCII
// letters, digits, ".", "-" and "_" are kept; any other character becomes "_".
// The result does not begin with "." or "-", has at most maxName bytes and is
// never empty.
func SafeName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '-' || r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z') {
			return r
		}
		return '_'
	}, s)
	s = strings.TrimLeft(s, ".-")
	if len(s) > maxName { // keep the end, which has the extension
		s = strings.TrimLeft(s[len(s)-maxName:], ".-")
	}
	if s == "" {
		return "file"
	}
	return s
}

// Distinct renames files with the same name as an earlier file: the second a.txt
// becomes a-2.txt.
func Distinct(files []File) {
	used := map[string]bool{}
	for i := range files {
		name := files[i].Name
		stem, rest, dotted := strings.Cut(name, ".")
		for n := 2; used[name]; n++ {
			name = stem + "-" + strconv.Itoa(n)
			if dotted {
				name += "." + rest
			}
		}
		used[name] = true
		files[i].Name = name
	}
}
