// Package download downloads the raw sources of a corpus into a directory:
// Wikimedia's dumps, books from Project Gutenberg, files at any URL.
//
// A [Request] names a source: the newest dump of a wiki, some books.
// [Client.Resolve] asks the source for its current files and returns a list of
// files, each with its address, published checksum and licence. [Client.Fetch]
// downloads one file:
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
// # Files
//
// Bytes are appended to a partial file (.part-…), which remains when the process
// ends. The next transfer requests only the rest, with Range and If-Range, so
// that the server sends the whole file if it has changed. A complete file is
// renamed to its final name only if it has the size and checksum that its source
// publishes. After a mismatch the client first asks for the true size: if the
// transfer was incomplete, it requests the rest, otherwise it downloads the file
// again.
//
// A file without a checksum (a book) is accepted as the server sent it. It is
// resumed only if a strong ETag and the size of the whole file are known and the
// response with the rest (status 206) repeats both; otherwise the download starts
// again. A web page in place of a file is refused.
//
// # Politeness
//
// By default, a client opens at most two connections to a host (one to a mirror of
// Project Gutenberg, with two seconds between requests). Every request contains the
// name of the program and a contact. After a failure the client waits as long as the
// header Retry-After asks; without that header, it waits longer after each failure.
// Use one client for a whole run.
//
// # Trust
//
// Only https is used. Redirects may lead to the same host, to the mirrors of its
// site or to hosts that the user named, at most five in a row. Addresses of
// private networks are refused when the connection is made, so a host name cannot
// resolve to one unnoticed. [Options.AllowPrivate] allows them, for local mirrors. Names from
// servers are checked before they become file names, and the size of everything
// that is read into memory is limited.
//
// A Client is safe for concurrent use.
package download

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"pretext/internal/failure"
	"pretext/internal/redact"
)

// Errors that callers distinguish.
var (
	// ErrNetwork reports that a server could not be reached or sent no valid
	// response. Trying again later may help.
	ErrNetwork = failure.Network("network")
	// ErrCorrupt reports that a file does not match its checksum, or that a server's
	// list of files or checksums is invalid.
	ErrCorrupt = failure.Damaged("damaged download")
	// ErrNotFound reports that a source does not have the requested file.
	ErrNotFound = failure.Usage(errors.New("not found"))
	// ErrRefused reports an address, redirect or size that is not allowed.
	ErrRefused = failure.Refused("refused")
	// ErrOffline reports that a file is missing and [Options.Offline] forbids its
	// download.
	ErrOffline = failure.Refused("offline")
)

// Kinds of files.
const (
	kindWiki  = "wiki"  // a MediaWiki XML dump, or a part of one
	kindBooks = "books" // a book or an archive of books
)

// A File is one file of a source. It is plain data.
type File struct {
	Name           string   `json:"name"`                 // file name, without directories
	URL            string   `json:"url"`                  // address at its origin, even if a mirror is used
	URLSHA256      string   `json:"url_sha256,omitempty"` // hash of the complete URL, if URL is redacted ([File.Redacted])
	Kind           string   `json:"kind"`
	Bytes          int64    `json:"bytes,omitempty"` // 0 if unknown
	Checksum       Checksum `json:"checksum,omitempty"`
	ChecksumSource string   `json:"checksum_source,omitempty"` // URL of the list with the checksum
	Licence        string   `json:"licence"`
	// Optional reports that the file may be missing at the source. For example, some
	// books in the catalogue have no plain text.
	Optional bool `json:"optional,omitempty"`
}

// Redacted returns the file without the parts of its URL that may be secret.
// URLSHA256 is then the hash of the complete URL.
func (f File) Redacted() File {
	if sum := redact.Hash(f.URL); sum != "" {
		f.URL, f.URLSHA256 = redact.URL(f.URL), sum
	}
	return f
}

// A Mirror is another server for the files of a site.
type Mirror struct {
	Site string `json:"site"` // [SiteWikimedia] or [SiteGutenberg]
	Base string `json:"base"` // URL that replaces the beginning of the site's URLs
}

// Options configures a [Client]. Start from [DefaultOptions] and change fields;
// [Options.Validate] reports every problem at once. Options is plain data.
type Options struct {
	Product      string        `json:"product"`           // name and version of the program, sent to servers
	Contact      string        `json:"contact,omitempty"` // URL or e-mail address of the user, sent to servers; Wikimedia asks for it
	Mirrors      []Mirror      `json:"mirrors,omitempty"` // at most one for each site
	Hosts        []string      `json:"hosts,omitempty"`   // additional hosts to which redirects may lead
	Connections  int           `json:"connections"`       // maximum for each host, 1 to 3
	BookPause    time.Duration `json:"book_pause"`        // pause between requests to a mirror of Project Gutenberg
	Bandwidth    int64         `json:"bandwidth"`         // maximum bytes per second of all connections together, 0: no limit
	Stall        time.Duration `json:"stall"`             // time without progress after which a connection is closed
	Attempts     int           `json:"attempts"`          // maximum number of consecutive attempts without progress
	Backoff      time.Duration `json:"backoff"`           // wait after the first failure; doubles with each further failure
	MaxBackoff   time.Duration `json:"max_backoff"`       // maximum wait between attempts
	MaxWait      time.Duration `json:"max_wait"`          // maximum Retry-After that the client waits for
	MaxBytes     int64         `json:"max_bytes"`         // maximum size of a file
	AllowPrivate bool          `json:"allow_private"`     // allow addresses of private networks, and plain http
	Offline      bool          `json:"offline"`           // do not open any connection
}

// DefaultOptions returns options that respect the rules of Wikimedia and
// Project Gutenberg.
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

// minBandwidth is the minimum of Options.Bandwidth, in bytes per second. A
// slower transfer would count as stalled.
const minBandwidth = 16 << 10

// Validate reports every field whose value is invalid, in one error.
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
		if !slices.ContainsFunc(sites, func(s site) bool { return s.name == m.Site }) {
			p.add("mirror of %q: unknown site, want %s or %s", m.Site, SiteWikimedia, SiteGutenberg)
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

// parseURL parses an absolute https URL. If private is true, http is allowed
// too.
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

// userAgent returns the User-Agent header of all requests.
func (o Options) userAgent() string {
	contact := o.Contact
	if contact == "" {
		contact = "no contact given"
	}
	return fmt.Sprintf("%s (%s)", o.Product, contact)
}
