package wiki

import (
	"bufio"
	"bytes"
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pretext/extract/wiki/wikitext"
)

// A wikiCase is wikitext that MediaWiki and we render.
type wikiCase struct {
	lang  string
	Title string            `json:"title"`
	Text  string            `json:"text"`
	Pages map[string]string `json:"pages,omitempty"` // "Template:X" and "Module:X" by title
}

// wikiToday is the day of all cases.
var wikiToday = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

// mediaWiki renders cases in one language with MediaWiki. dir is what the script
// mediawiki.sh has made.
func mediaWiki(t *testing.T, dir, lang string, cases []wikiCase) []string {
	t.Helper()
	data, err := filepath.Abs("testdata/mediawiki")
	if err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, c := range cases {
		if err := encoder.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "php", data+"/expand.php", "--conf", data+"/LocalSettings.php", "--now", strconv.FormatInt(wikiToday.Unix(), 10))
	cmd.Env = append(os.Environ(), "PRETEXT_LANG="+lang, "PRETEXT_MEDIAWIKI="+dir, "MW_INSTALL_PATH="+dir+"/root/usr/share/mediawiki")
	cmd.Stdin = &in
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	var texts []string
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			t.Fatalf("MediaWiki says: %s", lines.Text())
		}
		texts = append(texts, text)
	}
	if err != nil || len(texts) != len(cases) {
		t.Fatalf("MediaWiki: %v, %d of %d cases: %s", err, len(texts), len(cases), problems.String())
	}
	return texts
}

var (
	tagsOfHTML   = regexp.MustCompile(`(?s)<[a-zA-Z/][^>]*>|<!--.*?-->`)
	blocksOfHTML = regexp.MustCompile(`</?(p|li|ul|ol|dl|dd|dt|h\d|div|table|tr|td|th|br|pre|blockquote)\b`)
	errorsOfHTML = regexp.MustCompile(`(?s)<(strong|span) class="(error|scribunto-error)|<a [^>]*class="new"[^>]*>:?(Template|Vorlage):`)
)

// words returns text with single spaces of one kind.
func words(text string) string {
	text = strings.Map(func(r rune) rune {
		switch r {
		case '\u00a0', '\u202f', '\u2009':
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// textOfHTML returns what a reader sees of the HTML that MediaWiki made.
func textOfHTML(s string) string {
	s = blocksOfHTML.ReplaceAllString(s, " $0")
	return words(html.UnescapeString(tagsOfHTML.ReplaceAllString(s, "")))
}

// definitionsOfCase are the templates and modules of a case, as our reader takes them.
type definitionsOfCase map[string]string

func (d definitionsOfCase) Definition(name, _ []byte) string { return d[string(name)] }

// ours renders a case. holes is the number of counted holes.
func ours(s *wikitext.Scanner, c wikiCase) (text string, holes int) {
	all := definitionsOfCase{}
	for title, source := range c.Pages {
		namespace, title, _ := strings.Cut(title, ":")
		if namespace == "Module" {
			all[wikitext.ModuleName(title)] = source
			continue
		}
		if value, why := definitionOf([]byte(source)); why == "" {
			all[wikitext.TemplateName(title)] = value
		}
	}
	page := wikitext.Page{Title: c.Title, Lang: c.lang, Definitions: all, Today: wikiToday}
	out := s.AppendText(nil, []byte(c.Text), page)
	return words(string(out)), s.PageHoles()
}

// MediaWiki itself renders templates, parser functions and modules to the same text, or
// we count a hole. PRETEXT_MEDIAWIKI is the folder that mediawiki.sh has made.
func TestMediaWikiRendersTheSame(t *testing.T) {
	dir := os.Getenv("PRETEXT_MEDIAWIKI")
	if dir == "" {
		t.Skip("PRETEXT_MEDIAWIKI is not set: no MediaWiki to compare with")
	}
	byLang := map[string][]wikiCase{}
	for _, c := range wikiCases() {
		byLang[c.lang] = append(byLang[c.lang], c)
	}
	var langs []string
	for lang := range byLang {
		langs = append(langs, lang)
	}
	slices.Sort(langs)
	for _, lang := range langs {
		t.Run(lang, func(t *testing.T) { compareWithMediaWiki(t, dir, lang, byLang[lang]) })
	}
}

func compareWithMediaWiki(t *testing.T, dir, lang string, cases []wikiCase) {
	scanner := wikitext.NewScanner(wikitext.DefaultOptions())
	equal, counted, known, different := 0, 0, 0, 0
	for k, rendered := range mediaWiki(t, dir, lang, cases) {
		c := cases[k]
		want := textOfHTML(rendered)
		got, holes := ours(scanner, c)
		why := explained(c)
		switch {
		case why != "" && (got != want || holes > 0):
			known++
		case holes > 0:
			counted++
		case got == want:
			equal++
		default:
			different++
			message := ""
			if errorsOfHTML.MatchString(rendered) {
				message = "error message without hole: "
			}
			t.Errorf("%s%s %q %q\n got %q\nwant %q", message, lang, c.Text, c.Pages, got, want)
		}
	}
	t.Logf("%d cases: %d equal, %d counted holes, %d known and explained, %d different", len(cases), equal, counted, known, different)
}

// explained returns why a case differs on purpose; "" if it must not.
func explained(c wikiCase) string {
	for _, d := range wikiDifferences {
		if strings.Contains(c.Text+c.Pages["Module:M"], d.text) {
			return d.why
		}
	}
	return ""
}

// wikiDifferences are the differences that stay, by a text in the case.
var wikiDifferences = []struct{ text, why string }{
	{"{{#tag:ref|", "a footnote shows no number in our text"},
	{"|1945}}", "MediaWiki takes the day and month of the computer's clock"},
	{"|now}}", "PHP reads the computer's clock"},
	{"|today}}", "PHP reads the computer's clock"},
	{"|+1 day}}", "PHP reads the computer's clock"},
	{"|-5 days}}", "PHP reads the computer's clock"},
	{"|12:34}}", "PHP reads the computer's clock"},
	{"|1 January}}", "PHP reads the computer's clock"},
	{"{{#ifexist:", "no page exists in this wiki; in a dump, a page that a page asks for exists as a rule"},
	{"|k= b''i'' }} | k =", "apostrophes of two templates side by side join in MediaWiki; we render each template alone"},
	{"{{ucfirst:b}}{{#switch:é|a= |b|1=b|word=}}", "a text that is a line break alone is a space in MediaWiki, and nothing for us"},
	{":plural(n, 'a'", "in Czech and Lithuanian, mw.language does not count the form of fractions"},
	{"1e15", "Lua writes this number as 1e+15"},
	{"l:caseFold(", "mw.ustring has simple conversions of letters"},
	{"mw.ustring.upper('äß')", "mw.ustring has simple conversions of letters"},
	{"fetchLanguageName('de', mw", "without the extension CLDR, which Wikimedia's wikis have, MediaWiki knows the names of languages in themselves alone"},
	{"mw.text.truncate('abcdefgh', 4)", "the text behind what is cut off is our own"},
	{"mw.site.siteName", "this wiki has a name of its own"},
	{"mw.text.listToText", "the words between items are those of English"},
	{"{{#switch:x|a=1|#default}}", "MediaWiki cuts the mark from the name of the default"},
}
