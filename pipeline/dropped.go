package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pretext/internal/store"
	"pretext/sharding"
)

// maxDropped is how many templates a manifest names.
const maxDropped = 100

// sumDropped adds up the templates without text of documents files, given by
// their side-cars. Sums do not depend on the order of the side-cars, and what a
// side-car says depends on its range of the dump alone. It is nil where nothing
// was dropped.
func sumDropped(ctx context.Context, folder store.Folder, sideCars []string) (*sharding.DroppedTemplates, error) {
	uses := map[string]int64{}
	slack := int64(0)
	for _, name := range sideCars {
		car, err := sharding.ReadSideCar(ctx, folder, name)
		if err != nil {
			return nil, err
		}
		var body documentsBody
		if err := json.Unmarshal(car.Body, &body); err != nil {
			return nil, fmt.Errorf("side-car %s in %s: %w: %v", name, folder, sharding.ErrFormat, err)
		}
		for template, n := range body.Dropped {
			uses[template] += n
		}
		slack += body.Slack
	}
	if len(uses) == 0 {
		return nil, nil
	}
	d := &sharding.DroppedTemplates{Slack: slack}
	for name, n := range uses {
		d.Templates = append(d.Templates, sharding.TemplateUses{Name: name, Uses: n})
	}
	slices.SortFunc(d.Templates, func(a, b sharding.TemplateUses) int {
		return cmp.Or(cmp.Compare(b.Uses, a.Uses), cmp.Compare(a.Name, b.Name))
	})
	d.Templates = slices.Clone(d.Templates[:min(len(d.Templates), maxDropped)])
	return d, nil
}

func resultSideCars(results []Result) (names []string) {
	for _, r := range results {
		names = append(names, r.SideCar)
	}
	return names
}

// dropped holds the manifest's templates without text against the side-cars.
func (c *folderCheck) dropped(ctx context.Context) []sharding.Problem {
	var sideCars []string
	for _, f := range documentsFiles(c.m) {
		sideCars = append(sideCars, strings.TrimSuffix(f.Name, sharding.DocumentsSuffix)+sharding.SideCarSuffix)
	}
	want, err := sumDropped(ctx, c.folder, sideCars)
	if err != nil {
		return nil // the side-car itself is reported with its file
	}
	if !reflect.DeepEqual(c.m.Dropped, want) {
		return []sharding.Problem{{File: sharding.ManifestName, Reason: "dropped_templates are not what the side-cars add up to"}}
	}
	return nil
}
