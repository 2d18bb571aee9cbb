package wikitext

import (
	"strings"
	"testing"
)

func TestAHoleIsADroppedTemplateInsideASentence(t *testing.T) {
	for source, want := range map[string]int{
		"Do {{zq|VI}} ao {{zq|IV}} tornou-se":   2,
		"legalább {{zq|180000}} török":          1,
		"{{zq|180000}} török volt":              1,
		"* {{zq|a}}\n* b\n* {{zq}} c":           2,
		"; term : {{zq|a}}":                     1,
		"彼は{{zq|東京}}に":                          1,
		"と、{{zq|東京}}は":                          1,
		"a ({{zq}}) b":                          1,
		"He is {{zq}}.":                         1,
		"{{zq}}":                                0, // a box
		"{{zq\n|a=1\n}}\ntext":                  0,
		"A sentence.{{zq}}":                     0, // footnotes
		"A sentence.{{zq}} Another.":            0,
		"A word{{zq}} and another":              0,
		"A sentence.<ref>x</ref>{{zq}} Another": 0,
		"A sentence. {{zq}}":                    0,
		"A {{lang|de|b}} {{reflist}} {{cn}} c":  0, // known
		"{| class=x\n| {{zq}} a\n|}":            0, // tables are not text
		"a {{INRConvert|5|c}} b":                1, // no word in this language
		"[[File:x.jpg|thumb|a {{zq}} b]]":       0,
	} {
		s := NewScanner(DefaultOptions())
		s.AppendText(nil, []byte(source), Page{Lang: "de", Title: "P"})
		sum, first := 0, "P"
		for _, h := range s.Holes() {
			sum, first = sum+h.Uses, h.First
		}
		if got := s.PageHoles(); got != want || sum != want || first != "P" {
			t.Errorf("%q: %d holes of the page, %d in all, first on %q, want %d", source, got, sum, first, want)
		}
	}
}

func TestHolesAreCountedByPage(t *testing.T) {
	s := NewScanner(DefaultOptions())
	s.AppendText(nil, []byte("a {{zq}} b {{zr}} c"), Page{Title: "first"})
	s.AppendText(nil, []byte("a {{zq}} b"), Page{Title: "second"})
	if s.PageHoles() != 1 {
		t.Errorf("%d holes, want 1", s.PageHoles())
	}
	for name, h := range s.Holes() {
		if want := map[string]int{"zq": 2, "zr": 1}[name]; h.Uses != want || h.First != "first" {
			t.Errorf("%s: %v, want %d uses, first on the first page", name, h, want)
		}
	}
	s.ResetTally()
	for name := range s.Holes() {
		t.Errorf("%s after the reset", name)
	}
}

// A template that is nested too deeply is a hole, and counted as one.
func TestATemplateNestedTooDeeplyIsCounted(t *testing.T) {
	s := NewScanner(DefaultOptions())
	source := "a " + strings.Repeat("{{nowrap|", maxDepth) + "b {{lang|de|c}} d" + strings.Repeat("}}", maxDepth) + " e"
	s.AppendText(nil, []byte(source), Page{Lang: "en", Title: "P"})
	uses := map[string]int{}
	for name, n := range s.Uses(asHole) {
		uses[name] = n
	}
	if len(uses) != 1 || uses["lang"] != 1 {
		t.Errorf("got %v, want one use of lang", uses)
	}
}
