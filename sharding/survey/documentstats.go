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

// DocumentStats describes the documents of a folder.
type DocumentStats struct {
	Folder    string `json:"folder"`
	Files     int    `json:"files"`
	Bytes     int64  `json:"bytes"` // total size of the files
	Documents int64  `json:"documents"`
	TextBytes int64  `json:"text_bytes"`
	Lines     int64  `json:"lines"`

	Lengths   []Bin  `json:"lengths"` // number of documents by text bytes: Value is the lower end of the range [Value, 2·Value)
	Longest   int64  `json:"longest"` // size of the longest document's text, in bytes
	LongestID string `json:"longest_id"`
	Languages []Name `json:"languages"`
	Sources   []Name `json:"sources"`

	// Licenses counts documents by the SPDX identifier of their licence; "" means none.
	// Wikis counts documents with an address, by the part of the address before the
	// title.
	Licenses []Name `json:"licenses"`
	Wikis    []Name `json:"wikis,omitempty"`

	Pages    int64  `json:"pages,omitempty"` // number of pages in the dumps
	Counted         // further counts in the manifest
	Rejected int64  `json:"rejected"`
	Rejects  []Name `json:"rejects"`           // number of rejects by reason
	Dropped  []Name `json:"dropped_templates"` // templates without text, the 100 most frequent
	// DroppedSlack is the maximum by which a count in Dropped may be too low.
	DroppedSlack int64 `json:"dropped_slack"`
	// Holes counts, for each wiki, the holes in sentences where templates were dropped.
	Holes []facts.WikiHoles `json:"holes,omitempty"`
	// FromHTML reports whether wikis were read as HTML, which has no holes.
	FromHTML bool `json:"from_html,omitempty"`

	Notes int64 `json:"notes"` // number of notes in the side-cars, such as invalid bytes in a source
}

// Counted contains the stage and the counts of a manifest. [Counted.Figures] selects the
// counts to show by their declarations.
type Counted struct {
	Stage  string          `json:"-"`
	Counts sharding.Counts `json:"-"` // also in [Stage].Counts
}

// A Figure is a count formatted as text.
type Figure struct{ Name, Value string }

// Figures returns the counts that are shown in the given place, such as the output of
// prepare-data stats or a dataset card.
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

// A Name is a language, source, reason or template with its number of occurrences.
type Name struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes,omitempty"` // bytes of text, only for languages and sources
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

func (n names) merge(o names) {
	for _, v := range o {
		n.add(v.Name, v.Count, v.Bytes)
	}
}

// list returns the most frequent names. most is the maximum length of the list.
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
	lengths                [64]int64 // number of documents by the bit length of their text size
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

// wikiOf returns the part of a page's address before the title. If it cannot find the
// title, it returns the address of the host.
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

// long updates the longest document with one of n bytes. Among equally long documents,
// the lowest ID wins.
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
	t.languages.merge(o.languages)
	t.sources.merge(o.sources)
	t.licenses.merge(o.licenses)
	t.wikis.merge(o.wikis)
}

// collectDocuments reads all documents of a folder.
func collectDocuments(ctx context.Context, f stage, files []sharding.FileEntry, opts Options) (*DocumentStats, error) {
	d := &DocumentStats{Folder: f.Name, Files: len(files)}
	tallies := make([]*documentTally, len(files))
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(opts.Workers)
	for i, e := range files {
		d.Bytes += e.Bytes
		tallies[i] = newDocumentTally()
		g.Go(func() error {
			for doc, err := range sharding.Documents(reading, f, e.Name) {
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

// fromManifest adds the rejects and dropped templates from the manifest, and the number
// of notes from the side-cars.
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
