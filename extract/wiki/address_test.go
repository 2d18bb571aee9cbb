package wiki

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/extract"
)

func TestPagesHaveTheAddressesOfTheirWiki(t *testing.T) {
	for _, test := range []struct{ base, title, url, license string }{
		{"https://en.wikipedia.org/wiki/Main_Page", "C++ & C", "https://en.wikipedia.org/wiki/C%2B%2B_%26_C", "CC-BY-SA-4.0"},
		{"https://de.wikipedia.org/wiki/Wikipedia:Hauptseite", "Köln/A?", "https://de.wikipedia.org/wiki/K%C3%B6ln/A%3F", "CC-BY-SA-4.0"},
		{"http://el.wikivoyage.org/wiki/A/B", "Α", "http://el.wikivoyage.org/wiki/%CE%91", "CC-BY-SA-4.0"},
		{"https://birds.example/w/index.php/Main_Page", "Wren", "https://birds.example/w/index.php/Wren", ""},
		{"https://birds.example/index.php?title=Main_Page", "Wren", "https://birds.example/index.php?title=Wren", ""},
		{"https://birds.example/Main_Page", "Wren (bird)", "https://birds.example/Wren_(bird)", ""},
		{"https://notwikipedia.org/wiki/A", "B", "https://notwikipedia.org/wiki/B", ""},
		{"https://en.wikinews.org/wiki/Main_Page", "B", "https://en.wikinews.org/wiki/B", ""},
		{"https://birds.example", "Wren", "", ""},
		{"/wiki/Main_Page", "Wren", "", ""},
		{"javascript:alert(1)/wiki/", "Wren", "", ""},
		{"", "Wren", "", ""},
	} {
		a := newAddress(test.base)
		if a.of(test.title) != test.url || a.license != test.license {
			t.Errorf("%q of %q: got %q, %q; want %q, %q", test.title, test.base, a.of(test.title), a.license, test.url, test.license)
		}
	}
}

func TestDocumentsBearTheirProvenance(t *testing.T) {
	dump := []byte(strings.Replace(siteinfo, "<siteinfo>", "<siteinfo><base>https://nl.wikipedia.org/wiki/Vogels</base>", 1) + xmlPage(`<title>Grote mees</title><ns>0</ns><id>12</id>
<revision><id>7</id><timestamp>2016-01-01T00:00:00Z</timestamp><text>old</text></revision>
<revision><id>98</id><parentid>7</parentid><timestamp>2017-07-01T12:30:00Z</timestamp><contributor><username>A</username><id>5</id></contributor><text>Some text.</text></revision>`) +
		xmlPage(`<title>B</title><ns>0</ns><id>13</id><revision><id>x</id><timestamp>yesterday</timestamp><text>More text.</text></revision>`))
	res := readBytes(t, dump, whole(int64(len(dump))))
	want := []extract.Document{
		{ID: "vogelwiki:12", Title: "Grote mees", Text: "Some text.", Source: "test.xml", Lang: "nl", URL: "https://nl.wikipedia.org/wiki/Grote_mees", Revision: 98, Timestamp: "2017-07-01T12:30:00Z", License: "CC-BY-SA-4.0"},
		{ID: "vogelwiki:13", Title: "B", Text: "More text.", Source: "test.xml", Lang: "nl", URL: "https://nl.wikipedia.org/wiki/B", License: "CC-BY-SA-4.0"},
	}
	if diff := cmp.Diff(want, res.docs); diff != "" || res.err != nil {
		t.Errorf("%v, -want +got:\n%s", res.err, diff)
	}
}

func TestRejectsAreListedWithWhatWasMeasured(t *testing.T) {
	dump := siteinfo + article(1, "Short", "Tiny.") + article(2, "Long enough", "A text that is long enough.") +
		xmlPage("<title>Help:X</title><ns>12</ns><id>3</id>"+rev) + xmlPage("<title>No ID</title>"+rev) +
		article(4, "Gone", "#REDIRECT [[Short]]")
	opts := DefaultOptions()
	opts.MinCharacters = 10
	res := readRanges(t, bytes.NewReader([]byte(dump)), int64(len(dump)), whole(int64(len(dump))), opts, "test.xml")
	measured := func(v float64) *float64 { return &v }
	want := []extract.Rejected{
		{ID: "vogelwiki:1", Title: "Short", Reason: extract.RejectTooShort, Value: measured(5)},
		{ID: "vogelwiki:3", Title: "Help:X", Reason: extract.RejectNamespace, Value: measured(12)},
		{Reason: extract.RejectMalformed, Place: &extract.Place{Source: "test.xml", Offset: int64(strings.Index(dump, "<title>No ID")) - int64(len("<page>\n"))}},
		{ID: "vogelwiki:4", Title: "Gone", Reason: extract.RejectRedirect},
	}
	if diff := cmp.Diff(want, res.rejects); diff != "" || res.err != nil {
		t.Errorf("%v, -want +got:\n%s", res.err, diff)
	}
	checkListed(t, res)
}
