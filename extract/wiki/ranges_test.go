package wiki

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"pretext/internal/democorpus"
	"pretext/internal/dev/torture"
)

// birds reads a dump that lies beside the test.
func birds(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestEveryCutOfADumpGivesTheSameDocuments(t *testing.T) {
	t.Parallel()
	want := readBytes(t, birds(t, "birds.xml"), whole(int64(len(birds(t, "birds.xml")))))
	if want.stats.Pages != 5 || want.stats.Kept != 3 || want.err != nil {
		t.Fatalf("got %v, %v", want.stats, want.err)
	}
	packed := birds(t, "birds.xml.bz2")
	plain := birds(t, "birds.xml")
	rd := NewReader(Dump{File: strings.NewReader("")}, Range{}, DefaultOptions()) // one for all: it has many tables
	begin := func(d Dump, rng Range) *Reader {
		rd.Reset(d, rng)
		return rd
	}
	checkCut := func(name string, dump []byte, at int) {
		t.Helper()
		size := int64(len(dump))
		got := readDump(t, Dump{File: bytes.NewReader(dump), Size: size, Name: "test.xml"}, cut(size, int64(at)), begin)
		if got.stats.Bytes != size {
			t.Fatalf("%s cut at %d: %d bytes, want %d", name, at, got.stats.Bytes, size)
		}
		got.stats.Bytes = want.stats.Bytes
		if diff := diff(want, got); diff != "" {
			t.Fatalf("%s cut at %d, -want +got:\n%s", name, at, diff)
		}
	}
	for at := range plain {
		checkCut("birds.xml", plain, at)
	}
	for at := 0; at < len(packed); at += torture.Cases(11, 1) {
		checkCut("birds.xml.bz2", packed, at)
	}
	for at := range packed { // close to where streams and blocks begin
		if bytes.HasPrefix(packed[at:], []byte("BZh")) {
			for near := max(at-1, 0); near < min(at+6, len(packed)); near++ {
				checkCut("birds.xml.bz2", packed, near)
			}
		}
	}
}

func TestRangesMayBeReadAtTheSameTime(t *testing.T) {
	dump := birds(t, "birds.xml.bz2")
	size := int64(len(dump))
	file := bytes.NewReader(dump)
	head, err := ReadHead(file, size)
	if err != nil {
		t.Fatal(err)
	}
	ranges := even(size, 4)
	stats := make([]Stats, len(ranges))
	var wg sync.WaitGroup
	for i, rng := range ranges {
		wg.Go(func() {
			rd := NewReader(Dump{file, size, "birds.xml.bz2", head}, rng, DefaultOptions())
			for _, err := range rd.Documents() {
				if err != nil {
					t.Error(err)
				}
			}
			stats[i] = rd.Stats()
		})
	}
	wg.Wait()
	var sum Stats
	for _, s := range stats {
		sum.Add(s)
	}
	if sum.Pages != 5 || sum.Kept != 3 || sum.Bytes != size {
		t.Errorf("got %+v", sum)
	}
}

func TestRangesFollowFromTheSizeAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 30<<30).Draw(t, "size")
		ranges := Ranges(size)
		next := int64(0)
		for i, r := range ranges {
			if r.Start != next || r.End <= r.Start {
				t.Fatalf("range %d is %v after %d", i, r, next)
			}
			if n := r.End - r.Start; n > maxRangeBytes || n < minRangeBytes && i < len(ranges)-1 {
				t.Fatalf("range %d is %d bytes long", i, n)
			}
			next = r.End
		}
		if next != size {
			t.Fatalf("the ranges end at %d of %d", next, size)
		}
	})
	for size, want := range map[int64]int{-1: 0, 0: 0, 1: 1, 1 << 20: 1, 1<<20 + 1: 2, 64 << 20: 64, 64 << 25: 64, 64<<25 + 64: 65, 26 << 30: 832} {
		if got := len(Ranges(size)); got != want {
			t.Errorf("%d bytes: %d ranges, want %d", size, got, want)
		}
	}
}

// countingReaderAt counts the bytes read of a file.
type countingReaderAt struct {
	io.ReaderAt
	n int64
}

func (c *countingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

func TestTheHashOfARangeCostsNoSecondReading(t *testing.T) {
	for _, name := range []string{"birds.xml", "birds.xml.bz2"} {
		dump := birds(t, name)
		size := int64(len(dump))
		head, err := ReadHead(bytes.NewReader(dump), size)
		if err != nil {
			t.Fatal(err)
		}
		for _, rng := range cut(size, 100, 101, 300, size-40) {
			file := &countingReaderAt{ReaderAt: bytes.NewReader(dump)}
			hash := NewRangeHash(file, rng)
			rd := NewReader(Dump{hash, size, name, head}, rng, DefaultOptions())
			for _, err := range rd.Documents() {
				if err != nil {
					t.Fatal(err)
				}
			}
			before := file.n
			got, err := hash.Sum()
			if want := sha256.Sum256(dump[rng.Start:rng.End]); got != want || err != nil {
				t.Errorf("%s %v: got %x, %v, want %x", name, rng, got, err, want)
			}
			if file.n != before {
				t.Errorf("%s %v: %d bytes read for the hash alone", name, rng, file.n-before)
			}
		}
	}
}

func TestTheHashReadsWhatNobodyHasRead(t *testing.T) {
	dump := birds(t, "birds.xml")
	h := NewRangeHash(bytes.NewReader(dump), Range{10, 500})
	p := make([]byte, 100)
	for _, off := range []int64{0, 300, 50, 60, 400} { // hashes 10 to 160
		if _, err := h.ReadAt(p, off); err != nil {
			t.Fatal(err)
		}
	}
	got, err := h.Sum()
	if want := sha256.Sum256(dump[10:500]); got != want || err != nil {
		t.Errorf("got %x, %v, want %x", got, err, want)
	}
	if again, err := h.Sum(); again != got || err != nil {
		t.Errorf("the second time: got %x, %v, want %x", again, err, got)
	}
	if _, err := NewRangeHash(bytes.NewReader(dump), Range{0, int64(len(dump)) + 1}).Sum(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("beyond the file: got %v", err)
	}
}

// multistream returns a dump of many bzip2 streams, each with whole pages, and
// where the streams begin.
func multistream(t *testing.T) (dump []byte, starts []int64) {
	t.Helper()
	dump = democorpus.Dump()
	for at := 0; ; at++ {
		i := bytes.Index(dump[at:], []byte("1AY&SY"))
		if i < 0 {
			break
		}
		if at += i; bytes.HasPrefix(dump[at-4:], []byte("BZh")) {
			starts = append(starts, int64(at-4))
		}
	}
	if len(starts) < 5 {
		t.Fatalf("%d streams", len(starts))
	}
	return dump, starts
}

func TestARangeEndsWithoutDecodingTheNextBlock(t *testing.T) {
	dump, starts := multistream(t)
	size := int64(len(dump))
	head, err := ReadHead(bytes.NewReader(dump), size)
	if err != nil {
		t.Fatal(err)
	}
	d := Dump{bytes.NewReader(dump), size, "demo.xml.bz2", head}
	rng := Range{starts[1], starts[3]} // two streams
	rd := NewReader(d, rng, DefaultOptions())
	n := 0
	for _, err := range rd.Documents() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		t.Error("no documents")
	}
	if src := rd.split.src.(*bzip2Source); !src.block.Owned {
		t.Error("a block after the range was decoded, though no page continues in it")
	}
	want := readBytes(t, dump, whole(size))
	for _, cuts := range [][]Range{cut(size, starts[1:]...), even(size, 5), even(size, 40)} {
		got := readBytes(t, dump, cuts)
		if diff := diff(want, got); diff != "" {
			t.Errorf("%d ranges, -want +got:\n%s", len(cuts), diff)
		}
	}
}

func TestAResetReaderReadsAsANewOne(t *testing.T) {
	dump, _ := multistream(t)
	var dumps []Dump
	for name, b := range map[string][]byte{"demo.xml.bz2": dump, "birds.xml": birds(t, "birds.xml"), "birds.xml.bz2": birds(t, "birds.xml.bz2"),
		"cut.xml.bz2": dump[:len(dump)/2], "utf16.xml": []byte(inUTF16(string(birds(t, "birds.xml")), true))} {
		head, err := ReadHead(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		dumps = append(dumps, Dump{bytes.NewReader(b), int64(len(b)), name, head})
	}
	read := func(rd *Reader) (res result) {
		for doc, err := range rd.Documents() {
			if err != nil {
				res.err = err
				break
			}
			d := *doc
			d.Text = strings.Clone(d.Text)
			res.docs = append(res.docs, d)
		}
		res.stats = rd.Stats()
		return res
	}
	rd := NewReader(Dump{File: strings.NewReader("")}, Range{}, DefaultOptions())
	for _, d := range dumps {
		for _, rng := range append(even(d.Size, 3), whole(d.Size)...) {
			rd.Reset(d, rng)
			if diff := diff(read(NewReader(d, rng, DefaultOptions())), read(rd)); diff != "" {
				t.Errorf("%s %v: -new +reset:\n%s", d.Name, rng, diff)
			}
		}
	}
}

func TestResetReusesTheMemoryOfTheDecoder(t *testing.T) {
	dump, _ := multistream(t)
	d := Dump{bytes.NewReader(dump), int64(len(dump)), "demo.xml.bz2", Head{Compression: CompressionBzip2}}
	rng := Range{0, d.Size}
	rd := NewReader(d, rng, DefaultOptions())
	got := uint64(math.MaxUint64)
	for range 4 { // the least: the first one fills the decoder, and others may allocate beside it
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rd.Reset(d, rng)
		for _, err := range rd.Documents() {
			if err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		got = min(got, after.TotalAlloc-before.TotalAlloc)
	}
	t.Logf("%d bytes allocated for a range", got)
	if got > 100<<10 {
		t.Errorf("%d bytes allocated for a range, want less than 100 KiB", got)
	}
}
