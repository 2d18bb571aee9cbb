package wiki

import (
	"bytes"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// page is a rawPage that owns its bytes.
type page struct {
	Head, Revision string
	TooLarge       bool
	End            ending
	Offset         int64
}

// splitAll runs a splitter over a source to its end.
func splitAll(tb rapid.TB, src source, b bounds) (pages []page, footers int64) {
	tb.Helper()
	s := newSplitter(b)
	s.reset(src)
	for {
		p, err := s.next()
		if err == io.EOF {
			if len(s.buf) > b.most() {
				tb.Errorf("the window grew to %d bytes, more than %d", len(s.buf), b.most())
			}
			return pages, s.footers
		}
		if err != nil {
			tb.Fatal(err)
		}
		pages = append(pages, page{string(p.head), string(p.revision), p.tooLarge, p.end, p.offset})
	}
}

var plainTag = regexp.MustCompile(`<(page|/page|revision|/mediawiki)[>/ \t\r\n]`)

// plainSplit is the plain version of the splitter: it holds the whole dump.
func plainSplit(data []byte, b bounds) (pages []page, footers int64) {
	start, first, last := -1, -1, -1
	closeAt := func(end int, how ending) {
		if start < 0 {
			return
		}
		p := page{End: how, Offset: int64(start)}
		headEnd := end
		if first >= 0 {
			headEnd = first
		}
		if headEnd-start > b.head {
			p.TooLarge = true
		} else {
			p.Head = string(data[start:headEnd])
			if first >= 0 && end-last > b.revision {
				p.TooLarge = true
			} else if first >= 0 {
				p.Revision = string(data[last:end])
			}
		}
		pages = append(pages, p)
		start, first, last = -1, -1, -1
	}
	for at := 0; ; at++ {
		m := plainTag.FindSubmatchIndex(data[at:])
		if m == nil {
			closeAt(len(data), endTruncated)
			return pages, footers
		}
		name := string(data[at+m[2] : at+m[3]])
		at += m[0]
		switch {
		case name == "page":
			closeAt(at, endUnterminated)
			start = at
		case name == "/page":
			closeAt(at, endClosed)
		case name == "revision" && start >= 0:
			if first < 0 {
				first = at
			}
			last = at
		case name == "/mediawiki":
			closeAt(at, endUnterminated)
			footers++
		}
	}
}

// smallBounds make a window that a few words fill.
func smallBounds() bounds { return bounds{window: 24, read: 12, head: 60, revision: 90} }

// splitSome makes a dump-like mess out of numbers.
func splitSome(picks []byte) []byte {
	parts := []string{
		"<page>", "</page>", "<revision>", "</mediawiki>", "<text>", "</text>", "word ", "\n", "<", "<pa", "ge>",
		"<page id=\"1\">", "<pages>", "</page", "<revision\n>", "<!--", "-->", strings.Repeat("long ", 15), "</revision>",
		strings.Repeat("x", 50),
	}
	var b bytes.Buffer
	for _, p := range picks {
		b.WriteString(parts[int(p)%len(parts)])
	}
	return b.Bytes()
}

func plainOf(data []byte, rng Range) source {
	return openSource(Dump{File: bytes.NewReader(data), Size: int64(len(data))}, rng, nil)
}

func TestTheSplitterAgreesWithThePlainVersion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := splitSome(rapid.SliceOf(rapid.Byte()).Draw(t, "picks"))
		checkSplit(t, data)
	})
}

func TestOnlyTheLastRevisionIsHeld(t *testing.T) {
	x := strings.Repeat
	for _, data := range []string{
		"<page>h<revision>" + x("a", 300) + "<revision>" + x("b", 70) + "</page>",
		"<page>h<revision>" + x("a", 300) + "<revision>" + x("b", 300) + "</page><page>",
		"<page>h<revision>" + x("a", 70) + "<revision>" + x("b", 300) + "<revision>c</page>",
		"<page>h" + x("<revision>"+x("a", 80), 20) + "</page><page>i</page>",
		"<page>" + x("h", 300) + x("<revision>"+x("a", 80), 5) + "</page><page>i</page>",
		"<page>" + x("h", 50) + "<revision>" + x("a", 50) + "</page>" + x("y", 200) + "<page></page>",
		x("y", 500) + "<page>" + x("h", 54) + "<revision>" + x("a", 80) + "</page>",
		x("y", 500) + "<page>" + x("h", 55) + "<revision>" + x("a", 81) + "</page>",
	} {
		checkSplit(t, []byte(data))
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"<page><revision>a</page><page></page></mediawiki>", "<page", "<page><page>", strings.Repeat("<", 100),
		"<page>" + strings.Repeat("<revision>", 40) + "</page>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkSplit(t, data) })
}

// checkSplit compares the splitter with the plain version, over the whole and
// over every pair of ranges.
func checkSplit(t rapid.TB, data []byte) {
	b := smallBounds()
	want, wantFooters := plainSplit(data, b)
	n := int64(len(data))
	got, footers := splitAll(t, plainOf(data, Range{0, n}), b)
	if diff := cmp.Diff(want, got); diff != "" || footers != wantFooters {
		t.Fatalf("%q: %d footers, want %d, -want +got:\n%s", data, footers, wantFooters, diff)
	}
	for at := int64(0); at < n; at += 1 + n/200 { // every cut of what is short
		one, f1 := splitAll(t, plainOf(data, Range{0, at}), b)
		two, f2 := splitAll(t, plainOf(data, Range{at, n}), b)
		if f1+f2 != wantFooters {
			t.Fatalf("%q cut at %d: %d footers, want %d", data, at, f1+f2, wantFooters)
		}
		if diff := cmp.Diff(want, append(one, two...)); diff != "" {
			t.Fatalf("%q cut at %d, -want +got:\n%s", data, at, diff)
		}
	}
}

// stutter is a source that gives its bytes in pieces of odd lengths, as blocks
// of bzip2 come.
type stutter struct {
	source
	rnd *rand.Rand
}

func (s *stutter) read(p []byte) (int, bool, error) {
	return s.source.read(p[:1+s.rnd.IntN(len(p))])
}

func TestPagesDoNotDependOnHowTheBytesArrive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		picks := make([]byte, rnd.IntN(60))
		for i := range picks {
			picks[i] = byte(rnd.Uint32())
		}
		data := splitSome(picks)
		want, _ := plainSplit(data, smallBounds())
		got, _ := splitAll(t, &stutter{plainOf(data, Range{0, int64(len(data))}), rnd}, smallBounds())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q, -want +got:\n%s", data, diff)
		}
	}
}
