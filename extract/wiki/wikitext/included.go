package wikitext

import "bytes"

// Included returns the part of a template's source that is inserted into the pages that
// use the template: the text in <onlyinclude>, or the whole source if there is no such
// text, without the elements <noinclude>. The tags <includeonly> (not their content)
// and all comments are removed.
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

// between returns the text inside the elements with the given tag, or, if inside is
// false, the text outside them. An unclosed element extends to the end of the source.
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
