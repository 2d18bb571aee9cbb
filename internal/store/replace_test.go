package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAFolderIsReplacedWholeOrNotAtAll(t *testing.T) {
	f, path := open(t)
	write := func(name, content string, commit bool) error {
		r, err := Replace(f, "model")
		if err != nil {
			return err
		}
		defer r.Abort()
		w, err := r.Create(name)
		if err != nil {
			return err
		}
		defer w.Abort()
		if _, err := io.WriteString(w, content); err != nil {
			return err
		}
		if err := w.Commit(); err != nil || !commit {
			return err
		}
		return r.Commit()
	}
	want := func(names ...string) {
		t.Helper()
		var got []string
		entries, err := os.ReadDir(filepath.Join(path, "model"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if !slices.Equal(names, got) {
			t.Errorf("the folder holds %v, want %v", got, names)
		}
		if left, _ := filepath.Glob(filepath.Join(path, TempPrefix+"*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	for _, name := range []string{"a", "b"} { // b replaces a folder
		if err := write(name, "data", true); err != nil {
			t.Fatal(err)
		}
		want(name)
	}
	if err := write("c", "data", false); err != nil {
		t.Fatal(err)
	}
	want("b")
	if err := write("../c", "data", true); err == nil {
		t.Error("a file outside the folder: got no error")
	}
	if err := RemoveFolder(f, "model"); err != nil {
		t.Fatal(err)
	}
	want()
	if err := RemoveFolder(f, "model"); err != nil {
		t.Errorf("removed twice: %v", err)
	}
	if err := WriteFile(t.Context(), f, "model", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("a", "data", true); err == nil || !strings.Contains(err.Error(), "a file has this name") {
		t.Errorf("in the place of a file: got %v", err)
	}
}

func TestAFileOfAReplacementIsDiscarded(t *testing.T) {
	f, path := open(t)
	r, err := Replace(f, "model")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Abort()
	w, err := r.Create("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "half"); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if err := w.Commit(); err == nil {
		t.Error("a discarded file was committed")
	}
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(filepath.Join(path, "model")); err != nil || len(names) > 0 {
		t.Errorf("the folder holds %v, %v", names, err)
	}
}

func TestAFolderWhoseReplacementWasKilledIsReplacedByTheNext(t *testing.T) {
	f, path := open(t)
	r, err := Replace(f, "model")
	if err != nil {
		t.Fatal(err)
	}
	if w, err := r.Create("old"); err != nil || w.Commit() != nil {
		t.Fatal(err)
	}
	r, err = Replace(f, "model") // another process; the first ended here
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want the folder alone", entries, err)
	}
	if entries, err := os.ReadDir(filepath.Join(path, "model")); err != nil || len(entries) != 0 {
		t.Errorf("the folder holds %v, %v, want nothing", entries, err)
	}
}

// Where names cannot be exchanged, a process that is killed leaves the old folder
// aside.
func TestAnOldFolderThatWasSetAsideGetsItsNameBack(t *testing.T) {
	for name, next := range map[string]func(Folder) error{
		"sweep":   Sweep,
		"replace": func(f Folder) error { _, err := Replace(f, "model"); return err },
	} {
		f, path := open(t)
		model, aside := filepath.Join(path, "model"), filepath.Join(path, asidePrefix+"model")
		if err := os.MkdirAll(filepath.Join(aside, "old"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := next(f); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(model, "old")); err != nil {
			t.Errorf("%s, killed before the new folder had the name: %v, want the old one", name, err)
		}
		if err := os.MkdirAll(filepath.Join(aside, "older"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := next(f); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(model, "old")); err != nil {
			t.Errorf("%s, killed after the new folder had the name: %v, want the new one", name, err)
		}
		if _, err := os.Stat(aside); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the old folder is still aside: %v", name, err)
		}
	}
}

func TestNamesAreSwappedByRenames(t *testing.T) {
	f, path := open(t)
	d := f.(dir)
	temp, model := filepath.Join(path, folderPrefix+"new"), filepath.Join(path, "model")
	for range 2 { // the second finds a folder
		if err := os.MkdirAll(filepath.Join(temp, "file"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := d.swapByRenames("model", temp); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(model, "file")); err != nil {
			t.Error(err)
		}
	}
	if entries, _ := os.ReadDir(path); len(entries) != 2 {
		t.Errorf("got %v, want the new folder, and the old one under the temporary name", entries)
	}
}
