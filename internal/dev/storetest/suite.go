package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pretext/internal/store"
)

// Run tests a kind of folder. open returns a new one, which does not exist yet.
func Run(t *testing.T, open func(t *testing.T) store.Folder) {
	for _, test := range []struct {
		name string
		do   func(t *testing.T, f store.Folder)
	}{
		{"a file is what was written", whatWasWritten},
		{"a file is visible as a whole after its commit", visibleAfterCommit},
		{"a commit replaces no file", commitReplacesNothing},
		{"a commit of equal content is success", equalContent},
		{"one of many commits wins", oneCommitWins},
		{"a file is replaced only in the version that was seen", replacesWhatWasSeen},
		{"a file is withdrawn unless it was replaced", withdrawn},
		{"names, lists and subfolders", listed},
		{"what does not exist", doesNotExist},
		{"a folder is locked once", locked},
	} {
		t.Run(test.name, func(t *testing.T) { test.do(t, open(t)) })
	}
}

// sizes of files: empty, within the first read of an object, within one part of
// an upload, at its border, of several parts.
var sizes = []int{0, 1, 16 << 10, 16<<10 + 1, 1 << 20, 8 << 20, 8<<20 + 1, 9 << 20}

func content(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed, byte(n), byte(n >> 8), byte(n >> 16)}).Read(b) //nolint:errcheck // never fails
	return b
}

// create writes a file up to its commit.
func create(t *testing.T, f store.Folder, name string, data []byte) store.Writer {
	t.Helper()
	w, err := f.Create(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range slices.Chunk(data, 1<<20+7) {
		if n, err := w.Write(chunk); err != nil || n != len(chunk) {
			t.Fatalf("wrote %d of %d bytes: %v", n, len(chunk), err)
		}
	}
	return w
}

func commit(t *testing.T, f store.Folder, name string, data []byte) {
	t.Helper()
	w := create(t, f, name, data)
	defer w.Abort()
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, f store.Folder, name string) []byte {
	t.Helper()
	b, err := store.ReadFile(t.Context(), f, name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func whatWasWritten(t *testing.T, f store.Folder) {
	for _, n := range sizes {
		data := content(n, 1)
		commit(t, f, "x", data)
		file, err := f.Open(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if file.Size() != int64(n) {
			t.Fatalf("%d bytes: the size is %d", n, file.Size())
		}
		whole, err := io.ReadAll(store.NewReader(file, 0))
		if err != nil || !bytes.Equal(whole, data) {
			t.Fatalf("%d bytes: read %d in order, %v", n, len(whole), err)
		}
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for range 20 {
			off, p := r.IntN(n+1), make([]byte, r.IntN(100_000))
			m, err := file.ReadAt(p, int64(off))
			want := data[off:min(n, off+len(p))]
			if !bytes.Equal(p[:m], want) || err != nil && err != io.EOF || (err == io.EOF) != (m < len(p)) {
				t.Fatalf("%d bytes: ReadAt(%d bytes, %d) gave %d, %v, want %d", n, len(p), off, m, err, len(want))
			}
		}
		if err := f.Remove(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
	}
}

func visibleAfterCommit(t *testing.T, f store.Folder) {
	for _, n := range []int{3, 9 << 20} {
		w := create(t, f, "x", content(n, 1))
		if _, err := f.Stat(t.Context(), "x"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("before the commit: %v", err)
		}
		w.Abort()
		if _, err := f.Stat(t.Context(), "x"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("after Abort: %v", err)
		}
		if err := w.Commit(); err == nil {
			t.Fatal("a commit after Abort succeeded")
		}
	}
	if names := list(t, f); len(names) > 0 {
		t.Errorf("Abort left %q", names)
	}
}

func commitReplacesNothing(t *testing.T, f store.Folder) {
	for _, n := range []int{3, 9 << 20} {
		old, data := content(n, 1), content(n, 2)
		commit(t, f, "x", old)
		w := create(t, f, "x", data)
		for range 2 { // it stays open
			if err := w.Commit(); !errors.Is(err, fs.ErrExist) {
				t.Fatalf("got %v, want an error that matches fs.ErrExist", err)
			}
		}
		if !bytes.Equal(read(t, f, "x"), old) {
			t.Fatal("the file changed")
		}
		if err := w.Replace(nil); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, f, "x"), data) {
			t.Fatal("the file was not replaced")
		}
		if err := f.Remove(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
	}
}

func equalContent(t *testing.T, f store.Folder) {
	for _, n := range []int{0, 3, 9 << 20} {
		commit(t, f, "x", content(n, 1))
		w := create(t, f, "x", content(n, 1))
		if err := w.Commit(); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if err := w.Withdraw(); err != nil {
			t.Fatal(err)
		}
		if len(read(t, f, "x")) != n {
			t.Fatal("Withdraw removed the file of another writer")
		}
		if err := f.Remove(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
	}
}

func oneCommitWins(t *testing.T, f store.Folder) {
	const writers = 8
	var wg sync.WaitGroup
	won := make(chan int, writers)
	for i := range writers {
		w := create(t, f, "x", content(100+i, byte(i)))
		wg.Go(func() {
			defer w.Abort()
			switch err := w.Commit(); {
			case err == nil:
				won <- i
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(won)
	winner, ok := <-won
	if !ok || !bytes.Equal(read(t, f, "x"), content(100+winner, byte(winner))) {
		t.Errorf("winner %d (%v), and the file has %d bytes", winner, ok, len(read(t, f, "x")))
	}
	if other, two := <-won; two {
		t.Errorf("%d and %d both won", winner, other)
	}
}

func replacesWhatWasSeen(t *testing.T, f store.Folder) {
	for _, n := range []int{3, 9 << 20} {
		commit(t, f, "x", content(n, 1))
		seen, err := f.Stat(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		first, second := create(t, f, "x", content(n, 2)), create(t, f, "x", content(n, 3))
		if err := first.Replace(seen); err != nil {
			t.Fatal(err)
		}
		if err := second.Replace(seen); !errors.Is(err, fs.ErrExist) {
			t.Fatalf("got %v, want an error that matches fs.ErrExist", err)
		}
		if !bytes.Equal(read(t, f, "x"), content(n, 2)) {
			t.Fatal("the second writer replaced the file")
		}
		if seen, err = f.Stat(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		if err := second.Replace(seen); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, f, "x"), content(n, 3)) {
			t.Fatal("the second writer did not replace the file that it saw then")
		}
		if err := f.Remove(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
	}
}

func withdrawn(t *testing.T, f store.Folder) {
	w := create(t, f, "x", []byte("mine"))
	if err := errors.Join(w.Commit(), w.Withdraw()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stat(t.Context(), "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("after Withdraw: %v", err)
	}
	w = create(t, f, "x", []byte("mine"))
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := store.WriteFile(t.Context(), f, "x", []byte("theirs")); err != nil {
		t.Fatal(err)
	}
	if err := w.Withdraw(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, f, "x"); string(got) != "theirs" {
		t.Fatalf("got %q", got)
	}
}

func list(t *testing.T, f store.Folder) (names []string) {
	t.Helper()
	infos, err := f.List(t.Context())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, i := range infos {
		names = append(names, i.Name())
	}
	return names
}

func listed(t *testing.T, f store.Folder) {
	want := []string{"a", "a.json", "b b", "b+?#%", "é"}
	for _, name := range want {
		commit(t, f, name, []byte(name))
	}
	commit(t, f.Folder("sub"), "below", []byte("1"))
	if got := list(t, f); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range want {
		if got := read(t, f, name); string(got) != name {
			t.Errorf("%s holds %q", name, got)
		}
		info, err := f.Stat(t.Context(), name)
		if err != nil || info.Size() != int64(len(name)) || info.Name() != name || !info.Mode().IsRegular() {
			t.Errorf("Stat(%q) = %v, %v", name, info, err)
		}
	}
	if got := read(t, f, "sub/below"); string(got) != "1" {
		t.Errorf("got %q", got)
	}
	again, err := store.Open(f.Folder("sub").String())
	if err != nil {
		t.Fatal(err)
	}
	if got := list(t, again); !slices.Equal(got, []string{"below"}) {
		t.Errorf("the folder opened by its String lists %q", got)
	}
	for _, name := range []string{"", ".", "..", "a/b", store.TempPrefix + "x"} {
		if w, err := f.Create(t.Context(), name); err == nil {
			w.Abort()
			t.Errorf("Create(%q) succeeded", name)
		}
	}
	if got, err := store.Subfolders(t.Context(), f, []string{"a", "absent", "b b", "sub", "sub2"}); err != nil || !slices.Equal(got, []string{"sub"}) {
		t.Errorf("Subfolders = %q, %v", got, err)
	}
	listing(t, f, len(want)+1)
	entries, err := store.ReadDir(t.Context(), f.String())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() != (e.Name() == "sub") {
			t.Errorf("%s: IsDir is %v", e.Name(), e.IsDir())
		}
		names = append(names, e.Name())
	}
	if want := append(slices.Clone(want[:4]), "sub", "é"); !slices.Equal(names, want) {
		t.Errorf("ReadDir gives %q, want %q", names, want)
	}
}

// listing checks [store.List] of a folder that has some entries and the only subfolder sub.
func listing(t *testing.T, f store.Folder, entries int) {
	t.Helper()
	l, err := store.List(t.Context(), f.String())
	if _, local := store.Locate(f.String()).Local(); err != nil || local != (l == nil) {
		t.Fatalf("List = %v, %v", l, err)
	}
	if l == nil {
		return
	}
	// A store decides how many entries a page has; pages of the tests' own have three.
	if len(l.Entries) == 0 || l.All != (len(l.Entries) == entries) {
		t.Errorf("List = %v, %v", l.Entries, l.All)
	}
	whole, err := l.Whole(t.Context())
	want, wantErr := store.ReadDir(t.Context(), f.String())
	if name := fs.DirEntry.Name; err != nil || wantErr != nil || !slices.EqualFunc(whole, want, func(a, b fs.DirEntry) bool { return name(a) == name(b) }) {
		t.Errorf("Whole = %v, %v, want %v, %v", whole, err, want, wantErr)
	}
	isSub := func(e fs.DirEntry) bool { return e.Name() == "sub" }
	for past, found := range map[string]bool{"": true, "a": true, "t": slices.ContainsFunc(l.Entries, isSub)} {
		folders, err := l.Folders(t.Context(), func(string) string { return past })
		if err != nil || len(folders) > 1 || slices.Equal(folders, []string{"sub"}) != found {
			t.Errorf("Folders past %q = %q, %v", past, folders, err)
		}
	}
}

func doesNotExist(t *testing.T, f store.Folder) {
	for _, existing := range []bool{false, true} {
		if existing {
			commit(t, f, "y", nil)
		}
		_, openErr := f.Open(t.Context(), "x")
		_, statErr := f.Stat(t.Context(), "x")
		_, pathErr := store.Stat(t.Context(), store.Join(f.String(), "x"))
		for _, err := range []error{openErr, statErr, pathErr} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v, want an error that matches fs.ErrNotExist", err)
			}
		}
		if err := f.Remove(t.Context(), "x"); err != nil {
			t.Errorf("Remove: %v", err)
		}
	}
	if _, err := f.Folder("none").List(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("List: %v", err)
	}
	info, err := store.Stat(t.Context(), f.String())
	if err != nil || !info.IsDir() {
		t.Errorf("Stat of the folder: %v, %v", info, err)
	}
}

func locked(t *testing.T, f store.Folder) {
	unlock, err := store.Lock(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Lock(f); !errors.Is(err, store.ErrLocked) {
		t.Errorf("got %v, want %v", err, store.ErrLocked)
	}
	unlock()
	held := false
	err = store.Hold(f, func() error {
		held = true
		return store.WriteFile(t.Context(), f, "x", nil)
	})
	if err != nil || !held {
		t.Errorf("Hold after unlock: %v", err)
	}
	if names := list(t, f); !slices.Equal(names, []string{"x"}) {
		t.Errorf("the folder holds %q", names)
	}
}
