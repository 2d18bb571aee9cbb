package wiki

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pretext/extract/wiki/wikitext"
	"pretext/internal/dev/realdata"
)

// Dumps of dictionaries without their modules have few holes, each at most so many per 1,000
// sentences.
func TestDictionariesHaveFewHoles(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]float64{
		"enwiktionary-20150224-pages-articles-multistream.xml.bz2": 4,
	} {
		s := readFile(t, realdata.Path(t, "wiki/"+name), whole).stats
		got := 1000 * float64(s.Holes) / float64(max(s.Sentences, 1))
		t.Logf("%s: %d holes, %.2f per 1,000 of %d sentences", name, s.Holes, got, s.Sentences)
		if got > most || s.Sentences < 20_000 {
			t.Errorf("%s: %.2f holes per 1,000 of %d sentences, want %g: %v", name, got, s.Sentences, most, s.HoleUses)
		}
	}
}

// The text of a dictionary page is the one that readers see, without the modules of the wiki.
func TestADictionaryPageIsAsRendered(t *testing.T) {
	t.Parallel()
	seen := 0
	for line := range bytes.SplitSeq(realdata.Read(t, "gold/rendered.jsonl"), []byte("\n")) {
		var page struct {
			Title, Lang, Wikitext string
			Lines                 []string
		}
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &page); err != nil {
			t.Fatal(err)
		}
		if page.Title != "kuulua" { // the others are articles
			continue
		}
		seen++
		s := wikitext.NewScanner(wikitext.DefaultOptions())
		text := s.AppendText(nil, []byte(page.Wikitext), wikitext.Page{Lang: page.Lang, Wiki: "enwiktionary", Title: page.Title})
		var f figures
		if got := f.add(string(text), strings.Join(page.Lines, "\n")); got < 0.95 || s.PageHoles() > 0 {
			t.Errorf("%s: F1 %.4f, %d holes, want 0.95 and none\n%s", page.Title, got, s.PageHoles(), text)
		} else {
			t.Logf("%s: F1 %.4f", page.Title, got)
		}
	}
	if seen != 1 {
		t.Errorf("%d pages, want one", seen)
	}
}
