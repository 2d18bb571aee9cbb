package wikitext

import (
	"strings"
	"testing"
)

// Sections that only look like back matter or text, and spaces that a browser does not show.
func TestSectionsAreJudgedByTheirContentToo(t *testing.T) {
	house := strings.Repeat("I huset hålls uppläsningar, och böckerna lånas ut till alla som bor i staden. ", 5)
	house = strings.TrimSpace(house)
	for name, c := range map[string]struct{ lang, source, want string }{
		"prose about literature":   {"sv", "Huset står.\n\n== Litteratur ==\n" + house + "\n* [[Bok]]\n", "Huset står.\nLitteratur\n" + house + "\nBok"},
		"a list of literature":     {"sv", "Huset står.\n\n== Litteratur ==\n* " + house + "\n", "Huset står."},
		"a remark and a list":      {"de", "Das Haus.\n\n== Literatur ==\nEine Auswahl.\n* Buch\n", "Das Haus."},
		"prose about references":   {"en", "A house.\n\n== References ==\n" + house + "\n", "A house."},
		"external links (bs)":      {"bs", "Kuća.\n\n== Vanjski linkovi ==\n* [http://example.org x]\n", "Kuća."},
		"external links (hr)":      {"hr", "Kuća.\n\n== Vanjske poveznice ==\n* [http://example.org x]\n", "Kuća."},
		"indented source code":     {"en", "As in\n int main() {\n   return 0;\n }\nIt ends.", "As in\nIt ends."},
		"indented text":            {"en", "As in\n a line; and\n another line\nIt ends.", "As in\na line; and\nanother line\nIt ends."},
		"one indented line":        {"en", "As in\n x = y();\nIt ends.", "As in\nx = y();\nIt ends."},
		"double spaces":            {"en", "One.  Two   three.&nbsp; Four.", "One. Two three. Four."},
		"a space that a rule adds": {"es", "45{{esd}}km y {{esd|5 km}}", "45 km y 5 km"},
	} {
		if got := string(NewScanner(DefaultOptions()).AppendText(nil, []byte(c.source), Page{Lang: c.lang})); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	o := DefaultOptions()
	o.Code = true
	if got := string(NewScanner(o).AppendText(nil, []byte("As in\n a();  b();\n c();\n"), Page{})); got != "As in\na();  b();\nc();" {
		t.Errorf("kept code is %q", got)
	}
}
