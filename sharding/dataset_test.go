package sharding

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/storetest"
	"pretext/internal/store"
)

func TestOpenFindsWhatAPathHolds(t *testing.T) {
	for _, c := range []struct {
		name     string
		pageSize int // of listings; 0: a local directory
	}{{"local", 0}, {"a store", 1000}, {"a store of small pages", 2}} {
		t.Run(c.name, func(t *testing.T) { openFindsWhatAPathHolds(t, c.pageSize) })
	}
}

func openFindsWhatAPathHolds(t *testing.T, pageSize int) {
	finished := func(stage string) string { return `{"stage":"` + stage + `"}` }
	run := map[string]string{
		"shards/manifest.json": finished("examples"), "shards/imported/manifest.json": finished("extract"),
		"vocab/plan.json": finished("vocab"), "mine/manifest.json": finished("my-stage"), "documents/manifest.json": "damaged",
		"filtered/manifest.json": finished("filter"), "filtered/signatures/plan.json": finished("signatures"), "filtered/pairs/manifest.json": finished("pairs"),
		"README.md": "", ".cache/manifest.json": finished("examples"), "shards/train-00000-of-00001.tfrecord": "",
	}
	many := map[string]string{"manifest.json": finished("examples"), "plan.json": finished("examples"), "plan/tasks.bin": ""}
	for _, name := range []string{"aaa", "n", "train-2024", "train-9", "zzz", ".hidden"} {
		many[name+"/manifest.json"] = finished("convert")
	}
	for i := range 20 {
		n := ShardName{Split: []string{Train, Eval}[i%2], Index: i / 2, Count: 10}
		many[n.Records(false)], many[n.IndexFile()], many[n.SideCar()] = "", "", ""
	}
	for i, test := range []struct {
		name    string
		files   map[string]string
		below   string
		folders []string
		records []string
		shards  string
	}{
		{"a run", run, "", []string{"documents", "shards/imported", "filtered", "filtered/pairs", "filtered/signatures", "mine", "vocab", "shards"}, nil, "shards"},
		{"a stage", run, "shards", []string{"imported", "."}, nil, "."},
		{"a filter", run, "filtered", []string{".", "pairs", "signatures"}, nil, "."},
		{"a file", run, "shards/train-00000-of-00001.tfrecord", nil, []string{"shards/train-00000-of-00001.tfrecord"}, ""},
		{"others' records", map[string]string{"b.tfrecord": "", "a.tf_record.gz": "", "x.txt": "", ".c.tfrecord": "", "d.tfrecord/x": ""}, "",
			nil, []string{"a.tf_record.gz", "b.tfrecord"}, ""},
		{"others' records beside a stage", map[string]string{"a.tfrecord": "", "documents/manifest.json": finished("extract")}, "", []string{"documents"}, []string{"a.tfrecord"}, ""},
		{"shards of another name", map[string]string{"bert/manifest.json": finished("examples")}, "", []string{"bert"}, nil, "bert"},
		{"two folders of shards", map[string]string{"a/manifest.json": finished("examples"), "b/manifest.json": finished("examples")}, "", []string{"a", "b"}, nil, ""},
		{"conversions among shards", many, "", []string{".", "aaa", "n", "train-2024", "train-9", "zzz"}, nil, "."},
	} {
		root := t.TempDir()
		if pageSize > 0 {
			name := fmt.Sprintf("holds%d-%d", pageSize, i)
			(&storetest.Mem{PageSize: pageSize}).Register(name)
			root = "mem://" + name
		}
		folder, err := store.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range test.files {
			if err := store.WriteFile(t.Context(), folder.Folder(path.Dir(name)), path.Base(name), []byte(content)); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Open(t.Context(), store.Join(root, test.below))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var folders, records []string
		stages, err := d.Stages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range stages {
			folders = append(folders, f.Name)
		}
		for _, path := range d.Records {
			records = append(records, strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(path, root)), "/"))
		}
		if diff := cmp.Diff(test.folders, folders) + cmp.Diff(test.records, records); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		shards, err := d.Shards(t.Context())
		if err != nil {
			if shards = new(Stage); !errors.Is(err, ErrNoShards) {
				t.Errorf("%s: got %v", test.name, err)
			}
		}
		if shards.Name != test.shards {
			t.Errorf("%s: got shards in %q, want %q", test.name, shards.Name, test.shards)
		}
	}
	if _, err := Open(t.Context(), t.TempDir()); !errors.Is(err, ErrUnfinished) {
		t.Errorf("an empty folder: got %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: got %v", err)
	}
}
