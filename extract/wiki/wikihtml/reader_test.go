package wikihtml

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/extract"
	"pretext/extract/wiki"
)

// snapshotOf returns a .tar.gz of files of JSON lines.
func snapshotOf(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("testwiki_%d.ndjson", i), Size: int64(len(text)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pageLine returns a line of a snapshot. more are further fields.
func pageLine(name string, id int, html, more string) string {
	return fmt.Sprintf(`{"name":%q,"identifier":%d,"url":"https://nl.wikipedia.org/wiki/%s","date_modified":"2024-05-06T07:08:09Z","version":{"identifier":77},"in_language":{"identifier":"nl"},"is_part_of":{"identifier":"nlwiki"},"license":[{"name":"CC","identifier":"CC-BY-SA-4.0"}],"article_body":{"html":%q}%s}`+"\n", name, id, name, html, more)
}

// result is all that reading an input gives.
type result struct {
	docs    []extract.Document
	rejects []extract.Rejected
	stats   Stats
	err     error
}

func read(t testing.TB, data []byte, o wiki.Options) (res result) {
	t.Helper()
	return readInput(t, Input{Name: "test.tar.gz", Open: func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}, o)
}

// opens returns a function that opens one file with the given text.
func opens(text string) func(string) (io.ReadCloser, error) {
	return func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

func readInput(t testing.TB, in Input, o wiki.Options) (res result) {
	t.Helper()
	r := NewReader(in, o)
	r.OnReject(func(rejected *extract.Rejected) { res.rejects = append(res.rejects, *rejected) })
	for doc, err := range r.Documents() {
		if err != nil {
			res.err = err
			break
		}
		d := *doc
		d.Text = strings.Clone(d.Text)
		res.docs = append(res.docs, d)
	}
	res.stats = r.Stats()
	if int64(len(res.docs)) != res.stats.Kept || int64(len(res.docs)+len(res.rejects)) != res.stats.Pages {
		t.Errorf("%d pages, %d kept: %d documents and %d rejects", res.stats.Pages, res.stats.Kept, len(res.docs), len(res.rejects))
	}
	counted := map[extract.Reject]int64{}
	for _, rejected := range res.rejects {
		counted[rejected.Reason]++
		if (rejected.ID == "") != (rejected.Place != nil) {
			t.Errorf("a reject without a name: %+v", rejected)
		}
	}
	if diff := cmp.Diff(res.stats.Rejects, counted); diff != "" {
		t.Errorf("rejects, -counted +listed:\n%s", diff)
	}
	return res
}

func snapshotLines() (first, second string) {
	first = pageLine("Koolmees", 12, "<p>De <b>koolmees</b> is een vogel.</p>", "") +
		pageLine("Overleg:Koolmees", 13, "<p>Waarom?</p>", `,"namespace":{"identifier":1}`) +
		"{broken\n\n" +
		pageLine("Mees", 14, `<html><head><link rel="mw:PageProp/redirect" href="./Koolmees"></head><body></body></html>`, "")
	second = pageLine("Leeg", 15, "<p></p>", "") +
		pageLine("Mees (doorverwijspagina)", 16, `<p>Mees is:</p><div typeof="mw:Transclusion" data-mw='{"parts":[{"template":{"target":{"wt":"dp","href":"./Sjabloon:Dp"}}}]}'>dp</div>`, "") +
		pageLine("Kort", 17, "<p>Kort.</p>", "") +
		pageLine("Pimpelmees", 18, "<p>De pimpelmees ook.</p>", `,"namespace":null`)
	return first, strings.TrimSuffix(second, "\n")
}

func TestASnapshotGivesDocumentsAndRejects(t *testing.T) {
	first, second := snapshotLines()
	o := wiki.DefaultOptions()
	o.MinCharacters = 10
	res := read(t, snapshotOf(t, first, second), o)
	doc := func(id, title, text string) extract.Document {
		return extract.Document{ID: "nlwiki:" + id, Title: title, Text: text, Source: "test.tar.gz", Lang: "nl", URL: "https://nl.wikipedia.org/wiki/" + title, Revision: 77,
			Timestamp: "2024-05-06T07:08:09Z", License: "CC-BY-SA-4.0"}
	}
	want := []extract.Document{doc("12", "Koolmees", "De koolmees is een vogel."), doc("18", "Pimpelmees", "De pimpelmees ook.")}
	if diff := cmp.Diff(want, res.docs); diff != "" || res.err != nil {
		t.Errorf("%v, -want +got:\n%s", res.err, diff)
	}
	one, five := 1.0, 5.0
	rejects := []extract.Rejected{
		{ID: "nlwiki:13", Title: "Overleg:Koolmees", Reason: extract.RejectNamespace, Value: &one},
		{Reason: extract.RejectMalformed, Place: &extract.Place{Source: "test.tar.gz", Line: 3}},
		{ID: "nlwiki:14", Title: "Mees", Reason: extract.RejectRedirect},
		{ID: "nlwiki:15", Title: "Leeg", Reason: extract.RejectEmpty},
		{ID: "nlwiki:16", Title: "Mees (doorverwijspagina)", Reason: extract.RejectDisambiguation},
		{ID: "nlwiki:17", Title: "Kort", Reason: extract.RejectTooShort, Value: &five},
	}
	if diff := cmp.Diff(rejects, res.rejects); diff != "" {
		t.Errorf("rejects, -want +got:\n%s", diff)
	}
	for name, data := range map[string][]byte{"lines": []byte(first + second), "lines in gzip": zipped(first + second)} {
		again := read(t, data, o)
		if diff := cmp.Diff(res.docs, again.docs); diff != "" || again.err != nil {
			t.Errorf("%s: %v, -tar +%s:\n%s", name, again.err, name, diff)
		}
	}
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.Bytes()
}

func TestPagesInFilesNameThemselves(t *testing.T) {
	files := map[string]string{
		"Earth.html": `<!DOCTYPE html><html prefix="dc: x" about="https://en.wikipedia.org/wiki/Special:Redirect/revision/908922312"><head><meta property="mw:pageNamespace" content="0"><meta property="mw:pageId" content="9228">
<meta property="dc:modified" content="2019-08-02T01:02:03.000Z"><link rel="dc:isVersionOf" href="//en.wikipedia.org/wiki/Earth"><title>Earth &amp; Moon</title><meta http-equiv="content-language" content="en"></head><body><p>A planet.</p></body></html>`,
		"Bare.html.gz": string(zipped("<title>Bare</title><p>Text.</p>")),
		"None.htm":     "<p>No title.</p>",
	}
	in := Input{Name: "pages", Files: []string{"Bare.html.gz", "Earth.html", "None.htm"}, Open: func(name string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files[name])), nil }}
	res := readInput(t, in, wiki.DefaultOptions())
	want := []extract.Document{
		{ID: "pages:Bare", Title: "Bare", Text: "Text.", Source: "pages"},
		{ID: "enwiki:9228", Title: "Earth & Moon", Text: "A planet.", Source: "pages", Lang: "en", URL: "https://en.wikipedia.org/wiki/Earth", Revision: 908922312, Timestamp: "2019-08-02T01:02:03Z", License: "CC-BY-SA-4.0"},
	}
	if diff := cmp.Diff(want, res.docs); diff != "" || res.err != nil {
		t.Errorf("%v, -want +got:\n%s", res.err, diff)
	}
	if diff := cmp.Diff([]extract.Rejected{{Reason: extract.RejectMalformed, Place: &extract.Place{Source: "None.htm"}}}, res.rejects); diff != "" {
		t.Error(diff)
	}
}

func TestATruncatedArchiveIsCorruptAfterItsPages(t *testing.T) {
	first, second := snapshotLines()
	whole := snapshotOf(t, strings.Repeat(first, 200), second)
	res := read(t, whole[:len(whole)-40], wiki.DefaultOptions())
	if !errors.Is(res.err, wiki.ErrCorrupt) || !errors.Is(res.err, io.ErrUnexpectedEOF) || len(res.docs) < 100 {
		t.Errorf("%d documents, %v", len(res.docs), res.err)
	}
	var tarred bytes.Buffer
	z, _ := gzip.NewReader(bytes.NewReader(whole))
	io.Copy(&tarred, z)
	if res := read(t, tarred.Bytes()[:tarred.Len()/2], wiki.DefaultOptions()); !errors.Is(res.err, wiki.ErrCorrupt) {
		t.Errorf("tar: %v", res.err)
	}
	failed := errors.New("disk on fire")
	r := NewReader(Input{Name: "x", Open: func(string) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(whole[:300]), failing{failed})), nil
	}}, wiki.DefaultOptions())
	var err error
	for _, err = range r.Documents() {
	}
	if !errors.Is(err, failed) || errors.Is(err, wiki.ErrCorrupt) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Whatever happens to a snapshot, every page is a document or a listed reject.
func TestEveryPageOfAMutatedSnapshotIsAccountedFor(t *testing.T) {
	first, second := snapshotLines()
	plain := []byte(first + second)
	packed := snapshotOf(t, first, second)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		data := bytes.Clone(plain)
		if i%4 == 0 {
			data = bytes.Clone(packed)
		}
		for range 1 + random.IntN(6) {
			at := random.IntN(len(data))
			switch random.IntN(4) {
			case 0:
				data[at] = byte(random.IntN(256))
			case 1:
				data = append(data[:at], data[min(len(data), at+random.IntN(30)):]...)
			case 2:
				data = append(data[:at:at], append([]byte("<div>{\"}\\n"), data[at:]...)...)
			default:
				data = append(data, data[at:min(len(data), at+200)]...)
			}
			if len(data) == 0 {
				data = []byte{0}
			}
		}
		read(t, data, wiki.DefaultOptions()) // checks the accounts
	}
}

// Of what a line may lack, only a name and a number are needed.
func TestFieldsOfALineMayBeMissing(t *testing.T) {
	for line, want := range map[string]extract.Reject{
		`{"name":"A","identifier":1,"article_body":{"html":"<p>Een vogel.</p>"}}`:                                                                                        "",
		`{"name":"A","identifier":1,"article_body":{"html":"<p>Een vogel.</p>"},"license":[null,{}],"namespace":null,"version":null,"url":5e3}`:                          extract.RejectMalformed,
		`{"name":"A","identifier":1,"article_body":{"html":"<p>Een vogel.</p>"},"license":[null,{}],"namespace":null,"version":null,"is_part_of":{},"date_modified":""}`: "",
		`{"name":"A","article_body":{"html":"<p>Een vogel.</p>"}}`:                                                                                                       extract.RejectMalformed,
		`{"name":"A","article_body":{"html":"<meta property=\"mw:pageId\" content=\"7\"><p>Een vogel.</p>"}}`:                                                            "",
		`{"identifier":1,"article_body":{"html":"<title>A</title><p>Een vogel.</p>"}}`:                                                                                   extract.RejectMalformed,
		`{"name":"A","identifier":1}`: extract.RejectEmpty,
		`{"name":"A","identifier":"1","article_body":{"html":"<p>Een vogel.</p>"}}`: extract.RejectMalformed,
		`["A"]`: extract.RejectMalformed,
		`null`:  extract.RejectMalformed,
	} {
		res := read(t, []byte(line), wiki.DefaultOptions())
		got := extract.Reject("")
		if len(res.rejects) == 1 {
			got = res.rejects[0].Reason
		}
		if got != want || res.err != nil || res.stats.Pages != 1 {
			t.Errorf("%s: got %q, want %q; %v", line, got, want, res.err)
		}
	}
}

func TestFilesOfOtherKindsAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"bzip2":         {"BZh91AY&SY\x00", "compressed with bzip2"},
		"zip":           {"PK\x03\x04\x00", "a zip archive"},
		"xz":            {"\xfd7zXZ\x00", "compressed with xz"},
		"dump":          {"\ufeff<?xml version='1.0'?>\n<mediawiki>", "a MediaWiki XML dump"},
		"dump in gzip":  {string(zipped("<mediawiki>")), "a MediaWiki XML dump"},
		"page":          {"<!DOCTYPE HTML>\n<html>", "a page as HTML"},
		"page in gzip":  {string(zipped("\n<HTML>")), "a page as HTML"},
		"broken lines":  {"{\n<html>", ""},
		"empty":         {"", ""},
		"another thing": {"hello", ""},
	} {
		res := read(t, []byte(test.text), wiki.DefaultOptions())
		if (res.err == nil) != (test.want == "") || res.err != nil && (!errors.Is(res.err, ErrForeign) || !strings.Contains(res.err.Error(), test.want)) {
			t.Errorf("%s: %v", name, res.err)
		}
		if err := CheckSnapshot(strings.NewReader(test.text)); (err == nil) != (test.want == "") {
			t.Errorf("%s: check: %v", name, err)
		}
	}
}

func TestALineBeyondTheLimitIsSkipped(t *testing.T) {
	first, _ := snapshotLines()
	huge := pageLine("Groot", 20, "<p>"+strings.Repeat("woord ", maxSource/5)+"</p>", "")
	res := read(t, []byte(first+huge+first), wiki.DefaultOptions())
	if res.err != nil || len(res.docs) != 2 || res.stats.Rejects[extract.RejectTooLarge] != 1 {
		t.Errorf("%d documents, %v, %v", len(res.docs), res.stats.Rejects, res.err)
	}
}

func FuzzReader(f *testing.F) {
	first, second := snapshotLines()
	f.Add([]byte(first + second))
	f.Add(snapshotOf(f, first, second))
	f.Fuzz(func(t *testing.T, data []byte) { read(t, data, wiki.DefaultOptions()) })
}

func BenchmarkReader(b *testing.B) {
	data := []byte(strings.Repeat(pageLine("Koolmees", 12, "<p>"+strings.Repeat("De <a rel=\"mw:WikiLink\" href=\"./Mees\" title=\"Mees\" id=\"mwAb\">mees</a> is een vogel, met veren. ", 400)+"</p>", ""), 50))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		read(b, data, wiki.DefaultOptions())
	}
}
