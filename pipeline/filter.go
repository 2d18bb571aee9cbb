package pipeline

import (
	"context"
	"path/filepath"

	"pretext/internal/store"
	"pretext/pipeline/filter"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// FilterConfig configures [Filter]. Its Documents may be JSON lines of other tools
// besides documents directories.
type FilterConfig struct {
	filter.Config
	Import     ExtractOptions // of JSON lines
	MaxRejects float64        // fraction of their lines that may be unreadable
}

// Filter runs the filter stage. It first extracts third-party documents to
// OUT/imported.
func Filter(ctx context.Context, r stage.Runner, c FilterConfig) (*sharding.Manifest, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	folders, foreign, err := sortDocuments(c.Documents, nil)
	if err != nil {
		return nil, err
	}
	return stage.Locked(c.Out, func(folder store.Folder) (*sharding.Manifest, error) {
		if len(foreign) > 0 {
			imported := filepath.Join(c.Out, sharding.ImportedFolder)
			if _, err := Extract(ctx, r, ExtractConfig{Sources: foreign, Options: c.Import, MaxRejects: c.MaxRejects, Out: imported, Overwrite: c.Overwrite}); err != nil {
				return nil, err
			}
			folders = append(folders, imported)
		}
		c.Documents = folders
		return filter.RunIn(ctx, folder, r, c.Config)
	})
}
