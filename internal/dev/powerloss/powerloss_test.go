package powerloss

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pretext/internal/store"
)

// after records what work does below a folder and returns, for each fate at the
// end, what is left: contents by path, folders with a slash.
func after(t *testing.T, prepare func(root string), work func(root string, step func(store.Step, string))) map[string]map[string]string {
	t.Helper()
	root := t.TempDir()
	if prepare != nil {
		prepare(root)
	}
	r, err := Record(root)
	if err != nil {
		t.Fatal(err)
	}
	work(root, func(s store.Step, name string) { r.before(s, filepath.Join(root, name)) })
	log, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]map[string]string{}
	for _, fate := range Fates {
		left[fate.Name] = restored(t, log, log.Len()-1, fate)
	}
	return left
}

func restored(t *testing.T, log *Log, at int, fate Fate) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := log.Restore(at, dir, fate); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil || rel == ".":
			return err
		case d.IsDir():
			files[rel+"/"] = ""
			return nil
		}
		b, err := os.ReadFile(path)
		files[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestAFileThatWasRenamedBeforeItWasSyncedMayBeAnything(t *testing.T) {
	left := after(t, nil, func(root string, step func(store.Step, string)) {
		step(store.StepCreate, "x")
		write(t, filepath.Join(root, ".tmp-1"), "data")
		step(store.StepRename, "x")
		os.Rename(filepath.Join(root, ".tmp-1"), filepath.Join(root, "x"))
		step(store.StepSyncFolder, "")
	})
	for fate, want := range map[string]string{"nothing unsynced survives": "", "names survive without bytes": "", "names survive, bytes are zeros": "\x00\x00\x00\x00",
		"names survive, half of the bytes do": "da", "bytes survive, names do not": "data", "everything survives": "data"} {
		if got := left[fate]; len(got) != 1 || got["x"] != want {
			t.Errorf("%s: got %q, want x with %q", fate, got, want)
		}
	}
}

func TestAFileWhoseFolderWasNotSyncedIsUnderTheOldNameOrTheNew(t *testing.T) {
	left := after(t, nil, func(root string, step func(store.Step, string)) {
		step(store.StepCreate, "x")
		write(t, filepath.Join(root, ".tmp-1"), "data")
		step(store.StepSync, "x")
		step(store.StepClose, "x")
		step(store.StepRename, "x")
		os.Rename(filepath.Join(root, ".tmp-1"), filepath.Join(root, "x"))
	})
	for fate, files := range left {
		want := "map[x:data]"
		if fate == "nothing unsynced survives" || fate == "bytes survive, names do not" {
			want = "map[]"
		}
		if got := fmt.Sprint(files); got != want {
			t.Errorf("%s: got %v, want %v", fate, got, want)
		}
	}
}

func TestWhatIsRemovedOrReplacedComesBackUntilItsFolderIsSynced(t *testing.T) {
	prepare := func(root string) {
		write(t, filepath.Join(root, "gone"), "old")
		write(t, filepath.Join(root, "x"), "old")
	}
	work := func(sync bool) func(string, func(store.Step, string)) {
		return func(root string, step func(store.Step, string)) {
			step(store.StepRemove, "gone")
			os.Remove(filepath.Join(root, "gone"))
			step(store.StepCreate, "x")
			write(t, filepath.Join(root, ".tmp-1"), "new")
			step(store.StepSync, "x")
			step(store.StepRename, "x")
			os.Rename(filepath.Join(root, ".tmp-1"), filepath.Join(root, "x"))
			if sync {
				step(store.StepSyncFolder, "")
			}
		}
	}
	if got := fmt.Sprint(after(t, prepare, work(false))["nothing unsynced survives"]); got != "map[gone:old x:old]" {
		t.Errorf("before the folder was synced: got %v", got)
	}
	for fate, files := range after(t, prepare, work(true)) {
		if got := fmt.Sprint(files); got != "map[x:new]" {
			t.Errorf("%s: got %v, want the new file alone", fate, got)
		}
	}
}

func TestAFileThatGrowsKeepsWhatWasSynced(t *testing.T) {
	left := after(t, nil, func(root string, step func(store.Step, string)) {
		step(store.StepCreate, "x")
		write(t, filepath.Join(root, ".part-1"), "safe")
		step(store.StepSync, "x")
		step(store.StepWrite, "x")
		write(t, filepath.Join(root, ".part-1"), "safe and more")
		step(store.StepSyncFolder, "")
	})
	for fate, want := range map[string]string{"nothing unsynced survives": "safe", "names survive, bytes are zeros": "safe\x00\x00\x00\x00\x00\x00\x00\x00\x00", "everything survives": "safe and more"} {
		if got := left[fate][".part-1"]; got != want {
			t.Errorf("%s: got %q, want %q", fate, got, want)
		}
	}
}

func TestAnEmptiedFileMayHaveItsBytesAgain(t *testing.T) {
	left := after(t, func(root string) { write(t, filepath.Join(root, "x"), "old") }, func(root string, step func(store.Step, string)) {
		step(store.StepTruncate, "x")
		write(t, filepath.Join(root, "x"), "")
	})
	if got := left["nothing unsynced survives"]["x"]; got != "old" {
		t.Errorf("got %q, want the old bytes", got)
	}
	if got := left["everything survives"]["x"]; got != "" {
		t.Errorf("got %q, want none", got)
	}
}

// The two files that go by one name are told apart by the order in which they
// are opened and closed.
func TestAPartialFileIsNotTakenForItsNote(t *testing.T) {
	root := t.TempDir()
	r, err := Record(root)
	if err != nil {
		t.Fatal(err)
	}
	folder, _ := store.Open(root)
	part, err := store.OpenPartial(folder, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	for _, err := range []func() error{
		func() error { _, err := part.Write([]byte("unsafe")); return err },
		func() error { return part.SetNote([]byte("note")) },
	} {
		if err := err(); err != nil {
			t.Fatal(err)
		}
	}
	log, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	left := restored(t, log, log.Len()-1, Fates[1])
	if name := store.PartialName("x"); left[name] != "" || left[name+".note"] != "note" {
		t.Errorf("got %q, want no bytes, since none were synced, and the note", left)
	}
}

func TestWhatTheStoreCommittedSurvivesEveryFate(t *testing.T) {
	root := t.TempDir()
	r, err := Record(root)
	if err != nil {
		t.Fatal(err)
	}
	folder, _ := store.Open(filepath.Join(root, "new", "folder"))
	if err := store.WriteFile(t.Context(), folder, "x", []byte("data")); err != nil {
		t.Fatal(err)
	}
	part, err := store.OpenPartial(folder, "y")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write([]byte("more")); err != nil {
		t.Fatal(err)
	}
	if err := part.Commit(); err != nil {
		t.Fatal(err)
	}
	log, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	const want = "map[new/: new/folder/: new/folder/x:data new/folder/y:more]"
	random := rand.New(rand.NewPCG(1, 1))
	for _, fate := range slices.Concat(Fates, []Fate{Chance(random), Chance(random), Chance(random)}) {
		if got := fmt.Sprint(restored(t, log, log.Len()-1, fate)); got != want {
			t.Errorf("%s: got %v, want %v", fate.Name, got, want)
		}
	}
	for i := range log.Len() {
		for _, fate := range Fates {
			for path, content := range restored(t, log, i, fate) {
				if name := filepath.Base(path); (name == "x" || name == "y") && !log.Held(path, []byte(content)) {
					t.Errorf("%s, %s: %s holds %q", log.At(i), fate.Name, path, content)
				}
			}
		}
	}
}
