package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// A ChangedError reports that a source is not the file any more that the plan was
// made of. What was read of it may be of two versions.
type ChangedError struct {
	Name string // base name of the source
	How  string // "it was removed"
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s changed during the run: %s: run again with a file that stays as it is, and --overwrite", e.Name, e.How)
}

// Damaged marks the error for exit codes.
func (e *ChangedError) Damaged() bool { return true }

// checkUnchanged returns a [*ChangedError] if a source is not what the plan says.
// It looks at its size and its first and last MiB; folders of books are not looked
// at. Other errors are left to who reads the file.
func checkUnchanged(ctx context.Context, s SourceSpec) error {
	for i, planned := range s.Inputs {
		now, err := inputOf(ctx, s.Paths[i])
		how := ""
		switch {
		case errors.Is(err, fs.ErrNotExist):
			how = "it was removed"
		case err != nil:
		case now.Bytes != planned.Bytes:
			how = fmt.Sprintf("it had %d bytes and has %d", planned.Bytes, now.Bytes)
		case now != planned:
			how = "it has other content"
		}
		if how != "" {
			return &ChangedError{filepath.Base(s.Paths[i]), how}
		}
	}
	return nil
}

// explain returns the error of a task, or that its source changed, where that is
// why.
func (w *extractWorker) explain(ctx context.Context, s SourceSpec, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if changed := checkUnchanged(ctx, s); changed != nil {
		return changed
	}
	return err
}

// checkSources returns a [*ChangedError] if any source changed while the stage
// ran.
func (w *extractWorker) checkSources(ctx context.Context) error {
	for _, s := range w.Sources {
		if err := checkUnchanged(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
