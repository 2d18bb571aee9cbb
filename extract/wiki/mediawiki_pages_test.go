package wiki_test

import (
	"bytes"
	"compress/bzip2"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"pretext/extract"
	"pretext/extract/wiki"
	"pretext/extract/wiki/wikihtml"
	"pretext/internal/dev/realdata"
)

// A dumpPage is a page of a dump, as encoding/xml reads it.
type dumpPage struct {
	Title string    `xml:"title"`
	NS    int       `xml:"ns"`
	ID    int64     `xml:"id"`
	Text  string    `xml:"revision>text"`
	Time  time.Time `xml:"revision>timestamp"`
}

// dumpPages returns the pages of a dump, and what stands before them.
func dumpPages(t *testing.T, name string) (head string, pages []dumpPage) {
	t.Helper()
	raw, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(realdata.Read(t, "wiki/"+name))))
	if err != nil {
		t.Fatal(err)
	}
	head = string(raw[:bytes.Index(raw, []byte("<page>"))])
	for d := xml.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return head, pages
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "page" {
			var p dumpPage
			if err := d.DecodeElement(&p, &start); err != nil {
				t.Fatal(err)
			}
			pages = append(pages, p)
		}
	}
}

// oneDump returns a dump of pages behind a head.
func oneDump(t *testing.T, name, head string, pages []dumpPage) wiki.Dump {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(head)
	escaped := func(text string) string {
		var b strings.Builder
		xml.EscapeText(&b, []byte(text))
		return b.String()
	}
	for _, p := range pages {
		fmt.Fprintf(&b, "<page><title>%s</title><ns>%d</ns><id>%d</id><revision><id>1</id><timestamp>%s</timestamp><text>%s</text></revision></page>\n",
			escaped(p.Title), p.NS, p.ID, p.Time.Format(time.RFC3339), escaped(p.Text))
	}
	b.WriteString("</mediawiki>\n")
	file := bytes.NewReader(b.Bytes())
	d := wiki.Dump{File: file, Size: file.Size(), Name: strings.TrimSuffix(name, ".bz2")}
	var err error
	if d.Head, err = wiki.ReadHead(file, d.Size); err != nil {
		t.Fatal(err)
	}
	return d
}

// withoutTemplates removes the templates of a text, or only those that stand alone on their
// lines: such templates are boxes for us.
func withoutTemplates(text string, all bool) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		k := strings.Index(text[i:], "{{")
		if k < 0 {
			b.WriteString(text[i:])
			break
		}
		b.WriteString(text[i : i+k])
		i += k
		end, depth := i, 0
		for end < len(text) {
			if strings.HasPrefix(text[end:], "{{") {
				depth, end = depth+1, end+2
			} else if strings.HasPrefix(text[end:], "}}") {
				if depth, end = depth-1, end+2; depth == 0 {
					break
				}
			} else {
				end++
			}
		}
		alone := (i == 0 || text[i-1] == '\n') && (end == len(text) || text[end] == '\n' || text[end] == '{')
		if depth != 0 || !all && !alone {
			end = i + len("{{")
			b.WriteString("{{")
		}
		i = end
	}
	return b.String()
}

// definitionsOf are the templates and modules of a dump, by name.
type definitionsOf map[string]string

func (d definitionsOf) Definition(name, _ []byte) string { return d[string(name)] }

// documentsOf returns the documents of a dump by ID, with its templates expanded.
func documentsOf(t *testing.T, d wiki.Dump) map[string]*extract.Document {
	t.Helper()
	all := definitionsOf{}
	var stats wiki.DefinitionStats
	for definition, err := range wiki.NewReader(d, wiki.Range{End: d.Size}, wiki.DefaultOptions()).Definitions(&stats, nil) {
		if err != nil {
			t.Fatal(err)
		}
		all[definition.Name] = definition.Value
	}
	r := wiki.NewReader(d, wiki.Range{End: d.Size}, wiki.DefaultOptions())
	r.Expand(all)
	documents := map[string]*extract.Document{}
	for doc, err := range r.Documents() {
		if err != nil {
			t.Fatal(err)
		}
		documents[doc.ID] = &extract.Document{ID: doc.ID, Title: doc.Title, Text: strings.Clone(doc.Text)}
	}
	return documents
}

// Links of MediaWiki to what the wiki does not have: a file, and a template.
var (
	coordinates     = regexp.MustCompile(`\{\{#coordinates:[^{}]*\}\}`) // of an extension that is not here
	linkToFile      = regexp.MustCompile(`(?s)<a href="[^"]*"(?: class="[^"]*")? title="([^":]*):[^"]*">.*?</a>`)
	missingTemplate = regexp.MustCompile(`(?s)<a href="[^"]*" class="new" title="[^"]*"[^>]*>([^<:]*):[^<]*</a>`)
)

// Marks of wikitext tables, at the start of a line.
var (
	tableStart = regexp.MustCompile(`(?m)^[ \t:]*\{\|`)
	tableStop  = regexp.MustCompile(`(?m)^[ \t:]*\|\}`)
)

// listings are the templates of entries in travel guides, of which we keep the name and the
// description, and not the address.
var listings = map[string]bool{"buy": true, "city": true, "do": true, "drink": true, "eat": true, "go": true, "learn": true, "listing": true, "marker": true,
	"see": true, "sleep": true, "vcard": true, "proorismos": true, "prosvasi": true}

// missing stands in a text for a template that the dump lacks. MediaWiki shows a link; we may
// have a rule.
const missing = "\ue000"

// renderedByMediaWiki returns the texts of pages that MediaWiki renders, by ID. template is the
// name of the namespace of templates.
func renderedByMediaWiki(t *testing.T, dir string, d wiki.Dump, all, pages []dumpPage) map[string]string {
	t.Helper()
	data, err := filepath.Abs("testdata/mediawiki")
	if err != nil {
		t.Fatal(err)
	}
	var store, in bytes.Buffer
	encoder := json.NewEncoder(&store)
	for _, p := range all {
		title := p.Title
		if p.NS != 0 {
			_, title, _ = strings.Cut(title, ":")
		}
		stored := map[string]any{"ns": p.NS, "title": title}
		if (p.NS == 10 || p.NS == 828) && !listings[strings.ToLower(title)] {
			stored["text"] = p.Text
		}
		encoder.Encode(stored)
	}
	encoder = json.NewEncoder(&in)
	for _, p := range pages {
		encoder.Encode(map[string]any{"title": p.Title, "text": p.Text, "now": p.Time.Unix()})
	}
	file := filepath.Join(t.TempDir(), "pages.jsonl")
	if err := os.WriteFile(file, store.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "php", data+"/expand.php", "--conf", data+"/LocalSettings.php", "--now", "1700000000", "--store", file)
	cmd.Env = append(os.Environ(), "PRETEXT_LANG="+d.Language(), "PRETEXT_MEDIAWIKI="+dir, "MW_INSTALL_PATH="+dir+"/root/usr/share/mediawiki")
	cmd.Stdin = &in
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if err != nil || len(lines) != len(pages) {
		t.Fatalf("MediaWiki: %v, %d of %d pages: %s", err, len(lines), len(pages), problems.String())
	}
	templates, files := map[string]bool{"Template": true}, map[string]bool{"File": true}
	for _, n := range d.Head.Namespaces {
		templates[n.Name] = templates[n.Name] || n.Key == 10
		files[n.Name] = files[n.Name] || n.Key == 6
	}
	var snapshot bytes.Buffer
	encoder = json.NewEncoder(&snapshot)
	for k, line := range lines {
		var html string
		if err := json.Unmarshal(line, &html); err != nil {
			t.Fatalf("MediaWiki says: %s", line)
		}
		html = coordinates.ReplaceAllString(html, "")
		html = linkToFile.ReplaceAllStringFunc(html, func(s string) string {
			if files[linkToFile.FindStringSubmatch(s)[1]] {
				return ""
			}
			return s
		})
		html = missingTemplate.ReplaceAllStringFunc(html, func(s string) string {
			if templates[missingTemplate.FindStringSubmatch(s)[1]] {
				return missing
			}
			return s
		})
		encoder.Encode(map[string]any{"name": pages[k].Title, "identifier": pages[k].ID, "is_part_of": map[string]any{"identifier": d.Wiki()},
			"in_language": map[string]any{"identifier": d.Language()}, "article_body": map[string]any{"html": html}})
	}
	input := wikihtml.Input{Name: d.Wiki() + ".ndjson", Open: func(string) (io.ReadCloser, error) { return io.NopCloser(&snapshot), nil }}
	texts := map[string]string{}
	for doc, err := range wikihtml.NewReader(input, wiki.DefaultOptions()).Documents() {
		if err != nil {
			t.Fatal(err)
		}
		texts[doc.ID] = strings.Clone(doc.Text)
	}
	return texts
}

// wordsOf counts the words of a text.
func wordsOf(text string) map[string]int {
	n := map[string]int{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.In(r, unicode.L, unicode.N, unicode.M) && r != '_' }) {
		n[w]++
	}
	return n
}

// common returns the number of words that a and b share, and the sizes of both.
func common(a, b map[string]int) (both, sizeA, sizeB int) {
	for w, n := range a {
		both += min(n, b[w])
		sizeA += n
	}
	for _, n := range b {
		sizeB += n
	}
	return both, sizeA, sizeB
}

// withoutMissing aligns the lines of two texts and removes each stretch without equal lines in
// which the dump lacks a template.
func withoutMissing(want, got string) (string, string) {
	if !strings.Contains(want, missing) {
		return want, got
	}
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	length := make([][]int, len(a)+1) // of the longest common subsequence of a[i:] and b[j:]
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i, line := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if length[i][j] = max(length[i+1][j], length[i][j+1]); line == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	var keptA, keptB, openA, openB []string
	flush := func() {
		if !strings.Contains(strings.Join(openA, ""), missing) {
			keptA, keptB = append(keptA, openA...), append(keptB, openB...)
		}
		openA, openB = nil, nil
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			flush()
			keptA, keptB = append(keptA, a[i]), append(keptB, b[j])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			openA, i = append(openA, a[i]), i+1
		default:
			openB, j = append(openB, b[j]), j+1
		}
	}
	flush()
	return strings.Join(keptA, "\n"), strings.Join(keptB, "\n")
}

// Whole pages of dumps that carry their templates and modules have the words that MediaWiki
// shows, without tables, boxes and footnotes. PRETEXT_MEDIAWIKI is the folder that
// mediawiki.sh has made.
func TestMediaWikiRendersPagesOfDumps(t *testing.T) {
	dir := os.Getenv("PRETEXT_MEDIAWIKI")
	if dir == "" {
		t.Skip("PRETEXT_MEDIAWIKI is not set: no MediaWiki to compare with")
	}
	for _, c := range []struct {
		dump  string
		every int  // one of so many pages is compared
		bare  bool // without any templates, because the dump lacks them
		f1    float64
	}{
		{"elwikivoyage-medium-pages-articles.xml.bz2", 10, false, 0.99},
		{"ltgwiki-pages-articles.xml.bz2", 5, false, 0.995},
		{"ngwiki-20130702-pages-articles.xml.bz2", 1, false, 0.999},
		{"shintowiki-medium-pages-articles-multistream.xml.bz2", 20, false, 0.998},
		{"enwiki-small-pages-articles.xml.bz2", 5, true, 0.999},
		{"enwiki-table-markup.xml.bz2", 1, true, 0.999},
		{"dewiki-20170701-sample.xml.bz2", 3, true, 0.999},
		{"frwiki-sample.xml.bz2", 3, true, 0.999},
		{"zhwiki-sample.xml.bz2", 3, true, 0.999},
		{"jawiki-articles-multistream.xml.bz2", 20, true, 0.997},
		{"enwiktionary-20150224-pages-articles-multistream.xml.bz2", 5, true, 0.999},
	} {
		t.Run(c.dump, func(t *testing.T) { comparePages(t, dir, c.dump, c.every, c.bare, c.f1) })
	}
}

func comparePages(t *testing.T, dir, name string, every int, bare bool, bound float64) {
	head, all := dumpPages(t, name)
	for k, p := range all {
		if p.NS == 0 {
			all[k].Text = withoutTemplates(strings.ReplaceAll(p.Text, "__DISAMBIG__", ""), bare)
		}
	}
	if os.Getenv("PRETEXT_FULL") != "" {
		every = 1
	}
	d := oneDump(t, name, head, all)
	ours := documentsOf(t, d)
	id := func(p dumpPage) string { return d.Wiki() + ":" + strconv.FormatInt(p.ID, 10) }
	var pages []dumpPage
	open := 0
	for _, p := range all {
		switch {
		case ours[id(p)] == nil || p.ID%int64(every) != 0:
		case len(tableStart.FindAllString(p.Text, -1)) > len(tableStop.FindAllString(p.Text, -1)):
			open++ // MediaWiki puts the rest of the page into a table; we resume the text
		default:
			pages = append(pages, p)
		}
	}
	theirs := renderedByMediaWiki(t, dir, d, all, pages)
	both, want, got := 0, 0, 0
	var record *json.Encoder
	if file := os.Getenv("PRETEXT_PAGES"); file != "" {
		f, err := os.Create(filepath.Join(file, d.Wiki()+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		record = json.NewEncoder(f)
	}
	for _, p := range pages {
		their, our := withoutMissing(theirs[id(p)], ours[id(p)].Text)
		n, a, b := common(wordsOf(their), wordsOf(our))
		both, want, got = both+n, want+a, got+b
		if record != nil {
			record.Encode(map[string]any{"id": id(p), "title": p.Title, "want": their, "got": our, "source": p.Text})
		}
	}
	f1 := 2 * float64(both) / float64(want+got)
	t.Logf("%d pages, %d words of MediaWiki, %d of ours: F1 %.4f; %d pages with an unclosed table were not compared", len(pages), want, got, f1, open)
	if f1 < bound {
		t.Errorf("F1 %.4f, want %.4f", f1, bound)
	}
}
