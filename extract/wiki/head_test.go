package wiki

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
)

func readHeadOf(s string) (Head, error) {
	return ReadHead(strings.NewReader(s), int64(len(s)))
}

// inUTF16 encodes text with a byte order mark.
func inUTF16(s string, bigEndian bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
		if bigEndian {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		panic(err)
	}
	w.Close()
	return b.String()
}

func TestReadHeadTellsWhatADumpIs(t *testing.T) {
	plain := string(birds(t, "birds.xml"))
	want := Head{
		DBName: "birdwiki", Lang: "en", SiteName: "Birds & more", Base: "https://birds.example/wiki/Main_Page", Generator: "MediaWiki 1.45.0",
		Namespaces:  []Namespace{{-2, "Media"}, {0, ""}, {10, "Template"}},
		Compression: CompressionNone, Encoding: EncodingUTF8,
	}
	with := func(c Compression, e Encoding) Head {
		h := want
		h.Compression, h.Encoding = c, e
		return h
	}
	noHead := Head{Compression: CompressionNone, Encoding: EncodingUTF8}
	for _, c := range []struct {
		name, dump string
		want       Head
	}{
		{"plain", plain, want},
		{"bzip2", string(birds(t, "birds.xml.bz2")), with(CompressionBzip2, EncodingUTF8)},
		{"gzip", gzipped(plain), with(CompressionGzip, EncodingUTF8)},
		{"byte order mark", "\xef\xbb\xbf" + plain, want},
		{"declaration", "<?xml version=\"1.0\" encoding='utf-8'?>\n" + plain, want},
		{"document type", "<!DOCTYPE x [<!ENTITY a 'b'>]>" + plain, want},
		{"UTF-16LE", inUTF16(plain, false), with(CompressionNone, EncodingUTF16LE)},
		{"UTF-16BE", inUTF16(plain, true), with(CompressionNone, EncodingUTF16BE)},
		{"UTF-16 without mark", inUTF16(plain, true)[2:], with(CompressionNone, EncodingUTF16BE)},
		{"UTF-16 in gzip", gzipped(inUTF16(plain, false)), with(CompressionGzip, EncodingUTF16LE)},
		{"no siteinfo", "<mediawiki xml:lang='fy'><page></page>", Head{Lang: "fy", Compression: CompressionNone, Encoding: EncodingUTF8}},
		{"dictionary", "<mediawiki><siteinfo><case>case-sensitive</case></siteinfo></mediawiki>", Head{CaseSensitive: true, Compression: CompressionNone, Encoding: EncodingUTF8}},
		{"pages alone", "\n  <page></page>", noHead},
		{"no pages", "<mediawiki></mediawiki>", noHead},
		{"what is broken is left out", "<mediawiki xml:lang=nl><siteinfo><dbname>x<base>y</base><namespace key='z'>Z</namespace></siteinfo>",
			Head{Base: "y", Compression: CompressionNone, Encoding: EncodingUTF8}},
	} {
		got, err := readHeadOf(c.dump)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", c.name, err, diff)
		}
		travelled := Head{}
		b, err := json.Marshal(got)
		if err == nil {
			err = json.Unmarshal(b, &travelled)
		}
		if diff := cmp.Diff(got, travelled); diff != "" || err != nil {
			t.Errorf("%s as JSON: %v, -want +got:\n%s", c.name, err, diff)
		}
	}
}

func TestReadHeadRefusesWhatIsNoDump(t *testing.T) {
	plain := string(birds(t, "birds.xml"))
	for _, c := range []struct {
		name, dump, want string
		corrupt          bool
	}{
		{"nothing", "", "file is empty", true},
		{"an empty bzip2 stream", "BZh9\x17\x72\x45\x38\x50\x90\x00\x00\x00\x00", "compressed file is empty", true},
		{"text", "\xef\xbb\xbfCall me Ishmael.", "not a pages dump but plain text", false},
		{"packed text, cut inside a character", gzipped("Zoë: a novel\n\f\xc3"), "plain text", false},
		{"another XML", "<?xml version='1.0'?><!-- a > b --><rdf:RDF x='y'><p>x</p></rdf:RDF>", "another XML format (<rdf:RDF>)", false},
		{"another XML with an empty root", "<opml/>", "another XML format (<opml>)", false},
		{"a tag that is cut", "<medi", "neither <mediawiki> nor <page>", true},
		{"zeros", strings.Repeat("\x00", 5000), "neither <mediawiki> nor <page>", true},
		{"text with zeros", "Call me\x00\x00", "neither <mediawiki> nor <page>", true},
		{"rubbish", "a\xff\xfeb", "neither <mediawiki> nor <page>", true},
		{"white space", " \n", "neither <mediawiki> nor <page>", true},
		{"a web page", "\n<!DOCTYPE html><html>", "not a pages dump but a web page (HTML)", false},
		{"XHTML", "<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC 'x'><html>", "a web page (HTML)", false},
		{"a web page, packed", gzipped("<html>x"), "a web page (HTML)", false},
		{"SQL", gzipped("-- MySQL dump 10.19\n--\nDROP TABLE IF EXISTS `page`;\nCREATE TABLE"), "an SQL table", false},
		{"abstracts", "<feed>\n<doc>\n<title>Wikipedia: A</title>", "the abstracts of pages", false},
		{"an index", "568:10:AccessibleComputing\n568:12:Anarchism\n", "the index of a multistream dump", false},
		{"checksums", strings.Repeat("0f", 20) + "  enwiki.xml.bz2\n", "a list of checksums", false},
		{"a tar", "a.xml" + strings.Repeat("\x00", 252) + "ustar\x0000", "a tar archive", false},
		{"a packed tar", gzipped("a.xml" + strings.Repeat("\x00", 252) + "ustar  \x00"), "a tar archive", false},
		{"JSON", `{"index":{"_type":"page"}}`, "JSON", false},
		{"titles", "page_namespace\tpage_title\n0\t!", "a list of titles", false},
		{"a zip in a gzip", gzipped("PK\x03\x04"), "a zip archive", false},
		{"a cut head", plain[:400], "ends inside its head", true},
		{"a cut gzip", gzipped(plain)[:60], "gzip: file ends early", true},
		{"a cut bzip2", string(birds(t, "birds.xml.bz2"))[:60], "bzip2", true},
		{"a bzip2 magic alone", "BZh", "bzip2", true},
		{"a gzip magic alone", "\x1f\x8b", "gzip", true},
		{"xz", "\xfd7zXZ\x00\x00", "compressed with xz", false},
		{"7-Zip", "7z\xbc\xaf\x27\x1c\x00", "a 7-Zip archive", false},
		{"zstd", "\x28\xb5\x2f\xfd\x00\x00", "compressed with zstd", false},
		{"zip", "PK\x03\x04\x00\x00", "a zip archive", false},
		{"Latin-1", `<?xml version="1.0" encoding="ISO-8859-1"?>` + plain, `encoding "ISO-8859-1" is not supported`, false},
		{"a declaration without end", `<?xml version="1.0"`, "without end", true},
		{"a page in UTF-16 cut inside a character", inUTF16("<mediawiki>", true) + "\x00", "", true},
	} {
		_, err := readHeadOf(c.dump)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrCorrupt) != c.corrupt {
			t.Errorf("%s: got %v, want %q, corrupt %v", c.name, err, c.want, c.corrupt)
		}
	}
}

func TestTheHeadIsNotLookedForWithoutEnd(t *testing.T) {
	long := "<mediawiki xml:lang='nl'><siteinfo>" + strings.Repeat("<x>", maxHeadBytes)
	file := &countingReaderAt{ReaderAt: strings.NewReader(long)}
	got, err := ReadHead(file, int64(len(long)))
	if err != nil || got.Lang != "nl" || file.n > maxHeadBytes+100 {
		t.Errorf("got %v, %v, having read %d bytes", got, err, file.n)
	}
}

func TestTheDatabaseIsNamedAfterTheFile(t *testing.T) {
	for name, want := range map[string]string{
		"enwiki-20250101-pages-articles.xml.bz2":                     "enwiki",
		"zh_classicalwiki-latest-pages-articles-multistream.xml.bz2": "zh_classicalwiki",
		"enwiki-20250101-pages-articles1.xml-p1p41242.bz2":           "enwiki",
		"dewiki-sample.xml.bz2":                                      "dewiki-sample",
		"my birds.xml":                                               "my birds",
		"birds.xml.gz":                                               "birds",
		"birds":                                                      "birds",
		".xml":                                                       ".xml",
		"-20250101-x":                                                "-20250101-x",
		"":                                                           "",
	} {
		if got := DBName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func FuzzReadHead(f *testing.F) {
	f.Add([]byte(siteinfo))
	f.Add([]byte("<?xml encoding='x'?><mediawiki"))
	f.Add([]byte("BZh9"))
	f.Add([]byte("</siteinfo"))
	f.Add([]byte(inUTF16("<mediawiki><page>", true)))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ReadHead(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		if h.Compression == CompressionNone && h.Encoding == EncodingUTF8 && !bytes.Contains(b, []byte("<mediawiki")) && !bytes.Contains(b, []byte("<page")) {
			t.Errorf("%q was taken for a dump", b)
		}
		travelled := Head{}
		j, err := json.Marshal(h)
		if err == nil {
			err = json.Unmarshal(j, &travelled)
		}
		if diff := cmp.Diff(h, travelled); diff != "" || err != nil {
			t.Errorf("as JSON: %v, -want +got:\n%s", err, diff)
		}
	})
}
