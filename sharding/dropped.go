package sharding

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"
)

// MaxDropped is the maximum number of dropped templates that a manifest lists.
const MaxDropped = 100

// SumDropped adds up the dropped templates in the side-cars of documents files.
// The order of the side-cars does not matter. It returns nil if no template was
// dropped.
func SumDropped(ctx context.Context, folder Folder, sideCars []string) (*DroppedTemplates, error) {
	uses := map[string]int64{}
	slack := int64(0)
	holes := holeSums{}
	for names := range slices.Chunk(slices.Sorted(slices.Values(sideCars)), 4*tablesAtOnce) { // the first page is that of the first file
		bodies, err := readBodies(ctx, folder, names)
		if err != nil {
			return nil, err
		}
		for _, body := range bodies {
			for template, n := range body.Dropped {
				uses[template] += n
			}
			slack += body.Slack
			holes.add(body)
		}
	}
	if len(uses) == 0 && !holes.any() {
		return nil, nil
	}
	d := &DroppedTemplates{Templates: []TemplateUses{}, Slack: slack, Wikis: holes.wikis()}
	for name, n := range uses {
		d.Templates = append(d.Templates, TemplateUses{Name: name, Uses: n})
	}
	slices.SortFunc(d.Templates, func(a, b TemplateUses) int {
		return cmp.Or(cmp.Compare(b.Uses, a.Uses), cmp.Compare(a.Name, b.Name))
	})
	d.Templates = append([]TemplateUses{}, d.Templates[:min(len(d.Templates), MaxDropped)]...)
	return d, nil
}

// holeSums adds up the holes of side-cars by wiki.
type holeSums map[string]*WikiHoles

// add adds the holes in one side-car. If a template has a first page already, that
// page is kept.
func (h holeSums) add(body DocumentsBody) {
	if body.Wiki == "" {
		return
	}
	w := h[body.Wiki]
	if w == nil {
		w = &WikiHoles{Wiki: body.Wiki, Templates: []WikiTemplate{}}
		h[body.Wiki] = w
	}
	w.Sentences += body.Sentences
	w.Holes += body.HoleCount
	for _, name := range slices.Sorted(maps.Keys(body.Holes)) {
		hole := body.Holes[name]
		k := slices.IndexFunc(w.Templates, func(t WikiTemplate) bool { return t.Name == name })
		if k < 0 {
			w.Templates = append(w.Templates, WikiTemplate{name, hole})
			continue
		}
		w.Templates[k].Uses += hole.Uses
	}
}

// any reports whether a template left a hole.
func (h holeSums) any() bool {
	for _, w := range h {
		if w.Holes > 0 || len(w.Templates) > 0 {
			return true
		}
	}
	return false
}

// wikis returns the sums, sorted by wiki.
func (h holeSums) wikis() (list []WikiHoles) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		w := h[name]
		slices.SortFunc(w.Templates, func(a, b WikiTemplate) int {
			return cmp.Or(cmp.Compare(b.Uses, a.Uses), cmp.Compare(a.Name, b.Name))
		})
		w.Templates = append([]WikiTemplate{}, w.Templates[:min(len(w.Templates), MaxDropped)]...)
		if w.Sentences > 0 {
			w.PerThousand = math.Round(1e5*float64(w.Holes)/float64(w.Sentences)) / 100
		}
		list = append(list, *w)
	}
	return list
}

// readBodies reads the bodies of side-cars of documents files, several at once.
func readBodies(ctx context.Context, folder Folder, sideCars []string) ([]DocumentsBody, error) {
	bodies := make([]DocumentsBody, len(sideCars))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(tablesAtOnce)
	for i, name := range sideCars {
		g.Go(func() (err error) {
			bodies[i], err = readDocumentsBody(ctx, folder, name)
			return err
		})
	}
	return bodies, g.Wait()
}
