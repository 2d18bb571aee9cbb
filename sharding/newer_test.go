package sharding

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pretext/internal/failure"
	"pretext/internal/store"
)

// Every file with a version that a later program wrote is told from a damaged one, even if
// the rest of it has another form.
func TestAFileOfANewerVersionIsNotCalledDamaged(t *testing.T) {
	for name, read := range map[string]func(context.Context, Folder) error{
		ManifestName: func(ctx context.Context, f Folder) error { _, err := ReadManifest(ctx, f); return err },
		PlanName:     func(ctx context.Context, f Folder) error { _, err := ReadPlan(ctx, f); return err },
		"train-0-of-1.json": func(ctx context.Context, f Folder) error {
			_, err := ReadSideCar(ctx, f, "train-0-of-1.json")
			return err
		},
		"documents-x-0.json": func(ctx context.Context, f Folder) error {
			_, err := ReadDocumentsBody(ctx, f, "documents-x-0.jsonl.zst")
			return err
		},
	} {
		for _, content := range []string{`{"format_version": 7}`, `{"format_version": 7, "files": 3, "body": [], "tasks": "x"}`, `{"tasks": "x", "format_version": 7}`} {
			folder, err := store.Open(t.TempDir())
			if err == nil {
				err = store.WriteFile(t.Context(), folder, name, []byte(content))
			}
			if err != nil {
				t.Fatal(err)
			}
			err = read(t.Context(), folder)
			newer := (*failure.Newer)(nil)
			var damaged interface{ Damaged() bool }
			if !errors.As(err, &newer) || newer.Version != 7 || errors.As(err, &damaged) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), folder.String()) {
				t.Errorf("%s: %s: got %v", name, content, err)
			}
		}
	}
}
