package wikitext

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// encoded renders {{urlencode:text}} and {{anchorencode:text}}.
func (c *call) encoded(f function, first span) {
	if f == funcAnchor {
		text, mark := c.capture(first)
		c.str(strings.ReplaceAll(string(text), " ", "_"))
		c.release(mark)
		return
	}
	raw, known := c.condition(first)
	if !known {
		return
	}
	text := string(raw)
	switch string(c.bytes(c.arg(1))) {
	case "PATH":
		text = strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	case "WIKI":
		text = unescapedInWiki.Replace(url.QueryEscape(strings.ReplaceAll(text, " ", "_")))
	default:
		text = strings.ReplaceAll(url.QueryEscape(text), "~", "%7E")
	}
	c.str(text)
}

// unescapedInWiki restores the marks that addresses of pages show.
var unescapedInWiki = strings.NewReplacer("%3B", ";", "%40", "@", "%24", "$", "%21", "!", "%2A", "*", "%28", "(", "%29", ")", "%2C", ",", "%2F", "/", "%3A", ":")

// A title is the title of a page.
type title struct {
	namespace string // the wiki's name of it; "" for articles
	text      string
}

// parseTitle parses a title as written on a page; ok is false if no page can have it.
func (w *wiki) parseTitle(text string) (t title, ok bool) {
	text, _, _ = strings.Cut(text, "#")
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "_", " ")), " ")
	text = strings.TrimPrefix(text, ":")
	if before, after, found := strings.Cut(text, ":"); found {
		if name, known := w.namespaceName(strings.TrimSpace(before)); known {
			t.namespace, text = name, strings.TrimSpace(after)
		}
	}
	if text == "" || strings.ContainsAny(text, "<>[]{}|") || !utf8.ValidString(text) {
		return t, false
	}
	if !strings.HasSuffix(w.page.Wiki, "wiktionary") {
		text = string(appendCase(nil, []byte(text), funcUpperFirst, w.baseLang()))
	}
	t.text = text
	return t, true
}

// namespaceNames are the canonical names of namespaces.
var namespaceNames = map[string]int{"talk": 1, "user": 2, "user talk": 3, "project": 4, "project talk": 5, "file": 6, "image": 6, "file talk": 7, "mediawiki": 8, "mediawiki talk": 9,
	"template": 10, "template talk": 11, "help": 12, "help talk": 13, "category": 14, "category talk": 15, "module": 828, "module talk": 829, "special": -1, "media": -2}

// namespaceName returns the wiki's name of the namespace with a name or number.
func (w *wiki) namespaceName(name string) (own string, known bool) {
	folded := strings.ToLower(name)
	for _, own := range w.page.Namespaces {
		if strings.ToLower(own) == folded && own != "" {
			return own, true
		}
	}
	n, known := namespaceNames[folded]
	if !known {
		return "", false
	}
	if own := w.page.Namespaces[n]; own != "" {
		return own, true
	}
	return strings.ToUpper(folded[:1]) + folded[1:], true
}

// titleFunction renders {{PAGENAME:title}}, {{#titleparts:title|parts|first}} and
// {{ns:number}}.
func (c *call) titleFunction(f function, first span) {
	raw, known := c.condition(first)
	if !known {
		return
	}
	text := string(raw)
	if f == funcNamespace {
		c.namespace(text)
		return
	}
	t, ok := c.wiki.parseTitle(text)
	full := t.text
	if t.namespace != "" {
		full = t.namespace + ":" + t.text
	}
	name, _, _ := strings.Cut(strings.ToLower(string(c.bytes(c.given))), ":")
	switch {
	case f == funcTitleParts && !ok && strings.Contains(string(c.bytes(first)), "{{"):
		c.str(text)
	case f == funcTitleParts && !ok:
		c.put(first)
	case !ok: // no text
	case strings.Contains(full, "''"): // would become italics
		c.wrong()
	case f == funcTitleParts:
		c.str(titleParts(full, intArgument(c.bytes(c.arg(1))), intArgument(c.bytes(c.arg(2)))))
	case strings.TrimSpace(name) == "pagename":
		c.str(t.text)
	default:
		c.str(full)
	}
}

// intArgument returns the integer at the beginning of an argument, or 0.
func intArgument(b []byte) int {
	v, _ := parseFloatPrefix(b)
	return int(max(min(v, maxArguments), -maxArguments))
}

// titleParts returns some parts of a title, which are separated by slashes: number parts from
// the first on, or all but the last -number; first counts from 1, or, if negative, from the
// end.
func titleParts(full string, number, first int) string {
	parts := strings.SplitN(full, "/", 25) // as MediaWiki
	from := first
	if first > 0 {
		from--
	}
	if from < 0 {
		from = max(len(parts)+from, 0)
	}
	parts = parts[min(from, len(parts)):]
	switch {
	case number > 0:
		parts = parts[:min(number, len(parts))]
	case number < 0:
		parts = parts[:max(len(parts)+number, 0)]
	}
	return strings.Join(slices.Clone(parts), "/")
}

// namespace renders {{ns:10}}.
func (c *call) namespace(text string) {
	n, err := strconv.Atoi(text)
	own, known := c.wiki.page.Namespaces[n]
	switch {
	case err == nil && n == 0:
	case err == nil && known:
		c.str(own)
	default:
		if own, known = c.wiki.namespaceName(strings.ReplaceAll(text, "_", " ")); err != nil && known {
			c.str(own)
			return
		}
		c.wrong()
	}
}
