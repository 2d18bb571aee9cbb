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
	cmd := exec.CommandContext(t.Context(), "php", data+"/expand.php", "--conf", data+"/LocalSettings.php", "--now", wikiToday.Format("1136239445"))
	cmd.Args[len(cmd.Args)-1] = "1709208000" // wikiToday
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
	scanner := wikitext.NewScanner(wikitext.DefaultOptions())
	equal, counted, differences := 0, 0, 0
	for _, lang := range langs {
		for k, rendered := range mediaWiki(t, dir, lang, byLang[lang]) {
			c := byLang[lang][k]
			want := textOfHTML(rendered)
			got, holes := ours(scanner, c)
			switch {
			case holes > 0:
				counted++
				if os.Getenv("PRETEXT_SHOW_HOLES") != "" {
					t.Logf("hole %s %q %q\n got %q\nwant %q", lang, c.Text, c.Pages, got, want)
				}
			case got == want:
				equal++
			case errorsOfHTML.MatchString(rendered):
				differences++
				t.Errorf("error message without hole: %s %q %q\n got %q\nwant %q", lang, c.Text, c.Pages, got, want)
			default:
				differences++
				t.Errorf("%s %q %q\n got %q\nwant %q", lang, c.Text, c.Pages, got, want)
			}
		}
	}
	t.Logf("%d cases: %d equal, %d counted holes, %d different", equal+counted+differences, equal, counted, differences)
}
