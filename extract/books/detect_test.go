package books

import (
	"bytes"
	"compress/bzip2"
	"encoding/xml"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"

	"pretext/extract"
	"pretext/extract/wiki/wikitext"
	"pretext/internal/dev/realdata"
)

// legacyTexts are the encodings tested and languages written in them, of the test data.
var legacyTexts = map[string][]string{
	"windows-1252": {"de", "fr", "pt", "it", "da", "nl", "ca", "nn", "fi", "eu", "gl"},
	"macintosh":    {"de", "fr", "pt", "it", "da", "nl", "ca", "fi"},
	"windows-1250": {"hr", "ro", "sl", "bs", "hsb"},
	"iso-8859-2":   {"hr", "ro", "sl", "bs", "hsb"},
	"windows-1257": {"lt", "lv", "et"},
	"windows-1251": {"bg", "mk", "ba", "ky", "cv", "sah"},
	"koi8-r":       {"bg"},
	"ibm866":       {"bg"},
	"iso-8859-5":   {"bg", "mk"},
	"windows-1253": {"el"},
	"iso-8859-7":   {"el"},
	"shift_jis":    {"ja"},
	"euc-jp":       {"ja"},
	"gb18030":      {"zh"},
	"big5":         {"zh"},
}

// TestLegacyEncodingsAreReadOrRefused reads articles of the test data in legacy encodings.
// With the option, the text is right. Without it, it is right too, or the book is refused
// with a note; most are right.
func TestLegacyEncodingsAreReadOrRefused(t *testing.T) {
	t.Parallel()
	texts := articles(t)
	right, all := 0, 0
	for name, langs := range legacyTexts {
		e, err := htmlindex.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, lang := range langs {
			coded, plain := encoded(e, texts[lang])
			want, _ := readText(t, plain, Options{})
			if got, _ := readText(t, coded, Options{Encoding: name}); want == "" || got != want {
				t.Errorf("%s in %s, given: got %.80q, want %.80q", lang, name, got, want)
			}
			got, stats := readText(t, coded, Options{})
			all++
			switch {
			case got == want && stats.Recoded == 1 && len(stats.Notes) == 1:
				right++
			case got == "" && stats.Rejects[extract.RejectEncoding] == 1 && len(stats.Notes) == 1:
				t.Logf("%s in %s is refused: %s", lang, name, stats.Notes[0].Text)
			default:
				t.Errorf("%s in %s, detected: got %.80q, want %.80q; %+v", lang, name, got, want, stats)
			}
		}
	}
	if t.Logf("%d of %d are right, the others refused", right, all); right*10 < all*8 {
		t.Errorf("%d of %d are right, want 80 %%", right, all)
	}
}

// encoded returns a text in an encoding, and as UTF-8, without the characters that the
// encoding lacks.
func encoded(e encoding.Encoding, text string) (coded, plain string) {
	var c, p strings.Builder
	for _, r := range strings.NewReplacer("ș", "ş", "ț", "ţ").Replace(text) {
		if one, err := e.NewEncoder().String(string(r)); err == nil {
			if back, err := e.NewDecoder().String(one); err == nil && back == string(r) {
				c.WriteString(one)
				p.WriteRune(r)
			}
		}
	}
	return c.String(), p.String()
}

// articles returns the text of the dumps of one article or a few, by language.
func articles(t *testing.T) map[string]string {
	dumps, err := filepath.Glob(realdata.Path(t, "wiki/minidumps") + "/*.xml.bz2")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, d := range dumps {
		lang, _, _ := strings.Cut(filepath.Base(d), "wiki")
		b, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(realdata.Read(t, "wiki/minidumps/"+filepath.Base(d)))))
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Page []struct {
				Text string `xml:"revision>text"`
			} `xml:"page"`
		}
		if err := xml.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		for _, p := range doc.Page {
			texts[lang] += string(wikitext.NewScanner(wikitext.DefaultOptions()).AppendText(nil, []byte(p.Text), wikitext.Page{Title: "Berlin", Lang: lang})) + "\n"
		}
	}
	return texts
}

// A text in an encoding that it is not in is refused, and so is an unknown name.
func TestAWrongEncodingIsRefused(t *testing.T) {
	if got, stats := readText(t, strings.Repeat("\xcf\xf0\xe8\xe2\xe5\xf2 \xff ", 50), Options{Encoding: "euc-jp"}); got != "" || stats.Rejects[extract.RejectEncoding] != 1 || stats.Notes[0].Text != "not in the encoding euc-jp" {
		t.Errorf("Russian read as EUC-JP: %q, %+v", got, stats)
	}
	if got, _ := readText(t, "Привет, ça va?", Options{Encoding: "koi8-r"}); got != "Привет, ça va?" {
		t.Errorf("UTF-8 with an encoding for other books: %q", got)
	}
	if err := (Options{Encoding: "latin-99"}).Validate(); err == nil || !strings.Contains(err.Error(), "latin-99") {
		t.Errorf("an unknown encoding: %v", err)
	}
}

// Whatever is detected decodes without an error, and has letters of its language.
func FuzzDetect(f *testing.F) {
	f.Add([]byte("\xf0\xd2\xc9\xd7\xc5\xd4, \xcd\xc9\xd2! \xfc\xd4\xcf \xd4\xc5\xcb\xd3\xd4."))
	f.Add([]byte("\x82\xcc\x82\xc9\x82\xcd\x82\xf0\x82\xbd\x82\xaa\x82\xc5\x82\xc4\x82\xc6\x82\xb5"))
	f.Fuzz(func(t *testing.T, sample []byte) {
		d := detect(sample)
		if d.encoding == nil {
			return
		}
		text, err := d.encoding.NewDecoder().Bytes(sample)
		if err != nil || strings.Count(string(text), "\uFFFD")*20 > len(sample)+60 {
			t.Errorf("%q is no %s: %v", sample, d.name, err)
		}
	})
}
