package wiki

import (
	"net/url"
	"strings"
)

// An address holds what all page addresses of a wiki have in common.
type address struct {
	prefix  string // part of an address before the page title; "" if unknown
	license string // SPDX identifier of the licence of all pages; "" if unknown
}

// newAddress derives an address from the main page's URL in the head of a dump, such as
// "https://en.wikipedia.org/wiki/Main_Page".
func newAddress(base string) address {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return address{}
	}
	a := address{license: licenseOf(u.Hostname())}
	for _, before := range []string{"/wiki/", "/index.php/", "?title="} {
		if i := strings.Index(base, before); i >= 0 {
			a.prefix = base[:i+len(before)]
			return a
		}
	}
	if i := strings.LastIndexByte(base, '/'); i >= len(u.Scheme)+len("://")+len(u.Host) {
		a.prefix = base[:i+1]
	}
	return a
}

// LicenseOf returns the SPDX identifier of the licence of the page with the given URL;
// "" if unknown.
func LicenseOf(address string) string { return newAddress(address).license }

// of returns the URL of the page with the given title.
func (a address) of(title string) string {
	if a.prefix == "" {
		return ""
	}
	b := make([]byte, 0, len(a.prefix)+len(title)+8)
	b = append(b, a.prefix...)
	for i := 0; i < len(title); i++ {
		switch c := title[i]; {
		case c == ' ':
			b = append(b, '_')
		case '0' <= c && c <= '9', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', strings.IndexByte(plainInAddress, c) >= 0:
			b = append(b, c)
		default:
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}

// plainInAddress are the characters, besides letters and digits, that MediaWiki does
// not escape in page URLs (wfUrlencode).
const (
	plainInAddress = "-_.~;@$!*(),/:"
	upperHex       = "0123456789ABCDEF"
)

// wikimediaProjects are the domains of the Wikimedia wikis under the licence that
// Wikimedia's terms of use require since June 2023. Wikinews and Wikidata use other
// licences.
var wikimediaProjects = []string{"wikipedia.org", "wiktionary.org", "wikibooks.org", "wikiquote.org", "wikisource.org", "wikiversity.org",
	"wikivoyage.org", "wikimedia.org", "mediawiki.org"}

// licenseOf returns the SPDX identifier of the licence of a wiki's text, given the
// wiki's host name; "" if unknown.
func licenseOf(host string) string {
	for _, domain := range wikimediaProjects {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return "CC-BY-SA-4.0"
		}
	}
	return ""
}
