package wikihtml

import "strings"

// An effect is how an element changes the text.
type effect uint8

const (
	inline  effect = iota // nothing
	block                 // its text is on separate lines
	item                  // an item of a list, on separate lines
	list                  // a block with items
	heading               // its text is a heading
	lineEnd               // separates words, or lines in a poem
	lines                 // a block whose line ends are kept
	dropped               // its text is dropped; text before and after it is on separate lines
	removed               // its text is dropped; text before and after it is joined
	formula               // its text is replaced by the option for formulas
	source                // a block of source code
)

// effects maps names of elements to effects; other elements are inline.
var effects = map[string]effect{
	"address": block, "article": block, "aside": block, "blockquote": block, "body": block, "center": block, "details": block, "div": block,
	"fieldset": block, "footer": block, "form": block, "header": block, "hr": block, "main": block, "p": block, "section": block, "summary": block,
	"dd": item, "dt": item, "li": item, "dl": list, "ol": list, "ul": list, "menu": list,
	"h1": heading, "h2": heading, "h3": heading, "h4": heading, "h5": heading, "h6": heading, "br": lineEnd, "pre": lines,
	"table": dropped, "figure": dropped, "nav": dropped, "template": dropped, "gallery": dropped,
	"audio": removed, "button": removed, "canvas": removed, "figcaption": removed, "figure-inline": removed, "iframe": removed, "img": removed, "input": removed, "map": removed,
	"noscript": removed, "object": removed, "option": removed, "rp": removed, "rt": removed, "script": removed, "select": removed, "style": removed,
	"svg": removed, "textarea": removed, "title": removed, "video": removed, "math": formula,
}

// voids are the elements without end tags.
var voids = map[string]bool{"area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true, "input": true, "link": true, "meta": true,
	"param": true, "source": true, "track": true, "wbr": true}

// droppedClasses are classes of elements that are not prose, on the large wikis:
// classes of MediaWiki, and of the templates that package wikitext drops.
var droppedClasses = makeSet("mw-references-wrap", "references", "reflist", "refbegin", "reference", "mw-ref", "mw-editsection", "mw-empty-elt", "mw-cite-backlink",
	"noprint", "nomobile", "metadata", "navbox", "vertical-navbox", "navbox-styles", "navbar", "sidebar", "infobox", "infobox_v2", "infobox_v3", "taxobox", "toccolours", "hatnote", "dablink", "rellink",
	"mainarticle", "hauptartikel", "homonymie", "bandeau-container", "bandeau-portail", "bandeau-article", "ambox", "mbox-small", "tmbox", "ombox", "cmbox", "fmbox", "asbox", "stub", "sistersitebox",
	"side-box", "authority-control", "catlinks", "printfooter", "toc", "thumb", "thumbinner", "thumbcaption", "gallery", "gallerytext", "portal", "portalbox", "succession-box", "geo", "geo-default", "coordinates", "inline-template",
	"z3988", "error", "mw-ext-cite-error", "shortdescription", "mw-indicators", "mw-indicator", "mw-kartographer-map", "mw-kartographer-container", "mw-tmh-player", "listen", "ext-phonos", "ipa",
	"mw-collapsible-toggle", "sortkey", "listing-metadata", "navframe", "navcontent", "navigation-not-searchable", "plainlinks-navbar", "mw-graph", "timeline-wrapper", "mw-timeline", "boilerplate", "autonumber")

func makeSet(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// keptExtensions are the extension tags whose content is text.
var keptExtensions = makeSet("nowiki", "pre", "poem", "section", "translate", "langconvert", "tabber", "ce", "lst")

// effectOf returns the effect of an element.
func effectOf(name string, attrs *attributes) effect {
	e := effects[name]
	if e == dropped || e == removed || e == formula {
		return e
	}
	gone := removed
	if e != inline {
		gone = dropped
	}
	kinds := attrs.get("typeof")
	for kind := range strings.FieldsSeq(kinds) {
		switch extension, ok := strings.CutPrefix(kind, "mw:Extension/"); {
		case !ok && (strings.HasPrefix(kind, "mw:Image") || strings.HasPrefix(kind, "mw:File") || strings.HasPrefix(kind, "mw:Video") || strings.HasPrefix(kind, "mw:Audio")):
			return gone
		case !ok:
		case extension == "math" || extension == "chem":
			return formula
		case extension == "syntaxhighlight" || extension == "source":
			if e == block || e == lines {
				return source
			}
		case !keptExtensions[extension]:
			return gone
		}
	}
	if role := attrs.get("role"); role == "navigation" || role == "note" || attrs.get("id") == coordinates {
		return gone
	}
	for class := range strings.FieldsSeq(attrs.get("class")) {
		if droppedClasses[strings.ToLower(class)] {
			return gone
		}
		if class == "mwe-math-element" {
			return formula
		}
	}
	if style := attrs.get("style"); style != "" && hidden(style) {
		return gone
	}
	return e
}

// hidden reports whether a style hides the element.
func hidden(style string) bool {
	for declaration := range strings.SplitSeq(style, ";") {
		property, value, _ := strings.Cut(declaration, ":")
		if strings.EqualFold(strings.TrimSpace(property), "display") && strings.HasPrefix(strings.ToLower(strings.TrimSpace(value)), "none") {
			return true
		}
	}
	return false
}
