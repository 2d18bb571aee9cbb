package sharding

import (
	"cmp"
	"context"
	"slices"
)

// MaxDropped is the maximum number of dropped templates that a manifest lists.
const MaxDropped = 100

// SumDropped adds up the dropped templates in the side-cars of documents files.
// The order of the side-cars does not matter. It returns nil if no template was
// dropped.
func SumDropped(ctx context.Context, folder Folder, sideCars []string) (*DroppedTemplates, error) {
	uses := map[string]int64{}
	slack := int64(0)
	for _, name := range sideCars {
		var body DocumentsBody
		if err := readBody(ctx, folder, name, &body); err != nil {
			return nil, err
		}
		for template, n := range body.Dropped {
			uses[template] += n
		}
		slack += body.Slack
	}
	if len(uses) == 0 {
		return nil, nil
	}
	d := &DroppedTemplates{Slack: slack}
	for name, n := range uses {
		d.Templates = append(d.Templates, TemplateUses{Name: name, Uses: n})
	}
	slices.SortFunc(d.Templates, func(a, b TemplateUses) int {
		return cmp.Or(cmp.Compare(b.Uses, a.Uses), cmp.Compare(a.Name, b.Name))
	})
	d.Templates = slices.Clone(d.Templates[:min(len(d.Templates), MaxDropped)])
	return d, nil
}
