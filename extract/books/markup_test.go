package books

import (
	"compress/bzip2"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
)

func TestMarkupIsRecognized(t *testing.T) {
	for text, want := range map[string][2]bool{
		"It was late. He left.":                                 {},
		"[[Illustration: a cat]]\n" + strings.Repeat("x ", 999): {},
		"'''A''' is a [[b]] in [[c]].\n== D ==\n":               {true, false},
		"{{A}} {{B}} {{C}}":                                     {true, false},
		"<p>One.</p> <p>Two.</p> <b>Three</b>.":                 {false, true},
		"1 < 2 </ 3":                                            {},
		"":                                                      {},
	} {
		if got := [2]bool{isWikitext([]byte(text)), hasTags([]byte(text))}; got != want {
			t.Errorf("%.30q: got %v, want %v", text, got, want)
		}
	}
}

// No real book looks like wikitext, and hardly a real page of a wiki does not.
func TestRealBooksHaveNoMarkupAndRealPagesHave(t *testing.T) {
	books, err := filepath.Glob(filepath.Join(realdata.Path(t, "books"), "*", "*.txt"))
	if err != nil || len(books) == 0 {
		t.Fatalf("no books: %v", err)
	}
	for _, path := range books {
		if text := realdata.Read(t, strings.TrimPrefix(path, realdata.Root())); isWikitext(text) || hasTags(text) {
			t.Errorf("%s looks like markup", filepath.Base(path))
		}
	}
	page := regexp.MustCompile(`(?s)<ns>0</ns>.*?<text[^>]*>(.*?)</text>`)
	for _, name := range []string{"dewiki-20170701-sample", "ngwiki-20130702-pages-articles", "zhwiki-sample", "frwiki-sample", "ltgwiki-pages-articles"} {
		f, err := os.Open(realdata.Path(t, "wiki/"+name+".xml.bz2"))
		if err != nil {
			t.Fatal(err)
		}
		dump, err := io.ReadAll(bzip2.NewReader(f))
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		found, all := 0, 0
		for _, m := range page.FindAllSubmatch(dump, -1) {
			text := html.UnescapeString(string(m[1]))
			if len(text) < 200 || strings.HasPrefix(strings.ToLower(text), "#redirect") {
				continue
			}
			all++
			if isWikitext([]byte(text)) {
				found++
			}
		}
		t.Logf("%s: %d of %d pages", name, found, all)
		if all < 10 || 10*found < 8*all {
			t.Errorf("%s: %d of %d pages look like wikitext", name, found, all)
		}
	}
}
