package wiki

import (
	"bytes"
	"testing"

	"pretext/extract/wiki/wikitext"
	"pretext/internal/dev/realdata"
)

// dumpModules are the templates and modules of a dump.
type dumpModules map[string]string

func (d dumpModules) Definition(name, _ []byte) string { return d[string(name)] }

// The modules that real dumps carry run: those of the shared data that need no others.
func TestModulesOfRealDumps(t *testing.T) {
	for _, c := range []struct {
		dump  string
		count int64
		texts map[string]string
	}{
		{"elwikivoyage-medium-pages-articles.xml.bz2", 11, map[string]string{
			"{{zc|5|mi|km}}":                  "5 miles (8.0 km)",
			"{{zc|100|°C|°F|abbr=on}}":        "100 °C (212 °F)",
			"{{zc|6|ft|2|in|m}}":              "6 feet 2 inches (1.88 m)",
			"{{zc|10|and|20|kg|lb}}":          "10 and 20 kilograms (22 and 44 lb)",
			"{{zc|3|ha|acre|2}}":              "3 hectares (7.41 acres)",
			"{{zc|12|km/h|mph|abbr=on}}":      "12 km/h (7.5 mph)",
			"{{zc|1234567.891|m|km|comma=5}}": "1,234,567.891 metres (1234.567891 km)",
			"{{#invoke:Convert|convert}}":     "[convert: needs a number]",
		}},
		{"ltgwiki-pages-articles.xml.bz2", 28, map[string]string{
			"{{#invoke:String|len|abc}}":                                "3",
			"{{#invoke:String|replace|source=abc|pattern=b|replace=x}}": "axc",
			"{{#invoke:Math|round|3.14159|2}}":                          "3.14",
			"{{#invoke:Math|max|1|5|3}}":                                "5",
			"{{#invoke:URL|url|http://example.org/x}}":                  "example.org/x",
			"{{zf|Smith|2000}}":                                         "(Smith 2000)",
		}},
		{"shintowiki-medium-pages-articles-multistream.xml.bz2", 110, nil},
	} {
		raw := realdata.Read(t, "wiki/"+c.dump)
		head, err := ReadHead(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		d := Dump{File: bytes.NewReader(raw), Size: int64(len(raw)), Name: c.dump, Head: head}
		all := dumpModules{"zc": "{{#invoke:Convert|convert}}", "zf": "{{#invoke:Footnotes|harvard_citation}}"}
		var stats DefinitionStats
		for definition, err := range NewReader(d, Range{0, d.Size}, DefaultOptions()).Definitions(&stats, nil) {
			if err != nil {
				t.Fatal(err)
			}
			all[definition.Name] = definition.Value
		}
		if stats.Modules != c.count {
			t.Errorf("%s: %d modules, want %d", c.dump, stats.Modules, c.count)
		}
		scanner := wikitext.NewScanner(wikitext.DefaultOptions())
		for source, want := range c.texts {
			page := wikitext.Page{Title: "A page", Lang: "en", Wiki: d.Wiki(), Definitions: all, Namespaces: head.names()}
			got := string(scanner.AppendText(nil, []byte("It is "+source+" here."), page))
			if got != "It is "+want+" here." {
				t.Errorf("%s: %s gives %q, want %q", c.dump, source, got, want)
			}
		}
	}
}
