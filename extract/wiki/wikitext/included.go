package wikitext

import "bytes"

// Included returns the part of a template's source that a page which uses it
// includes: without <noinclude>, without the tags <includeonly>, and only the
// text in <onlyinclude> if there is any. Comments are removed.
func Included(source []byte) []byte {
	c := comments{asTemplate: true}
	source = c.remove(source)
	if only := between(source, "onlyinclude", true); len(only) > 0 {
		source = only
	}
	source = between(source, "noinclude", false)
	for _, tag := range []string{"<includeonly>", "</includeonly>", "<includeonly/>"} {
		source = bytes.ReplaceAll(source, []byte(tag), nil)
	}
	return source
}

// between returns the text inside of the elements with a tag, or, if inside is
// false, the text outside of them. An element that is not closed ends with the
// text.
func between(source []byte, tag string, inside bool) (out []byte) {
	open, end := []byte("<"+tag+">"), []byte("</"+tag+">")
	for {
		before, rest, found := bytes.Cut(source, open)
		if !inside {
			out = append(out, before...)
		}
		if !found {
			return out
		}
		content, after, _ := bytes.Cut(rest, end)
		if inside {
			out = append(out, content...)
		}
		source = after
	}
}
