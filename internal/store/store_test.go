package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T) (Folder, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a", "b")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f, path
}

func ExampleFolder() {
	ctx := context.Background()
	path, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(path)
	folder, err := Open(path)
	if err != nil {
		panic(err)
	}
	w, err := folder.Create(ctx, "greeting.txt")
	if err != nil {
		panic(err)
	}
	defer w.Abort()
	fmt.Fprint(w, "hello")
	_, before := folder.Stat(ctx, "greeting.txt")
	if err := w.Commit(); err != nil {
		panic(err)
	}
	info, _ := folder.Stat(ctx, "greeting.txt")
	fmt.Println(errors.Is(before, fs.ErrNotExist), info.Size())
	// Output: true 5
}

func TestNothingIsVisibleBeforeCommit(t *testing.T) {
	ctx := context.Background()
	f, path := open(t)
	w, err := f.Create(ctx, "train-00000-of-00001.tfrecord")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("data")); err != nil {
		t.Fatal(err)
	}
	if infos, err := f.List(ctx); err != nil || len(infos) != 0 {
		t.Errorf("before commit: got %v, %v, want no files", infos, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), TempPrefix) || strings.Contains(e.Name(), "tfrecord") {
			t.Errorf("temporary file %q: want a name of its own under %s", e.Name(), TempPrefix)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	w.Abort() // does nothing now
	b, err := ReadFile(ctx, f, "train-00000-of-00001.tfrecord")
	if err != nil || string(b) != "data" {
		t.Errorf("after commit: got %q, %v", b, err)
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	f, path := open(t)
	w, err := f.Create(context.Background(), "x")
	if err != nil {
		t.Fatal(err)
	}
	w.Abort()
	w.Abort()
	if err := w.Commit(); err == nil {
		t.Error("commit after abort: got no error")
	}
	if entries, _ := os.ReadDir(path); len(entries) != 0 {
		t.Errorf("got %v, want an empty folder", entries)
	}
}

func TestACommitReplacesAFile(t *testing.T) {
	ctx := context.Background()
	f, _ := open(t)
	for _, content := range []string{"first", "second"} {
		if err := WriteFile(ctx, f, "x", []byte(content)); err != nil {
			t.Fatal(err)
		}
		if b, err := ReadFile(ctx, f, "x"); err != nil || string(b) != content {
			t.Errorf("got %q, %v, want %q", b, err, content)
		}
	}
}

func TestNamesArePlain(t *testing.T) {
	f, _ := open(t)
	for _, name := range []string{"", ".", "..", "a/b", "../a", ".tmp-x"} {
		if w, err := f.Create(context.Background(), name); err == nil {
			w.Abort()
			t.Errorf("create %q: got no error", name)
		}
	}
}

func TestListIsSortedAndLeavesOutHiddenFilesAndFolders(t *testing.T) {
	ctx := context.Background()
	f, path := open(t)
	for _, name := range []string{"b", "a", "c"} {
		if err := WriteFile(ctx, f, name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".tmp-1", ".DS_Store", "._a", "Thumbs.db", "desktop.ini"} {
		os.WriteFile(filepath.Join(path, name), nil, 0o666)
	}
	os.Mkdir(filepath.Join(path, "sub"), 0o777)
	got, err := f.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, info := range got {
		files = append(files, fmt.Sprint(info.Name(), " ", info.Size()))
	}
	if diff := cmp.Diff([]string{"a 1", "b 1", "c 1"}, files); diff != "" {
		t.Error(diff)
	}
	if err := Sweep(f); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, ".tmp-1")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("Sweep left a temporary file")
	}
}

func TestScratchHasNoName(t *testing.T) {
	f, path := open(t)
	s, err := NewScratch(f, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if entries, _ := os.ReadDir(path); len(entries) != 0 {
		t.Errorf("got %v, want nothing to see", entries)
	}
	if _, err := s.WriteAt([]byte("abc"), 1<<20); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 3)
	if _, err := s.ReadAt(b, 1<<20); err != nil || string(b) != "abc" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestRemoveOfAFileThatIsNotThereIsNoError(t *testing.T) {
	f, _ := open(t)
	if err := f.Remove(context.Background(), "nothing"); err != nil {
		t.Error(err)
	}
}

func TestFoldersAreMadeAboveTheirOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"a/b/c", "d/../e", "f//g/", "./h", filepath.Join(t.TempDir(), "i/j") + "/"} {
		folder, err := Open(path)
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		if err := WriteFile(t.Context(), folder, "x", nil); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{"a/b/c/x", "e/x", "f/g/x", "h/x"} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestLocationsOfObjectStoresAreRefused(t *testing.T) {
	for _, location := range []string{"s3://bucket/x", "gs://bucket", ""} {
		if _, err := Open(location); err == nil {
			t.Errorf("open %q: got no error", location)
		}
	}
}

func TestOneOfManyGetsTheLock(t *testing.T) {
	f, path := open(t)
	var mu sync.Mutex
	var held, refused int
	var unlock func()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			u, err := Lock(f)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				held, unlock = held+1, u
			case errors.Is(err, ErrLocked):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if held != 1 || refused != 19 {
		t.Fatalf("got %d holders and %d refused, want 1 and 19", held, refused)
	}
	_, err := Lock(f)
	if want := fmt.Sprintf("process %d", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want the holder named: %s", err, want)
	}
	unlock()
	if _, err := os.Stat(filepath.Join(path, LockName)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the lock file is still there")
	}
	again, err := Lock(f)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestALockFileThatWasLeftBehindDoesNotLock(t *testing.T) {
	f, path := open(t)
	os.MkdirAll(path, 0o777)
	os.WriteFile(filepath.Join(path, LockName), []byte(`{"pid":1}`), 0o666)
	unlock, err := Lock(f)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestATemporaryFolderIsSweptWhenItsOwnerIsKilled(t *testing.T) {
	f, path := open(t)
	temp, remove, err := TempFolder(f, "")
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(temp) != path {
		t.Errorf("temporary folder %s: want it in %s", temp, path)
	}
	remove()
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after remove: got %v, want no such folder", err)
	}
	killed, _, err := TempFolder(f, "")
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(path, ".tmp-of-mine") // a folder that this package did not make
	for _, dir := range []string{filepath.Join(killed, "a", "b"), mine} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(f); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a sweep: got %v, want no such folder", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("a sweep took a folder that is not of this package: %v", err)
	}
}

func TestErrorsNameTheFileAndNotItsTemporaryName(t *testing.T) {
	f, path := open(t)
	w, err := f.Create(t.Context(), "big.txt")
	if err != nil {
		t.Fatal(err)
	}
	w.(*dirWriter).file.Close() // stands in for a disk that takes no more
	_, err = w.Write([]byte("data"))
	if want := "write " + filepath.Join(path, "big.txt") + ": file already closed"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := w.Commit(); err == nil || strings.Contains(err.Error(), TempPrefix) {
		t.Errorf("commit: got %v, want an error without the temporary name", err)
	}
	s, err := NewScratch(f, "")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := s.WriteAt([]byte("data"), 0); err == nil || strings.Contains(err.Error(), TempPrefix) || !strings.Contains(err.Error(), path) {
		t.Errorf("scratch: got %v, want an error that names the folder alone", err)
	}
}

func TestAPartialFileGrowsOverSeveralRuns(t *testing.T) {
	ctx := context.Background()
	f, path := open(t)
	for i, piece := range []string{"one ", "two ", "three"} {
		p, err := OpenPartial(f, "big.xml.bz2")
		if err != nil {
			t.Fatal(err)
		}
		if got := string(p.Note()); i > 0 && got != "a part" {
			t.Errorf("run %d: note %q, want the one that was set", i, got)
		}
		if _, err := p.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
		if err := p.SetNote([]byte("a part")); err != nil {
			t.Fatal(err)
		}
		if err := Sweep(f); err != nil {
			t.Fatal(err)
		}
		if infos, _ := f.List(ctx); len(infos) != 0 {
			t.Errorf("run %d: got %v, want nothing to see", i, infos)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	p, err := OpenPartial(f, "big.xml.bz2")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Truncate(8); err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(ctx, f, "big.xml.bz2"); err != nil || string(b) != "one two " {
		t.Errorf("got %q, %v", b, err)
	}
	if entries, _ := os.ReadDir(path); len(entries) != 1 {
		t.Errorf("got %v, want the file alone", entries)
	}
}

func TestPartialFilesAreRemovedTogether(t *testing.T) {
	f, path := open(t)
	for _, name := range []string{"a", "b"} {
		p, err := OpenPartial(f, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.SetNote([]byte("x")), p.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemovePartials(f); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(path); len(entries) != 0 {
		t.Errorf("got %v, want an empty folder", entries)
	}
	if _, err := OpenPartial(f, "../a"); err == nil {
		t.Error("a name with a folder: got no error")
	}
}
