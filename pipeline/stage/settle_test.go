package stage

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"testing"

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
