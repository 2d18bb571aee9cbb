package survey

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"pretext/internal/store"
	"pretext/sharding"
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

// locate finds what is at a path and reads the manifests.
func locate(ctx context.Context, path string) (*place, error) {
	found, err := sharding.Locate(path)
	if err != nil {
		return nil, err
	}
	p := &place{path: path}
	for _, f := range found.Data() {
		one := folder{name: f.Name, path: f.Path}
		if one.store, err = store.Open(f.Path); err != nil {
			return nil, err
		}
		if one.manifest, err = sharding.ReadManifest(ctx, one.store); err != nil {
			return nil, err
		}
		p.folders = append(p.folders, one)
	}
	if len(p.folders) == 0 {
		p.bare = found.Records
	}
	return p, nil
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
