package filter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pretext/internal/store"
	"pretext/sharding"
)

// However many tasks there are, few files are open, and each is read as if all were.
func TestFewOfTheFilesOfAllTasksAreOpenAtOnce(t *testing.T) {
	const tasks = 3 * openAtOnce
	dir, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := func(task int) string { return fmt.Sprintf("signatures-%05d.bin", task) }
	for i := range tasks {
		if err := os.WriteFile(filepath.Join(dir.String(), name(i)), []byte(name(i)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "signatures"}
	plan := sharding.NewPlan(recipe, sharding.TaskList{Len: tasks}, "")
	if err := store.WriteFile(t.Context(), dir, sharding.PlanName, sharding.Marshal(plan)); err != nil {
		t.Fatal(err)
	}
	var files []store.File
	set, err := openTasks(t.Context(), dir.String(), name, func(f store.File) error {
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		for i, f := range files {
			b := make([]byte, f.Size()-1)
			if _, err := f.ReadAt(b, 1); err != nil || string(b) != name(i)[1:] {
				t.Fatalf("round %d: %s is %q, %v", round, name(i), b, err)
			}
			if n := openFilesIn(t, dir.String()); n > openAtOnce {
				t.Fatalf("round %d: %d files are open", round, n)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir.String(), name(0)), []byte("longer than it was before"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := files[0].ReadAt(make([]byte, 1), 0); err == nil {
		t.Error("a file that changed is read without an error")
	}
	if err := set.close(); err != nil || openFilesIn(t, dir.String()) != 0 {
		t.Errorf("after close: %v, %d files are open", err, openFilesIn(t, dir.String()))
	}
	corrupt := errors.New("corrupt")
	if _, err := openTasks(context.Background(), dir.String(), name, func(store.File) error { return corrupt }); !errors.Is(err, corrupt) || !errors.Is(err, sharding.ErrFormat) {
		t.Errorf("got %v", err)
	}
}

// openFilesIn returns how many files of a directory this process has open; 0 where
// the system does not tell.
func openFilesIn(t *testing.T, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && filepath.Dir(to) == dir {
			n++
		}
	}
	return n
}
