package survey

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pretext/internal/store"
	"pretext/sharding"
	"pretext/trainer/loader"
)

// A place is what a path turned out to be.
type place struct {
	path    string
	folders []folder // of stages, in the order of the data's way
	bare    []string // files of records without a manifest
}

// A folder is a finished stage's.
type folder struct {
	name     string // below the run, "." for the path itself
	path     string
	store    store.Folder
	manifest *sharding.Manifest
}

// locate tells what a path is: a stage's folder, a run, files of records.
func locate(ctx context.Context, path string) (*place, error) {
	p := &place{path: path}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if err := p.addStages(ctx); err != nil {
			return nil, err
		}
	}
	if len(p.folders) > 0 {
		return p, nil
	}
	shards, err := loader.Open(ctx, path, loader.Options{})
	if err != nil {
		return nil, err
	}
	for _, f := range shards.Files() {
		p.bare = append(p.bare, f.Path)
	}
	return p, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// isStage tells whether a stage works or worked in a folder.
func isStage(path string) bool {
	return exists(filepath.Join(path, sharding.ManifestName)) || exists(filepath.Join(path, sharding.PlanName))
}

// addStages finds the stage folders at and below the path: a stage may keep the
// documents it imported in a folder of its own.
func (p *place) addStages(ctx context.Context) error {
	if isStage(p.path) {
		if err := p.add(ctx, "."); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(p.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		below := filepath.Join(p.path, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !isDir(below) {
			continue
		}
		for _, name := range []string{e.Name(), filepath.Join(e.Name(), importedFolder)} {
			if isStage(filepath.Join(p.path, name)) {
				if err := p.add(ctx, name); err != nil {
					return err
				}
			}
		}
	}
	slices.SortStableFunc(p.folders, func(a, b folder) int {
		return cmp.Or(cmp.Compare(rank(a.manifest.Stage), rank(b.manifest.Stage)), cmp.Compare(a.name, b.name))
	})
	return nil
}

// importedFolder is where the examples stage keeps documents it made itself.
const importedFolder = "imported"

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (p *place) add(ctx context.Context, name string) error {
	f := folder{name: name, path: filepath.Join(p.path, name)}
	var err error
	if f.store, err = store.Open(f.path); err != nil {
		return err
	}
	if f.manifest, err = sharding.ReadManifest(ctx, f.store); err != nil {
		return err
	}
	p.folders = append(p.folders, f)
	return nil
}

// rank orders stages as the data flows; those of others come before the
// vocabulary, since they turn documents into documents.
func rank(stage string) int {
	order := []string{"download", "extract", "", "vocab", "examples"}
	if i := slices.Index(order, stage); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}

// documents returns the entries of the documents files in source order.
func (f folder) documents() []sharding.FileEntry {
	files := f.files(func(name string) bool { return strings.HasSuffix(name, sharding.DocumentsSuffix) })
	slices.SortStableFunc(files, func(a, b sharding.FileEntry) int { return cmp.Compare(a.Task, b.Task) })
	return files
}

// records returns the entries of the files of records.
func (f folder) records() []sharding.FileEntry {
	return f.files(func(name string) bool {
		n, ok := sharding.ParseShardName(name)
		return ok && (name == n.Records(false) || name == n.Records(true))
	})
}

func (f folder) files(want func(name string) bool) (files []sharding.FileEntry) {
	for _, e := range f.manifest.Files {
		if want(e.Name) {
			files = append(files, e)
		}
	}
	return files
}

// sideCar reads the body of a data file's side-car into to. A stage of someone
// else's may have none: that is not an error.
func (f folder) sideCar(ctx context.Context, dataFile string, to any) error {
	stem, _, _ := strings.Cut(dataFile, ".")
	car, err := sharding.ReadSideCar(ctx, f.store, stem+sharding.SideCarSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(car.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(car.Body, to); err != nil {
		return fmt.Errorf("side-car of %s: %w: %w", filepath.Join(f.path, dataFile), sharding.ErrFormat, err)
	}
	return nil
}
