package wiki

import (
	"bytes"
	"strconv"
	"time"

	"pretext/extract"
)

// A pageHead is the part of a page before its first revision.
type pageHead struct {
	title    []byte // as in the XML, not decoded
	markup   bool   // the title contains "<"
	id       int64
	ns       int
	hasNS    bool
	redirect bool
}

// parseHead parses b, the XML of a page up to its first revision. ok is false
// if it is malformed. The content of unknown elements is skipped, so that an
// <id> in them is not taken for the ID of the page.
func parseHead(b []byte) (h pageHead, ok bool) {
	w := walker{b: b}
	if _, ok := w.next(); !ok { // <page> itself
		return h, false
	}
	hasID := false
	for {
		t, ok := w.next()
		if !ok {
			// A "<" after the last tag belongs to an unclosed construct.
			return h, hasID && len(bytes.TrimSpace(h.title)) > 0 && bytes.IndexByte(w.b[w.pos:], '<') < 0
		}
		if !t.end && string(t.name) == "redirect" {
			h.redirect = true // its attribute may be malformed
			continue
		}
		if t.end || t.empty {
			continue
		}
		raw, markup, ok := w.content(t.name)
		if !ok {
			return h, false
		}
		switch string(t.name) {
		case "title":
			h.title, h.markup = raw, markup
		case "id":
			h.id, ok = parseID(raw)
			hasID = true
		case "ns":
			ns, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 32)
			h.ns, h.hasNS, ok = int(ns), true, err == nil
		}
		if !ok {
			return h, false
		}
	}
}

// parseID parses a page ID; ok is false if raw is not one. MediaWiki numbers pages from
// 1; other programs that write dumps also use 0.
func parseID(raw []byte) (id int64, ok bool) {
	id, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64)
	return id, err == nil && id >= 0
}

// A revision is the result of parseRevision: the last <revision> of a page.
type revision struct {
	id        int64  // 0 if the dump has none
	timestamp string // "" if the dump has none or it is invalid
	foreign   bool   // the text is not wikitext
	model     bool   // the dump says what the text is
	module    bool   // the text is not wikitext, but the source of a module or data for modules
	deleted   bool   // the text is suppressed in the dump
	text      []byte // as in the XML, not decoded
	markup    bool   // the text contains "<"
}

// parseRevision parses the revision at the beginning of b; ok is false if it is
// malformed. The wikitext of an article is the <text> of the revision itself.
// parseRevision skips <content> elements, which hold other texts of the page (slots).
func parseRevision(b []byte) (rev revision, ok bool) {
	w := walker{b: b}
	w.next() // <revision> itself
	hasText := false
	for {
		t, ok := w.next()
		if !ok || t.end && string(t.name) == "revision" {
			return rev, hasText
		}
		if t.end {
			continue
		}
		if string(t.name) == "text" {
			hasText = true
			rev.deleted = hasAttr(t.attrs, "deleted")
			rev.text, rev.markup = nil, false
		}
		if t.empty {
			continue
		}
		raw, markup, ok := w.content(t.name)
		if !ok {
			return rev, false
		}
		switch string(t.name) {
		case "id":
			rev.id, _ = parseID(raw)
		case "timestamp":
			rev.timestamp = string(bytes.TrimSpace(raw))
			if _, err := time.Parse(time.RFC3339, rev.timestamp); err != nil { // 2017-07-01T12:00:00Z
				rev.timestamp = ""
			}
		case "model":
			model := string(bytes.TrimSpace(raw))
			rev.model = true
			rev.foreign = rev.foreign || model != "wikitext"
			rev.module = model == "Scribunto" || model == "json"
		case "format":
			rev.foreign = rev.foreign || string(bytes.TrimSpace(raw)) != "text/x-wiki"
		case "text":
			rev.text, rev.markup = raw, markup
		}
	}
}

// header parses the head of a page and filters the page by it, before the text is
// decoded. reject is the reason for rejecting the page, or "" if the page passed.
func (r *Reader) header(p rawPage) (h pageHead, title string, reject extract.Reject) {
	switch {
	case p.end != endClosed:
		return h, "", extract.RejectUnterminated
	case p.tooLarge && p.head == nil:
		return h, "", extract.RejectTooLarge
	}
	h, ok := parseHead(p.head)
	if !ok {
		return h, "", extract.RejectMalformed
	}
	title = r.title(&h, p)
	r.rejected.ID, r.rejected.Title = r.pageID(h.id), title
	switch {
	case title == "":
		return h, "", extract.RejectMalformed
	case !h.hasNS:
		h.ns = r.namespaces.ofTitle(title)
	}
	switch {
	case !r.options.Keeps(h.ns):
		r.measured(float64(h.ns))
		return h, "", extract.RejectNamespace
	case h.redirect:
		return h, "", extract.RejectRedirect
	case p.tooLarge:
		return h, "", extract.RejectTooLarge
	}
	return h, title, ""
}

// title returns the decoded title of a page, with single spaces.
func (r *Reader) title(h *pageHead, p rawPage) string {
	b := r.dropInvalid(characters(h.title, h.markup), h.id, p)
	if bytes.ContainsAny(b, "\t\n") {
		b = bytes.Join(bytes.Fields(b), []byte(" "))
	}
	return string(bytes.TrimSpace(b))
}

// wikitext returns the decoded wikitext of a page's last revision, and the revision. If
// the page is rejected, it returns the reason. It overwrites the bytes of p.
func (r *Reader) wikitext(p rawPage, h pageHead) (src []byte, rev revision, reject extract.Reject) {
	return r.pageSource(p, h, false)
}

// pageSource returns the decoded source of a page, like wikitext; with module, of a page of the
// namespace of modules.
func (r *Reader) pageSource(p rawPage, h pageHead, module bool) (src []byte, rev revision, reject extract.Reject) {
	if p.revision == nil {
		return nil, rev, extract.RejectMalformed
	}
	rev, ok := parseRevision(p.revision)
	switch {
	case !ok:
		return nil, rev, extract.RejectMalformed
	case rev.deleted:
		return nil, rev, extract.RejectDeleted
	case rev.foreign && !(module && rev.module):
		return nil, rev, extract.RejectModel
	case len(rev.text) > extract.MaxPageBytes:
		r.measured(float64(len(rev.text)))
		return nil, rev, extract.RejectTooLarge
	}
	return r.dropInvalid(characters(rev.text, rev.markup), h.id, p), rev, ""
}
