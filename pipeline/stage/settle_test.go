package stage

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"time"

	"pretext/internal/store"
	"pretext/sharding"
)

// hookedFile calls commit before it gets its name.
type hookedFile struct {
	store.Committer
	commit func()
}

func (f hookedFile) Commit() error {
	f.commit()
	return f.Committer.Commit()
}

// A worker that was suspended while its files got their names takes them back, if the
// directory belongs to another plan by then, or to none.
func TestFilesOfAnotherPlansDirectoryAreWithdrawn(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	recipe := func(options string) sharding.Recipe {
		return sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "examples", Options: json.RawMessage(options)}
	}
	ours := recipe(`{"shards":1}`)
	for name, c := range map[string]struct {
		meanwhile func(store.Folder) error
		want      error
	}{
		"nothing": {func(store.Folder) error { return nil }, nil},
		"another plan": {func(dir store.Folder) error {
			return writePlan(ctx, dir, recipe(`{"shards":9}`), Tasks(make([]any, 1)))
		}, ErrFenced},
		"no plan": {func(dir store.Folder) error { return dir.Remove(ctx, sharding.PlanName) }, errNoPlan},
	} {
		dir, err := store.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := writePlan(ctx, dir, ours, Tasks(make([]any, 1))); err != nil {
			t.Fatal(err)
		}
		env := &Env{Folder: dir, spec: Spec{Fingerprint: ours.Fingerprint()}}
		var files []unsettled
		for _, file := range []string{"train-00000-of-00001.tfrecord", "train-00000-of-00001.json"} {
			w, err := dir.Create(ctx, file)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Abort()
			files = append(files, unsettled{file, w})
		}
		files[1].file = hookedFile{files[1].file, func() {
			if err := c.meanwhile(dir); err != nil {
				t.Fatal(err)
			}
		}}
		if err := env.settle(ctx, files...); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		for _, f := range files {
			list, err := dir.List(ctx)
			there := slices.ContainsFunc(list, func(info fs.FileInfo) bool { return info.Name() == f.name })
			if err != nil || there != (c.want == nil) {
				t.Errorf("%s: %s is there: %t, %v", name, f.name, there, err)
			}
		}
	}
}

// The fence before a commit may be that of another task of the process, but not for long: a
// worker that was suspended asks before it writes anything.
func TestAFenceCountsForOtherTasksForAWhile(t *testing.T) {
	ctx := t.Context()
	recipe := func(options string) sharding.Recipe {
		return sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "examples", Options: json.RawMessage(options)}
	}
	for _, c := range []struct {
		ago    time.Duration // since the last fence
		writes bool
	}{{fenceLife / 2, true}, {fenceLife + time.Second, false}} {
		dir, err := store.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		ours := recipe(`{"shards":1}`)
		if err := writePlan(ctx, dir, ours, Tasks(make([]any, 1))); err != nil {
			t.Fatal(err)
		}
		j := newJob(ctx, 1, new(Meter))
		env := &Env{Folder: dir, spec: Spec{Fingerprint: ours.Fingerprint()}, job: j}
		if err := env.Fence(ctx); err != nil {
			t.Fatal(err)
		}
		last := j.fenced.Load().Add(-c.ago)
		j.fenced.Store(&last)
		if err := writePlan(ctx, dir, recipe(`{"shards":9}`), Tasks(make([]any, 1))); err != nil {
			t.Fatal(err)
		}
		wrote := false
		env.Folder = hookedFolder{dir, func() { wrote = true }}
		if _, err := env.Publish(ctx, nil, nil, "train-00000-of-00001.json", sharding.SideCar{}); !errors.Is(err, ErrFenced) {
			t.Errorf("%v after a fence: %v, want %v", c.ago, err, ErrFenced)
		}
		if wrote != c.writes {
			t.Errorf("%v after a fence: committed is %t, want %t", c.ago, wrote, c.writes)
		}
		if _, err := dir.Stat(ctx, "train-00000-of-00001.json"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v after a fence: the side-car is left: %v", c.ago, err)
		}
	}
}

// hookedFolder calls commit before each commit of a file.
type hookedFolder struct {
	folder
	commit func()
}

func (f hookedFolder) Create(ctx context.Context, name string) (store.Writer, error) {
	w, err := f.folder.Create(ctx, name)
	return hookedWriter{w, f.commit}, err
}

type hookedWriter struct {
	store.Writer
	commit func()
}

func (w hookedWriter) Commit() error {
	w.commit()
	return w.Writer.Commit()
}
