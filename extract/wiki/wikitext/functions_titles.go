package wikitext

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pretext/extract/wiki/internal/namespace"
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
		if n, known := namespace.Number(w.page.Namespaces, before); known {
			t.namespace, text = namespace.Name(w.page.Namespaces, n), strings.TrimSpace(after)
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

// titleFunction renders {{PAGENAME:title}}, {{#titleparts:title|parts|first}} and
// {{ns:number}}.
func (c *call) titleFunction(f function, first span) {
	raw, known := c.condition(first)
	if !known {
		return
	}
	text := string(raw)
	if f == funcNamespace {
		c.namespaceOf(text)
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
	v, _ := parseIntegerPrefix(b)
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

// namespaceOf renders {{ns:10}} and {{ns:Template}}.
func (c *call) namespaceOf(text string) {
	own := c.wiki.page.Namespaces
	n, err := strconv.Atoi(text)
	name, known := own[n]
	if err != nil {
		if n, known = namespace.Number(own, text); known {
			name = namespace.Name(own, n)
		}
	}
	switch {
	case err == nil && n == 0: // articles
	case known:
		c.str(name)
	default:
		c.wrong()
	}
}
