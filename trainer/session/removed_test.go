package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pretext/internal/store"
)

// A run whose output directory disappears ends with an error that says so, even if
// all its files were written.
func TestARemovedOutputDirectoryIsNoticed(t *testing.T) {
	for _, whole := range []bool{true, false} {
		o := testOptions(t)
		o.Progress = func(p Progress) {
			path := o.Out
			if !whole {
				path = filepath.Join(o.Out, store.LockName)
			}
			if p.Step == 3 {
				if err := os.RemoveAll(path); err != nil {
					t.Error(err)
				}
			}
		}
		if _, err := Train(context.Background(), o); !errors.As(err, new(*store.RemovedError)) {
			t.Errorf("all removed %v: got %v, want a RemovedError", whole, err)
		}
	}
}
