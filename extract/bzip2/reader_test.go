package bzip2

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
)

// fixtures returns the files of testdata by name.
func fixtures(tb testing.TB) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob("testdata/*.bz2")
	if err != nil || len(names) == 0 {
		tb.Fatalf("no fixtures: %v", err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(name), ".bz2")] = data
	}
	return files
}

// standard decodes a file with the standard library.
func standard(file []byte) ([]byte, error) {
	return io.ReadAll(stdbzip2.NewReader(bytes.NewReader(file)))
}

// decodeAll decodes a file with this package.
func decodeAll(file []byte) ([]byte, error) {
	return io.ReadAll(NewStreamReader(bytes.NewReader(file), int64(len(file))))
}

// sameAsStandard fails the test unless both decode the file to the same bytes.
func sameAsStandard(tb testing.TB, name string, file []byte) {
	tb.Helper()
	want, err := standard(file)
	if err != nil {
		tb.Fatalf("%s: standard library: %v", name, err)
	}
	got, err := decodeAll(file)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	if !bytes.Equal(got, want) {
		tb.Fatalf("%s: got %d bytes, want %d others", name, len(got), len(want))
	}
}

func TestFixturesDecodeAsInTheStandardLibrary(t *testing.T) {
	for name, file := range fixtures(t) {
		sameAsStandard(t, name, file)
	}
}

func TestDumpsDecodeAsInTheStandardLibrary(t *testing.T) {
	for _, name := range []string{
		"wiki/enwiki-small-pages-articles.xml.bz2",
		"wiki/official-multistream/pages-articles-p2566p2583.multistream.xml.bz2",
		"wiki/enwiktionary-20150224-pages-articles-multistream.xml.bz2",
		"wiki/zhwiki-sample.xml.bz2",
		"hostile/dump/empty-streams.xml.bz2",
		"hostile/dump/empty-stream-only.xml.bz2",
		"hostile/dump/page-across-streams.xml.bz2",
		"hostile/size/one-line-page.xml.bz2",
	} {
		sameAsStandard(t, name, realdata.Read(t, name))
	}
}

// genText returns a generator of texts with runs and repeats.
func genText() *rapid.Generator[string] {
	word := rapid.OneOf(
		rapid.StringMatching(`[a-c]{1,6}`),
		rapid.StringN(1, 4, 8),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom([]string{"x", "y", "xy", "\x00"}).Draw(t, "unit"),
				rapid.IntRange(1, 300).Draw(t, "times"))
		}),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 1, 8).Draw(t, "words"), "")
	})
}

// genFile returns a generator of files of some streams, and their content.
func genFile() *rapid.Generator[testFile] {
	return rapid.Custom(func(t *rapid.T) testFile {
		var f testFile
		var e encoder
		for _, texts := range rapid.SliceOfN(rapid.SliceOfN(genText(), 0, 3), 1, 4).Draw(t, "streams") {
			e.begin(rapid.IntRange(1, 9).Draw(t, "level"))
			for _, text := range texts {
				f.blocks = append(f.blocks, testBlockAt{e.bit(), text})
				e.text(text)
			}
			e.end()
		}
		f.data = e.out
		return f
	})
}

type testFile struct {
	data   []byte
	blocks []testBlockAt
}

type testBlockAt struct {
	bit  int64
	text string
}

func (f testFile) text() string {
	var b strings.Builder
	for _, block := range f.blocks {
		b.WriteString(block.text)
	}
	return b.String()
}

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := genFile().Draw(t, "file")
		got, err := decodeAll(f.data)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != f.text() {
			t.Fatalf("got %q, want %q", got, f.text())
		}
		if std, err := standard(f.data); err != nil || string(std) != f.text() {
			t.Fatalf("the test's encoder is wrong: standard library: %v", err)
		}
	})
}

func TestBlocksTellTheirPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := genFile().Draw(t, "file")
		end := rapid.Int64Range(0, int64(len(f.data))).Draw(t, "end")
		r := NewReader(bytes.NewReader(f.data), int64(len(f.data)), Range{0, end})
		blocks := f.blocks
		if len(blocks) > 0 && blocks[0].bit >= end*8 {
			blocks = nil // none begins in the range
		}
		for _, want := range blocks {
			peek, err := r.Peek()
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Data) != want.text || got.Bit != want.bit || got.Owned != (want.bit < end*8) || got.Continued {
				t.Fatalf("got %+v, want %+v", got, want)
			}
			if got.Data = nil; peek.Bit != got.Bit || peek.Owned != got.Owned || peek.Continued {
				t.Fatalf("Peek says %+v, Next %+v", peek, got)
			}
		}
		for range 2 {
			if b, err := r.Next(); err != io.EOF {
				t.Fatalf("got %+v, %v, want io.EOF", b, err)
			}
		}
	})
}

func TestARangeReadsOnBehindItsEnd(t *testing.T) {
	var e encoder
	e.begin(9)
	e.text("one ")
	e.text("two ")
	e.end()
	e.begin(9)
	e.text("three ")
	e.end()
	var got []string
	r := NewReader(bytes.NewReader(e.out), int64(len(e.out)), Range{0, 5})
	for {
		b, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.Owned != (len(got) == 0) {
			t.Errorf("block %q: got Owned %v", b.Data, b.Owned)
		}
		got = append(got, string(b.Data))
	}
	if want := "one two three "; strings.Join(got, "") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// hugeBlock returns a block that expands to about 46 MB: 180,000 times four
// equal bytes and the count 255. Its column is that of one period, each byte
// as often as there are periods.
func hugeBlock() (b *testBlock, size int) {
	const periods = maxBlock / 5
	last, origin := transform([]byte("aaaa\xff"))
	var column []byte
	for _, c := range last {
		column = append(column, bytes.Repeat([]byte{c}, periods)...)
	}
	b = columnBlock(column, origin*periods)
	crcs := newCRCTables()
	run := bytes.Repeat([]byte("a"), 259)
	for range periods {
		b.crc = crcs.update(b.crc, run)
	}
	return b, periods * len(run)
}

func TestAHugeBlockComesInPieces(t *testing.T) {
	var e encoder
	e.begin(9)
	b, want := hugeBlock()
	e.block(b)
	e.text("end")
	e.end()
	r := NewReader(bytes.NewReader(e.out), int64(len(e.out)), Range{0, int64(len(e.out))})
	got, pieces := 0, 0
	for ; got < want; pieces++ {
		peek, err := r.Peek()
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if b.Bit != 32 || !b.Owned || b.Continued != (pieces > 0) || peek.Continued != b.Continued {
			t.Fatalf("piece %d: %+v, Peek: %+v", pieces, b.Bit, peek)
		}
		if len(b.Data) > pieceSize || bytes.Count(b.Data, []byte("a")) != len(b.Data) {
			t.Fatalf("piece %d of %d bytes is too long or wrong", pieces, len(b.Data))
		}
		got += len(b.Data)
	}
	if got != want || pieces < want/pieceSize {
		t.Fatalf("got %d bytes in %d pieces, want %d", got, pieces, want)
	}
	if b, err := r.Next(); err != nil || string(b.Data) != "end" || b.Continued {
		t.Fatalf("got %+v, %v behind the huge block", b, err)
	}
}

func TestMemoryIsBoundedWhateverTheFileExpandsTo(t *testing.T) {
	file := realdata.Read(t, "hostile/size/bz2-bomb.xml.bz2") // 1 GB
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := io.Copy(io.Discard, NewStreamReader(bytes.NewReader(file), int64(len(file))))
	runtime.ReadMemStats(&after)
	if err != nil || n < 1<<30-1<<27 {
		t.Fatalf("got %d bytes, %v", n, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
		t.Errorf("allocated %d bytes", got)
	}
}

func TestAReaderIsUsedAgainWithoutAllocating(t *testing.T) {
	file := fixtures(t)["blocks-1"]
	src := bytes.NewReader(file)
	r := NewReader(src, int64(len(file)), Range{0, int64(len(file))})
	read := func() {
		r.Reset(src, int64(len(file)), Range{0, int64(len(file))})
		for {
			if _, err := r.Next(); err != nil {
				return
			}
		}
	}
	read()
	if got := testing.AllocsPerRun(5, read); got > 0 {
		t.Errorf("got %v allocations", got)
	}
}

// A boundedReader is an io.ReaderAt that fails from some byte on and notes
// the longest read.
type boundedReader struct {
	io.ReaderAt
	fails   int64
	longest int
}

var errDisk = errors.New("disk on fire")

func (b *boundedReader) ReadAt(p []byte, off int64) (int, error) {
	b.longest = max(b.longest, len(p))
	if off+int64(len(p)) > b.fails {
		return 0, errDisk
	}
	return b.ReaderAt.ReadAt(p, off)
}

func TestErrorsOfReadingAreNotCorruption(t *testing.T) {
	file := fixtures(t)["blocks-1"]
	for _, start := range []int64{0, 100} {
		src := &boundedReader{ReaderAt: bytes.NewReader(file)}
		_, err := NewReader(src, int64(len(file)), Range{start, int64(len(file))}).Next()
		if !errors.Is(err, errDisk) || errors.Is(err, ErrCorrupt) {
			t.Errorf("range from %d: got %v", start, err)
		}
	}
	size := int64(len(file)) + 1 // than there is
	if _, err := io.ReadAll(NewStreamReader(bytes.NewReader(file), size)); !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrCorrupt) {
		t.Errorf("file shorter than said: got %v", err)
	}
}

func TestFilesAreReadInBoundedSteps(t *testing.T) {
	file := realdata.Read(t, "wiki/shintowiki-medium-pages-articles-multistream.xml.bz2")
	src := &boundedReader{ReaderAt: bytes.NewReader(file), fails: int64(len(file))}
	r := NewReader(src, int64(len(file)), Range{1, int64(len(file))})
	for n := 0; n < 8; n++ {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if src.longest > windowSize {
		t.Errorf("read %d bytes at once", src.longest)
	}
}

// A full disk must not look like the end of the file.
func TestAnErrorOfTheWriterIsReturned(t *testing.T) {
	full := errors.New("no space left")
	for name, file := range fixtures(t) {
		content, err := standard(file)
		if err != nil || len(content) == 0 {
			continue
		}
		r, w := io.Pipe()
		r.CloseWithError(full)
		if _, err := io.Copy(w, NewStreamReader(bytes.NewReader(file), int64(len(file)))); err != full {
			t.Errorf("%s: got %v, want %v", name, err, full)
		}
	}
}
