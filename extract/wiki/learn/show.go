package learn

import (
	"strings"

	"pretext/extract/wiki/rendering"
	"pretext/extract/wiki/wikitext"
)

// A shower renders uses of templates as package wikitext does inside a sentence.
type shower struct {
	scanner *wikitext.Scanner
	page    wikitext.Page
	src     []byte
	out     []byte
}

func newShower(lang, wiki string, files ...*rendering.File) *shower {
	o := wikitext.DefaultOptions()
	o.Rendering = files
	return &shower{scanner: wikitext.NewScanner(o), page: wikitext.Page{Title: "Page", Lang: lang, Wiki: wiki}}
}

// before and after are the parts of the artificial sentence around a use that a shower
// renders.
const before, after = "Aa ", " bb."

// show returns the text of a use, without white space at its ends. ok is false if the
// use changes the sentence around it.
func (s *shower) show(call string) (text string, ok bool) {
	s.src = append(append(append(s.src[:0], before...), call...), after...)
	s.out = s.scanner.AppendText(s.out[:0], s.src, s.page)
	text = plain(string(s.out))
	text, ok = strings.CutPrefix(text, strings.TrimSpace(before))
	if ok {
		text, ok = strings.CutSuffix(text, strings.TrimSpace(after))
	}
	return strings.TrimSpace(text), ok
}

// knows reports whether there is a rule for the template, so that package wikitext does
// not count the use as dropped.
func (s *shower) knows(name, call string) bool {
	s.scanner.ResetTally()
	s.show(call)
	for dropped := range s.scanner.Dropped() {
		if dropped == name || len(dropped) >= len(name)/2 && strings.HasPrefix(name, dropped) && len(dropped) > maxCounted {
			return false
		}
	}
	return true
}

// maxCounted is slightly less than the length to which package wikitext truncates
// counted names. A counted name that is longer may be truncated.
const maxCounted = 60

// plain replaces each run of white space by one blank.
func plain(text string) string {
	return strings.Join(strings.Fields(text), " ") // Fields also splits at U+00A0
}
