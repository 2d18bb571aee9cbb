package books

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"pretext/extract/text"
)

// maxTokenBytes is the maximum length, in bytes, of a tag or a run of text in
// an XHTML document.
const maxTokenBytes = 64 << 20

// prose collects the paragraphs of XHTML documents. It stores them like the lines that
// a [collector] stores of a text file, without indentation, so that the same functions
// trim and join them.
type prose struct {
	limit           int   // maximum size of the text, in bytes
	fileLimit       int64 // maximum size of all documents read, in bytes
	keepBoilerplate bool

	out     []byte
	ends    []int // offsets in out where the documents of the spine end
	start   int   // offset in out where the open paragraph begins
	count   int   // number of paragraphs; each takes one more byte in out than in the text
	space   bool  // write a space before the next character
	pre     int   // number of open <pre> elements
	invalid int   // bytes that were not UTF-8
	recoded bool  // a document was in another encoding than UTF-8
	trimmed bool  // Project Gutenberg's header or licence was dropped
}

// Effects of an element on the text.
const (
	inline  = iota // none
	block          // its text is a paragraph
	cell           // its text has spaces around it
	dropped        // its text is dropped
)

// effects maps HTML elements to effects; elements not listed are inline.
var effects = effectsOf(map[int]string{
	block: "address article aside blockquote body br caption center dd details dialog div dl dt " +
		"fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html " +
		"legend li main menu ol p pre section summary table tbody tfoot thead tr ul",
	cell: "td th",
	dropped: "applet audio canvas head iframe math nav noscript object rp rt script select style " +
		"svg template textarea title video",
})

// voids are the HTML elements that have no end tag.
var voids = effectsOf(map[int]string{block: "area base br col embed hr img input link meta param source track wbr"})

func effectsOf(names map[int]string) func() map[string]int {
	return sync.OnceValue(func() map[string]int {
		m := map[string]int{}
		for effect, list := range names {
			for name := range strings.FieldsSeq(list) {
				m[name] = effect
			}
		}
		return m
	})
}

// read appends the paragraphs of an XHTML document. It returns errRejected if
// the text becomes too large.
func (p *prose) read(src io.Reader) error {
	src, err := p.decoded(src)
	if err != nil {
		return err
	}
	z := html.NewTokenizer(src)
	z.SetMaxBuf(maxTokenBytes)
	z.AllowCDATA(true)
	p.pre = 0
	p.begin()
	skip := skipper{}
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			p.end()
			switch err := z.Err(); err {
			case io.EOF:
				return nil
			case html.ErrBufferExceeded:
				return errRejected
			default:
				return err
			}
		case html.TextToken:
			if skip.depth == 0 {
				p.text(z.Text())
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			p.tag(z, kind, &skip)
		}
		// This check is approximate. The final text is checked exactly.
		if len(p.out)-p.count > p.limit+2 {
			return errRejected
		}
	}
}

// A skipper tracks the open element whose text is being dropped.
type skipper struct {
	name  string
	depth int // number of open elements with that name
}

// tag applies the effect of a start or end tag to the text.
func (p *prose) tag(z *html.Tokenizer, kind html.TokenType, skip *skipper) {
	raw, more := z.TagName()
	name := string(raw)
	if kind == html.SelfClosingTagToken {
		// The tokenizer expects raw text after <title/> or <script/>, because the slash
		// has no meaning in HTML. But EPUBs are XHTML.
		z.NextIsNotRawText()
	}
	opens := kind == html.StartTagToken && voids()[name] == inline
	if skip.depth > 0 {
		switch {
		case name == "body" && skip.name == "head":
			skip.depth = 0 // the <head> was not closed
		case name != skip.name:
		case opens:
			skip.depth++
		case kind == html.EndTagToken:
			skip.depth--
		}
		return
	}
	role := effects()[name]
	if kind != html.EndTagToken && more && p.isApparatus(z) {
		role = dropped
	}
	switch role {
	case dropped:
		if opens {
			skip.name, skip.depth = name, 1
		}
	case cell:
		p.space = true
	case block:
		p.end()
		p.begin()
		switch {
		case name != "pre":
		case opens:
			p.pre++
		default:
			p.pre = max(p.pre-1, 0)
		}
	}
}

// isApparatus reports whether the attributes of a tag mark content that is not
// part of the book's text: a page number, a note mark, navigation, hidden
// content, or Project Gutenberg's header and licence.
func (p *prose) isApparatus(z *html.Tokenizer) bool {
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "epub:type", "role":
			for word := range bytes.FieldsSeq(value) {
				switch string(bytes.TrimPrefix(word, []byte("doc-"))) {
				case "pagebreak", "noteref", "toc", "landmarks", "page-list", "backlink":
					return true
				}
			}
		case "hidden":
			return true
		case "class":
			if !p.keepBoilerplate && bytes.Contains(value, []byte("pg-boilerplate")) {
				p.trimmed = true
				return true
			}
		}
	}
	return false
}

// begin begins a paragraph.
func (p *prose) begin() {
	p.out = append(p.out, '!')
	p.start, p.space = len(p.out), false
}

// end ends the paragraph. A blank paragraph is dropped.
func (p *prose) end() {
	line := text.Strip(p.out[p.start:])
	if len(line) == 0 {
		p.out = p.out[:p.start-1]
		return
	}
	n := copy(p.out[p.start:], line)
	p.out = append(p.out[:p.start+n], '\n')
	p.count++
}

// text appends text to the open paragraph, with single spaces for white space.
func (p *prose) text(b []byte) {
	for len(b) > 0 {
		n := bytes.IndexAny(b, " \t\n\r\f")
		if n < 0 {
			n = len(b)
		}
		p.word(b[:n])
		if n == len(b) {
			return
		}
		if p.space = true; b[n] == '\n' && p.pre > 0 {
			p.end()
			p.begin()
		}
		b = b[n+1:]
	}
}

// word appends text without white space to the open paragraph.
func (p *prose) word(b []byte) {
	before := len(p.out)
	if p.space && before > p.start {
		p.out = append(p.out, ' ')
	}
	at := len(p.out)
	var dropped int
	p.out, dropped = text.AppendValid(p.out, b)
	p.invalid += dropped
	if len(p.out) == at {
		p.out = p.out[:before] // all bytes were dropped: do not write the space yet
		return
	}
	p.space = false
}

// decoded returns a reader of src in UTF-8. The encoding of src is taken from the byte
// order mark or from a declaration in the first 1024 bytes; the default is UTF-8.
func (p *prose) decoded(src io.Reader) (io.Reader, error) {
	src, wide, err := decodeWide(src)
	if err == errRejected {
		return nil, &memberError{"content in UTF-32"}
	}
	if err != nil {
		return nil, err
	}
	if wide {
		p.recoded = true
		return src, nil
	}
	head := make([]byte, 1024)
	n, err := io.ReadFull(src, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	whole := io.Reader(bytes.NewReader(head[:n]))
	if err == nil {
		whole = io.MultiReader(whole, src)
	}
	encoding, name := charset.Lookup(declared(head[:n]))
	if encoding == nil || name == "utf-8" || name == "utf-16le" || name == "utf-16be" || name == "replacement" {
		return whole, nil
	}
	p.recoded = true
	return encoding.NewDecoder().Reader(whole), nil
}

// declared returns the encoding named in the XML declaration of head, the beginning of
// a document, or else in a meta element. It returns "" if there is none.
func declared(head []byte) string {
	head = bytes.ToLower(head)
	if trimmed := bytes.TrimLeft(head, " \t\r\n"); bytes.HasPrefix(trimmed, []byte("<?xml")) {
		declaration, _, _ := bytes.Cut(trimmed, []byte("?>"))
		if name := valueAfter(declaration, "encoding="); name != "" {
			return name
		}
	}
	for {
		_, after, ok := bytes.Cut(head, []byte("<meta"))
		if !ok {
			return ""
		}
		var element []byte
		if element, head, ok = bytes.Cut(after, []byte(">")); !ok {
			return ""
		}
		if name := valueAfter(element, "charset="); name != "" {
			return name
		}
	}
}

// valueAfter returns the value, quoted or not, that follows the first
// occurrence of key in b; "" if there is none.
func valueAfter(b []byte, key string) string {
	_, after, ok := bytes.Cut(b, []byte(key))
	if !ok {
		return ""
	}
	after = bytes.TrimLeft(after, `"' `)
	if end := bytes.IndexAny(after, `"' ;/`); end >= 0 {
		after = after[:end]
	}
	return string(after)
}
