package books

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pretext/extract"
	"pretext/extract/text"
)

// zipWith makes a zip archive of headers as they are given.
func zipWith(tb testing.TB, headers []*zip.FileHeader, contents ...string) string {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i, h := range headers {
		f, err := w.CreateRaw(h)
		if err == nil {
			_, err = io.WriteString(f, contents[i])
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// patch changes bytes of an archive after every occurrence of a signature.
func patch(s, signature string, offset int, value ...byte) string {
	b := []byte(s)
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(signature))
		if i < 0 {
			return string(b)
		}
		copy(b[at+i+offset:], value)
		at += i + 4
	}
}

func TestEvilNamesAreOnlyIDs(t *testing.T) {
	names := []string{"../../../evil.txt", "/etc/cron.d/evil.txt", `..\..\evil.txt`, "a/../../b.txt", "C:\\evil.txt", "x\x00y.txt", strings.Repeat("d/", 2000) + "e.txt", "b\xfc.txt", ".."}
	var members []member
	for _, n := range names {
		members = append(members, member{n, "Text."})
	}
	want := []string{"books:evil.txt", "books:etc/cron.d/evil.txt", "books:evil.txt", "books:a/b.txt", "books:C:/evil.txt", "books:xy.txt", "books:bⁿ.txt"}
	docs, stats, err := read(t, "x.zip", zipOf(t, members...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, ids(docs)); diff != "" {
		t.Errorf("zip: IDs (-want +got):\n%s", diff)
	}
	if stats.Rejects[extract.RejectMalformed] != 1 || stats.Skipped != 1 || stats.Duplicates != 1 {
		t.Errorf("zip: stats %+v", stats)
	}
	members = slices.DeleteFunc(members, func(m member) bool { return strings.Contains(m.name, "\x00") }) // archive/tar cannot write it
	want = slices.DeleteFunc(want, func(id string) bool { return id == "books:xy.txt" })
	want[len(want)-1] = "books:b.txt"
	docs, _, err = read(t, "x.tar", tarOf(t, members...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, ids(docs)); diff != "" {
		t.Errorf("tar: IDs (-want +got):\n%s", diff)
	}
}

func TestOnlyPlainFilesOfATarAreRead(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeDir, Name: "dir.txt/"}, {Typeflag: tar.TypeSymlink, Name: "s.txt", Linkname: "/etc/passwd"},
		{Typeflag: tar.TypeLink, Name: "h.txt", Linkname: "a.txt"}, {Typeflag: tar.TypeChar, Name: "c.txt"},
		{Typeflag: tar.TypeBlock, Name: "b.txt"}, {Typeflag: tar.TypeFifo, Name: "f.txt"}, {Typeflag: tar.TypeReg, Name: "a.txt", Size: 5},
		{Typeflag: tar.TypeReg, Name: strings.Repeat("long/", 100) + "a.txt", Size: 5, Format: tar.FormatPAX, PAXRecords: map[string]string{"comment": strings.Repeat("x", 5000)}},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			io.WriteString(w, "Text.")
		}
	}
	w.Close()
	docs, stats, err := read(t, "x.tar", b.String(), Options{})
	if err != nil || len(docs) != 2 || stats.Skipped != 6 {
		t.Errorf("got %q, %v, %+v", ids(docs), err, stats)
	}
}

func TestLinksOfAZipAreNotRead(t *testing.T) {
	link := &zip.FileHeader{Name: "l.txt", Method: zip.Store, CompressedSize64: 11, UncompressedSize64: 11}
	link.SetMode(0o777 | 1<<27) // fs.ModeSymlink
	docs, stats, err := read(t, "x.zip", zipWith(t, []*zip.FileHeader{link}, "/etc/passwd"), Options{})
	if err != nil || len(docs) != 0 || stats.Skipped != 1 {
		t.Errorf("got %q, %v, %+v", ids(docs), err, stats)
	}
	docs, stats, err = read(t, "x.zip", zipOf(t, member{"dir.txt/", ""}, member{"a.txt", "A."}), Options{})
	if err != nil || len(docs) != 1 || stats.Skipped != 1 {
		t.Errorf("a folder: got %q, %v, %+v", ids(docs), err, stats)
	}
}

func TestDamagedMembersOfAZipAreRejectedAlone(t *testing.T) {
	good := zipOf(t, member{"a.txt", strings.Repeat("Text of a. ", 100)}, member{"b.txt", "Text of b."})
	for name, test := range map[string]struct {
		zip, note string
		kept      int
	}{
		"encrypted":        {patch(good, centralSignature, 8, 1), "encrypted", 0},
		"unknown method":   {patch(good, centralSignature, 10, 93), "packed by method 93, which is not supported", 0},
		"wrong checksum":   {patch(good, centralSignature, 16, 1, 2, 3, 4), "wrong checksum", 0},
		"size too small":   {patch(good, centralSignature, 24, 3), "holds other than", 0},
		"size too large":   {patch(good, centralSignature, 24, 0xFF, 0xFF, 0xFF, 0xFE), "holds other than", 0},
		"no local header":  {patch(good, localSignature, 0, 'X'), "is not where", 0},
		"offset outside":   {patch(good, centralSignature, 42, 0, 0, 0, 0x7F), "lies outside", 0},
		"junk for deflate": {patch(good, localSignature, 35, 0xFF, 0xFF, 0xFF), "", 0},
	} {
		if name == "no local header" {
			test.zip = "PK\x03\x04" + test.zip // bytes before, so that it is still told by its head
		}
		docs, stats, err := read(t, "x.zip", test.zip, Options{})
		if err != nil || len(docs) != test.kept || stats.Rejects[extract.RejectMalformed] != 2 {
			t.Errorf("%s: got %q, %v, %+v", name, ids(docs), err, stats)
			continue
		}
		if !strings.Contains(stats.Notes[0].Text, test.note) {
			t.Errorf("%s: got note %q, want %q", name, stats.Notes[0].Text, test.note)
		}
	}
}

func TestDamagedBooksOfAFolderAreRejectedAlone(t *testing.T) {
	epub := simpleEPUB(t)
	store := memory{"in/a.epub": epub[:len(epub)/2], "in/b.txt": "Fine.", "in/c.epub": "no zip", "in/d.epub": "", "in/e.epub": epub}
	tasks, err := Plan(store, []string{"in"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(store, tasks[0], Options{})
	docs, err := drain(r)
	if err != nil || !slices.Equal(ids(docs), []string{"books:b.txt", "books:e.epub"}) || r.stats.Rejects[extract.RejectMalformed] != 3 {
		t.Errorf("got %q, %v, %+v", ids(docs), err, r.stats)
	}
}

func TestDamagedArchivesAreErrorsWithTheirPlace(t *testing.T) {
	members := []member{{"a.txt", "Text."}, {"b.txt", strings.Repeat("More text. ", 1000)}, {"c.txt", "End."}}
	tarball, zipped := tarOf(t, members...), zipOf(t, members...)
	gz := gzipOf(t, tarball)
	for _, test := range []struct {
		file, content string
		kept          int
	}{
		{"x.tar", tarball[:1500+4000], 1},
		{"x.tar", tarball[:1024] + strings.Repeat("junk", 512), 1},
		{"x.tar", "no tar at all", 0},
		{"x.tar.gz", "no gzip at all", 0},
		{"x.tgz", "", 0},
		{"x.tar.gz", gz[:len(gz)-20], 2},
		{"x.tar.gz", gz[:20], 0},
		{"x.zip", zipped[:len(zipped)-30], 0},
		{"x.zip", zipped[:40], 0},
		{"x.zip", "no zip", 0},
		{"x.zip", "", 0},
		{"x.epub", "PK\x03\x04", 0},
		{"x.zip", patch(zipped, endSignature, 16, 0xFF, 0xFF), 0},
		{"x.zip", patch(zipped, endSignature, 12, 0xFF, 0xFF), 0},
		{"x.zip", patch(zipped, endSignature, 10, 7), 0},
		{"x.zip", patch(zipped, centralSignature, 0, 'X'), 0},
		{"x.zip", patch(zipped, centralSignature, 28, 0xFF, 0xFF), 0},
	} {
		docs, _, err := read(t, test.file, test.content, Options{})
		var corrupt *CorruptError
		var packed *text.CorruptError
		switch {
		case errors.As(err, &corrupt):
			if corrupt.File != test.file || !errors.Is(err, ErrCorrupt) || corrupt.Offset < 0 || corrupt.Offset > 1<<20 {
				t.Errorf("%s, %d bytes: got place %+v", test.file, len(test.content), corrupt)
			}
		case errors.As(err, &packed):
			if packed.File != test.file || !errors.Is(err, text.ErrCorrupt) {
				t.Errorf("%s, %d bytes: got place %+v", test.file, len(test.content), packed)
			}
		default:
			t.Errorf("%s, %d bytes: got %v, want a CorruptError", test.file, len(test.content), err)
		}
		if len(docs) < test.kept {
			t.Errorf("%s, %d bytes: got %q before the damage, want %d", test.file, len(test.content), ids(docs), test.kept)
		}
	}
}

func TestArchivesCutAnywhereAreErrors(t *testing.T) {
	members := []member{{"a.txt", "Text."}, {"b.txt", strings.Repeat("More text. ", 100)}}
	for file, whole := range map[string]string{"x.zip": zipOf(t, members...), "x.tar.gz": gzipOf(t, tarOf(t, members...)), "b.epub": simpleEPUB(t)} {
		for n := range len(whole) {
			_, stats, err := read(t, file, whole[:n], Options{})
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, text.ErrCorrupt) {
				t.Fatalf("%s cut at %d of %d: got %v, %+v", file, n, len(whole), err, stats)
			}
		}
	}
}

// A flipped bit may leave the headers of the members as they are. Then only the checksum of
// the compressed data tells, which comes after the end of the archive.
func TestACompressedArchiveIsCheckedToItsEnd(t *testing.T) {
	whole := gzipOf(t, tarOf(t, member{"a.txt", strings.Repeat("A line of text.\n", 10_000)}, member{"b.txt", "Text."}))
	for i := range 8 { // the checksum and the length, and what follows
		b := []byte(whole)
		b[len(b)-1-i] ^= 1
		docs, _, err := read(t, "x.tar.gz", string(b), Options{})
		if !errors.Is(err, text.ErrCorrupt) || len(docs) != 2 {
			t.Errorf("byte %d from the end changed: got %d documents, %v", i, len(docs), err)
		}
	}
	if docs, _, err := read(t, "x.tar.gz", whole+"junk", Options{}); !errors.Is(err, text.ErrCorrupt) || len(docs) != 2 {
		t.Errorf("bytes after the end: got %d documents, %v", len(docs), err)
	}
	for _, padded := range []string{whole + strings.Repeat("\x00", 1000), whole + gzipOf(t, strings.Repeat("\x00", 9000))} {
		if docs, _, err := read(t, "x.tar.gz", padded, Options{}); err != nil || len(docs) != 2 {
			t.Errorf("padding: got %d documents, %v", len(docs), err)
		}
	}
}

func TestMembersThatOverlapAreRefused(t *testing.T) {
	one := zipOf(t, member{"a.txt", strings.Repeat("0123456789abcdef", 1000)})
	dir := strings.Index(one, centralSignature)
	end := strings.Index(one, endSignature)
	const times = 200
	bomb := one[:dir] + strings.Repeat(one[dir:end], times)
	tail := []byte(one[end:])
	binary.LittleEndian.PutUint16(tail[10:], times)
	binary.LittleEndian.PutUint32(tail[12:], uint32(times*(end-dir)))
	// The directory is what makes such an archive large: more per member than
	// its content here. Stored once, it must still be found.
	bomb += string(tail)
	stored := &zip.FileHeader{Name: "a.txt", Method: zip.Store, CompressedSize64: 1 << 20, UncompressedSize64: 1 << 20}
	big := zipWith(t, []*zip.FileHeader{stored}, strings.Repeat("x", 1<<20))
	dir, end = strings.Index(big, centralSignature), strings.Index(big, endSignature)
	tail = []byte(big[end:])
	binary.LittleEndian.PutUint16(tail[10:], times)
	binary.LittleEndian.PutUint32(tail[12:], uint32(times*(end-dir)))
	overlapping := big[:dir] + strings.Repeat(big[dir:end], times) + string(tail)
	_, _, err := read(t, "x.zip", overlapping, Options{})
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("got %v, want members that overlap", err)
	}
	if docs, _, err := read(t, "y.zip", bomb, Options{}); err == nil && len(docs) > times {
		t.Errorf("got %d documents", len(docs))
	}
}

// peakOf returns how much the heap grew at most while f ran; garbage is
// collected as soon as there is some.
func peakOf(f func(sample func())) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, uint64(0)
	f(func() {
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
	})
	runtime.ReadMemStats(&m)
	return max(peak, m.HeapAlloc) - min(before, m.HeapAlloc)
}

func TestBombsAreRejectedAndReadingGoesOn(t *testing.T) {
	bomb := func(c string) string { return strings.Repeat(c, 2<<20/len(c)) }
	for name, m := range map[string]member{
		"letters": {"a.txt", bomb("a b ")}, "line feeds": {"a.txt", bomb("a\n")}, "returns": {"a.txt", bomb("\r") + bomb("a")},
		"zeros": {"a.txt", bomb("\x00")}, "markup": {"a.epub", epubWith(t, bomb("<p>abc</p>"))}, "a tag": {"a.epub", epubWith(t, "<p "+bomb("x=1 ")+">a")},
		"unclosed elements": {"a.epub", epubWith(t, bomb("<div>"))}, "depth": {"a.epub", epubWith(t, bomb("<nav>"))},
	} {
		for _, archive := range []string{"x.zip", "x.tar.gz"} {
			content := ""
			if archive == "x.zip" {
				content = zipOf(t, m, member{"b.txt", "After."})
			} else {
				content = gzipOf(t, tarOf(t, m, member{"b.txt", "After."}))
			}
			r := NewReader(memory{archive: content}, Task{Path: Name(archive), Kind: kindFile}, Options{})
			r.limit = 1 << 20
			docs, err := drain(r)
			if err != nil || len(docs) == 0 || docs[len(docs)-1].ID != "books:b.txt" || r.stats.Books != 2 {
				t.Errorf("%s in %s: got %q, %v, %+v", name, archive, ids(docs), err, r.stats)
			}
		}
	}
}

// repeated gives a string again and again.
type repeated struct {
	s    string
	left int64
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), len(r.s))
	copy(p, r.s[:n])
	for ; n+len(r.s) <= len(p); n += len(r.s) {
		copy(p[n:], r.s)
	}
	r.left -= int64(n)
	return n, nil
}

func TestHugeFilesAreRejectedWithoutBeingHeld(t *testing.T) {
	for s, limit := range map[string]uint64{" \t": 1 << 20, "\r": 1 << 20, "word ": 55 << 20} {
		var got book
		peak := peakOf(func(sample func()) {
			var err error
			r := NewReader(memory{}, Task{Path: "t"}, Options{})
			r.fileLimit = 20 << 20
			if got, err = r.plain("b", &repeated{s, 23 << 20}); err != nil {
				t.Fatal(err)
			}
			sample()
		})
		if got.reject != extract.RejectTooLarge || peak > limit {
			t.Errorf("%q: got reject %q with %d bytes held", s, got.reject, peak)
		}
	}
}

func TestMillionsOfMembersTakeLittleMemory(t *testing.T) {
	const members = 100_000
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range members {
		f, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("some/where/%07d.dat", i)})
		if err != nil {
			t.Fatal(err)
		}
		_ = f
	}
	f, err := w.Create("last.txt")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "Last.")
	w.Close()
	content := b.String()
	w, b = nil, bytes.Buffer{}
	var docs []extract.Document
	peak := peakOf(func(sample func()) {
		r := NewReader(memory{"x.zip": content}, Task{Path: "x.zip", Kind: kindFile}, Options{})
		for doc, err := range r.Documents() {
			if err != nil {
				t.Fatal(err)
			}
			sample()
			docs = append(docs, *doc)
		}
		if r.stats.Skipped != members {
			t.Errorf("%d skipped, want %d", r.stats.Skipped, members)
		}
	})
	if len(docs) != 1 || docs[0].Text != "Last." {
		t.Errorf("got %+v", docs)
	}
	// A table of all members takes over 30 MB. The limit leaves room for garbage, of
	// which a busy machine has more.
	if peak > 20<<20 {
		t.Errorf("%d members took %d bytes", members, peak)
	}
}

func TestZipsOfManyShapesAreRead(t *testing.T) {
	members := []member{{"a.txt", "Text of a."}, {"b.txt", "Text of b."}}
	plain := zipOf(t, members...)
	for name, content := range map[string]string{
		"bytes before":            "#!/bin/sh\n" + plain,
		"a comment":               patch(plain, endSignature, 20, 5, 0) + "hello",
		"a comment that misleads": patch(plain, endSignature, 20, 22, 0) + "PK\x05\x06" + strings.Repeat("\xff", 18),
		"zip64":                   zip64Of(t, plain),
	} {
		docs, stats, err := read(t, "x.zip", content, Options{})
		if err != nil || !slices.Equal(ids(docs), []string{"books:a.txt", "books:b.txt"}) {
			t.Errorf("%s: got %q, %v, %+v", name, ids(docs), err, stats)
		}
	}
	if docs, _, err := read(t, "x.zip", zipOf(t), Options{}); err != nil || len(docs) != 0 {
		t.Errorf("no members: got %+v, %v", docs, err)
	}
}

// zip64Of turns the end of an archive into that of zip64.
func zip64Of(tb testing.TB, s string) string {
	tb.Helper()
	at := strings.LastIndex(s, endSignature)
	end := []byte(s[at:])
	le := binary.LittleEndian
	record := append([]byte(end64Signature), make([]byte, end64Size-4)...)
	le.PutUint64(record[4:], end64Size-12)
	le.PutUint64(record[24:], uint64(le.Uint16(end[10:])))
	le.PutUint64(record[32:], uint64(le.Uint16(end[10:])))
	le.PutUint64(record[40:], uint64(le.Uint32(end[12:])))
	le.PutUint64(record[48:], uint64(le.Uint32(end[16:])))
	locator := append([]byte(find64Signature), make([]byte, find64Size-4)...)
	le.PutUint64(locator[8:], uint64(at))
	for i := 8; i < 20; i++ {
		end[i] = 0xFF
	}
	return s[:at] + string(record) + string(locator) + string(end)
}

// FuzzZip compares with archive/zip.
func FuzzZip(f *testing.F) {
	f.Add([]byte(zipOf(f, member{"a.txt", "Text."}, member{"b/c.txt", strings.Repeat("x", 100)})))
	f.Add([]byte(zip64Of(f, zipOf(f, member{"a.txt", "Text."}))))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, b []byte) {
		ours := map[string]string{}
		z, err := openZip(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			for e, entryErr := range z.entries() {
				if err = entryErr; err != nil {
					break
				}
				if src, err := z.open(e); err == nil {
					if content, err := io.ReadAll(io.LimitReader(src, 1<<20)); err == nil {
						ours[e.name] = string(content)
					}
				}
			}
		}
		if err != nil {
			return
		}
		theirs, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return // stricter than we are
		}
		for _, file := range theirs.File {
			src, err := file.Open()
			if err != nil {
				continue
			}
			content, err := io.ReadAll(io.LimitReader(src, 1<<20))
			if err != nil || strings.HasSuffix(file.Name, "/") {
				continue
			}
			if _, ok := ours[file.Name]; !ok && file.Flags&1 == 0 {
				t.Fatalf("%q was not read: theirs has %q", file.Name, content)
			}
		}
	})
}

// FuzzArchive reads any bytes as any kind of file, with and without helpers.
func FuzzArchive(f *testing.F) {
	tarball := tarOf(f, member{"a.txt", "Text."}, member{"e.epub", simpleEPUB(f)})
	f.Add([]byte(tarball), uint8(0))
	f.Add([]byte(gzipOf(f, tarball)), uint8(1))
	f.Add([]byte(zipOf(f, member{"a.txt", "Text."}, member{"e.epub", simpleEPUB(f)})), uint8(2))
	f.Add([]byte(simpleEPUB(f)), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, kind uint8) {
		name := []string{"x.tar", "x.tgz", "x.zip", "x.epub", "x.txt", "x"}[kind%6]
		docs, _, err := read(t, name, string(b), Options{})
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, text.ErrCorrupt) {
			t.Fatalf("got %v, want damage", err)
		}
		for _, d := range docs {
			if d.Text == "" || d.ID == "books:" || strings.TrimFunc(d.Text, text.IsBlank) != d.Text {
				t.Fatalf("bad document %+v", d)
			}
		}
		if diff := gocmp.Diff(readWith(t, 1, name, string(b), Options{}), readWith(t, 3, name, string(b), Options{})); diff != "" {
			t.Fatalf("with helpers (-alone +helped):\n%s", diff)
		}
	})
}
