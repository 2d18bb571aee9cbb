package wiki

import (
	"bytes"
	"slices"
	"strconv"

	"pretext/extract"
)

// A pageHead is what stands in a page before its first revision.
type pageHead struct {
	title    []byte // raw
	markup   bool   // in the title
	id       int64
	ns       int
	hasNS    bool
	redirect bool
}

// parseHead reads the head of a page. Elements that it does not know are
// skipped with all that is in them, so that an <id> is the page's own.
func parseHead(b []byte) (h pageHead, ok bool) {
	w := walker{b: b}
	if _, ok := w.next(); !ok { // <page> itself
		return h, false
	}
	hasID := false
	for {
		t, ok := w.next()
		if !ok {
			// What is left after the last tag is white space, or a construct
			// without end.
			return h, hasID && len(bytes.TrimSpace(h.title)) > 0 && bytes.IndexByte(w.b[w.pos:], '<') < 0
		}
		if !t.end && string(t.name) == "redirect" {
			h.redirect = true // whatever the attribute with its target looks like
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
			h.ns, ok = parseNS(raw)
			h.hasNS = true
		}
		if !ok {
			return h, false
		}
	}
}

// parseID reads a page id: a number of MediaWiki's, which counts from 1 (0 is
// taken, as other exporters write it).
func parseID(raw []byte) (int64, bool) {
	id, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64)
	return id, err == nil && id >= 0
}

func parseNS(raw []byte) (int, bool) {
	ns, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 32)
	return int(ns), err == nil
}

// A revision is what is needed of the last revision of a page.
type revision struct {
	foreign bool   // not wikitext
	deleted bool   // text suppressed
	text    []byte // raw
	markup  bool   // in the text
}

// parseRevision reads the revision at the beginning of b. Content of other
// slots (<content>) is skipped: the article is the text in the revision itself.
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
		case "model":
			rev.foreign = rev.foreign || string(bytes.TrimSpace(raw)) != "wikitext"
		case "format":
			rev.foreign = rev.foreign || string(bytes.TrimSpace(raw)) != "text/x-wiki"
		case "text":
			rev.text, rev.markup = raw, markup
		}
	}
}

// header reads and filters the head of a page, before its text is touched.
// reject is "" for a page to go on with.
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
	switch {
	case title == "":
		return h, "", extract.RejectMalformed
	case !h.hasNS:
		h.ns = r.namespaces.ofTitle(title)
	}
	switch {
	case !slices.Contains(r.options.Namespaces, h.ns):
		return h, "", extract.RejectNamespace
	case h.redirect:
		return h, "", extract.RejectRedirect
	case p.tooLarge:
		return h, "", extract.RejectTooLarge
	}
	return h, title, ""
}

// title returns the title as characters, with single spaces.
func (r *Reader) title(h *pageHead, p rawPage) string {
	b := r.dropInvalid(characters(h.title, h.markup), h.id, p)
	if bytes.ContainsAny(b, "\t\n") {
		b = bytes.Join(bytes.Fields(b), []byte(" "))
	}
	return string(bytes.TrimSpace(b))
}

// wikitext returns the wikitext of the last revision of a page, in place.
func (r *Reader) wikitext(p rawPage, h pageHead) ([]byte, extract.Reject) {
	if p.revision == nil {
		return nil, extract.RejectMalformed
	}
	rev, ok := parseRevision(p.revision)
	switch {
	case !ok:
		return nil, extract.RejectMalformed
	case rev.deleted:
		return nil, extract.RejectDeleted
	case rev.foreign:
		return nil, extract.RejectModel
	case len(rev.text) > extract.MaxPageBytes:
		return nil, extract.RejectTooLarge
	}
	return r.dropInvalid(characters(rev.text, rev.markup), h.id, p), ""
}
