// Package download brings the raw sources of a corpus to a folder: Wikimedia's
// dumps, books of Project Gutenberg, files at plain URLs.
//
// A [Request] says what is wanted, in the words of a person: the newest dump of
// a wiki, some books. [Client.Resolve] asks the source what that is at present
// and answers with a list of files, each with the address, the checksum that
// the source publishes and the licence. [Client.Fetch] brings one of them:
//
//	c, err := download.NewClient(download.DefaultOptions())
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	list, err := c.Resolve(ctx, download.Request{Kind: download.Wiki, Wiki: "simplewiki"})
//	if err != nil {
//		return err
//	}
//	for _, f := range list.Files {
//		if _, err := c.Fetch(ctx, dir, f, download.Hooks{}); err != nil {
//			return err
//		}
//	}
//
// # What a file goes through
//
// Bytes are appended to a partial file (.part-…) that
// outlives the process. Whatever ends a transfer, the next one asks for the rest
// alone, with Range and If-Range, so that a file that changed meanwhile is sent
// whole. A finished file must have the size and checksum of its source; only
// then does it get its name. What does not match is asked for its true length
// first, since a transfer that was cut short is mended by its rest, and fetched
// anew when that does not explain it.
//
// Files without a checksum (books) are kept as the server sent them, whole by its
// word. They are resumed only where a strong ETag and the length of the whole are
// known, and the 206 repeats both; otherwise they begin again at their first byte.
// A web page in place of a file is refused.
//
// # Manners
//
// A client never has more than two connections to a host (one to a mirror of
// Project Gutenberg, with two seconds between requests), names itself and a
// contact in every request, waits as long as Retry-After says, and otherwise
// longer after each failure. One client serves a whole run.
//
// # Trust
//
// Only https is spoken, and redirects lead to the host that was asked, to the
// mirrors of its site or to hosts that the user named, at most five in a row.
// Addresses of private networks are refused when the connection is made, so
// that no name can lead there. [Options.AllowPrivate] lifts that, for mirrors in
// one's own network. Names that servers give are checked before they become
// names of files, and everything that is read into memory is bounded.
//
// A Client is safe for concurrent use.
package download

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"pretext/internal/failure"
	"pretext/internal/redact"
)

// Errors that callers tell apart.
var (
	// ErrNetwork says that a server could not be reached, or gave no right
	// answer however often it was asked. Trying again later may help.
	ErrNetwork = failure.Network("network")
	// ErrCorrupt says that what a server sends is not what its checksum or
	// its own lists say.
	ErrCorrupt = failure.Damaged("damaged download")
	// ErrNotFound says that a source has no such thing.
	ErrNotFound = failure.Usage(errors.New("not found"))
	// ErrRefused says that a server led to a place that is not to be trusted.
	ErrRefused = failure.Network("refused")
	// ErrOffline says that something is not there and may not be fetched.
	ErrOffline = failure.Network("offline")
)

// What a file is, as far as its source tells.
const (
	KindWiki  = "wiki"  // a MediaWiki XML dump, or a part of one
	KindBooks = "books" // a book or an archive of books
)

// A File is one file of a source. It is plain data.
type File struct {
	Name           string   `json:"name"`                 // it gets, free of folders
	URL            string   `json:"url"`                  // at its origin, whatever mirror serves it
	URLSHA256      string   `json:"url_sha256,omitempty"` // of the URL with its query, where URL has none ([File.Redacted])
	Kind           string   `json:"kind"`
	Bytes          int64    `json:"bytes,omitempty"` // 0 where the source does not say
	Checksum       Checksum `json:"checksum,omitempty"`
	ChecksumSource string   `json:"checksum_source,omitempty"` // where the checksum stands
	Licence        string   `json:"licence"`
	// Optional files may be missing at the source: a catalogue lists books of
	// which there is no plain text.
	Optional bool `json:"optional,omitempty"`
}

// Redacted returns the file as it may be written down: without what may be secret
// in its URL, and with the hash of the whole.
func (f File) Redacted() File {
	if sum := redact.Hash(f.URL); sum != "" {
		f.URL, f.URLSHA256 = redact.URL(f.URL), sum
	}
	return f
}

// A Mirror serves the files of a site from another place.
type Mirror struct {
	Site string `json:"site"` // [SiteWikimedia] or [SiteGutenberg]
	Base string `json:"base"` // URL that stands for the site's own
}

// Options configures a [Client]. Start from [DefaultOptions] and change fields;
// [Options.Validate] reports every problem at once. Options is plain data.
type Options struct {
	Product      string        `json:"product"`           // name and version of the program, for servers
	Contact      string        `json:"contact,omitempty"` // URL or address of who runs it; Wikimedia asks for one
	Mirrors      []Mirror      `json:"mirrors,omitempty"` // at most one a site
	Hosts        []string      `json:"hosts,omitempty"`   // more hosts that redirects may lead to
	Connections  int           `json:"connections"`       // to a host, 1 to 3
	BookPause    time.Duration `json:"book_pause"`        // between requests to a mirror of Project Gutenberg
	Bandwidth    int64         `json:"bandwidth"`         // bytes a second over all connections, 0: no limit
	Stall        time.Duration `json:"stall"`             // without progress, after which a connection is given up
	Attempts     int           `json:"attempts"`          // in a row that bring nothing, after which a file is given up
	Backoff      time.Duration `json:"backoff"`           // after the first failure; doubles with each
	MaxBackoff   time.Duration `json:"max_backoff"`       // longest
	MaxWait      time.Duration `json:"max_wait"`          // longest Retry-After that is waited for
	MaxBytes     int64         `json:"max_bytes"`         // of a file
	AllowPrivate bool          `json:"allow_private"`     // addresses of private networks, and plain http there
	Offline      bool          `json:"offline"`           // open no connection at all
}

// DefaultOptions returns the options of a well-behaved client.
func DefaultOptions() Options {
	return Options{
		Product:     "pretext",
		Connections: 2,
		BookPause:   2 * time.Second,
		Stall:       time.Minute,
		Attempts:    8,
		Backoff:     time.Second,
		MaxBackoff:  time.Minute,
		MaxWait:     15 * time.Minute,
		MaxBytes:    1 << 40,
	}
}

// minBandwidth is the slowest limit: less would look like a stalled transfer.
const minBandwidth = 16 << 10

// Validate reports every problem of the options.
func (o Options) Validate() error {
	var p problems
	if o.Product == "" || strings.ContainsFunc(o.Product+o.Contact, func(r rune) bool { return r < ' ' || r > '~' }) {
		p.add("product %q, contact %q: must be printable ASCII", o.Product, o.Contact)
	}
	if o.Connections < 1 || o.Connections > 3 {
		p.add("connections %d: must be 1 to 3, more is not polite", o.Connections)
	}
	if o.Bandwidth != 0 && o.Bandwidth < minBandwidth {
		p.add("bandwidth %d: must be at least %d bytes a second", o.Bandwidth, minBandwidth)
	}
	if o.Attempts < 1 || o.Stall <= 0 || o.Backoff < 0 || o.MaxBackoff < o.Backoff || o.MaxWait < 0 || o.BookPause < 0 || o.MaxBytes < 1 {
		p.add("attempts, stall and max_bytes must be positive, waits must not be negative")
	}
	seen := map[string]bool{}
	for _, m := range o.Mirrors {
		if _, ok := siteByName(m.Site); !ok {
			p.add("mirror of %q: must be of %s or %s", m.Site, SiteWikimedia, SiteGutenberg)
		}
		if seen[m.Site] {
			p.add("mirror of %s: given twice", m.Site)
		}
		seen[m.Site] = true
		if _, err := parseURL(m.Base, o.AllowPrivate); err != nil {
			p.add("mirror %w", err)
		}
	}
	return errors.Join(p...)
}

// parseURL reads an absolute URL of a scheme that is spoken: https, or http
// where private networks are allowed.
func parseURL(raw string, private bool) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%q: not a URL", redact.URL(raw))
	}
	switch {
	case u.Scheme == "http" && !private:
		return nil, fmt.Errorf("%q: plain http is not safe, give an https URL", redact.URL(raw))
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q: must begin with https://", redact.URL(raw))
	case u.Host == "" || u.Hostname() == "" || u.User != nil || u.Opaque != "":
		return nil, fmt.Errorf("%q: must name a host and no user", redact.URL(raw))
	}
	return u, nil
}

// userAgent is what every request carries.
func (o Options) userAgent() string {
	contact := o.Contact
	if contact == "" {
		contact = "no contact given"
	}
	return fmt.Sprintf("%s (%s)", o.Product, contact)
}
