package wiki

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pretext/extract"
)

const siteinfo = `<mediawiki xml:lang="nl">
  <siteinfo>
    <sitename>Vogelwiki</sitename>
    <dbname>vogelwiki</dbname>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="2" case="first-letter">Gebruiker</namespace>
      <namespace key="10" case="first-letter">Sjabloon</namespace>
    </namespaces>
  </siteinfo>
`

// xmlPage makes a page with what is given between its tags.
func xmlPage(inner string) string { return "  <page>\n" + inner + "\n  </page>\n" }

// article makes an article with the text given, still to be escaped.
func article(id int, title, text string) string {
	return xmlPage(fmt.Sprintf(`    <title>%s</title>
    <ns>0</ns>
    <id>%d</id>
    <revision>
      <id>9</id>
      <contributor><username>x</username><id>3</id></contributor>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="4" xml:space="preserve">%s</text>
    </revision>`, title, id, text))
}

const rev = "<revision><text>Some text.</text></revision>"

func TestEveryPageIsADocumentOrAReject(t *testing.T) {
	for _, c := range []struct {
		name, page string
		want       extract.Reject // "" for a document
		text       string         // of the document
	}{
		{"an article", article(1, "Wren", "A small bird."), "", "A small bird."},
		{"escaped text", article(1, "Wren", "a &lt; b &amp;amp; c"), "", "a < b & c"},
		{"a text that ought to be escaped", article(1, "Wren", "a < b & c <3"), "", "a < b & c <3"},
		{"a comment of the dump in a text", article(1, "Wren", "wr<!-- x -->en"), "", "wren"},
		{"CDATA", article(1, "Wren", "<![CDATA[a & b &lt; c]]>"), "", "a & b < c"},
		{"comments between tags", xmlPage("<!-- <id>x</id> --><title>W<!-- x -->ren</title><!-- --><id>1</id>" + rev), "", "Some text."},
		{"attributes everywhere", xmlPage(`<title lang="nl">Wren</title><ns a="b">0</ns><id x="">1</id><revision y="z">` +
			`<text a="b>Some text.</text></revision>`), "", "Some text."},
		{"spaces in tags", "<page >\n<title >Wren</title ><id> 1 </id><revision ><text\n>Some text.</text\t></revision ></page >\n", "", "Some text."},
		{"unknown elements with ids and texts inside", xmlPage("<title>Wren</title><new><id>x</id><text/></new><id>1</id>" +
			"<revision><content><model>json</model><text>no</text></content><text>Some text.</text><sha1/></revision>"), "", "Some text."},
		{"what follows the revision", xmlPage("<title>Wren</title><id>1</id>" + rev + "<upload><text>no</text></upload><model>json</model><text>no</text>"), "", "Some text."},
		{"the last of several revisions", xmlPage("<title>Wren</title><id>1</id><revision><model>json</model><text>old</text></revision>" +
			rev), "", "Some text."},
		{"a title with a colon", article(1, "Wren: a life", "Some text."), "", "Some text."},
		{"a raw quotation mark", article(1, `The "wren"`, "Some text."), "", "Some text."},
		{"id 0", article(0, "Wren", "Some text."), "", "Some text."},

		{"a redirect by its tag", xmlPage(`<title>Wren</title><ns>0</ns><id>1</id><redirect title="A "B" > C" />` + rev), extract.RejectRedirect, ""},
		{"a redirect with an end tag", xmlPage(`<title>Wren</title><ns>0</ns><id>1</id><redirect></redirect>` + rev), extract.RejectRedirect, ""},
		{"a redirect by its text", article(1, "Wren", "#REDIRECT [[Bird]]"), extract.RejectRedirect, ""},
		{"another namespace", xmlPage("<title>Overleg:X</title><ns>1</ns><id>1</id>" + rev), extract.RejectNamespace, ""},
		{"an unknown namespace", xmlPage("<title>X</title><ns>9999</ns><id>1</id>" + rev), extract.RejectNamespace, ""},
		{"a namespace of the dump by its prefix", xmlPage("<title>sjabloon:X</title><id>1</id>" + rev), extract.RejectNamespace, ""},
		{"an English namespace by its prefix", xmlPage("<title>User_talk:X</title><id>1</id>" + rev), extract.RejectNamespace, ""},
		{"a namespace in its tag counts more than a prefix", xmlPage("<title>User:X</title><ns>0</ns><id>1</id>" + rev), "", "Some text."},
		{"another model", xmlPage("<title>X</title><id>1</id><revision><model>json</model><text>{}</text></revision>"), extract.RejectModel, ""},
		{"another format", xmlPage("<title>X</title><id>1</id><revision><format>application/json</format><text>{}</text></revision>"), extract.RejectModel, ""},
		{"a suppressed text", xmlPage(`<title>X</title><id>1</id><revision><text bytes="1" deleted="deleted" /></revision>`), extract.RejectDeleted, ""},
		{"a text without content", xmlPage(`<title>X</title><id>1</id><revision><text bytes="0" /></revision>`), extract.RejectEmpty, ""},
		{"an empty text", article(1, "Wren", ""), extract.RejectEmpty, ""},
		{"white space", article(1, "Wren", " \n\t &#32;"), extract.RejectEmpty, ""},
		{"markup that leaves nothing", article(1, "Wren", "&lt;!-- nothing --&gt;"), extract.RejectEmpty, ""},
		{"a disambiguation page", article(1, "Wren", "'''Wren''' may be:\n* a bird\n{{disambiguation}}"), extract.RejectDisambiguation, ""},

		{"no title", xmlPage("<ns>0</ns><id>1</id>" + rev), extract.RejectMalformed, ""},
		{"an empty title", xmlPage("<title> </title><ns>0</ns><id>1</id>" + rev), extract.RejectMalformed, ""},
		{"a title of invalid bytes", xmlPage("<title>\xff</title><ns>0</ns><id>1</id>" + rev), extract.RejectMalformed, ""},
		{"no id", xmlPage("<title>X</title><ns>0</ns>" + rev), extract.RejectMalformed, ""},
		{"an id that is no number", xmlPage("<title>X</title><ns>0</ns><id>12x</id>" + rev), extract.RejectMalformed, ""},
		{"a negative id", xmlPage("<title>X</title><ns>0</ns><id>-5</id>" + rev), extract.RejectMalformed, ""},
		{"an id of 2^63", xmlPage("<title>X</title><ns>0</ns><id>9223372036854775808</id>" + rev), extract.RejectMalformed, ""},
		{"a namespace that is no number", xmlPage("<title>X</title><ns>zero</ns><id>1</id>" + rev), extract.RejectMalformed, ""},
		{"an end tag of another name", xmlPage("<title>X</titel><ns>0</ns><id>1</id>" + rev), extract.RejectMalformed, ""},
		{"no revision", xmlPage("<title>X</title><ns>0</ns><id>1</id>"), extract.RejectMalformed, ""},
		{"no text", xmlPage("<title>X</title><ns>0</ns><id>1</id><revision></revision>"), extract.RejectMalformed, ""},
		{"texts in place of text", xmlPage("<title>X</title><ns>0</ns><id>1</id><revision><texts>t</texts></revision>"), extract.RejectMalformed, ""},
		{"a text without end", xmlPage("<title>X</title><ns>0</ns><id>1</id><revision><text>t"), extract.RejectMalformed, ""},
		{"a comment without end", xmlPage("<title>X</title><ns>0</ns><id>1</id><!-- " + rev), extract.RejectMalformed, ""},
		{"a page without end", "<page><title>X</title><ns>0</ns><id>1</id>" + rev, extract.RejectUnterminated, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := article(2, "Before", "Before it."), article(3, "After", "After it.")
			res := readBytes(t, []byte(siteinfo+before+c.page+after+"</mediawiki>\n"), whole(int64(len(siteinfo+before+c.page+after)+13)))
			if res.err != nil {
				t.Fatal(res.err)
			}
			want := []string{"Before it.", "After it."}
			rejects := map[extract.Reject]int64{c.want: 1}
			if c.want == "" {
				want, rejects = []string{"Before it.", c.text, "After it."}, nil
			}
			var got []string
			for _, d := range res.docs {
				got = append(got, d.Text)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(rejects, res.stats.Rejects); diff != "" {
				t.Errorf("rejects, -want +got:\n%s", diff)
			}
			if res.stats.Footers != 1 {
				t.Errorf("%d footers, want 1", res.stats.Footers)
			}
		})
	}
}

func TestADocumentBearsWhatTheDumpSays(t *testing.T) {
	dump := []byte(siteinfo + article(12, "A &amp; \"B\" &lt;C&gt;\n  D", "Some text."))
	res := readBytes(t, dump, whole(int64(len(dump))))
	want := []extract.Document{{ID: "vogelwiki:12", Title: `A & "B" <C> D`, Text: "Some text.", Source: "test.xml", Lang: "nl", Revision: 9}}
	if diff := cmp.Diff(want, res.docs); diff != "" || res.err != nil {
		t.Errorf("%v, -want +got:\n%s", res.err, diff)
	}
}

func TestADumpWithoutHeadIsNamedAfterItsFile(t *testing.T) {
	dump := []byte(article(12, "Wren", "Some text.") + xmlPage("<title>Help:X</title><id>1</id>"+rev))
	res := readRanges(t, bytes.NewReader(dump), int64(len(dump)), whole(int64(len(dump))), DefaultOptions(), "my-birds.xml.bz2")
	if len(res.docs) != 1 || res.docs[0].ID != "my-birds:12" || res.docs[0].Lang != "" {
		t.Errorf("got %v, %v", res.docs, res.err)
	}
	if res.stats.Rejects[extract.RejectNamespace] != 1 {
		t.Errorf("rejects: %v", res.stats.Rejects)
	}
}

func TestOptionsChooseWhatIsKept(t *testing.T) {
	dump := []byte(siteinfo + article(1, "A", "Four") + article(2, "B", "Fünf!") + article(3, "C", "{{disambiguation}} x y z") +
		xmlPage("<title>Gebruiker:D</title><ns>2</ns><id>4</id>"+rev))
	for _, c := range []struct {
		name string
		set  func(*Options)
		want string
	}{
		{"default", func(*Options) {}, "1 2 nl"},
		{"minimum length", func(o *Options) { o.MinCharacters = 5 }, "2 nl"},
		{"disambiguation", func(o *Options) { o.KeepDisambiguations = true }, "1 2 3 nl"},
		{"namespaces", func(o *Options) { o.Namespaces = []int{2} }, "4 nl"},
		{"language", func(o *Options) { o.Language = "fy" }, "1 2 fy"},
	} {
		opts := DefaultOptions()
		c.set(&opts)
		if err := opts.Validate(); err != nil {
			t.Fatal(err)
		}
		res := readRanges(t, bytes.NewReader(dump), int64(len(dump)), whole(int64(len(dump))), opts, "x.xml")
		got, lang := "", ""
		for _, d := range res.docs {
			got += strings.TrimPrefix(d.ID, "vogelwiki:") + " "
			lang = d.Lang
		}
		if got+lang != c.want || res.err != nil {
			t.Errorf("%s: got %q, %v, want %q", c.name, got+lang, res.err, c.want)
		}
	}
}

func TestValidateReportsEveryProblem(t *testing.T) {
	opts := DefaultOptions()
	opts.Namespaces, opts.MinCharacters = []int{0, 0}, -1
	err := opts.Validate()
	for _, want := range []string{"given twice", "min_characters -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q in it", err, want)
		}
	}
	if err := (Options{Wikitext: opts.Wikitext}).Validate(); err == nil {
		t.Error("no namespace: want an error")
	}
}

func TestInvalidBytesAreDroppedAndCounted(t *testing.T) {
	before := siteinfo + article(1, "A", "Sound.")
	dump := []byte(before + article(2, "B\xff", "ok \xff\xfe caf\xe9 \xed\xa0\x80 é") + article(3, "C", "Sound."))
	res := readBytes(t, dump, whole(int64(len(dump))))
	if res.err != nil || len(res.docs) != 3 || res.docs[1].Title != "B" || !strings.HasPrefix(res.docs[1].Text, "ok") {
		t.Fatalf("got %v, %v", res.docs, res.err)
	}
	if res.stats.InvalidUTF8 != 7 {
		t.Errorf("%d bytes dropped, want 7", res.stats.InvalidUTF8)
	}
	offset := int64(len(before) + 2)
	want := []Place{{"vogelwiki:2", offset, 1}, {"vogelwiki:2", offset, 3}}
	if diff := cmp.Diff(want, res.stats.InvalidPlaces); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAFileThatEndsInsideAPageIsDamaged(t *testing.T) {
	dump := siteinfo + article(1, "A", "Sound.") + article(2, "B", "Cut.")
	end := strings.LastIndex(dump, "<page>")
	for n := end + len("<page>"); n < len(dump)-len(">\n"); n++ {
		res := readBytes(t, []byte(dump[:n]), whole(int64(n)))
		damage, ok := errors.AsType[*CorruptError](res.err)
		if !ok || !errors.Is(res.err, ErrCorrupt) || !errors.Is(res.err, io.ErrUnexpectedEOF) || damage.Offset != int64(n) {
			t.Fatalf("cut at %d: got %v", n, res.err)
		}
		if len(res.docs) != 1 {
			t.Fatalf("cut at %d: %d documents, want the one before", n, len(res.docs))
		}
	}
	for n := end - len("  </page>\n") + len("</page>") + 2; n <= end+len("<page"); n++ {
		if res := readBytes(t, []byte(dump[:n]), whole(int64(n))); res.err != nil || len(res.docs) != 1 || res.stats.Footers != 0 {
			t.Fatalf("cut at %d, between pages: got %v, %d documents", n, res.err, len(res.docs))
		}
	}
}

// failingReader fails beyond some bytes, as a disk does.
type failingReader struct {
	io.ReaderAt
	good int64
}

var errDisk = errors.New("input/output error")

func (r failingReader) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > r.good {
		n, _ := r.ReaderAt.ReadAt(p[:max(r.good-off, 0)], off)
		return n, errDisk
	}
	return r.ReaderAt.ReadAt(p, off)
}

func TestADiskThatFailsIsNotADamagedDump(t *testing.T) {
	plain := siteinfo + strings.Repeat(article(1, "A", strings.Repeat("Sound. ", 1000)), 200)
	for name, c := range map[string]struct {
		dump string
		good int
	}{
		"plain": {plain, len(plain) / 2},
		"gzip":  {gzipped(plain), 500},
		"bzip2": {string(birds(t, "birds.xml.bz2")), 500},
	} {
		size := int64(len(c.dump))
		head, err := ReadHead(strings.NewReader(c.dump), size)
		if err != nil {
			t.Fatal(err)
		}
		rd := NewReader(Dump{failingReader{strings.NewReader(c.dump), int64(c.good)}, size, "x.xml", head}, Range{0, size}, DefaultOptions())
		for _, err = range rd.Documents() {
			if err != nil {
				break
			}
		}
		if !errors.Is(err, errDisk) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAPageOverTheLimitIsSkipped(t *testing.T) {
	big := strings.Repeat("Word and word. ", extract.MaxPageBytes/15+1)
	most := big[:extract.MaxPageBytes-1] + "w"
	huge := xmlPage("<title>X</title><ns>0</ns><id>5</id><revision><text>" + big + big + "</text></revision>" + rev)
	dump := []byte(siteinfo + article(1, "A", most) + article(2, "B", most+"x") + article(3, "C", "Sound.") + huge +
		xmlPage("<title>User:Y</title><ns>2</ns><id>6</id><revision><text>"+big+big+"</text></revision>") +
		xmlPage("<title>"+big+"</title><ns>0</ns><id>7</id>"+rev) + article(8, "D", "Sound.") + "</mediawiki>")
	res := readBytes(t, dump, even(int64(len(dump)), 7))
	var ids []string
	for _, d := range res.docs {
		ids = append(ids, d.ID[len("vogelwiki:"):])
	}
	if got := strings.Join(ids, " "); got != "1 3 5 8" || res.err != nil {
		t.Errorf("got %s, %v, want documents 1 3 5 8", got, res.err)
	}
	want := map[extract.Reject]int64{extract.RejectTooLarge: 2, extract.RejectNamespace: 1}
	if diff := cmp.Diff(want, res.stats.Rejects); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestARangeThatTheFileDoesNotHoldIsAnError(t *testing.T) {
	dump := siteinfo + article(1, "A", "Sound.")
	for _, rng := range []Range{{0, int64(len(dump)) + 1}, {-1, 5}, {9, 8}} {
		rd := NewReader(Dump{File: strings.NewReader(dump), Size: int64(len(dump))}, rng, DefaultOptions())
		var err error
		for _, err = range rd.Documents() {
		}
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v: got %v", rng, err)
		}
	}
}

func TestAPageCostsFewAllocations(t *testing.T) {
	page := article(1, "A title &amp; more", strings.Repeat("Some ''text'' with [[links|a link]], {{templates}} &amp; entities. ", 50))
	allocs := func(pages int) float64 {
		dump := []byte(siteinfo + strings.Repeat(page, pages))
		return testing.AllocsPerRun(3, func() {
			rd := NewReader(Dump{File: bytes.NewReader(dump), Size: int64(len(dump))}, Range{0, int64(len(dump))}, DefaultOptions())
			for _, err := range rd.Documents() {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	// Its title and its ID, and one of 160 bytes to look for disambiguations;
	// what a reader allocates once does not count.
	if n := (allocs(1100) - allocs(100)) / 1000; n > 3.01 {
		t.Errorf("%.2f allocations a page, want 3", n)
	}
}

func TestTheDocumentsOfASecondPassAreRefused(t *testing.T) {
	rd := NewReader(Dump{File: strings.NewReader("")}, Range{}, DefaultOptions())
	for range rd.Documents() {
	}
	defer func() {
		if recover() == nil {
			t.Error("want a panic")
		}
	}()
	for range rd.Documents() {
	}
}

// FuzzReader reads any bytes as a dump, at once and cut.
func FuzzReader(f *testing.F) {
	f.Add([]byte(siteinfo+article(1, "A", "Sound.")+article(2, "B", "&lt;b> <![CDATA[x]]>")+"</mediawiki>"), uint16(700), uint16(900))
	f.Add([]byte(article(1, "A", "\xff\xfe")+"<page><title>x</title><revision><text>"), uint16(3), uint16(4))
	f.Add([]byte("<page><id>1</id><title><!--</title><revision/></page>"), uint16(8), uint16(20))
	f.Fuzz(func(t *testing.T, data []byte, a, b uint16) {
		size := int64(len(data))
		read := func(ranges []Range) (res result) {
			for _, rng := range ranges {
				rd := NewReader(Dump{bytes.NewReader(data), size, "x.xml", Head{DBName: "w"}}, rng, DefaultOptions())
				for doc, err := range rd.Documents() {
					if err != nil {
						res.err = err
						break
					}
					d := *doc
					d.Text = strings.Clone(d.Text)
					res.docs = append(res.docs, d)
				}
				res.stats.Add(rd.Stats())
			}
			return res
		}
		want := read(whole(size))
		checkSum(t, want.stats)
		if want.err == nil && want.stats.XMLBytes != size {
			t.Errorf("%d bytes of %d read", want.stats.XMLBytes, size)
		}
		for _, d := range want.docs {
			if !utf8.ValidString(d.Text) || !utf8.ValidString(d.Title) || d.Text == "" || d.Title == "" || !strings.HasPrefix(d.ID, "w:") {
				t.Errorf("document %+v", d)
			}
		}
		got := read(cut(size, int64(min(a, b)), int64(max(a, b))))
		if fmt.Sprint(got.err) != fmt.Sprint(want.err) {
			t.Errorf("cut: error %v, want %v", got.err, want.err)
		}
		if diff := cmp.Diff(want.docs, got.docs); diff != "" {
			t.Errorf("cut, -whole +cut:\n%s", diff)
		}
		if diff := cmp.Diff(want.stats, got.stats); diff != "" {
			t.Errorf("cut, -whole +cut:\n%s", diff)
		}
	})
}
