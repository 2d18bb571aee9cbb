package sharding

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// ResolveMix computes o.Mix.Table from the token counts of the stage [MixFolder], and
// returns the assignment of the blocks of inputs to shards. A mix that is impossible with
// these documents is a usage error.
//
// It reads the counts three times, so that its memory does not grow with the number of
// documents: some kilobytes for each row of the table, and four bytes for each block and
// pass.
func ResolveMix(ctx context.Context, counts Folder, inputs []DocumentsInput, o *ExamplesOptions) (*Assignment, error) {
	r, err := newMixResolver(inputs, *o)
	if err != nil {
		return nil, err
	}
	scan := func(visit func(block int, d *CountedDocument) error) error {
		return eachCounted(ctx, counts, inputs, visit)
	}
	if err := scan(r.total); err != nil {
		return nil, err
	}
	if err := o.Mix.wanted(r.rows); err != nil {
		return nil, err
	}
	if err := r.choose(scan); err != nil {
		return nil, err
	}
	mix := *o.Mix
	mix.Table = r.rows
	a, err := r.assignment()
	if err != nil {
		return nil, err
	}
	if err := scan(func(block int, d *CountedDocument) error { return r.measure(a, block, d) }); err != nil {
		return nil, err
	}
	o.Mix = &mix
	return a, a.assign(*o)
}

// A mixResolver computes the table of a mix.
type mixResolver struct {
	options ExamplesOptions
	inputs  []DocumentsInput
	groups  []mixGroup
	rows    []MixRow
	keys    map[mixKey]int // index in rows
	files   []mixFile      // in source order
	at      int            // index in files of the most recent block's file
	parts   []*partial     // one for each row; nil for rows without an incomplete pass
}

// A mixKey identifies a row.
type mixKey struct {
	group    int
	language string // "" if languages do not matter
}

// A mixFile is a documents file with the rows of its documents.
type mixFile struct {
	FileBlocks
	end   int // number of blocks in all files up to and including this one
	group int
	rows  []int  // rows with documents in this file
	last  int    // index of the most recent document's row, plus 1
	spoke string // language of the most recent document
	unit  int    // number of the file's first unit
}

func newMixResolver(inputs []DocumentsInput, o ExamplesOptions) (*mixResolver, error) {
	r := &mixResolver{options: o, inputs: inputs, keys: map[mixKey]int{}}
	var err error
	if r.groups, err = o.Mix.groups(SourceNames(inputs)); err != nil {
		return nil, err
	}
	groupOf := map[MixPart]int{}
	for _, s := range mixSources(inputs) {
		i := slices.IndexFunc(r.groups, func(g mixGroup) bool { return slices.Contains(g.sources, s.name) })
		groupOf[s.MixPart] = i
		r.groups[i].parts = append(r.groups[i].parts, s.MixPart)
	}
	end := 0
	for i, in := range inputs {
		for _, f := range in.Files {
			end += len(f.Blocks)
			r.files = append(r.files, mixFile{FileBlocks: FileBlocks{Folder: i, Name: f.Name, Blocks: f.Blocks}, end: end, group: groupOf[MixPart{i, SourceOf(f.Name)}]})
		}
	}
	return r, nil
}

// file returns the file of a block. It must be called for blocks in ascending order;
// block 0 starts a new scan.
func (r *mixResolver) file(block int) *mixFile {
	if block == 0 {
		r.at = 0
	}
	for block >= r.files[r.at].end {
		r.at++
	}
	return &r.files[r.at]
}

// row returns the index of the row for a document in a file. It adds the row if needed.
func (r *mixResolver) row(f *mixFile, d *CountedDocument) int {
	if f.last > 0 && f.spoke == d.Language {
		return f.last - 1
	}
	key := mixKey{group: f.group}
	if r.options.Mix.LanguageAlpha != nil {
		key.language = d.Language
	}
	i, ok := r.keys[key]
	if !ok {
		g := r.groups[f.group]
		row := MixRow{Source: g.name, Language: key.language}
		if len(g.parts) != 1 || g.parts[0] != (MixPart{0, g.name}) {
			row.Parts = g.parts
		}
		i = len(r.rows)
		r.rows, r.keys[key] = append(r.rows, row), i
	}
	f.last, f.spoke = i+1, d.Language
	return i
}

// total adds a document to the counts of its row.
func (r *mixResolver) total(block int, d *CountedDocument) error {
	f := r.file(block)
	i := r.row(f, d)
	if !slices.Contains(f.rows, i) {
		f.rows = append(f.rows, i)
	}
	if !d.HeldOut {
		r.rows[i].Documents++
		r.rows[i].Tokens += int64(d.Tokens)
	}
	return nil
}

// mixBuckets is the number of buckets into which the documents of a row of the mix (such as
// a language) are counted by their keys: the range of [choiceKey] is divided into ranges of
// equal size. A bucket has the number of its documents and that of their tokens.
const mixBuckets = 4096

// A partial selects the documents that the last, incomplete pass over a row reads.
type partial struct {
	gap        int64 // number of tokens to choose in the buckets from first on
	tokens     [mixBuckets]int64
	documents  [mixBuckets]int32
	first, end int // range of the buckets that contain candidates
	candidates []keyed
}

func bucketOf(key Choice) int { return int(key >> (63 - 12)) }

// passes computes the number of whole passes over each row. It reports whether any row
// also needs an incomplete pass.
func (r *mixResolver) passes() (some bool) {
	r.parts = make([]*partial, len(r.rows))
	for i := range r.rows {
		row := &r.rows[i]
		if row.Tokens == 0 {
			continue
		}
		row.Passes = int(row.Wanted / row.Tokens)
		if gap := row.Wanted % row.Tokens; gap > 0 {
			r.parts[i], some = &partial{gap: gap}, true
		}
	}
	return some
}

// choose sets the number of whole passes over each row, and selects the documents for
// rows whose last pass is incomplete.
func (r *mixResolver) choose(scan func(func(int, *CountedDocument) error) error) error {
	if !r.passes() {
		return nil
	}
	if err := scan(r.keysOf(func(p *partial, key Choice, d *CountedDocument) {
		p.tokens[bucketOf(key)] += int64(d.Tokens)
		p.documents[bucketOf(key)]++
	})); err != nil {
		return err
	}
	for _, p := range r.parts {
		if p != nil {
			p.window()
		}
	}
	if err := scan(r.keysOf(func(p *partial, key Choice, d *CountedDocument) {
		if b := bucketOf(key); b >= p.first && b < p.end {
			p.candidates = append(p.candidates, keyed{key, int64(d.Tokens)})
		}
	})); err != nil {
		return err
	}
	for i, p := range r.parts {
		if p != nil {
			r.rows[i].choose(p.candidates, Choice(p.first)<<(63-12), p.gap)
			r.parts[i] = nil
		}
	}
	return nil
}

// keysOf returns a visitor that calls visit for each training document in a row with an
// incomplete pass.
func (r *mixResolver) keysOf(visit func(p *partial, key Choice, d *CountedDocument)) func(int, *CountedDocument) error {
	return func(block int, d *CountedDocument) error {
		if d.HeldOut {
			return nil
		}
		i := r.row(r.file(block), d)
		if p := r.parts[i]; p != nil {
			visit(p, choiceKey(r.options.RandomSeed, r.rows[i].Passes, d.ID), d)
		}
		return nil
	}
}

// window finds the buckets that contain the candidates: the bucket in which the number of
// tokens reaches the gap, and buckets around it with at least [nearEnd] documents on each
// side. All documents in earlier buckets are chosen.
func (p *partial) window() {
	end := 0
	for end < mixBuckets-1 && p.tokens[end] <= p.gap {
		p.gap -= p.tokens[end]
		end++
	}
	before, after := int32(0), int32(0)
	for p.first = end; p.first > 0 && before < nearEnd; {
		p.first--
		before += p.documents[p.first]
		p.gap += p.tokens[p.first]
	}
	for p.end = end + 1; p.end < mixBuckets && after < nearEnd; p.end++ {
		after += p.documents[p.end]
	}
}

// assignment returns an assignment in which each block has one unit for each pass that
// may read documents of the block's file.
func (r *mixResolver) assignment() (*Assignment, error) {
	a := &Assignment{}
	for _, in := range r.inputs {
		a.Locations = append(a.Locations, in.Location)
		a.Inputs = append(a.Inputs, in.Input)
	}
	total := 0
	for number := range r.files {
		f := &r.files[number]
		f.unit = total
		passes := 0
		for _, i := range f.rows {
			passes = max(passes, r.rows[i].passes())
		}
		for pass := range passes {
			a.add(unitFile{FileBlocks: f.FileBlocks, number: number, pass: pass}, total)
			if len(f.Blocks) > maxUnits-total {
				return nil, fmt.Errorf("more than %d blocks of documents in all passes", maxUnits)
			}
			total += len(f.Blocks)
		}
	}
	a.used = make([]uint32, total)
	return a, nil
}

// measure adds a document to the totals of its row, and the size of its text to the units
// of its block in the passes that read the document.
func (r *mixResolver) measure(a *Assignment, block int, d *CountedDocument) error {
	f := r.file(block)
	row := &r.rows[r.row(f, d)]
	at := block - (f.end - len(f.Blocks))
	for pass := range row.passes() {
		if !row.chosen(r.options.RandomSeed, pass, d.ID, d.HeldOut) {
			continue
		}
		unit := f.unit + pass*len(f.Blocks) + at
		if uint64(a.used[unit])+uint64(d.TextBytes) > math.MaxUint32 {
			return fmt.Errorf("a block of documents with more than %d bytes of text", uint32(math.MaxUint32))
		}
		a.used[unit] += d.TextBytes
		if !d.HeldOut {
			row.MixedDocuments++
			row.MixedTokens += int64(d.Tokens)
		}
	}
	return nil
}
