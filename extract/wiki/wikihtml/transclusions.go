package wikihtml

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pretext/extract"
	"pretext/extract/wiki/wikitext"
)

// A Transclusion is a use of a template in a sentence, list item or definition,
// together with the text that the page shows for it.
type Transclusion struct {
	Page string // ID of the page's document
	Wiki string // such as "dewiki"
	Lang string
	Name string // title of the template in lower case, without its namespace
	Call string // wikitext of the use, "{{name|argument|key=value}}": keys in order, at most 512 bytes
	Text string // as in the document, with a space at an end where the template shows one; at most 512 bytes
}

// maxCall and maxShown are the maximum sizes of Transclusion.Call and Text, in bytes.
// maxDataMW is the maximum size of the attribute data-mw.
const (
	maxCall   = 512
	maxShown  = 512
	maxDataMW = 64 << 10
)

// TransclusionStats counts the elements that templates produced. Elements is the sum of
// the other fields.
type TransclusionStats struct {
	Elements  int64 `json:"elements"`   // groups of elements with typeof="mw:Transclusion"
	Uses      int64 `json:"uses"`       // passed to the function of Reader.OnTransclusion
	Elsewhere int64 `json:"elsewhere"`  // boxes, headings, elements alone on a line
	Several   int64 `json:"several"`    // produced by several templates, or by templates and text
	Functions int64 `json:"functions"`  // parser functions, variables, and pages that are not templates
	Malformed int64 `json:"malformed"`  // data-mw is missing or has another form
	TooLong   int64 `json:"too_long"`   // beyond a limit of this package
	Unclosed  int64 `json:"unclosed"`   // an element without its end tag
	OtherPage int64 `json:"other_page"` // on pages that are not read: redirects, other namespaces
}

// Add adds the counts t.
func (s *TransclusionStats) Add(t TransclusionStats) {
	s.Elements += t.Elements
	s.Uses += t.Uses
	s.Elsewhere += t.Elsewhere
	s.Several += t.Several
	s.Functions += t.Functions
	s.Malformed += t.Malformed
	s.TooLong += t.TooLong
	s.Unclosed += t.Unclosed
	s.OtherPage += t.OtherPage
}

// transclusions collects the uses of templates while a page is converted. A group is
// all elements that one use produced: siblings with the same attribute "about", of
// which the first has data-mw.
type transclusions struct {
	stats TransclusionStats
	uses  []use
	elem  within // the open element of the group
	group bool   // a group is open, perhaps between two elements
	about string
	now   use
}

// A use is a group, given by offsets in the page's wikitext.
type use struct {
	name, call  string
	from, to    int
	lead, trail bool // the text begins with white space, ends with white space
	text        bool // the group has text
	block       bool // it is on separate lines
}

// maxUses is the maximum number of uses of a page.
const maxUses = 1 << 16

// nested records a start tag inside a dropped element.
func (t *transclusions) nested(name string) {
	if t != nil {
		t.elem.start(name)
	}
}

// startTag records a start tag before it is applied. at is the length of the wikitext
// written so far.
func (t *transclusions) startTag(name string, e effect, attrs *attributes, at int) {
	about := attrs.get("about")
	switch {
	case t.group && t.elem.depth > 0:
		t.elem.start(name)
		t.now.block = t.now.block || isBlock(e)
		return
	case t.group && about != "" && about == t.about:
		t.open(name, e, at)
		return
	}
	t.finish()
	if !slices.Contains(strings.Fields(attrs.get("typeof")), "mw:Transclusion") {
		return
	}
	t.stats.Elements++
	template, call, fault := parseDataMW(attrs.get("data-mw"), &t.stats)
	if fault != nil {
		*fault++
		// The next elements of a group are not separate uses: they have no typeof.
		return
	}
	t.group, t.about, t.now = true, about, use{name: template, call: call, from: at}
	t.open(name, e, at)
}

// open records that an element of the group begins.
func (t *transclusions) open(name string, e effect, at int) {
	t.now.block = t.now.block || isBlock(e)
	t.now.to = at
	if !voids[name] {
		t.elem.enter(name)
	}
}

// isBlock reports whether an element's text is on separate lines.
func isBlock(e effect) bool {
	return e != inline && e != removed && e != formula && e != lineEnd
}

// endTag records an end tag after it was applied.
func (t *transclusions) endTag(name string, at int) {
	switch {
	case !t.group:
	case t.elem.depth == 0:
		t.finish() // the end tag of the parent
	case t.elem.end(name):
		t.now.to = at
	}
}

// textToken records text before it is written; kept is false inside dropped elements.
func (t *transclusions) textToken(text []byte, kept bool) {
	if !t.group || len(text) == 0 {
		return
	}
	if t.elem.depth == 0 {
		if len(bytes.TrimSpace(text)) > 0 {
			t.finish()
		}
		return
	}
	if !kept {
		return
	}
	if !t.now.text {
		t.now.text, t.now.lead = true, isSpace(text[0])
	}
	t.now.trail = isSpace(text[len(text)-1])
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// finish ends the group, if there is one.
func (t *transclusions) finish() {
	if !t.group {
		return
	}
	t.group = false
	switch {
	case t.elem.depth > 0:
		t.elem = within{}
		t.stats.Unclosed++
	case t.now.block:
		t.stats.Elsewhere++
	case len(t.uses) == maxUses:
		t.stats.TooLong++
	default:
		t.uses = append(t.uses, t.now)
	}
}

// A templatePart is a use among the parts of the attribute data-mw.
type templatePart struct {
	Template *struct {
		Target struct {
			WT       string `json:"wt"`
			Href     string `json:"href"`
			Function string `json:"function"`
		} `json:"target"`
		Params map[string]struct {
			WT *string `json:"wt"`
		} `json:"params"`
	} `json:"template"`
}

// parseDataMW returns the name and the wikitext of the use in text, the value of the
// attribute data-mw. If text is not a single use of a template, fault points to the
// field of stats to increment.
func parseDataMW(text string, stats *TransclusionStats) (name, call string, fault *int64) {
	if len(text) > maxDataMW {
		return "", "", &stats.TooLong
	}
	var data struct {
		Parts []json.RawMessage `json:"parts"` // wikitext, as a string, or a use
	}
	if json.Unmarshal([]byte(text), &data) != nil || len(data.Parts) == 0 {
		return "", "", &stats.Malformed
	}
	if len(data.Parts) > 1 {
		return "", "", &stats.Several
	}
	var part templatePart
	if json.Unmarshal(data.Parts[0], &part) != nil {
		return "", "", &stats.Malformed
	}
	if part.Template == nil || part.Template.Target.Function != "" || part.Template.Target.Href == "" {
		return "", "", &stats.Functions
	}
	title, err := url.PathUnescape(strings.TrimPrefix(part.Template.Target.Href, "./"))
	if err != nil {
		return "", "", &stats.Malformed
	}
	_, title, isTemplate := strings.Cut(title, ":")
	if name = wikitext.TemplateName(title); !isTemplate {
		return "", "", &stats.Functions
	}
	if name == "" || strings.ContainsAny(name, "{}|[]<>#\n") {
		return "", "", &stats.Malformed
	}
	args := map[string]string{}
	size := 4 + len(name)
	for key, value := range part.Template.Params {
		if value.WT == nil {
			return "", "", &stats.Malformed
		}
		args[key] = strings.TrimSpace(*value.WT)
		size += len(args[key]) + 1
	}
	if size > maxCall {
		return "", "", &stats.TooLong
	}
	if call = callOf(name, args); len(call) > maxCall {
		return "", "", &stats.TooLong
	}
	return name, call, nil
}

// callOf returns the wikitext of a use: first the positional arguments, then the
// others, sorted by key.
func callOf(name string, args map[string]string) string {
	var b strings.Builder
	b.WriteString("{{" + name)
	positional := 1
	for ; ; positional++ {
		key := strconv.Itoa(positional)
		value, ok := args[key]
		if !ok || strings.Contains(value, "=") {
			break
		}
		b.WriteString("|" + value)
		delete(args, key)
	}
	for _, key := range slices.Sorted(maps.Keys(args)) {
		b.WriteString("|" + key + "=" + args[key])
	}
	b.WriteString("}}")
	return b.String()
}

// report passes the uses of templates in the page to f, and returns their number. out
// is the page's wikitext; page holds the facts that all uses have in common.
func (t *transclusions) report(out []byte, page Transclusion, scanner *wikitext.Scanner, f func(*Transclusion)) {
	var text []byte
	for _, u := range t.uses {
		switch {
		case !inSentence(out, u):
			t.stats.Elsewhere++
			continue
		case u.to-u.from > 8*maxShown:
			t.stats.TooLong++
			continue
		}
		// The letter comes first, so that a mark at the start of the piece is not a
		// list marker.
		piece := out[u.from:u.to]
		if u.from == 0 || out[u.from-1] == '\n' {
			piece = bytes.TrimLeft(piece, "*") // list markers: literal marks are escaped
		}
		text = scanner.AppendText(text[:0], append([]byte("x"), bytes.TrimSpace(piece)...), wikitext.Page{Lang: page.Lang, Wiki: page.Wiki})
		shown := string(bytes.TrimSpace(text[min(1, len(text)):]))
		if len(shown) > maxShown || strings.Contains(shown, "\n") {
			t.stats.TooLong++
			continue
		}
		if shown != "" && u.lead {
			shown = " " + shown
		}
		if shown != "" && u.trail {
			shown += " "
		}
		page.Name, page.Call, page.Text = u.name, u.call, shown
		t.stats.Uses++
		f(&page)
	}
}

// OnTransclusion sets the function that is called for each use of a template in a
// sentence, list item or definition, in the order of the pages. The argument is valid
// during the call.
func (r *Reader) OnTransclusion(f func(*Transclusion)) {
	r.onTransclusion = f
	r.convert.transcluded = &transclusions{}
}

// Transclusions returns the counts of the elements that templates produced. They are 0
// if OnTransclusion was not called.
func (r *Reader) Transclusions() (s TransclusionStats) {
	if t := r.convert.transcluded; t != nil {
		s = t.stats
	}
	return s
}

// transclusions reports the uses of templates on a page. reject is the reason if the
// page was rejected, "" if it became a document.
func (r *Reader) transclusions(p *page, reject extract.Reject) {
	t := r.convert.transcluded
	t.finish()
	switch reject {
	case extract.RejectMalformed, extract.RejectNamespace, extract.RejectRedirect, extract.RejectTooLarge:
		t.stats.OtherPage += int64(len(t.uses))
		return
	}
	lang := cmp.Or(r.options.Language, p.lang)
	t.report(r.convert.out, Transclusion{Page: r.rejected.ID, Wiki: p.wiki, Lang: lang}, r.scanner, r.onTransclusion)
}

// inSentence reports whether a use is part of a sentence, list item or definition: its
// line has other text, or is a list item.
func inSentence(out []byte, u use) bool {
	if bytes.IndexByte(out[u.from:u.to], '\n') >= 0 && len(bytes.TrimSpace(out[u.from:u.to])) > 0 {
		return false // the last element ended the line
	}
	before := out[bytes.LastIndexByte(out[:u.from], '\n')+1 : u.from]
	after := out[u.to:]
	if k := bytes.IndexByte(after, '\n'); k >= 0 {
		after = after[:k]
	}
	line := before
	if len(line) == 0 {
		line = out[u.from:]
	}
	switch {
	case len(line) > 0 && line[0] == '=':
		return false
	case len(line) > 0 && line[0] == '*':
		return true
	}
	return len(bytes.TrimSpace(before)) > 0 || len(bytes.TrimSpace(after)) > 0
}
