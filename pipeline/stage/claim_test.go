package stage

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"testing"

	"pretext/internal/store"
	"pretext/sharding"
)

// errCut simulates the end of the process.
var errCut = errors.New("cut short")

// cutFolder is a folder in which only a limited number of files can still be
// removed.
type cutFolder struct {
	folder
	removals *int
}

type folder = store.Folder

func (f cutFolder) Remove(ctx context.Context, name string) error {
	if *f.removals == 0 {
		return errCut
	}
	*f.removals--
	return f.folder.Remove(ctx, name)
}

func (f cutFolder) Folder(name string) store.Folder {
	return cutFolder{f.folder.Folder(name), f.removals}
}

func TestOverwritingThatIsCutShortLeavesNoFileWithoutItsPlan(t *testing.T) {
	ctx := t.Context()
	recipe := func(option string) sharding.Recipe {
		return sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "examples", Options: json.RawMessage(option)}
	}
	old, now := recipe(`{"shards":9}`), recipe(`{"shards":1}`)
	for cut := 0; ; cut++ {
		dir, err := store.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := writePlan(ctx, dir, old, Tasks(make([]any, 9))); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"train-00008-of-00009.tfrecord", "train-00008-of-00009.json", "vocab.txt", sharding.RunName, sharding.ManifestName} {
			if err := store.WriteFile(ctx, dir, name, []byte("old")); err != nil {
				t.Fatal(err)
			}
		}
		left := cut
		err = Claim(ctx, cutFolder{dir, &left}, now, true)
		if err != nil && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		files, listErr := dir.List(ctx)
		if listErr != nil {
			t.Fatal(listErr)
		}
		_, planErr := sharding.ReadPlan(ctx, dir)
		if errors.Is(planErr, fs.ErrNotExist) && len(files) > 0 {
			t.Errorf("after %d removals: no plan, but %v", cut, files)
		}
		if _, manifestErr := dir.Stat(ctx, sharding.ManifestName); manifestErr == nil && len(files) < 6 {
			t.Errorf("after %d removals: a manifest, but only %v", cut, files)
		}
		if err == nil {
			checkOnlyTheNewPlan(t, dir, now)
			return
		}
	}
}

// A directory whose plan is gone belongs to the recipe of its manifest.
func TestADirectoryWithAManifestAloneIsClaimedByItsRecipe(t *testing.T) {
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "examples", Options: json.RawMessage(`{"shards":1}`)}
	other := recipe
	other.Options = json.RawMessage(`{"shards":9}`)
	manifest := func(r sharding.Recipe) []byte {
		return sharding.Marshal(sharding.Manifest{Recipe: r, Fingerprint: r.Fingerprint()})
	}
	var options *OptionsError
	for name, test := range map[string]struct {
		manifest []byte
		allows   func(error) bool
	}{
		"no manifest":         {nil, func(err error) bool { return err == nil }},
		"of the recipe":       {manifest(recipe), func(err error) bool { return err == nil }},
		"of another":          {manifest(other), func(err error) bool { return errors.As(err, &options) }},
		"that cannot be read": {[]byte("{"), func(err error) bool { return errors.Is(err, sharding.ErrFormat) }},
	} {
		for _, overwrite := range []bool{false, true} {
			dir, err := store.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if test.manifest != nil {
				if err := store.WriteFile(t.Context(), dir, sharding.ManifestName, test.manifest); err != nil {
					t.Fatal(err)
				}
			}
			err = Claim(t.Context(), dir, recipe, overwrite)
			if ok := test.allows(err); !ok && !overwrite || overwrite && err != nil {
				t.Errorf("a manifest %s, overwrite %t: got %v", name, overwrite, err)
			}
			_, statErr := dir.Stat(t.Context(), sharding.ManifestName)
			if gone := errors.Is(statErr, fs.ErrNotExist); gone != (test.manifest == nil || overwrite && name != "of the recipe") {
				t.Errorf("a manifest %s, overwrite %t: it is gone: %t", name, overwrite, gone)
			}
		}
	}
}

// checkOnlyTheNewPlan checks that a plan of one task and the list of its hash
// leave no files of an older plan.
func checkOnlyTheNewPlan(t *testing.T, dir store.Folder, recipe sharding.Recipe) {
	t.Helper()
	if err := writePlan(t.Context(), dir, recipe, Tasks(make([]any, 1))); err != nil {
		t.Fatal(err)
	}
	tasks, err := dir.Folder(sharding.PlanFolder).List(t.Context())
	if err != nil || len(tasks) != 1 || tasks[0].Name() != sharding.TasksName {
		t.Errorf("tasks of the new plan: got %v, %v, want one", tasks, err)
	}
}

// A stage that is removed in part is an error, whatever could not be removed.
func TestAStageThatCannotBeRemovedIsAnError(t *testing.T) {
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "examples", Options: json.RawMessage(`{"shards":1}`)}
	empty := func(removals int) (left int, err error) {
		dir, err := store.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := store.WriteFile(t.Context(), dir, sharding.ManifestName, sharding.Marshal(sharding.Manifest{Recipe: recipe, Fingerprint: recipe.Fingerprint()})); err != nil {
			t.Fatal(err)
		}
		err = Empty(t.Context(), cutFolder{dir, &removals})
		return removals, err
	}
	const enough = 100
	left, err := empty(enough)
	if err != nil || enough-left < 4 {
		t.Fatalf("%d removals, %v", enough-left, err)
	}
	for removals := range enough - left {
		if _, err := empty(removals); !errors.Is(err, errCut) {
			t.Errorf("after %d removals: got %v, want %v", removals, err, errCut)
		}
	}
}
