package download

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// The known sites.
const (
	SiteWikimedia = "wikimedia"
	SiteGutenberg = "gutenberg"
)

// A site is an origin of files, with its mirrors and its limits for clients.
type site struct {
	name    string
	origin  string   // beginning of the URLs of its files
	serve   string   // URL to use instead of origin, unless a mirror is given
	hosts   []string // hosts of the site and of known mirrors, to which redirects may lead
	polite  int      // maximum number of connections
	patient bool     // pause between requests for Options.BookPause
}

// sites are the known sites. Wikimedia allows three connections (according to its index
// page in 2026; two before) and lists its mirrors. Project Gutenberg asks programs to
// use a mirror and to pause for two seconds (according to its page on robot access).
var sites = []site{
	{name: SiteWikimedia, origin: "https://dumps.wikimedia.org", serve: "https://dumps.wikimedia.org", polite: 3,
		hosts: []string{"dumps.wikimedia.org", "dumps.wikimedia.your.org", "ftp.acc.umu.se", "mirror.accum.se", "wikimedia.bytemark.co.uk"}},
	{name: SiteGutenberg, origin: "https://www.gutenberg.org", serve: "https://aleph.pglaf.org", polite: 1, patient: true,
		hosts: []string{"www.gutenberg.org", "gutenberg.org", "aleph.pglaf.org", "gutenberg.pglaf.org", "aleph.gutenberg.org"}},
}

// A manner holds the limits for requests to a host.
type manner struct {
	connections int
	pause       time.Duration // minimum time between the starts of requests
}

// places determines the hosts from which the files of each site are downloaded in this
// run.
type places struct {
	options Options
	serve   map[string]string   // site → base URL
	hosts   map[string]*site    // host name → site
	allowed map[string][]string // site → hosts to which its redirects may lead
}

func newPlaces(o Options) (*places, error) {
	p := &places{options: o, serve: map[string]string{}, hosts: map[string]*site{}, allowed: map[string][]string{}}
	for i := range sites {
		s := &sites[i]
		p.serve[s.name], p.allowed[s.name] = s.serve, s.hosts
		for _, m := range o.Mirrors {
			if m.Site != s.name {
				continue
			}
			u, err := parseURL(m.Base, o.AllowPrivate)
			if err != nil {
				return nil, err
			}
			p.serve[s.name] = strings.TrimRight(m.Base, "/")
			p.allowed[s.name] = append(slices.Clip(s.hosts), u.Hostname())
		}
		for _, host := range p.allowed[s.name] {
			if p.hosts[host] == nil || s.patient { // a host that serves two sites has the stricter limits
				p.hosts[host] = s
			}
		}
	}
	return p, nil
}

// locate converts the original URL of a file to the URL to request, which may be at a
// mirror.
func (p *places) locate(raw string) (*url.URL, error) {
	for _, s := range sites {
		if rest, ok := strings.CutPrefix(raw, s.origin+"/"); ok {
			raw = p.serve[s.name] + "/" + rest
			break
		}
	}
	return parseURL(raw, p.options.AllowPrivate)
}

// mayFollow reports whether a redirect is allowed. from and to are host names.
func (p *places) mayFollow(from, to string) bool {
	from, to = strings.ToLower(from), strings.ToLower(to)
	if from == to || slices.Contains(p.options.Hosts, to) {
		return true
	}
	s := p.hosts[from]
	return s != nil && slices.Contains(p.allowed[s.name], to)
}

// mannerOf returns the limits for a host.
func (p *places) mannerOf(host string) manner {
	m := manner{connections: p.options.Connections}
	if s := p.hosts[strings.ToLower(host)]; s != nil {
		m.connections = min(m.connections, s.polite)
		if s.patient {
			m.pause = p.options.BookPause
		}
	}
	return m
}
