package wiki

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"weak"

	"pretext/extract"
	"pretext/extract/bzip2"
	"pretext/internal/dev/realdata"
)

// readAll returns everything that a reader gives for a range: documents, rejects,
// counts, the error.
func readAll(r *Reader) string {
	var b strings.Builder
	r.OnReject(func(x *extract.Rejected) {
		fmt.Fprintf(&b, "reject %s %q %s %v", x.ID, x.Title, x.Reason, x.Place)
		if x.Value != nil {
			fmt.Fprint(&b, *x.Value)
		}
	})
	for doc, err := range r.Documents() {
		if errors.Is(err, bzip2.ErrTrailing) {
			break
		}
		if err != nil {
			fmt.Fprintln(&b, err)
			break
		}
		fmt.Fprintf(&b, "%+v\n", *doc)
	}
	fmt.Fprintf(&b, "%+v", r.Stats())
	return b.String()
}

// A wiped file is filled with zeros where it is discarded.
type wiped struct{ *os.File }

func (f wiped) Discard(off, n int64) { f.WriteAt(make([]byte, n), off) }

// temp returns an empty temporary file.
func temp(tb testing.TB) wiped {
	f, err := os.Create(filepath.Join(tb.TempDir(), "spool"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	return wiped{f}
}

// spoolRange reads a range for its definitions, with a spool.
func spoolRange(tb testing.TB, d Dump, rng Range, o Options, s *Spool) error {
	r := NewReader(d, rng, DefaultOptions())
	w := s.Create("x", o)
	var stats DefinitionStats
	for _, err := range r.Definitions(&stats, w) {
		if errors.Is(err, bzip2.ErrTrailing) {
			break
		}
		if err != nil {
			return err
		}
	}
	w.Close(r, SpoolEnd{Trailing: "end"})
	return nil
}

func TestASpoolGivesTheDocumentsOfTheDump(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "odd.xml")
	os.WriteFile(odd, []byte(`<mediawiki xml:lang="en"><siteinfo><dbname>odd</dbname><namespaces><namespace key="10">Vorlage</namespace></namespaces></siteinfo>
<page><title>No namespace</title><id>1</id><revision><id>2</id><text>A text.</text></revision></page>
<page><title>Vorlage:No namespace</title><id>2</id><revision><id>2</id><text>A text.</text></revision></page>
<page><title>Bad id</title><ns>0</ns><id>x</id><revision><id>2</id><text>A text.</text></revision></page>
<page><title>No text</title><ns>0</ns><id>3</id></page>
<page><title>Not closed</title><ns>0</ns><id>4</id><revision><id>2</id><text>A text.</text></revision>
<page><title>&amp;amp; &lt;b&gt;	tab</title><ns>0</ns><id>5</id><redirect title="x"/><revision><id>2</id><text>A text.</text></revision></page>
<page><title>Too large</title><ns>0</ns><id>6</id><revision><id>2</id><text>`+strings.Repeat("x", extract.MaxPageBytes+3<<20)+`</text></revision></page>
<page><title>Two</title><ns>1</ns><id>7</id><revision><id>1</id><text>Old.</text></revision><revision><id>2</id><text>New `+"\xff"+`.</text></revision></page>
</mediawiki>`), 0o666)
	both := DefaultOptions()
	both.Namespaces = []int{0, 1, 10}
	for _, path := range []string{odd, "wiki/elwikivoyage-medium-pages-articles.xml.bz2", "wiki/bgwiki-utf16.xml.bz2", "wiki/zhwiki-broken-1.xml", "wiki/zhwiki-broken-2.xml", "wiki/simplewiki-sample.xml"} {
		if path != odd {
			path = realdata.Path(t, path)
		}
		d := openDump(t, path)
		for k, o := range []Options{DefaultOptions(), both} {
			if k > 0 && path != odd {
				continue
			}
			for _, rng := range Ranges(d.Size) {
				s := NewSpool(temp(t), k == 0)
				if err := spoolRange(t, d, rng, o, s); err != nil {
					if errors.Is(err, ErrCorrupt) && s.Open("x", nil) == nil {
						continue // the stage ends with this error
					}
					t.Fatal(err)
				}
				r := NewReader(d, rng, o)
				want := readAll(r)
				r.Reset(d, rng)
				r.ReadSpool(s.Open("x", nil))
				if got := readAll(r); got != want {
					t.Errorf("%s, %+v: the spool gives other documents", path, rng)
				}
			}
		}
	}
}

// A brokenFile fails to write after some bytes.
type brokenFile struct {
	wiped
	left int64
}

func (f brokenFile) WriteAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.left {
		return 0, io.ErrShortWrite
	}
	return f.wiped.WriteAt(p, off)
}

func TestASpoolThatCannotBeWrittenHasNoRange(t *testing.T) {
	d := openDump(t, realdata.Path(t, "wiki/elwikivoyage-medium-pages-articles.xml.bz2"))
	s := NewSpool(brokenFile{temp(t), 1 << 20}, true)
	if err := spoolRange(t, d, Range{0, d.Size}, DefaultOptions(), s); err != nil {
		t.Fatal(err)
	}
	if s.Open("x", nil) != nil {
		t.Error("a range whose pages were not written")
	}
}

func TestAChangedSpoolIsAnError(t *testing.T) {
	d := openDump(t, realdata.Path(t, "wiki/elwikivoyage-medium-pages-articles.xml.bz2"))
	for _, pack := range []bool{false, true} {
		for name, change := range map[string]func(wiped){
			"changed":   func(f wiped) { f.WriteAt([]byte("x#"), 1000) },
			"truncated": func(f wiped) { f.Truncate(1 << 19) },
		} {
			f := temp(t)
			s := NewSpool(f, pack)
			if err := spoolRange(t, d, Range{0, d.Size}, DefaultOptions(), s); err != nil {
				t.Fatal(err)
			}
			change(f)
			r := NewReader(d, Range{0, d.Size}, DefaultOptions())
			r.ReadSpool(s.Open("x", nil))
			var err error
			for _, err = range r.Documents() {
			}
			if !errors.Is(err, errSpool) {
				t.Errorf("%s, pack %v: %v", name, pack, err)
			}
		}
	}
}

// A spool frees all of its file while it is read, and each part once; a range that
// was read is decoded from the dump if a task begins again.
// A spool of a large dump has thousands of ranges. It must not keep the buffers of those
// that wrote them.
func TestASpoolKeepsNoWriter(t *testing.T) {
	s := NewSpool(temp(t), true)
	kept := func() weak.Pointer[SpoolWriter] {
		w := s.Create("x", DefaultOptions())
		w.Close(&Reader{split: &splitter{}}, SpoolEnd{})
		return weak.Make(w)
	}()
	runtime.GC()
	if kept.Value() != nil {
		t.Error("the spool keeps the writer of a range")
	}
	if s.Open("x", nil) == nil {
		t.Error("the range is not in the spool")
	}
}

func TestASpoolIsFreedWhileItIsRead(t *testing.T) {
	d := openDump(t, realdata.Path(t, "wiki/elwikivoyage-medium-pages-articles.xml.bz2"))
	f := &discarded{wiped: temp(t)}
	s := NewSpool(f, true)
	if err := spoolRange(t, d, Range{0, d.Size}, DefaultOptions(), s); err != nil {
		t.Fatal(err)
	}
	r := NewReader(d, Range{0, d.Size}, DefaultOptions())
	r.ReadSpool(s.Open("x", nil))
	for range r.Documents() {
	}
	if f.next != s.next || f.next == 0 {
		t.Errorf("%d bytes of %d freed in order", f.next, s.next)
	}
	if s.Open("x", nil) != nil {
		t.Error("the range is still there")
	}
}

// A discarded file notes up to where it was discarded, in order and in whole pages.
type discarded struct {
	wiped
	next int64
}

func (f *discarded) Discard(off, n int64) {
	if off == f.next && n%4096 == 0 {
		f.next += n
	}
}
