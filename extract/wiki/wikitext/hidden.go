package wikitext

import "bytes"

// A hiddenFinder caches the ends of the elements on the page that are not prose.
type hiddenFinder struct {
	known bool        // the page was searched
	ends  map[int]int // offset of an opening tag → offset after its closing tag
}

func (f *hiddenFinder) reset() {
	f.known = false
	if len(f.ends) > 64 {
		f.ends = nil // clear would take time proportional to the largest page so far
	}
	clear(f.ends)
}

// minHidingTag is the length of the shortest tag that can hide its element,
// <b class=thumb>. Shorter tags, which are the most frequent, need no check.
const minHidingTag = len(`<b class=thumb>`)

// hiddenClasses are classes of elements that are not shown, or shown beside the
// prose: images with captions, boxes, notes above the text. Package wikihtml drops
// them as well.
var hiddenClasses = map[string]bool{"thumb": true, "thumbinner": true, "thumbcaption": true, "sortkey": true,
	"infobox": true, "navbox": true, "hatnote": true, "dablink": true, "metadata": true}

// hides reports whether an opening tag hides its element: it has a class of
// hiddenClasses, or a style with which browsers do not display the element. Pages
// contain sort keys and data for programs in such elements.
func hides(tag []byte) bool {
	if len(tag) < minHidingTag {
		return false
	}
	if _, value, ok := bytes.Cut(tag, []byte("class=")); ok {
		end := bytes.IndexAny(value, " \t\n>")
		if value[0] == '"' || value[0] == '\'' {
			quote := value[:1]
			value = value[1:]
			end = bytes.Index(value, quote)
		}
		for class := range bytes.FieldsSeq(value[:max(end, 0)]) {
			if hiddenClasses[string(class)] {
				return true
			}
		}
	}
	if !bytes.Contains(tag, []byte("style")) {
		return false
	}
	_, value, ok := bytes.Cut(tag, []byte("display"))
	value = bytes.TrimLeft(value, " \t\n")
	return ok && len(value) > 0 && value[0] == ':' && bytes.HasPrefix(bytes.TrimLeft(value[1:], " \t\n"), []byte("none"))
}

// hiddenEnd returns the end of the element with the opening tag src[i:next]. ok is
// false if the element is shown or is not closed before e.
func (g *tagFinder) hiddenEnd(i, next, e int) (end int, ok bool) {
	if !hides(g.src[i:next]) {
		return 0, false
	}
	if !g.hidden.known {
		g.matchHidden(i)
	}
	end, ok = g.hidden.ends[i]
	return end, ok && end <= e
}

// matchHidden finds the ends of the elements that are not prose, from the tag at src[i]
// to the end of the page. A closing tag belongs to the last open tag with the same
// name.
func (g *tagFinder) matchHidden(i int) {
	f := &g.hidden
	if f.ends == nil {
		f.ends = map[int]int{}
	}
	f.known = true
	open := map[string][]int{} // offsets of open tags, by tag name; -1 for tags that hide nothing
	for i, tag := range g.tagsFrom(i) {
		from := i + 1
		if tag.closing {
			from++
		}
		_, to := tagName(g.src, from, tag.next)
		name := string(bytes.ToLower(g.src[from:to]))
		at := open[name]
		switch {
		case tag.closing && len(at) > 0:
			if last := at[len(at)-1]; last >= 0 {
				f.ends[last] = tag.next
			}
			open[name] = at[:len(at)-1]
		case tag.closing || tag.selfClosed:
		case hides(g.src[i:tag.next]):
			open[name] = append(at, i)
		default:
			open[name] = append(at, -1)
		}
	}
}
