package wikitext

import "bytes"

// maxProtocol is the length of the longest protocol name, in bytes.
const maxProtocol = len("worldwind")

// protocolLength returns the length of the protocol with which b begins, such
// as "https://" or "mailto:", in upper or lower case; 0 if there is none. The
// protocols are those of Wikimedia's wikis ($wgUrlProtocols).
func protocolLength(b []byte) int {
	var name [maxProtocol]byte
	n := 0
	for n < len(b) && class[b[n]]&classLetter != 0 {
		if n == maxProtocol {
			return 0
		}
		name[n] = b[n] | 0x20
		n++
	}
	switch string(name[:n]) {
	case "": // "//example.org" uses the protocol of the page
	case "http", "https", "ftp", "ftps", "irc", "ircs", "ssh", "sftp", "gopher", "telnet", "nntp", "worldwind", "svn", "git", "mms", "redis":
		if n >= len(b) || b[n] != ':' {
			return 0
		}
		n++
	case "mailto", "news", "tel", "sms", "xmpp", "sip", "sips", "bitcoin", "magnet", "urn", "geo", "matrix":
		if n >= len(b) || b[n] != ':' {
			return 0
		}
		return n + 1
	default:
		return 0
	}
	if n+1 < len(b) && b[n] == '/' && b[n+1] == '/' {
		return n + 2
	}
	return 0
}

// An extLink is an external link [url label], given by offsets in the source.
type extLink struct {
	label, labelEnd int
	next            int // offset after the link
}

// extLinkAt parses the external link at src[i], which is "[": a URL, then a
// label up to the next "]" on the line. A "]" inside a link or template in the
// label does not end it (Parser::handleExternalLinks). ok is false if there is
// no external link.
func (f *finder) extLinkAt(i, e int) (l extLink, ok bool) {
	if f.near.url.covers(i, e) {
		return l, false
	}
	n := protocolLength(f.src[i+1 : e])
	if n == 0 && !f.givesURL(i+1, e) {
		return l, false
	}
	first := i + 1 + n
	j := f.urlEnd(first, e)
	if j == first {
		return l, false
	}
	k := j
	for k < e && f.src[k] != ']' && f.src[k] != '\n' {
		f.work++
		if k+1 < e && f.src[k] == '[' && f.src[k+1] == '[' {
			if inner, ok := f.linkAt(k, e); ok {
				k = inner.next
				continue
			}
		}
		k = f.stepInLabel(k, e)
	}
	if k >= e || f.src[k] != ']' {
		f.near.url = failure{from: i, to: k, limit: e}
		return l, false
	}
	return extLink{label: j, labelEnd: k, next: k + 1}, true
}

// givesURL reports whether the template at src[i] gives the URL of an external link: it
// is a parser function for URLs, or its definition begins with a URL.
func (f *finder) givesURL(i, e int) bool {
	if i+1 >= e || f.src[i] != '{' || f.src[i+1] != '{' {
		return false
	}
	el, ok := f.elementAt(i)
	if !ok || int(el.end) > e || el.width != 2 {
		return false
	}
	name := f.bytes(f.trim(i+2, f.nameEnd(i+2, int(el.end)-2)))
	return f.wiki.givesURL(name)
}

// urlEnd returns the end of a URL, given an offset i inside the URL. Templates belong
// to the URL; italics and the character references of < and > end it.
func (f *finder) urlEnd(i, e int) int {
	for i < e {
		switch c := f.src[i]; {
		case class[c]&classURL != 0:
			end := addressEnd(f.src, i, e)
			if end == i {
				return i
			}
			i = end
		case c == '{':
			i = f.step(i, e)
		case (c == '\'' || c == '&' || c == 0xC2 || c == 0xE3) && f.endsURL(i, e):
			return i
		default:
			i++
		}
	}
	return i
}

// addressEnd returns the end of the IPv6 address in brackets at src[i], such
// as [2001:db8::1] in [http://[2001:db8::1]/ x]; or i if there is none.
func addressEnd(src []byte, i, e int) int {
	if src[i] != '[' || src[i-1] != '/' || src[i-2] != '/' {
		return i
	}
	j := i + 1
	for j < e && class[src[j]]&classURL == 0 {
		j++
	}
	if j >= e || src[j] != ']' || j == i+1 {
		return i
	}
	return j + 1
}

// endsURL reports whether the text at src[i:e] ends a URL: italics, a character
// reference of < or >, a no-break space or an ideographic space.
func (f *finder) endsURL(i, e int) bool {
	rest := f.src[i:e]
	if rest[0] == '&' {
		ent, ok := f.entities.at(f.src[:e], i)
		return ok && (ent.text == "<" || ent.text == ">")
	}
	return bytes.HasPrefix(rest, []byte("''")) || bytes.HasPrefix(rest, []byte("\u00a0")) || bytes.HasPrefix(rest, []byte("\u3000"))
}

// extLink renders the label of an external link. For a link without a label
// MediaWiki shows a number in brackets; such a link is dropped.
func (lk *links) extLink(l extLink) {
	i := l.label
	for i < l.labelEnd && isBlank(lk.in.src[i]) {
		i++
	}
	if i == l.labelEnd {
		lk.w.removed()
		return
	}
	lk.inline.render(i, l.labelEnd, modeArgument)
}
