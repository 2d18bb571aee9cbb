package wikihtml

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// A page holds the facts about a page, without its text.
type page struct {
	title     string
	id        int64 // 0: unknown
	namespace int
	wiki      string // "enwiki"
	lang      string
	url       string
	revision  int64
	timestamp string // time of the revision
	license   string

	redirect, disambiguation bool
	templates                []byte // "{{name}}" for each template in use, for wikitext.IsDisambiguation
}

// A snapshotLine is a line of a snapshot.
type snapshotLine struct {
	Name         string `json:"name"`
	Identifier   int64  `json:"identifier"`
	URL          string `json:"url"`
	DateModified string `json:"date_modified"`
	Version      struct {
		Identifier int64 `json:"identifier"`
	} `json:"version"`
	Language  identified    `json:"in_language"`
	Part      identified    `json:"is_part_of"`
	Namespace *numbered     `json:"namespace"`
	License   []*identified `json:"license"`
	Body      struct {
		HTML string `json:"html"`
	} `json:"article_body"`
}

type identified struct {
	Identifier string `json:"identifier"`
}

type numbered struct {
	Identifier int `json:"identifier"`
}

// parse parses a line of a snapshot; ok is false if it is not a JSON object of the
// expected form.
func (l *snapshotLine) parse(line []byte) (p page, ok bool) {
	*l = snapshotLine{}
	if json.Unmarshal(line, l) != nil || l.Identifier < 0 || strings.TrimSpace(l.Name) == "" {
		return p, false
	}
	p = page{title: strings.Join(strings.Fields(strings.ReplaceAll(l.Name, "_", " ")), " "), id: l.Identifier, url: l.URL, lang: l.Language.Identifier, wiki: l.Part.Identifier,
		revision: l.Version.Identifier, timestamp: savedAt(l.DateModified)}
	if l.Namespace != nil {
		p.namespace = l.Namespace.Identifier
	}
	for _, license := range l.License {
		if license != nil && license.Identifier != "" {
			p.license = license.Identifier
			break
		}
	}
	return p, true
}

// savedAt converts a time to the format of dumps, 2017-07-01T12:00:00Z; "" if text is
// not a time.
func savedAt(text string) string {
	t, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	if err != nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// element stores a fact from an element in the head of a page. Facts that are already
// known are not changed.
func (p *page) element(name string, attrs *attributes) {
	switch name {
	case "html":
		if _, revision, ok := strings.Cut(attrs.get("about"), "Special:Redirect/revision/"); ok && p.revision == 0 {
			p.revision, _ = strconv.ParseInt(revision, 10, 64)
		}
		return
	case "link":
		switch attrs.get("rel") {
		case "dc:isVersionOf":
			address := attrs.get("href")
			if strings.HasPrefix(address, "//") {
				address = "https:" + address
			}
			p.url = cmp.Or(p.url, address)
		case "mw:PageProp/redirect":
			p.redirect = true
		}
		return
	}
	content := attrs.get("content") // of a <meta>
	switch attrs.get("property") {
	case "mw:pageId":
		if n, err := strconv.ParseInt(content, 10, 64); err == nil && n > 0 && p.id == 0 {
			p.id = n
		}
	case "mw:pageNamespace":
		if n, err := strconv.Atoi(content); err == nil && p.namespace == 0 {
			p.namespace = n
		}
	case "dc:modified":
		p.timestamp = cmp.Or(p.timestamp, savedAt(content))
	case "mw:PageProp/disambiguation", "mw:PageProp/disambig":
		p.disambiguation = true
	}
	if strings.EqualFold(attrs.get("http-equiv"), "content-language") {
		p.lang = cmp.Or(p.lang, content)
	}
}

// projectOf maps domains of Wikimedia's projects to the suffixes of wiki names.
var projectOf = map[string]string{"wikipedia.org": "wiki", "wiktionary.org": "wiktionary", "wikibooks.org": "wikibooks", "wikiquote.org": "wikiquote",
	"wikisource.org": "wikisource", "wikiversity.org": "wikiversity", "wikivoyage.org": "wikivoyage", "wikinews.org": "wikinews"}

// wikiOf returns the name of the wiki that a page address belongs to, such as "enwiki"
// for https://en.wikipedia.org/wiki/Earth. It returns "" if the wiki is not one of
// Wikimedia's.
func wikiOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	lang, domain, _ := strings.Cut(strings.Replace(u.Hostname(), ".m.", ".", 1), ".")
	if end := projectOf[domain]; end != "" && lang != "www" {
		return strings.ReplaceAll(lang, "-", "_") + end
	}
	return ""
}

// attributes holds the attributes of a tag that the converter uses.
type attributes struct {
	names  [16]string
	values [16]string
	n      int
}

// kept maps the names of the attributes that the converter uses to themselves, so that
// a name need not be allocated.
var kept = func() map[string]string {
	m := map[string]string{}
	for _, name := range []string{"class", "typeof", "rel", "role", "style", "property", "content", "about", "href", "http-equiv", "data-mw", "data-mw-variant", "id"} {
		m[name] = name
	}
	return m
}()

// coordinates is the only value of the attribute id that the converter uses: the
// coordinates of a place, shown beside the title.
const coordinates = "coordinates"

// read reads the attributes of the current tag.
func (a *attributes) read(z *html.Tokenizer) {
	a.n = 0
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		name := kept[string(key)]
		if name == "id" && string(value) != coordinates {
			continue
		}
		if name != "" && a.n < len(a.names) {
			a.names[a.n], a.values[a.n] = name, string(value)
			a.n++
		}
	}
}

func (a *attributes) get(name string) string {
	for i := range a.n {
		if a.names[i] == name {
			return a.values[i]
		}
	}
	return ""
}
