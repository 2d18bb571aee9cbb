package pipeline

import (
	"context"
	"strings"
	"testing"

	"pretext/extract/download"
	"pretext/extract/wiki/rendering"
)

// A file of rendering data without a line for a dump of the run would have no
// effect.
func TestTemplatesWithoutEffectAreAUsageError(t *testing.T) {
	file := func(text string) templateFile {
		f, err := rendering.Parse("mine.txt", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return templateFile{f, text}
	}
	de, nds, odd := planWiki{"dewiki", "de", false}, planWiki{"nds_nlwiki", "nds", true}, planWiki{"my", "", false}
	cases := []struct {
		text  string
		wikis []planWiki
		want  string // in the error; "" for none
	}{
		{"[de]\nlabel a | b", []planWiki{de}, ""},
		{"[dewiki]\nlabel a | b", []planWiki{de}, ""},
		{"[all]\nlabel a | b", []planWiki{de}, ""},
		{"[de]\nlabel a | b", []planWiki{{"x", "de-AT", false}}, ""},
		{"[fr]\nlabel a | b\n[de]\nlabel a | b", []planWiki{de}, ""},
		{"[fr]\nlabel a | b", []planWiki{de, {"frwiki", "fr", false}}, ""},
		{"[dewiktionary]\nlabel a | b", []planWiki{de}, "only for [dewiktionary], and the dumps are of dewiki (de)"},
		{"[fr]\nlabel a | b\n[d]\nlabel a | b", []planWiki{de, de}, "only for [d], [fr], and the dumps are of dewiki (de):"},
		{"[fr]\nlabel a | b", nil, "no source is a dump"},
		{"# nothing", nil, ""},
		{"[fr]", []planWiki{de}, ""},
		{"[en]\nlabel a | b", []planWiki{odd}, ""}, // an unknown language is taken for English
		{"[de]\nlabel a | b", []planWiki{odd}, "the dumps are of my:"},
		{"[nds-nl]\nlabel a | b", []planWiki{nds}, ""}, // the language that its head will name
		{"[nl]\nlabel a | b", []planWiki{nds}, "the dumps are of nds_nlwiki (nds):"},
		{"[nds-nl]\nlabel a | b", []planWiki{{"nds_nlwiki", "nds", false}}, "no effect"},
		{"[x1]\nlabel a | b\n[x2]\nlabel a | b\n[x3]\nlabel a | b\n[x4]\nlabel a | b\n[x5]\nlabel a | b\n[x6]\nlabel a | b", []planWiki{de}, "[x5] and 1 more, and"},
	}
	for _, c := range cases {
		err := checkScopes([]templateFile{file(c.text)}, TemplateFiles{"dir/mine.txt"}, c.wikis)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--templates dir/mine.txt: ")) {
			t.Errorf("%q for %v: got error %v, want %q", c.text, c.wikis, err, c.want)
		}
	}
	if checkScopes([]templateFile{file("[de]\nlabel a | b"), file("[fr]\nlabel a | b")}, TemplateFiles{"de.txt", "fr.txt"}, []planWiki{de}) == nil {
		t.Error("no error for the second of two files")
	}
}

// What a run downloads counts too; what a URL has is known only afterwards.
func TestTemplatesMayBeForAWikiThatIsDownloaded(t *testing.T) {
	path := writeFile(t, t.TempDir(), "mine.txt", []byte("[frwiki]\nlabel a | b\n"))
	r := Reading{Extract: DefaultExtractOptions(), Templates: TemplateFiles{path}}
	for _, c := range []struct {
		request download.Request
		ok      bool
	}{
		{download.Request{Kind: download.Wiki, Wiki: "frwiki"}, true},
		{download.Request{Kind: download.Wiki, Wiki: "dewiki"}, false},
		{download.Request{Kind: download.Gutenberg, Language: "fr"}, false},
		{download.Request{Kind: download.URL, URL: "https://example.org/x.xml.bz2"}, true},
	} {
		_, err := r.readTemplates(context.Background(), nil, &DownloadConfig{Requests: []download.Request{c.request}})
		if (err == nil) != c.ok {
			t.Errorf("%v: got error %v, want one: %v", c.request, err, !c.ok)
		}
	}
}

// An encoding of books has no effect on other sources.
func TestAnEncodingWithoutBooksIsRefused(t *testing.T) {
	r := Reading{Extract: DefaultExtractOptions()}
	r.Extract.Books.Encoding = "shift_jis"
	wiki := []Source{{KindWiki, writeFile(t, t.TempDir(), "x.xml", dump(1))}}
	for _, c := range []struct {
		sources  []Source
		download *DownloadConfig
		ok       bool
	}{
		{wiki, nil, false},
		{append(wiki, Source{KindBooks, "books"}), nil, true},
		{wiki, &DownloadConfig{Requests: []download.Request{{Kind: download.Wiki, Wiki: "frwiki"}}}, false},
		{nil, &DownloadConfig{Requests: []download.Request{{Kind: download.Gutenberg}}}, true},
		{nil, &DownloadConfig{Requests: []download.Request{{Kind: download.URL, URL: "https://example.org/x.zip"}}}, true},
	} {
		if _, err := r.checkEffect(t.Context(), c.sources, c.download); (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "no source is books") {
			t.Errorf("%v, %v: got error %v, want one: %v", c.sources, c.download, err, !c.ok)
		}
	}
}
