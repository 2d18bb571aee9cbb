package wikitext

import (
	"bytes"
	"iter"
)

// A tagKind is a tag's effect on the text.
type tagKind uint8

const (
	tagUnknown   tagKind = iota // shown as text
	tagInline                   // removed without a trace: <b>
	tagInclusion                // removed without a trace, before parsing: <noinclude>
	tagSpace                    // separates words: <br>
	tagLine                     // separates lines and does not nest: <hr>
	tagBlock                    // separates lines: <div>
	tagTable                    // dropped with its content; nests
	tagSkip                     // has no closing tag: <section begin=x>
	tagMeta                     // <meta>, <link>: removed without a trace if MediaWiki accepts it
	tagPoem                     // separates lines, and its lines are not joined

	// Extension tags, whose content is opaque.
	tagDrop        // dropped with its content
	tagIncludeOnly // dropped with its content, even if not closed
	tagNowiki      // content is literal
	tagPre         // content is literal lines
	tagCode        // content is source code
	tagMath        // content is a formula
)

const firstOpaque = tagDrop

// tagInfo describes a tag name.
type tagInfo struct {
	kind tagKind
	id   uint8 // index in extFinder.tagClose, from 1; 0: none
}

// tagNames are the names of the HTML tags that MediaWiki accepts (Sanitizer::getRecognizedTagData)
// and of the extension tags of Wikimedia's wikis; any other tag is shown as
// text. An extension tag with two names has two entries.
var tagNames = map[tagKind][]string{
	tagInline: {
		"abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd",
		"mark", "q", "rb", "rtc", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
		"time", "tt", "u", "var", "wbr",
		"translate", "tvar", "nobr", "rbc",
	},
	tagInclusion: {"noinclude", "onlyinclude"},
	tagSpace:     {"br"},
	tagLine:      {"hr", "p"},
	tagBlock: {
		"blockquote", "caption", "center", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "li",
		"ol", "td", "th", "tr", "ul",
	},
	tagTable: {"table"},
	tagSkip:  {"section", "languages", "templatestyles"},
	tagMeta:  {"meta", "link"},
	tagPoem:  {"poem"},
	tagDrop: {
		"ref", "references", "gallery", "imagemap", "timeline", "score", "graph", "hiero", "mapframe", "maplink",
		"categorytree", "charinsert", "indicator", "inputbox", "langconvert", "pagelist", "pages", "pagequality",
		"templatedata", "dynamicpagelist", "rss", "phonos", "quiz", "randomselection", "choose", "listing",
		"rt", "rp", "tabber", "youtube", "embedvideo", "seo",
	},
	tagIncludeOnly: {"includeonly"},
	tagNowiki:      {"nowiki"},
	tagPre:         {"pre"},
	tagCode:        {"syntaxhighlight", "source"},
	tagMath:        {"math", "chem", "ce"},
}

// tagCount is greater than every tagInfo.id.
const tagCount = 48

// maxTagName is the length of the longest tag name in bytes.
const maxTagName = len("syntaxhighlight")

var tagByName = buildTags()

func buildTags() map[string]tagInfo {
	table := make(map[string]tagInfo)
	id := uint8(0)
	for kind := tagInline; kind <= tagMath; kind++ {
		for _, name := range tagNames[kind] {
			info := tagInfo{kind: kind}
			if kind >= firstOpaque || kind == tagPoem {
				id++
				info.id = id
			}
			table[name] = info
		}
	}
	if id >= tagCount {
		panic("BUG: wikitext: tagCount too small")
	}
	return table
}

// tagName parses the tag name at src[i], in upper or lower case. It returns the
// description of the tag and the end of the name.
func tagName(src []byte, i, e int) (info tagInfo, end int) {
	var name [maxTagName]byte
	n := 0
	for ; i < e; i++ {
		c := src[i]
		if class[c]&classLetter == 0 && (n == 0 || c < '0' || c > '9') {
			break
		}
		if n == len(name) {
			return tagInfo{}, i
		}
		if c <= 'Z' && c >= 'A' {
			c += 'a' - 'A'
		}
		name[n] = c
		n++
	}
	if n == 0 {
		return tagInfo{}, i
	}
	return tagByName[string(name[:n])], i
}

// endsTagName reports whether c may follow the name of a tag.
func endsTagName(c byte) bool {
	return isBlank(c) || c == '\n' || c == '\v' || c == '\f' || c == '/' || c == '>'
}

// A htmlTag is an HTML tag, or the opening or closing tag of an extension.
type htmlTag struct {
	tagInfo
	closing, selfClosed bool // </b>, <br/>
	next                int  // offset after the tag
}

// tagAt parses the tag at src[i], which is "<". The tag ends at the first ">" outside
// of quoted attribute values and extension tags, which MediaWiki removes first. If the
// name is unknown or another "<" comes first, the source is plain text and ok is false.
func (g *tagFinder) tagAt(i, e int) (t htmlTag, ok bool) {
	j := i + 1
	if j < e && g.src[j] == '/' {
		t.closing = true
		j++
	}
	t.tagInfo, j = tagName(g.src, j, e)
	if t.kind == tagUnknown || j >= e || !endsTagName(g.src[j]) {
		return t, false
	}
	for ; j < e; j++ {
		switch g.src[j] {
		case '>':
			t.selfClosed = g.src[j-1] == '/'
			t.next = j + 1
			return t, true
		case '<':
			ext, ok := g.extTagAt(j, e)
			if !ok {
				return t, false
			}
			j = ext.next - 1
		case '"':
			if g.src[j-1] == '=' {
				j = g.quotedEnd(j, e)
			}
		}
	}
	return t, false
}

// tagsFrom yields the HTML tags from src[i] to the end of the page with their offsets,
// except tags inside extension tags. It adds the scanned bytes to g.work.
func (g *tagFinder) tagsFrom(i int) iter.Seq2[int, htmlTag] {
	return func(yield func(int, htmlTag) bool) {
		n, start := len(g.src), i
		defer func() { g.work += i - start }()
		for i < n {
			k := bytes.IndexByte(g.src[i:], '<')
			if k < 0 {
				i = n
				return
			}
			i += k
			if j := g.opaqueEnd(i, n); j > i {
				i = j
				continue
			}
			tag, ok := g.tagAt(i, n)
			if !ok {
				i++
				continue
			}
			at := i
			if i = tag.next; !yield(at, tag) {
				return
			}
		}
	}
}

// quotedEnd returns the end of the quoted attribute value at j, or j if it is
// not closed on the same line.
func (g *tagFinder) quotedEnd(j, e int) int {
	for k := j + 1; k < e; k++ {
		switch g.src[k] {
		case '"':
			return k
		case '<':
			ext, ok := g.extTagAt(k, e)
			if !ok {
				return j
			}
			k = ext.next - 1
		case '\n':
			return j
		}
	}
	return j
}
