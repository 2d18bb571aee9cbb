package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"pretext/sharding"
)

// A stage is a finished stage of a data set and its manifest.
type stage struct {
	*sharding.Stage
	manifest *sharding.Manifest
}

// open opens a data set and reads the manifests of its stages. If it has stages,
// records without a manifest are ignored.
func open(ctx context.Context, path string) (d *sharding.Dataset, stages []stage, err error) {
	if d, err = sharding.Open(ctx, path); err != nil {
		return nil, nil, err
	}
	data, err := d.Data(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range data {
		m, err := sharding.ReadManifest(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		stages = append(stages, stage{s, m})
	}
	if len(stages) > 0 {
		d.Records = nil
	}
	return d, stages, nil
}

// notes returns the number of notes in the side-car (the JSON file) of the
// documents file with the given name. It returns 0 if there is no side-car, as
// in a folder that pretext did not write.
func (s stage) notes(ctx context.Context, documents string) (int, error) {
	stem, _, _ := strings.Cut(documents, ".")
	car, err := sharding.ReadSideCar(ctx, s, stem+sharding.SideCarSuffix)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(car.Body) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var body sharding.DocumentsBody
	if err := json.Unmarshal(car.Body, &body); err != nil {
		return 0, fmt.Errorf("side-car of %s: %w: %w", s.Path(documents), sharding.ErrFormat, err)
	}
	return len(body.Notes), nil
}
