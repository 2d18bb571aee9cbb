package export

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/store"
)

// into locks the folder out, creating it if necessary, and calls write to write the files
// with the given names. If the folder contains any other file, into returns an error:
// exported text would corrupt a data set or another export in the same folder.
func into(ctx context.Context, out string, names []string, write func(store.Folder) error) error {
	if err := onlyHas(ctx, out, names); err != nil {
		return err
	}
	folder, err := store.Open(out)
	if err != nil {
		return err
	}
	return store.Hold(folder, func() error {
		if err := errors.Join(onlyHas(ctx, out, names), store.Sweep(folder)); err != nil {
			return err
		}
		return write(folder)
	})
}

// onlyHas returns a usage error if a folder contains any file not in names. Hidden files,
// such as a lock, are ignored.
func onlyHas(ctx context.Context, out string, names []string) error {
	entries, err := store.ReadDir(ctx, out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, ".") && (!e.Type().IsRegular() || !slices.Contains(names, name)) {
			return failure.Usagef("%s contains %s, which this export does not write: give a folder that is empty or does not exist", out, name)
		}
	}
	return nil
}
