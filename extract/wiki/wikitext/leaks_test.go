package wikitext

import (
	"regexp"
	"testing"
)

// leaks are what the text of a real page has no reason to contain, in regular
// expressions that begin with a literal where that is possible: they are fast.
var leaks = []*regexp.Regexp{
	regexp.MustCompile(`\{\{`), regexp.MustCompile(`\}\}`), regexp.MustCompile(`\[\[`), regexp.MustCompile(`\]\]`),
	regexp.MustCompile(`\{\|`), regexp.MustCompile(`\|\}`), regexp.MustCompile(`''`), regexp.MustCompile(`<!--`), regexp.MustCompile(`-->`),
	regexp.MustCompile(`</?[a-zA-Z][^<>\n]{0,60}>`), regexp.MustCompile(`&#?[a-zA-Z0-9]{2,20};`),
	regexp.MustCompile(`\([\s,;:.]*\)`), regexp.MustCompile(`（[\s、，；：]*）`), regexp.MustCompile(`\( *[,;:]`), regexp.MustCompile(`（ *[、，；：]`),
	regexp.MustCompile(`\n(==|[|!])`), regexp.MustCompile(`==\n`),
}

func TestRealPagesLeakNoMarkup(t *testing.T) {
	// What is allowed was looked up: the pages show it themselves.
	tests := []struct {
		dump, lang string
		shown      map[string]int
	}{
		{"enwiki-small-pages-articles.xml.bz2", "en", map[string]int{`\([\s,;:.]*\)`: 1}},
		{"enwiki-table-markup.xml.bz2", "en", nil},
		{"dewiki-20170701-sample.xml.bz2", "de", nil},
		{"frwiki-sample.xml.bz2", "fr", nil},
		{"jawiki-articles-multistream.xml.bz2", "ja", map[string]int{`\[\[`: 1, `\]\]`: 1, `（[\s、，；：]*）`: 1}},
		{"zhwiki-sample.xml.bz2", "zh", map[string]int{`\]\]`: 1}},
	}
	s := NewScanner(DefaultOptions())
	for _, test := range tests {
		t.Run(test.dump, func(t *testing.T) {
			var text []byte
			for _, p := range readPages(t, test.dump) {
				if p.ns == "0" {
					text = append(s.AppendText(text, p.text, Page{Title: p.title, Lang: test.lang}), '\n')
				}
			}
			for _, pattern := range leaks {
				found := pattern.FindAllIndex(text, -1)
				if len(found) <= test.shown[pattern.String()] {
					continue
				}
				t.Errorf("%d × %s, want at most %d", len(found), pattern, test.shown[pattern.String()])
				for _, at := range found[:min(len(found), 5)] {
					t.Logf("…%s…", text[max(0, at[0]-40):min(len(text), at[1]+40)])
				}
			}
		})
	}
}
