package definitions

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"pretext/internal/failure"
)

// some returns n definitions with texts of many lengths, some of whose names differ
// in case only, sorted.
func some(n int) (list []Definition) {
	r := rand.New(rand.NewSource(1))
	for k := range n {
		name := fmt.Sprintf("name %d", r.Intn(10*n))
		value := strings.Repeat(fmt.Sprintf("text %d ", k), r.Intn(200))
		list = append(list, Definition{name, name, value}, Definition{name, strings.ToUpper(name), "upper " + value})
	}
	slices.SortFunc(list, compare)
	return slices.Compact(list)
}

func write(tb testing.TB, list []Definition) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out)
	if err != nil {
		tb.Fatal(err)
	}
	for _, d := range list {
		if err := w.Add(d); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func openFile(tb testing.TB, file []byte) *File {
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// collect returns what a sequence yields before its error.
func collect(seq func(func(Definition, error) bool)) (list []Definition, err error) {
	for d, e := range seq {
		if e != nil {
			return list, e
		}
		list = append(list, d)
	}
	return list, nil
}

func TestAFileHasWhatWasAdded(t *testing.T) {
	for _, n := range []int{0, 1, 3000} {
		list := some(n)
		f := openFile(t, write(t, list))
		got, err := collect(f.All())
		if err != nil || !slices.Equal(got, list) || f.Len() != int64(len(list)) {
			t.Fatalf("%d definitions: got %d, %v", len(list), len(got), err)
		}
		if n == 3000 && len(f.blocks) < 10 {
			t.Errorf("%d blocks", len(f.blocks))
		}
	}
}

// directory returns a directory of definitions, each of which is in one of n parts,
// some in two.
func directory(tb testing.TB, list []Definition, n int) (raw []byte, open func(string) (PartFile, error)) {
	lists := make([][]Definition, n)
	for k, d := range list {
		lists[k%n] = append(lists[k%n], d)
		if k%5 == 0 && n > 1 {
			lists[(k+1)%n] = append(lists[(k+1)%n], d)
		}
	}
	files := map[string][]byte{}
	var parts []Part
	for k, l := range lists {
		name := fmt.Sprint("part-", k)
		slices.SortFunc(l, compare)
		files[name] = write(tb, l)
		f := openFile(tb, files[name])
		parts = append(parts, Part{Name: name, SHA256: sha256.Sum256(files[name]), File: f})
	}
	return AppendDirectory(nil, parts), func(name string) (PartFile, error) {
		return nopCloser{bytes.NewReader(files[name])}, nil
	}
}

type nopCloser struct{ io.ReaderAt }

func (nopCloser) Close() error { return nil }

// openAll returns the directory of definitions in n parts.
func openAll(tb testing.TB, list []Definition, n int) *Directory {
	d, err := OpenDirectory(directory(tb, list, n))
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// find is what Find does, on a sorted list.
func find(list []Definition, name, title string) string {
	for _, same := range []bool{true, false} {
		for _, d := range list {
			if d.Name == name && (!same || sameTitle(d.Title, title)) {
				return d.Value
			}
		}
	}
	return ""
}

func TestDefinitionsAreFoundInAllParts(t *testing.T) {
	for _, n := range []int{0, 1, 3000} {
		list := some(n)
		byName := map[string][]Definition{}
		for _, d := range list {
			byName[d.Name] = append(byName[d.Name], d)
		}
		for _, parts := range []int{1, 7} {
			dir := openAll(t, list, parts)
			if dir.Len() < int64(len(list)) {
				t.Errorf("%d definitions of %d", dir.Len(), len(list))
			}
			for _, d := range list {
				for _, title := range []string{d.Title, "other"} {
					if got, err := dir.Find(d.Name, title); err != nil || got != find(byName[d.Name], d.Name, title) {
						t.Fatalf("%d parts: %s, %s: %q, %v", parts, d.Name, title, got, err)
					}
				}
			}
			for _, name := range []string{"", "a", "name", "name 1x", "zz", "\xff"} {
				if value, err := dir.Find(name, name); value != "" || err != nil {
					t.Errorf("%q: %q, %v", name, value, err)
				}
			}
		}
	}
}

// Of names with one hash, each is found.
func TestNamesWithOneHash(t *testing.T) {
	seen := map[uint32]string{}
	for k := 0; ; k++ {
		name := fmt.Sprint("t", k)
		other, ok := seen[hashName(name)]
		if seen[hashName(name)] = name; !ok {
			continue
		}
		list := []Definition{{name, name, "one"}, {other, other, "two"}}
		slices.SortFunc(list, compare)
		for parts := range 2 {
			d := openAll(t, list, 1+parts)
			for _, def := range list {
				if got, err := d.Find(def.Name, def.Title); got != def.Value || err != nil {
					t.Errorf("%d parts: %s: %q, %v", 1+parts, def.Name, got, err)
				}
			}
		}
		return
	}
}

func TestTitlesTellNamesApart(t *testing.T) {
	f := openAll(t, []Definition{{"fr", "FR", "France"}, {"fr", "Fr", "French"}, {"à b", "À b", "x"}}, 1)
	for title, want := range map[string]string{"FR": "France", "fR": "France", "Fr": "French", "fr": "French", "fRx": "France"} {
		if got, _ := f.Find("fr", title); got != want {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
	if got, _ := f.Find("à b", "à_b"); got != "x" {
		t.Errorf("à_b: %q", got)
	}
}

// Every corrupt byte and every truncated file is an error that matches ErrCorrupt,
// or does no harm; nothing panics.
func TestCorruptFilesAreErrors(t *testing.T) {
	list := some(300)
	file := write(t, list)
	check := func(file []byte) error {
		f, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return err
		}
		got, err := collect(f.All())
		if err == nil && !slices.Equal(got, list) {
			t.Error("other definitions and no error")
		}
		return err
	}
	for i := 0; i < len(file); i += 1 + len(file)/400 {
		changed := bytes.Clone(file)
		changed[i] ^= 0x55
		if err := check(changed); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d of %d: %v", i, len(file), err)
		}
		if err := check(file[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("the first %d bytes: %v", i, err)
		}
	}
}

// Every corrupt byte of a directory, and every truncated one, is an error.
func TestCorruptDirectoriesAreErrors(t *testing.T) {
	raw, open := directory(t, some(300), 3)
	for i := range raw {
		changed := bytes.Clone(raw)
		changed[i] ^= 0x55
		if _, err := OpenDirectory(changed, open); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d of %d: %v", i, len(raw), err)
		}
		if _, err := OpenDirectory(raw[:i], open); !errors.Is(err, ErrCorrupt) {
			t.Errorf("the first %d bytes: %v", i, err)
		}
	}
}

// Files of a later version are not called corrupt.
func TestFilesOfANewerVersionAreNoneOfOurs(t *testing.T) {
	file := bytes.Replace(write(t, some(3)), []byte(magic), []byte("PTDEFS3\n"), 1)
	_, err := Open(bytes.NewReader(file), int64(len(file)))
	raw, open := directory(t, some(3), 1)
	_, other := OpenDirectory(bytes.Replace(raw, []byte(directoryMagic), []byte("PTDEFD2\n"), 1), open)
	for _, err := range []error{err, other} {
		if newer := (*failure.Newer)(nil); !errors.As(err, &newer) || errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v, want a newer version", err)
		}
	}
}

// A directory whose parts lie elsewhere is none of ours.
func TestPartsLieBesideTheirDirectory(t *testing.T) {
	for name, ok := range map[string]bool{"part": true, "../part": false, "/part": false, `a\part`: false} {
		raw := AppendDirectory(nil, []Part{{Name: name, File: openFile(t, write(t, some(3)))}})
		if _, err := OpenDirectory(raw, nil); (err == nil) != ok || !ok && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(write(f, some(20)))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		collect(d.All())
		AppendDirectory(nil, []Part{{File: d}})
	})
}

// FuzzOpenDirectory repairs the hash at the end, so that what is before it is read.
func FuzzOpenDirectory(f *testing.F) {
	raw, open := directory(f, some(20), 3)
	f.Add(raw[:len(raw)-8], "name 1")
	f.Add([]byte(directoryMagic), "")
	f.Fuzz(func(t *testing.T, raw []byte, name string) {
		d, err := OpenDirectory(binary.LittleEndian.AppendUint64(bytes.Clone(raw), xxhash.Sum64(raw)), open)
		if err != nil {
			return
		}
		d.open = func(string) (PartFile, error) { return nopCloser{bytes.NewReader(raw)}, nil }
		d.Find(name, name)
		for _, b := range d.blocks {
			collect(d.named(b, name))
		}
	})
}

func TestFilesAreMerged(t *testing.T) {
	list := some(2000)
	parts := make([][]Definition, 7)
	for k, d := range list {
		parts[k%7] = append(parts[k%7], d)
		if k%5 == 0 { // twice
			parts[(k+3)%7] = append(parts[(k+3)%7], d)
		}
	}
	var files []*File
	for _, p := range parts {
		slices.SortFunc(p, compare)
		files = append(files, openFile(t, write(t, p)))
	}
	if got, err := collect(merge(files)); err != nil || !slices.Equal(got, list) {
		t.Errorf("%d definitions of %d, %v", len(got), len(list), err)
	}
	for range merge(files) { // ends early without a leak
		break
	}
	broken := write(t, parts[0])
	broken[len(magic)+20] ^= 1
	if _, err := collect(merge(append(files, openFile(t, broken)))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a corrupt part: %v", err)
	}
}

func TestDefinitionsAreSortedInBoundedMemory(t *testing.T) {
	value := strings.Repeat("x", 4000)
	var list []Definition
	for k := range 3 * sortMemory / 4000 {
		list = append(list, Definition{fmt.Sprint("n", k), "t", value})
	}
	shuffled := slices.Clone(list)
	rand.New(rand.NewSource(2)).Shuffle(len(list), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	slices.SortFunc(list, compare)
	spills := 0
	s := NewSorter(func() (Spill, error) {
		spills++
		f, err := os.CreateTemp(t.TempDir(), "")
		return f, err
	})
	defer s.Close()
	for _, d := range append(shuffled, shuffled[:10]...) {
		if err := s.Add(d); err != nil {
			t.Fatal(err)
		}
		if s.size > sortMemory {
			t.Fatalf("%d bytes in memory", s.size)
		}
	}
	got, err := collect(s.Sorted())
	if err != nil || !slices.Equal(got, list) || spills != 1 {
		t.Errorf("%d definitions of %d, %d spills, %v", len(got), len(list), spills, err)
	}
	full := NewSorter(func() (Spill, error) { return nil, io.ErrShortWrite })
	for _, d := range shuffled {
		if err = full.Add(d); err != nil {
			break
		}
	}
	if !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a disk that is full: %v", err)
	}
}

// A faulty reader fails after some reads.
type faulty struct {
	*bytes.Reader
	left int
}

func (f *faulty) Close() error { return nil }

func (f *faulty) ReadAt(p []byte, off int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return f.Reader.ReadAt(p, off)
}

func TestACacheRemembersAnswersAndErrors(t *testing.T) {
	list := some(1000)
	file := write(t, list)
	reader := &faulty{bytes.NewReader(file), 1}
	raw := AppendDirectory(nil, []Part{{Name: "part", File: openFile(t, file)}})
	d, err := OpenDirectory(raw, func(string) (PartFile, error) { return reader, nil })
	if err != nil {
		t.Fatal(err)
	}
	c := NewCache(d)
	first := list[0]
	for range 100 {
		if got := c.Definition([]byte(first.Name), []byte(first.Title)); got != first.Value {
			t.Fatalf("%q, want %q, %v", got, first.Value, c.Err())
		}
	}
	for _, d := range list {
		c.Definition([]byte(d.Name), []byte(d.Title))
	}
	if !errors.Is(c.Err(), io.ErrClosedPipe) {
		t.Errorf("after a failed read: %v", c.Err())
	}
	big := NewCache(openAll(t, []Definition{{"a", "a", strings.Repeat("x", maxText-10)}}, 1))
	for k := range 20 {
		big.Definition([]byte("a"), fmt.Append(nil, k))
		if big.size > cacheBytes {
			t.Fatalf("%d bytes cached", big.size)
		}
	}
}

// The limit is one of all texts of a definition together, so that a reader can rely on it.
func TestADefinitionThatIsTooLargeIsRefused(t *testing.T) {
	for size, sound := range map[int]bool{maxText: true, maxText + 1: false} {
		w, err := NewWriter(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		third := strings.Repeat("x", size/3)
		if err := w.Add(Definition{third, third, strings.Repeat("x", size-2*len(third))}); (err == nil) != sound {
			t.Errorf("%d bytes: got %v", size, err)
		}
	}
}
