package wiki

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kgzip "github.com/klauspost/compress/gzip"

	"pretext/extract"
	"pretext/extract/bzip2"
	"pretext/internal/dev/realdata"
)

// dumpFacts is what the README of the test data says of a dump.
type dumpFacts struct {
	name                      string
	pages, articles, xmlBytes int64
}

var (
	factsRow  = regexp.MustCompile("(?m)^\\| `([^`]+\\.xml(?:\\.bz2)?)` \\| [0-9,]+ \\| ([^|]*) \\|")
	pagesFact = regexp.MustCompile(`([0-9][0-9,]*) (pages|articles|B XML)`)
)

// readFacts reads the table of dumps.
func readFacts(t *testing.T) []dumpFacts {
	var all []dumpFacts
	for _, m := range factsRow.FindAllStringSubmatch(string(realdata.Read(t, "README.md")), -1) {
		f := dumpFacts{name: m[1], pages: -1}
		if !strings.Contains(f.name, "/") {
			f.name = "wiki/minidumps/" + f.name
		}
		for _, p := range pagesFact.FindAllStringSubmatch(m[2], -1) {
			n, err := strconv.ParseInt(strings.ReplaceAll(p[1], ",", ""), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			switch p[2] {
			case "pages":
				f.pages = n
			case "articles":
				f.articles = n
			default:
				f.xmlBytes = n
			}
		}
		if f.pages >= 0 && strings.HasPrefix(f.name, "wiki/") {
			all = append(all, f)
		}
	}
	return all
}

func TestRealDumpsGiveTheirPagesAndArticles(t *testing.T) {
	t.Parallel()
	// What the README counts with an XML parser, which stops where a dump is not
	// well-formed, and what is so by our own rules.
	special := map[string]dumpFacts{
		"wiki/official-multistream/pages-articles-p2566p2583.multistream-noheader.xml.bz2": {pages: 17, articles: 16, xmlBytes: 69156},
		"wiki/jawiki-cut-pages-articles.xml.bz2":                                           {pages: 50, articles: 40, xmlBytes: 1800000},
		"wiki/bgwiki-utf16.xml.bz2":                                                        {pages: 3, articles: 1, xmlBytes: 398504}, // as UTF-8
	}
	facts := readFacts(t)
	if len(facts) < 80 {
		t.Fatalf("%d dumps in the README, want 66 small ones and some 25 others", len(facts))
	}
	for _, f := range facts {
		t.Run(path.Base(f.name), func(t *testing.T) {
			if s, ok := special[f.name]; ok {
				f.pages, f.articles, f.xmlBytes = s.pages, s.articles, s.xmlBytes
			}
			res := readFile(t, realdata.Path(t, f.name), whole)
			checkFacts(t, f, res)
			checkListed(t, res)
			checkUses(t, res.stats)
			for _, d := range res.docs {
				if d.ID == "" || d.Title == "" || d.Text != strings.TrimSpace(d.Text) || d.Source != path.Base(f.name) {
					t.Errorf("document %q %q of %q begins %.40q", d.ID, d.Title, d.Source, d.Text)
				}
			}
		})
	}
}

func checkFacts(t *testing.T, f dumpFacts, res result) {
	s := res.stats
	filtered := s.Rejects[extract.RejectNamespace] + s.Rejects[extract.RejectRedirect] + s.Rejects[extract.RejectUnterminated]
	if s.Pages != f.pages || s.Pages-filtered != f.articles {
		t.Errorf("%d pages, %d articles, want %d and %d: %v", s.Pages, s.Pages-filtered, f.pages, f.articles, s.Rejects)
	}
	if s.XMLBytes != f.xmlBytes {
		t.Errorf("%d bytes of XML, want %d", s.XMLBytes, f.xmlBytes)
	}
	cutShort := strings.Contains(f.name, "jawiki-cut") || strings.Contains(f.name, "simplewiki-sample")
	if cutShort != errors.Is(res.err, io.ErrUnexpectedEOF) || cutShort != errors.Is(res.err, ErrCorrupt) || !cutShort && res.err != nil {
		t.Errorf("error: %v", res.err)
	}
}

func TestAnyPackingOfADumpGivesTheSameDocuments(t *testing.T) {
	t.Parallel()
	const dir = "wiki/official-multistream/"
	plain, err := io.ReadAll(stdbzip2.NewReader(bytes.NewReader(realdata.Read(t, dir+"pages-articles-p2566p2583.xml.bz2"))))
	if err != nil {
		t.Fatal(err)
	}
	var gz bytes.Buffer
	w := kgzip.NewWriter(&gz)
	w.Write(plain[:len(plain)/2])
	w.Close()
	w.Reset(&gz) // a second member
	w.Write(plain[len(plain)/2:])
	w.Close()

	want := readBytes(t, plain, whole(int64(len(plain))))
	for name, b := range map[string][]byte{
		"single stream": realdata.Read(t, dir+"pages-articles-p2566p2583.xml.bz2"),
		"multistream":   realdata.Read(t, dir+"pages-articles-p2566p2583.multistream.xml.bz2"),
		"gzip":          gz.Bytes(),
		"plain":         plain,
	} {
		size := int64(len(b))
		for n := range 16 {
			got := readBytes(t, b, even(size, n+1))
			if got.err != nil {
				t.Fatalf("%s in %d ranges: %v", name, n+1, got.err)
			}
			if diff := cmp.Diff(want.docs, got.docs); diff != "" {
				t.Fatalf("%s in %d ranges, -want +got:\n%s", name, n+1, diff)
			}
			got.stats.Bytes = want.stats.Bytes
			if diff := cmp.Diff(want.stats, got.stats); diff != "" {
				t.Errorf("%s in %d ranges, -want +got:\n%s", name, n+1, diff)
			}
		}
	}
}

func TestRangesOfARealDumpGiveWhatReadingItAtOnceGives(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"wiki/enwiki-small-pages-articles.xml.bz2", "wiki/enwiktionary-20150224-pages-articles-multistream.xml.bz2",
		"hostile/dump/page-across-streams.xml.bz2", "hostile/dump/empty-streams.xml.bz2", "wiki/bgwiki-utf16.xml.bz2",
	} {
		file := realdata.Path(t, name)
		want := readFile(t, file, whole)
		for _, n := range []int{2, 3, 16} {
			got := readFile(t, file, func(size int64) []Range { return even(size, n) })
			if diff := cmp.Diff(want.docs, got.docs); diff != "" || got.err != nil {
				t.Errorf("%s in %d ranges: %v, -want +got:\n%s", name, n, got.err, diff)
			}
			if diff := cmp.Diff(want.stats, got.stats); diff != "" {
				t.Errorf("%s in %d ranges, -want +got:\n%s", name, n, diff)
			}
			if diff := cmp.Diff(want.rejects, got.rejects); diff != "" {
				t.Errorf("%s in %d ranges, rejects, -want +got:\n%s", name, n, diff)
			}
		}
	}
}

// hostileFile is one entry of hostile.json.
type hostileFile struct {
	File       string `json:"file"`
	What       string `json:"what"`
	Pages      *int64 `json:"pages"`
	WholePages *int64 `json:"whole_pages"`
	BadStream  *int64 `json:"bad_stream"`
	OtherPages *int64 `json:"other_pages"`
	AtPage     *int64 `json:"at_page"`
	Before     int64  `json:"sound_pages_before"`
	After      int64  `json:"sound_pages_after"`
}

func TestHostileDumpsAreReadOrRefusedAsTheyDeserve(t *testing.T) {
	t.Parallel()
	var list struct{ Files []hostileFile }
	if err := json.Unmarshal(realdata.Read(t, "hostile/hostile.json"), &list); err != nil {
		t.Fatal(err)
	}
	for _, f := range list.Files {
		dir := path.Dir(f.File)
		if dir != "dump" && dir != "xml" && dir != "size" || strings.Contains(f.File, "index") {
			continue
		}
		if f.File == "size/bz2-bomb.xml.bz2" {
			continue // has a test of its own
		}
		t.Run(f.File, func(t *testing.T) {
			file := realdata.Path(t, "hostile/"+f.File)
			res := readFile(t, file, whole)
			checkHostile(t, f, res)
			checkListed(t, res)
			if dir == "size" {
				return // long, and nothing new in ranges
			}
			got := readFile(t, file, func(size int64) []Range { return even(size, 5) })
			if (got.err == nil) != (res.err == nil) {
				t.Errorf("in 5 ranges: error %v, at once %v", got.err, res.err)
			}
			if diff := cmp.Diff(res.docs, got.docs); diff != "" {
				t.Errorf("in 5 ranges, -at once +in ranges:\n%s", diff)
			}
		})
	}
}

func TestDamageIsReportedWhereverTheDumpIsCut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cut-in-stream", "bit-flip", "bad-magic", "garbage-tail", "zero-tail"} {
		file := realdata.Path(t, "hostile/dump/"+name+".xml.bz2")
		want := readFile(t, file, whole)
		damage, ok := errors.AsType[*CorruptError](want.err)
		if !ok {
			t.Fatalf("%s: error %v", name, want.err)
		}
		if tail := strings.HasSuffix(name, "-tail"); tail != errors.Is(want.err, bzip2.ErrTrailing) {
			t.Errorf("%s: error %v is of the wrong kind", name, want.err)
		}
		for _, near := range []int64{-30000, -1, 0, 1, 3, 4, 5, 10, 600} {
			got := readFile(t, file, func(size int64) []Range { return cut(size, min(damage.Offset+near, size-1)) })
			if diff := cmp.Diff(want.docs, got.docs); diff != "" {
				t.Errorf("%s cut %d bytes from the damage, -want +got:\n%s", name, near, diff)
			}
			if fmt.Sprint(got.err) != fmt.Sprint(want.err) {
				t.Errorf("%s cut %d bytes from the damage: %v, want %v", name, near, got.err, want.err)
			}
		}
	}
}

// damaged names the files that must end in an error, and what it says.
func damaged() map[string]string {
	return map[string]string{
		"dump/cut-in-stream.xml.bz2":     "bzip2",
		"dump/bit-flip.xml.bz2":          "checksum",
		"dump/bad-magic.xml.bz2":         "stream header",
		"dump/garbage-tail.xml.bz2":      "bzip2",
		"dump/zero-tail.xml.bz2":         "bzip2",
		"dump/empty.xml.bz2":             "file is empty",
		"dump/empty-stream-only.xml.bz2": "compressed file is empty",
		"dump/not-bz2.xml.bz2":           "file ends inside a page",
	}
}

func checkHostile(t *testing.T, f hostileFile, res result) {
	want, bad := damaged()[f.File]
	switch {
	case bad && (!errors.Is(res.err, ErrCorrupt) || !strings.Contains(res.err.Error(), want)):
		t.Errorf("got error %v, want one with %q", res.err, want)
	case !bad && res.err != nil:
		t.Errorf("error: %v", res.err)
	}
	switch pages := res.stats.Pages; {
	case f.Pages != nil && pages != *f.Pages:
		t.Errorf("%d pages, want %d", pages, *f.Pages)
	case f.WholePages != nil && pages != *f.WholePages:
		t.Errorf("%d pages, want %d before the damage", pages, *f.WholePages)
	case f.OtherPages != nil && f.BadStream != nil && pages != (*f.BadStream-1)*20:
		t.Errorf("%d pages, want those of %d streams", pages, *f.BadStream-1)
	case f.AtPage != nil && f.Before > 0 && (pages < f.Before+f.After || pages > f.Before+f.After+2):
		t.Errorf("%d pages, want %d sound ones and one that is not", pages, f.Before+f.After)
	}
}

func TestAPageOfAGigabyteIsSkippedInBoundedMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := readFile(t, realdata.Path(t, "hostile/size/bz2-bomb.xml.bz2"), whole)
	runtime.ReadMemStats(&after)
	if res.err != nil || res.stats.XMLBytes < 1_024_000_000 || res.stats.Rejects[extract.RejectTooLarge] != 1 {
		t.Errorf("got %+v, %v", res.stats, res.err)
	}
	// All that was ever allocated, for the head as well, garbage included.
	if n := after.TotalAlloc - before.TotalAlloc; n > 96<<20 {
		t.Errorf("%d MiB were allocated", n>>20)
	}
}

func TestOnePageOfAKindDoesNotHarmItsNeighbours(t *testing.T) {
	control := readFile(t, realdata.Path(t, "hostile/xml/amp.xml"), whole)
	for _, c := range []struct{ file, text string }{ // text of the page in the middle, "" for a reject
		{"amp", "AT&T & co < 3"},
		{"charref", "&#0; 😀"},
		{"cdata", "bold & x"},
		{"comment", "ab"},
		{"unclosed", "a"},
		{"dup-attr", "a"},
		{"control", "bell \x07 esc \x1b vt \x0b end"},
		{"mismatch", ""},
		{"nested-page", ""},
	} {
		res := readFile(t, realdata.Path(t, "hostile/xml/"+c.file+".xml"), whole)
		texts := map[string]bool{}
		for _, d := range res.docs {
			texts[d.ID+d.Text] = true
		}
		odd := 1
		if c.text == "" {
			odd = 0
		}
		if len(res.docs) != len(control.docs)-1+odd {
			t.Errorf("%s: %d documents, want %d", c.file, len(res.docs), len(control.docs)-1+odd)
		}
		missing := 0
		for _, d := range control.docs {
			if !texts[d.ID+d.Text] {
				missing++
			}
		}
		if missing > 1 {
			t.Errorf("%s: %d sound pages harmed", c.file, missing-1)
		}
	}
}

func TestDeclaredEntitiesAreNeitherExpandedNorRead(t *testing.T) {
	for file, want := range map[string]string{"doctype-bomb": "&j;", "external-entity": "[&e;]"} {
		res := readFile(t, realdata.Path(t, "hostile/xml/"+file+".xml"), whole)
		if res.err != nil || len(res.docs) != 1 || res.docs[0].Text != want {
			t.Errorf("%s: got %v, %v, want %s", file, res.docs, res.err, want)
		}
	}
}

func TestOddPagesAreSortedOut(t *testing.T) {
	res := readFile(t, realdata.Path(t, "hostile/xml/odd-pages.xml"), whole)
	var got []string
	for _, d := range res.docs {
		got = append(got, d.ID[len("ltgwiki:"):]+" "+d.Text)
	}
	want := []string{"77 first", "77 second", "78 first", "79 second", "81 title longer than 255 bytes", "82 x", "83 x", "89 new"}
	if diff := cmp.Diff(want, got); diff != "" || res.err != nil {
		t.Errorf("%v, -want +got:\n%s", res.err, diff)
	}
	rejects := map[extract.Reject]int64{
		extract.RejectMalformed: 8, extract.RejectNamespace: 2, extract.RejectRedirect: 2,
		extract.RejectDeleted: 1, extract.RejectModel: 1, extract.RejectEmpty: 1,
	}
	if diff := cmp.Diff(rejects, res.stats.Rejects); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLineEndsAndByteOrderMarksDoNotMatter(t *testing.T) {
	want := readFile(t, realdata.Path(t, "hostile/dump/good.xml.bz2"), whole)
	for _, name := range []string{"bom-crlf", "one-line", "empty-streams", "page-across-streams", "no-footer", "gzip-as"} {
		file := "hostile/dump/" + name + ".xml.bz2"
		if name == "gzip-as" {
			file = "hostile/dump/gzip-as.bz2"
		}
		got := readFile(t, realdata.Path(t, file), whole)
		if name == "one-line" { // it lacks line breaks in texts as well
			if len(got.docs) != len(want.docs) {
				t.Errorf("%s: %d documents, want %d", name, len(got.docs), len(want.docs))
			}
			continue
		}
		for i := range got.docs {
			got.docs[i].Source = want.docs[i].Source
		}
		if diff := cmp.Diff(want.docs, got.docs); diff != "" {
			t.Errorf("%s, -want +got:\n%s", name, diff)
		}
	}
}

// bigFile unpacks a dump of the test data, for benchmarks.
func bigFile(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := io.ReadAll(stdbzip2.NewReader(bytes.NewReader(realdata.Read(tb, name))))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// realDump reads a dump of the test data.
func realDump(tb testing.TB, name string) []byte {
	tb.Helper()
	return realdata.Read(tb, name)
}
