package pipeline

import (
	"context"

	"pretext/internal/store"
	"pretext/pipeline/filter"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// FilterConfig configures [Filter].
type FilterConfig struct {
	filter.Config // filter.Config.Documents may include third-party JSON lines
	Reading       // options for third-party JSON lines
}

// Filter runs the filter stage. Before that, it extracts third-party documents to
// OUT/imported.
func Filter(ctx context.Context, r stage.Runner, c FilterConfig) (*sharding.Manifest, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	in := documentInputs{Target: c.Target, Reading: c.Reading}
	if err := in.sort(c.Documents, nil); err != nil {
		return nil, err
	}
	return stage.Locked(c.Out, func(folder store.Folder) (*sharding.Manifest, error) {
		var err error
		if c.Documents, err = in.imported(ctx, r); err != nil {
			return nil, err
		}
		return filter.RunIn(ctx, folder, r, c.Config)
	})
}
