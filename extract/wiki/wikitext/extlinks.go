package wikitext

// maxProtocol is the longest name of a protocol.
const maxProtocol = len("worldwind")

// protocolLength returns the length of the protocol of a URL ($wgUrlProtocols)
// at the start of b, in any case, or 0.
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
	case "": // relative to the protocol of the page
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

// hasProtocol reports whether b begins with the protocol of a URL.
func hasProtocol(b []byte) bool { return protocolLength(b) > 0 }

// An extLink is an external link [url label].
type extLink struct {
	label, labelEnd int
	next            int
}

// extLinkAt reads the external link at i, "[": a URL, then a label up to the
// next "]" on the line, where links and templates in the label are stepped
// over (Parser::handleExternalLinks).
func (s *Scanner) extLinkAt(i, e int) (l extLink, ok bool) {
	if s.near.url.covers(i, e) {
		return l, false
	}
	n := protocolLength(s.src[i+1 : e])
	if n == 0 {
		return l, false
	}
	first := i + 1 + n
	j := s.urlEnd(first, e)
	if j == first {
		return l, false
	}
	k := j
	for k < e && s.src[k] != ']' && s.src[k] != '\n' {
		s.work++
		k = s.skipInLabel(k, e)
	}
	if k >= e || s.src[k] != ']' {
		s.near.url = failure{from: i, to: k, limit: e}
		return l, false
	}
	return extLink{label: j, labelEnd: k, next: k + 1}, true
}

// skipInLabel steps over the link, template, comment or extension tag at k, or
// over one byte.
func (s *Scanner) skipInLabel(k, e int) int {
	switch s.src[k] {
	case '[':
		if k+1 < e && s.src[k+1] == '[' {
			if inner, ok := s.linkAt(k, e); ok {
				return inner.next
			}
		}
	case '{':
		if end, ok := s.bracesEnd(k, e); ok {
			return end
		}
	case '<':
		if end := s.opaqueEnd(k, e); end > k {
			return end
		}
	}
	return k + 1
}

// urlEnd returns the end of the URL at i. Templates in it are stepped over;
// italics and the entities of < and > end it.
func (s *Scanner) urlEnd(i, e int) int {
	for i < e {
		c := s.src[i]
		switch {
		case c == '[' && s.src[i-1] == '/' && s.src[i-2] == '/': // [http://[2001:db8::1]/ x]
			j := i + 1
			for j < e && (class[s.src[j]]&classURL == 0) {
				j++
			}
			if j >= e || s.src[j] != ']' || j == i+1 {
				return i
			}
			i = j
		case class[c]&classURL != 0:
			return i
		case c == '\'' && i+1 < e && s.src[i+1] == '\'':
			return i
		case c == '{':
			if j, ok := s.bracesEnd(i, e); ok {
				i = j
				continue
			}
		case c == '&':
			if ent, ok := s.entityAt(s.src[:e], i); ok && (ent.text == "<" || ent.text == ">") {
				return i
			}
		case c == 0xC2 && i+1 < e && s.src[i+1] == 0xA0, c == 0xE3 && i+2 < e && s.src[i+1] == 0x80 && s.src[i+2] == 0x80:
			return i // no-break space, ideographic space
		}
		i++
	}
	return i
}

// extLink renders an external link. Without a label MediaWiki shows a number
// in brackets, which is no text.
func (s *Scanner) extLink(l extLink) {
	i := l.label
	for i < l.labelEnd && isBlank(s.src[i]) {
		i++
	}
	if i == l.labelEnd {
		s.removed()
		return
	}
	s.inline(i, l.labelEnd, modeArgument)
}
