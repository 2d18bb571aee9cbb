package survey

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/wiki/facts"
	"pretext/internal/humanize"
	"pretext/sharding"
)

// DocumentStats describes a folder of documents.
type DocumentStats struct {
	Folder    string `json:"folder"`
	Files     int    `json:"files"`
	Bytes     int64  `json:"bytes"` // size of the files
	Documents int64  `json:"documents"`
	TextBytes int64  `json:"text_bytes"`
	Lines     int64  `json:"lines"`

	Lengths   []Bin  `json:"lengths"` // documents by text bytes: Value is the lower end of [Value, 2·Value)
	Longest   int64  `json:"longest"` // text of the longest document, in bytes
	LongestID string `json:"longest_id"`
	Languages []Name `json:"languages"`
	Sources   []Name `json:"sources"`

	// Licenses counts documents by SPDX identifier of their licence, "" if they
	// name none; Wikis those with an address, by what stands before the title in
	// it.
	Licenses []Name `json:"licenses"`
	Wikis    []Name `json:"wikis,omitempty"`

	Pages    int64  `json:"pages,omitempty"` // number of pages in the dumps
	Counted         // what else the manifest counts
	Rejected int64  `json:"rejected"`
	Rejects  []Name `json:"rejects"`           // number of rejects by reason
	Dropped  []Name `json:"dropped_templates"` // templates that gave no text, the 100 most used
	// DroppedSlack is the maximum by which a count in Dropped may be too low.
	DroppedSlack int64 `json:"dropped_slack"`
	// Holes counts, for each wiki, what templates left out of sentences.
	Holes []facts.WikiHoles `json:"holes,omitempty"`
	// FromHTML reports whether wikis were read as HTML, which has no holes.
	FromHTML bool `json:"from_html,omitempty"`

	Notes int64 `json:"notes"` // number of notes in the side-cars, such as invalid bytes in a source
}

// Counted are the stage and the counts of a manifest, of which a text shows those that
// their declarations name.
type Counted struct {
	Stage  string          `json:"-"`
	Counts sharding.Counts `json:"-"` // [Stage].Counts has them
}

// A Figure is a count as it is shown.
type Figure struct{ Name, Value string }

// Figures returns what prepare-data stats and a dataset card show.
func (c Counted) Figures(in counts.Place) (list []Figure) {
	for k, n := range counts.Shown(c.Stage, in, c.Counts) {
		value := humanize.Count(n)
		if k.Unit == counts.Bytes {
			value = humanize.Bytes(n)
		}
		list = append(list, Figure{k.Name(), value})
	}
	return list
}

// A Name is a language, source, reason or template, and how often it occurs.
type Name struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes,omitempty"` // bytes of text, for languages and sources
}

// maxNames limits the number of languages and sources that are counted
// separately; all others are counted as "(others)".
const maxNames = 10000

// names counts names: it maps a name to its count.
type names map[string]*Name

func (n names) add(name string, count, bytes int64) {
	v, ok := n[name]
	if !ok {
		if len(n) >= maxNames {
			name = "(others)"
		}
		if v, ok = n[name]; !ok {
			v = &Name{Name: strings.Clone(name)}
			n[v.Name] = v
		}
	}
	v.Count += count
	v.Bytes += bytes
}

// list returns the most frequent names, at most most of them.
func (n names) list(most int) []Name {
	list := []Name{}
	for _, v := range n {
		list = append(list, *v)
	}
	slices.SortFunc(list, func(a, b Name) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), most)]
}

// A documentTally counts the documents of some files.
type documentTally struct {
	documents, text, lines int64
	lengths                [64]int64 // number of documents by bit length of their text size
	longest                int64
	longestID              string
	languages, sources     names
	licenses, wikis        names
}

func newDocumentTally() *documentTally {
	return &documentTally{languages: names{}, sources: names{}, licenses: names{}, wikis: names{}}
}

func (t *documentTally) add(d *extract.Document) {
	n := int64(len(d.Text))
	t.documents++
	t.text += n
	t.lines += int64(strings.Count(d.Text, "\n")) + 1
	t.lengths[bits.Len64(uint64(n))]++
	t.long(n, d.ID)
	t.languages.add(d.Lang, 1, n)
	t.sources.add(d.Source, 1, n)
	t.licenses.add(d.License, 1, n)
	if d.URL != "" {
		t.wikis.add(wikiOf(d.URL), 1, n)
	}
}

// wikiOf returns the part of a page's address that stands before its title, as
// far as it can be told: else the address of the host.
func wikiOf(address string) string {
	for _, before := range []string{"/wiki/", "/index.php/", "?title="} {
		if i := strings.Index(address, before); i >= 0 {
			return address[:i+len(before)]
		}
	}
	scheme, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + "/"
}

// long records a document of n bytes if it is the longest so far. Of equally
// long documents it records the lowest ID.
func (t *documentTally) long(n int64, id string) {
	if n > t.longest || n == t.longest && (t.longestID == "" || id < t.longestID) {
		t.longest, t.longestID = n, strings.Clone(id)
	}
}

func (t *documentTally) merge(o *documentTally) {
	t.documents += o.documents
	t.text += o.text
	t.lines += o.lines
	for i, n := range o.lengths {
		t.lengths[i] += n
	}
	if o.documents > 0 {
		t.long(o.longest, o.longestID)
	}
	for _, v := range o.languages {
		t.languages.add(v.Name, v.Count, v.Bytes)
	}
	for _, v := range o.sources {
		t.sources.add(v.Name, v.Count, v.Bytes)
	}
	for _, v := range o.licenses {
		t.licenses.add(v.Name, v.Count, v.Bytes)
	}
	for _, v := range o.wikis {
		t.wikis.add(v.Name, v.Count, v.Bytes)
	}
}

// collectDocuments reads all documents of a folder.
func collectDocuments(ctx context.Context, f stage, files []sharding.FileEntry, opts Options) (*DocumentStats, error) {
	d := &DocumentStats{Folder: f.Name, Files: len(files)}
	tallies := make([]*documentTally, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(opts.Workers)
	for i, e := range files {
		d.Bytes += e.Bytes
		tallies[i] = newDocumentTally()
		g.Go(func() error {
			for doc, err := range sharding.Documents(ctx, f, e.Name) {
				if err != nil {
					return err
				}
				tallies[i].add(doc)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	total := newDocumentTally()
	for _, t := range tallies {
		total.merge(t)
	}
	d.set(total, opts)
	return d, d.fromManifest(ctx, f, files, opts)
}

func (d *DocumentStats) set(t *documentTally, opts Options) {
	d.Documents, d.TextBytes, d.Lines = t.documents, t.text, t.lines
	d.Longest, d.LongestID = t.longest, t.longestID
	d.Lengths = []Bin{}
	for i, n := range t.lengths {
		if n > 0 {
			d.Lengths = append(d.Lengths, Bin{1 << i >> 1, n})
		}
	}
	d.Languages, d.Sources = t.languages.list(opts.Top), t.sources.list(opts.Top)
	d.Licenses, d.Wikis = t.licenses.list(opts.Top), t.wikis.list(opts.Top)
}

// fromManifest adds the counts of rejects and dropped templates in the
// manifest, and of notes in the side-cars.
func (d *DocumentStats) fromManifest(ctx context.Context, f stage, files []sharding.FileEntry, opts Options) error {
	d.Counted = Counted{f.manifest.Stage, f.manifest.Counts}
	d.Pages, d.FromHTML = facts.Pages.Of(f.manifest.Counts), facts.HTMLBytes.Of(f.manifest.Counts) > 0
	rejects, dropped := names{}, names{}
	for reason, n := range extract.Rejects.Members(f.manifest.Counts) {
		rejects.add(string(reason), n, 0)
		d.Rejected += n
	}
	for _, e := range files {
		n, err := f.notes(ctx, e.Name)
		if err != nil {
			return err
		}
		d.Notes += int64(n)
	}
	if t := f.manifest.Dropped; t != nil {
		for _, t := range t.Templates {
			dropped.add(t.Name, t.Uses, 0)
		}
		d.DroppedSlack, d.Holes = t.Slack, t.Wikis
	}
	d.Rejects, d.Dropped = rejects.list(len(rejects)), dropped.list(opts.Top)
	return nil
}
