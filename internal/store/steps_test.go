package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// use does everything that a folder is for.
func use(f Folder) error {
	ctx := context.Background()
	unlock, err := Lock(f)
	if err != nil {
		return err
	}
	defer unlock()
	if err := Sweep(f); err != nil {
		return err
	}
	if err := WriteFile(ctx, f, "x", []byte("data")); err != nil {
		return err
	}
	if _, err := ReadFile(ctx, f, "x"); err != nil {
		return err
	}
	s, err := NewScratch(f, "")
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.WriteAt([]byte("data"), 0); err != nil {
		return err
	}
	_, remove, err := TempFolder(f, "")
	if err != nil {
		return err
	}
	defer remove()
	if _, err := f.Stat(ctx, "x"); err != nil {
		return err
	}
	if _, err := f.List(ctx); err != nil {
		return err
	}
	return f.Remove(ctx, "x")
}

func TestEveryStepCanBeMadeToFailAndIsToldUnderTheNameOfItsFile(t *testing.T) {
	all := []Step{StepLock, StepOwner, StepMkdir, StepCreate, StepWrite, StepMode, StepSync, StepClose, StepRename, StepSyncFolder,
		StepDiscard, StepUnname, StepTempFolder, StepRemove, StepUnlock, StepStat, StepOpen, StepRead, StepList}
	for _, step := range all {
		f, path := open(t)
		met := 0
		restore := Intercept(func(s Step, at string) error {
			if s != step {
				return nil
			}
			met++
			above := s == StepSyncFolder && strings.HasPrefix(path, at) // of a folder that was made
			if at != path && filepath.Dir(at) != path && !above {
				t.Errorf("%s: path %q, want one in %s", s, at, path)
			}
			return syscall.EIO
		})
		err := use(f)
		restore()
		if met == 0 {
			t.Errorf("%s: never met", step)
		}
		silent := slices.Contains([]Step{StepOwner, StepDiscard, StepUnlock}, step)
		if silent != (err == nil) || err != nil && (!errors.Is(err, syscall.EIO) || strings.Contains(err.Error(), TempPrefix)) {
			t.Errorf("%s: got %v, want the error of the system (silent: %v)", step, err, silent)
		}
		if err := use(f); err != nil {
			t.Errorf("after %s: %v", step, err)
		}
		if _, err := os.Stat(filepath.Join(path, LockName)); err == nil {
			t.Errorf("after %s: the lock is still there", step)
		}
	}
}

func TestAFailedCommitLeavesWhatWasThereBefore(t *testing.T) {
	for _, step := range []Step{StepCreate, StepWrite, StepMode, StepSync, StepClose, StepRename} {
		f, path := open(t)
		if err := WriteFile(t.Context(), f, "x", []byte("old")); err != nil {
			t.Fatal(err)
		}
		restore := Intercept(func(s Step, _ string) error {
			if s == step {
				return syscall.EIO
			}
			return nil
		})
		err := WriteFile(t.Context(), f, "x", []byte("new content"))
		restore()
		if err == nil {
			t.Errorf("%s: got no error", step)
		}
		if b, err := ReadFile(t.Context(), f, "x"); err != nil || string(b) != "old" {
			t.Errorf("%s: the file is %q now (%v)", step, b, err)
		}
		if entries, _ := os.ReadDir(path); len(entries) != 1 {
			t.Errorf("%s: left %v", step, entries)
		}
	}
}

func TestAFullDiskIsToldWithWhatIsNeededAndWhatIsFree(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		f, path := open(t)
		w, err := f.Create(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		restore := Intercept(func(s Step, _ string) error { return cause })
		n, err := w.Write(make([]byte, 100_000))
		restore()
		w.Abort()
		var space *SpaceError
		if !errors.As(err, &space) || !errors.Is(err, cause) {
			t.Fatalf("got %v, want a SpaceError of %v", err, cause)
		}
		if space.Path != filepath.Join(path, "x") || n != 50_000 || space.Need != 50_000 || space.Free <= 0 {
			t.Errorf("%v: got %+v after %d bytes, want a need of what was not written, and some room on the disk", cause, space, n)
		}
		if !strings.Contains(err.Error(), ": 50000 bytes needed, ") || !strings.HasSuffix(err.Error(), " free") {
			t.Errorf("got the words %q", err)
		}
	}
	f, _ := open(t)
	defer Intercept(func(Step, string) error { return syscall.EIO })()
	var space *SpaceError
	if err := WriteFile(t.Context(), f, "x", nil); err == nil || errors.As(err, &space) {
		t.Errorf("another fault: got %v", err)
	}
}
