package wikitext

// Protocols that begin a URL ($wgUrlProtocols).
var protocols = []string{
	"http://", "https://", "//", "ftp://", "ftps://", "mailto:", "news:", "tel:", "sms:", "irc://", "ircs://",
	"ssh://", "sftp://", "xmpp:", "sip:", "sips:", "gopher://", "telnet://", "nntp://", "worldwind://", "svn://",
	"git://", "mms://", "bitcoin:", "magnet:", "urn:", "geo:", "matrix:", "redis://",
}

// hasProtocol tells whether b begins with the protocol of a URL, in any case.
func hasProtocol(b []byte) bool {
	if len(b) == 0 || b[0] != '/' && class[b[0]]&classLetter == 0 {
		return false
	}
	for _, p := range protocols {
		if len(b) >= len(p) && equalFold(b[:len(p)], p) {
			return true
		}
	}
	return false
}

// equalFold compares ASCII without regard to case; lower is in lower case and
// of the same length.
func equalFold(b []byte, lower string) bool {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// An extLink is an external link [url label].
type extLink struct {
	label, labelEnd int
	next            int
}

// A urlFinder remembers that no external link that begins in [from, to) is
// closed before limit.
type urlFinder struct{ from, to, limit int }

// extLinkAt reads the external link at i, "[": a URL, then a label up to the
// next "]" on the line, where links and templates in the label are stepped
// over (Parser::handleExternalLinks).
func (s *Scanner) extLinkAt(i, e int) (l extLink, ok bool) {
	f := &s.url
	if i >= f.from && i < f.to && e == f.limit || !hasProtocol(s.src[i+1:e]) {
		return l, false
	}
	j := s.urlEnd(i+1, e)
	k := j
	for k < e && s.src[k] != ']' && s.src[k] != '\n' {
		switch s.src[k] {
		case '[':
			if k+1 < e && s.src[k+1] == '[' {
				if inner, ok := s.linkAt(k, e); ok {
					k = inner.next
					continue
				}
			}
		case '{':
			if end, ok := s.bracesEnd(k, e); ok {
				k = end
				continue
			}
		case '<':
			if end := s.opaqueEnd(k, e); end > k {
				k = end
				continue
			}
		}
		k++
	}
	s.work += k - i
	if k >= e || s.src[k] != ']' {
		*f = urlFinder{from: i, to: k, limit: e}
		return l, false
	}
	return extLink{label: j, labelEnd: k, next: k + 1}, bareURL(s.src[i+1 : j])
}

// bareURL tells whether there is something after the protocol.
func bareURL(url []byte) bool {
	for _, p := range protocols {
		if len(url) > len(p) && equalFold(url[:len(p)], p) {
			return true
		}
	}
	return false
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
			if ent, ok := entityAt(s.src[:e], i); ok && (ent.text == "<" || ent.text == ">") {
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
