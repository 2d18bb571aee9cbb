package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/torture"
)

func Example() {
	b, err := os.ReadFile("testdata/plain-zstd.parquet")
	if err != nil {
		panic(err)
	}
	f, err := Open(bytes.NewReader(b), int64(len(b)), "text")
	if err != nil {
		panic(err)
	}
	fmt.Println(len(f.Groups()), "row groups")
	for value, err := range f.Values(0) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", value)
		break
	}
	// Output:
	// 2 row groups
	// The river runs to the sea.
}

func rows(t testing.TB) (rows []string) {
	t.Helper()
	b, err := os.ReadFile("testdata/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// read returns all values, "<null>" for a null.
func read(b []byte) (values []string, err error) {
	f, err := Open(bytes.NewReader(b), int64(len(b)), "text")
	if err != nil {
		return nil, err
	}
	for i, g := range f.Groups() {
		n := int64(0)
		for v, err := range f.Values(i) {
			if err != nil {
				return values, err
			}
			if n++; v == nil {
				values = append(values, "<null>")
			} else {
				values = append(values, string(v))
			}
		}
		if n != g.Rows {
			return values, fmt.Errorf("group %d: %d values, %d rows", i, n, g.Rows)
		}
	}
	return values, nil
}

func fixtures(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.parquet")
	paths = slices.DeleteFunc(paths, func(p string) bool { return strings.Contains(p, "bomb") || strings.Contains(p, "large") })
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d fixtures: %v", len(paths), err)
	}
	return paths
}

func TestFilesOfPyarrowAreRead(t *testing.T) {
	all := rows(t)
	var nulls []string
	for i, r := range all {
		if i%3 == 1 {
			r = "<null>"
		}
		nulls = append(nulls, r)
	}
	for _, path := range fixtures(t) {
		want := all
		switch name := filepath.Base(path); {
		case strings.HasPrefix(name, "nulls"):
			want = nulls
		case strings.HasPrefix(name, "no-rows"):
			want = nil
		case name == "brotli.parquet":
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(b)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestWhatIsNotReadIsNamed(t *testing.T) {
	b, err := os.ReadFile("testdata/plain-none.parquet")
	if err != nil {
		t.Fatal(err)
	}
	brotli, err := os.ReadFile("testdata/brotli.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for want, open := range map[string]func() error{
		`no column "words", it has "n", "meta", "text"`: func() error { _, err := Open(bytes.NewReader(b), int64(len(b)), "words"); return err },
		`column "n" does not hold strings`:              func() error { _, err := Open(bytes.NewReader(b), int64(len(b)), "n"); return err },
		`column "meta" does not hold strings`:           func() error { _, err := Open(bytes.NewReader(b), int64(len(b)), "meta"); return err },
		"compression BROTLI is not read":                func() error { _, err := read(brotli); return err },
		"encrypted":                                     func() error { _, err := read([]byte("PAR1    \x04\x00\x00\x00PARE")); return err },
	} {
		var unsupported *UnsupportedError
		if err := open(); !errors.As(err, &unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestDamageIsAnErrorAndNeverAPanic(t *testing.T) {
	for _, path := range fixtures(t) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := read(b)
		check := func(what string, b []byte) {
			got, err := read(b)
			if err == nil {
				if len(got) != len(want) {
					t.Fatalf("%s, %s: %d values without an error, want %d", path, what, len(got), len(want))
				}
				return // a bit of a text, or without meaning
			}
			var corrupt *CorruptError
			var unsupported *UnsupportedError
			if !errors.As(err, &corrupt) && !errors.As(err, &unsupported) {
				t.Fatalf("%s, %s: %v", path, what, err)
			}
		}
		step := torture.Cases(9, 1) // the fixtures are many, and alike
		for n := 0; n < len(b); n += step + n/400 {
			if _, err := read(b[:n]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s cut at %d: %v", path, n, err)
			}
		}
		for i := 0; i < len(b); i += step + i%3 {
			damaged := bytes.Clone(b)
			damaged[i] ^= 1 << (i % 8)
			check(fmt.Sprintf("bit %d of byte %d", i%8, i), damaged)
			damaged[i] = 0xFF
			check(fmt.Sprintf("byte %d", i), damaged)
		}
	}
}

func TestAFileThatStandsForFarMoreThanItIsEnds(t *testing.T) {
	for name, want := range map[string]string{"bomb": "a bomb?", "large-value": ""} {
		b, err := os.ReadFile("testdata/" + name + ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(bytes.NewReader(b), int64(len(b)), "text")
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for v, verr := range f.Values(0) {
			total, err = total+len(v), verr
		}
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
		if total > 1000*len(b)+freeBytes+1<<20 {
			t.Errorf("%s: %d bytes of %d", name, total, len(b))
		}
	}
}

func TestChecksumsAreChecked(t *testing.T) {
	b, err := os.ReadFile("testdata/checksums.parquet")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(b), int64(len(b)), "text")
	if err != nil {
		t.Fatal(err)
	}
	at := f.chunks[0].offset + f.chunks[0].bytes - 3
	b[at] ^= 4
	if _, err := read(b); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "checksum mismatch") {
		t.Errorf("got %v", err)
	}
}

// craft writes a file of one row group with a column of crafted pages.
func craft(values int64, pages []byte) []byte {
	var t thriftWriter
	t.field(2, thriftList)
	t.listOf(2, thriftStruct)
	t.structure(func() { t.str(4, "schema"); t.num(5, thriftI32, 1) })
	t.structure(func() { t.num(1, thriftI32, typeByteArray); t.num(3, thriftI32, repetitionOptional); t.str(4, "text") })
	t.num(3, thriftI64, values)
	t.field(4, thriftList)
	t.listOf(1, thriftStruct)
	t.structure(func() {
		t.field(1, thriftList)
		t.listOf(1, thriftStruct)
		t.structure(func() {
			t.field(3, thriftStruct)
			t.structure(func() {
				t.field(3, thriftList)
				t.listOf(1, thriftBinary)
				t.raw("text")
				t.num(4, thriftI32, 0)
				t.num(5, thriftI64, values)
				t.num(7, thriftI64, int64(len(pages)))
				t.num(9, thriftI64, 4)
			})
		})
		t.num(3, thriftI64, values)
	})
	t.b = append(t.b, thriftStop)
	file := append([]byte(magic), pages...)
	file = append(file, t.b...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(t.b))), magic...)
}

// page writes a page of version 1, not compressed.
func page(kind, values, encoding, size int64, body []byte) []byte {
	var t thriftWriter
	t.num(1, thriftI32, kind)
	t.num(2, thriftI32, size)
	t.num(3, thriftI32, size)
	if kind == pageDictionary {
		t.field(7, thriftStruct)
	} else {
		t.field(5, thriftStruct)
	}
	t.structure(func() { t.num(1, thriftI32, values); t.num(2, thriftI32, encoding); t.num(3, thriftI32, encodingRLE) })
	t.b = append(t.b, thriftStop)
	return append(t.b, body...)
}

// levels writes the definition levels of a page in which nothing is null.
func levels(n uint64) []byte {
	run := append(binary.AppendUvarint(nil, n<<1), 1)
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(run))), run...)
}

func plain(s string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...)
}

// A thriftWriter writes the compact protocol.
type thriftWriter struct {
	b    []byte
	last int16
}

func (t *thriftWriter) field(id int16, kind byte) {
	t.b = append(t.b, byte(id-t.last)<<4|kind)
	t.last = id
}
func (t *thriftWriter) num(id int16, kind byte, v int64) {
	t.field(id, kind)
	t.b = binary.AppendUvarint(t.b, uint64(v<<1)^uint64(v>>63))
}
func (t *thriftWriter) raw(s string)            { t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...) }
func (t *thriftWriter) str(id int16, s string)  { t.field(id, thriftBinary); t.raw(s) }
func (t *thriftWriter) listOf(n int, kind byte) { t.b = append(t.b, byte(n)<<4|kind) }
func (t *thriftWriter) structure(fields func()) {
	last := t.last
	t.last = 0
	fields()
	t.b = append(t.b, thriftStop)
	t.last = last
}

func TestBombsAndLiesAreFoundBeforeMemoryIsTaken(t *testing.T) {
	long := strings.Repeat("long ", 1<<18)
	oneRun := func(n uint64) []byte {
		return append(levels(n), append([]byte{1}, append(binary.AppendUvarint(nil, n<<1), 0)...)...)
	}
	dictionary := append(page(pageDictionary, 1, encodingPlain, int64(4+len(long)), plain(long)), page(pageData, 1<<20, encodingRLEDictionary, int64(len(oneRun(1<<20))), oneRun(1<<20))...)
	emptyLengths := func(n uint64) []byte { // deltas that say: n values of no bytes
		b := append(levels(n), binary.AppendUvarint(nil, 1<<16)...)
		b = binary.AppendUvarint(append(b, 1), n)
		b = append(b, 0)
		for range n>>16 + 1 {
			b = append(b, 0, 0)
		}
		return b
	}
	for name, tc := range map[string]struct {
		file []byte
		want string
	}{
		"sound":                {craft(2, page(pageData, 2, encodingPlain, 17, append(levels(2), append(plain("a"), plain("bc")...)...))), ""},
		"a page of 2 GB":       {craft(1, page(pageData, 1, encodingPlain, 1<<31-1, nil)), "more than"},
		"page sizes below 0":   {craft(1, page(pageData, 1, encodingPlain, -5, nil)), "negative"},
		"rows without bytes":   {craft(1<<40, page(pageData, 1, encodingPlain, 0, nil)), "impossible place or number"},
		"a page of many rows":  {craft(1<<20, page(pageData, 1<<30, encodingPlain, 0, nil)), "more than"},
		"a value of 4 GB":      {craft(1, page(pageData, 1, encodingPlain, 10, append(levels(1), 0xFF, 0xFF, 0xFF, 0xFF))), "a value of 4294967295 bytes"},
		"a long value again":   {craft(1<<20, dictionary), "a bomb?"},
		"a dictionary of lies": {craft(1, page(pageDictionary, 1<<24, encodingPlain, 4, plain(""))), "a dictionary of 16777216 values"},
		"no dictionary":        {craft(1, page(pageData, 1, encodingRLEDictionary, int64(len(oneRun(1))), oneRun(1))), "of a dictionary of 0"},
		"two dictionaries":     {craft(1, append(page(pageDictionary, 1, encodingPlain, 4, plain("")), page(pageDictionary, 1, encodingPlain, 4, plain(""))...)), "a second dictionary"},
		"pages end":            {craft(5, page(pageData, 2, encodingPlain, 17, append(levels(2), append(plain("a"), plain("bc")...)...))), "2 values, the footer says 5"},
		"empty values":         {craft(1<<20, page(pageData, 1<<20, encodingDeltaLength, int64(len(emptyLengths(1<<20))), emptyLengths(1<<20))), ""},
	} {
		start := time.Now()
		var n int
		f, err := Open(bytes.NewReader(tc.file), int64(len(tc.file)), "text")
		if err == nil {
			for _, err = range f.Values(0) {
				n++
			}
		}
		if tc.want == "" && err != nil || tc.want != "" && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func TestLZ4IsThatOfItsSpecification(t *testing.T) {
	for _, tc := range []struct {
		src  string
		size int
		want string // "" for damage
	}{
		{"\x30abc", 3, "abc"},
		{"\x35abc\x03\x00\x10x", 13, "abcabcabcabcx"},
		{"\x11a\x01\x00\x10b", 7, "aaaaaab"},
		{"\xf0\x03" + strings.Repeat("z", 18), 18, strings.Repeat("z", 18)},
		{"\x30ab", 3, ""}, {"\x30abc", 4, ""}, {"\x10a\x02\x00", 9, ""}, {"\x10a\x00\x00", 9, ""}, {"\xf0\xff", 300, ""}, {"\x1fa\x01\x00\xff\xff\xff\xff", 30, ""},
	} {
		dst := make([]byte, tc.size)
		err := unpackLZ4(dst, []byte(tc.src))
		if got := string(dst); tc.want == "" && err == nil || tc.want != "" && (err != nil || got != tc.want) {
			t.Errorf("%q: got %q, %v, want %q", tc.src, got, err, tc.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, path := range fixtures(f) {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(craft(1, page(pageData, 1, encodingPlain, 10, append(levels(1), plain("a")...))))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Open(onlyReaderAt{bytes.NewReader(b)}, int64(len(b)), "text")
		if err != nil {
			return
		}
		total := int64(0)
		for i, g := range file.Groups() {
			n := int64(0)
			for v, err := range file.Values(i) {
				if err != nil {
					n = -1
					break
				}
				n, total = n+1, total+int64(len(v))
			}
			if n >= 0 && n != g.Rows {
				t.Fatalf("group %d: %d values of %d rows without an error", i, n, g.Rows)
			}
			if i > 100 || total > 1<<30 {
				break // enough seen
			}
		}
	})
}

// onlyReaderAt hides what else a reader can do.
type onlyReaderAt struct{ io.ReaderAt }
