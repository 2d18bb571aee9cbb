package democorpus_test

import (
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"crypto/sha1"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/democorpus"
	"pretext/tokenize/sentence"
)

func Example() {
	fmt.Println(democorpus.DumpName)
	names, err := fs.Glob(democorpus.Books(), "*")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		fmt.Println(name)
	}
	// Output:
	// demowiki-20260901-pages-articles-multistream.xml.bz2
	// a-year-on-gull-island.epub
	// the-clocks-of-harrow-street.txt
}

func dumpXML(t *testing.T) []byte {
	t.Helper()
	got, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(democorpus.Dump())))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTheDumpIsItsSource(t *testing.T) {
	want, err := os.ReadFile(strings.TrimSuffix(democorpus.DumpName, ".bz2"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(dumpXML(t), want) {
		t.Error("the dump differs from the .xml it is made of; run go generate")
	}
}

// A page is what these tests read of one.
type page struct {
	Title    string    `xml:"title"`
	NS       int       `xml:"ns"`
	ID       int       `xml:"id"`
	Redirect *struct{} `xml:"redirect"`
	Revision struct {
		Model string `xml:"model"`
		Text  struct {
			Bytes   int    `xml:"bytes,attr"`
			SHA1    string `xml:"sha1,attr"`
			Deleted string `xml:"deleted,attr"`
			Content string `xml:",chardata"`
		} `xml:"text"`
		SHA1 string `xml:"sha1"`
	} `xml:"revision"`
}

func pages(t *testing.T) []page {
	t.Helper()
	var dump struct {
		SiteInfo struct {
			DBName     string   `xml:"dbname"`
			Namespaces []string `xml:"namespaces>namespace"`
		} `xml:"siteinfo"`
		Pages []page `xml:"page"`
	}
	if err := xml.Unmarshal(dumpXML(t), &dump); err != nil {
		t.Fatal(err)
	}
	if got := dump.SiteInfo; got.DBName != "demowiki" || len(got.Namespaces) != 20 {
		t.Fatalf("got site %q with %d namespaces", got.DBName, len(got.Namespaces))
	}
	return dump.Pages
}

func TestPagesSayTheirLengthAndHash(t *testing.T) {
	lastID := 0
	for _, p := range pages(t) {
		if p.ID <= lastID {
			t.Errorf("%s: page ID %d is not above %d", p.Title, p.ID, lastID)
		}
		lastID = p.ID
		text := p.Revision.Text
		if text.Deleted != "" {
			continue
		}
		sum := sha1.Sum([]byte(text.Content))
		want := fmt.Sprintf("%031s", new(big.Int).SetBytes(sum[:]).Text(36))
		if text.Bytes != len(text.Content) || text.SHA1 != want || p.Revision.SHA1 != want {
			t.Errorf("%s: got %d bytes with SHA-1 %s, want %d with %s; run go generate", p.Title, text.Bytes, text.SHA1, len(text.Content), want)
		}
	}
}

// articles returns the texts of the pages that become documents.
func articles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range pages(t) {
		if p.NS == 0 && p.Redirect == nil && len(p.Revision.Text.Content) > 500 {
			out[p.Title] = p.Revision.Text.Content
		}
	}
	return out
}

func TestTheDumpHoldsEveryKindOfPage(t *testing.T) {
	kinds := map[string]int{}
	for _, p := range pages(t) {
		switch {
		case p.Redirect != nil:
			kinds["redirect"]++
		case p.NS != 0:
			kinds[fmt.Sprintf("namespace %d, %s", p.NS, p.Revision.Model)]++
		case p.Revision.Text.Deleted != "":
			kinds["deleted"]++
		case p.Revision.Text.Content == "":
			kinds["empty"]++
		case strings.Contains(p.Revision.Text.Content, "{{disambiguation}}"):
			kinds["disambiguation"]++
		default:
			kinds["article"]++
		}
	}
	want := map[string]int{
		"article": 87, "redirect": 5, "deleted": 1, "empty": 1, "disambiguation": 1,
		"namespace 1, wikitext": 1, "namespace 2, wikitext": 1, "namespace 4, wikitext": 1, "namespace 6, wikitext": 1,
		"namespace 8, css": 1, "namespace 10, wikitext": 2, "namespace 12, wikitext": 1, "namespace 14, wikitext": 1,
		"namespace 828, Scribunto": 1,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("pages differ (-want +got):\n%s", diff)
	}
}

func TestArticlesUseTheMarkupOfRealOnes(t *testing.T) {
	all := strings.Join(func() (texts []string) {
		for _, text := range articles(t) {
			texts = append(texts, text)
		}
		return texts
	}(), "\n")
	for name, pattern := range map[string]string{
		"nested template":    `\{\{[^{}]*\{\{`,
		"infobox":            `\{\{Infobox`,
		"table":              `(?m)^\{\|`,
		"nested table":       `\|\|\n\{\|`,
		"HTML table":         `<table`,
		"named reference":    `<ref name="count">`,
		"reused reference":   `<ref name="count" />`,
		"reference on lines": `<ref\n  name=`,
		"reference group":    `group="?note`,
		"piped link":         `\[\[[^\]|]+\|[^\]]+\]\]`,
		"link with trail":    `\]\][a-z]`,
		"colon link":         `\[\[:Category:`,
		"interwiki":          `\[\[fr:`,
		"file with a link":   `\[\[File:[^\]]*\[\[`,
		"external link":      `\[https://\S+ `,
		"definition list":    `(?m)^; ?\S`,
		"numbered list":      `(?m)^# `,
		"nowiki":             `<nowiki>`,
		"math":               `<math>`,
		"chemistry":          `<chem>|<ce>`,
		"code":               `<code>|<syntaxhighlight`,
		"poem":               `<poem`,
		"gallery":            `<gallery`,
		"comment":            `<!--`,
		"magic word":         `\{\{PAGENAME\}\}`,
		"behaviour switch":   `__NOTOC__`,
		"entity":             `&nbsp;|&minus;|&deg;`,
		"preformatted":       `<pre>`,
		"unclosed template":  `\{\{Unfinished\|[^}]*\n`,
		"unclosed reference": `<ref>Somebody`,
		"Greek":              `\p{Greek}{4}`,
		"Cyrillic":           `\p{Cyrillic}{4}`,
		"Arabic":             `\p{Arabic}{4}`,
		"Hebrew":             `\p{Hebrew}{3}`,
		"Devanagari":         `\p{Devanagari}{4}`,
		"Thai":               `\p{Thai}{4}`,
		"Han":                `\p{Han}{4}`,
		"kana":               `[\p{Hiragana}\p{Katakana}]{4}`,
		"Hangul":             `\p{Hangul}{2}`,
		"beyond 16 bit":      "[\U00010900-\U0001091f]",
		"bold and italics":   `'{5}\w`,
	} {
		if !regexp.MustCompile(pattern).MatchString(all) {
			t.Errorf("no article has: %s", name)
		}
	}
}

func TestThereIsEnoughToLearnFrom(t *testing.T) {
	texts := articles(t)
	s, err := sentence.New(sentence.Auto, "en")
	if err != nil {
		t.Fatal(err)
	}
	s = sentence.ByLine(s)
	size, sentences := 0, 0
	for title, text := range texts {
		n := 0
		for line := range strings.Lines(text) {
			if len(line) > 60 && !strings.ContainsAny(line[:1], "{|}!<[=") {
				n += len(s.AppendSpans(nil, line))
			}
		}
		if n < 6 {
			t.Errorf("%s: got about %d sentences, want at least 6", title, n)
		}
		size += len(text)
		sentences += n
	}
	if len(texts) < 60 || size < 250_000 || sentences < 2200 {
		t.Errorf("got %d articles of %d bytes with about %d sentences", len(texts), size, sentences)
	}
	t.Logf("%d articles, %d bytes, about %d sentences", len(texts), size, sentences)
}

func TestTheEPUBIsItsSource(t *testing.T) {
	packed, err := fs.ReadFile(democorpus.Books(), "a-year-on-gull-island.epub")
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	if first := r.File[0]; first.Name != "mimetype" || first.Method != zip.Store {
		t.Errorf("got first file %q by method %d, want mimetype, stored", first.Name, first.Method)
	}
	var names []string
	err = filepath.WalkDir("epub", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, "epub"+string(filepath.Separator)))
		names = append(names, name)
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got, err := fs.ReadFile(r, name)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from its source; run go generate", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(r.File) {
		t.Errorf("got %d files, want %d", len(r.File), len(names))
	}
}

func TestBooksAreAFileSystem(t *testing.T) {
	if err := fstest.TestFS(democorpus.Books(), "a-year-on-gull-island.epub", "the-clocks-of-harrow-street.txt"); err != nil {
		t.Error(err)
	}
}

func TestADumpIsTheCallersToChange(t *testing.T) {
	first := democorpus.Dump()
	first[0] = 0
	if democorpus.Dump()[0] != 'B' {
		t.Error("a change of the returned dump is seen by the next caller")
	}
}
