package filter

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/dedup"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// A pairsTask is the plan for one file of similar pairs.
type pairsTask struct {
	Candidates string `json:"candidates"` // name of the file of candidate pairs to compare
}

const (
	pairBytes    = 8
	similarBytes = 12
)

func appendPair(dst []byte, p dedup.Pair) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(dst, p.A), p.B)
}

func init() {
	stage.Register(stage.Definition{
		Name:      "pairs",
		Algorithm: algorithm,
		New:       stage.New(func(env *stage.Env, work work) stage.Worker { return &pairsWorker{env, work} }),
		Counts:    []counts.Count{compared, similarPairs, copies},
	})
}

// pairsWorker compares the texts of candidate pairs.
type pairsWorker struct {
	*stage.Env
	work
}

// SideCars names the side-car of a task, for helpers on a cluster.
func (w *pairsWorker) SideCars(index int, plan func(to any) error) ([]string, error) {
	var t pairsTask
	if err := plan(&t); err != nil || t.Candidates == "" {
		return nil, err
	}
	return []string{similarName(index) + sharding.SideCarSuffix}, nil
}

func (w *pairsWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t pairsTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	if t.Candidates == "" { // nothing to compare
		return []stage.Result{{Task: index}}, nil
	}
	candidates, err := readRows(ctx, w.Signatures, t.Candidates, pairBytes)
	if err != nil {
		return nil, err
	}
	name := similarName(index)
	sideCar := name + sharding.SideCarSuffix
	if results, ok, err := w.Proved(ctx, index, sideCar); err != nil || ok {
		w.Meter.Add(int64(len(candidates) / pairBytes))
		return results, err
	}
	similar, err := w.compare(ctx, candidates)
	if err != nil {
		return nil, err
	}
	entry, err := w.Write(ctx, name+binarySuffix, similar)
	if err != nil {
		return nil, err
	}
	entry.Task = index
	entry.Counts = sharding.Counts{compared.Key: int64(len(candidates) / pairBytes), similarPairs.Key: int64(len(similar) / similarBytes)}
	result, err := w.Prove(ctx, sideCar, sharding.SideCar{Task: index, File: entry})
	return []stage.Result{result}, err
}

// compare returns a row for each candidate pair that is similar. candidates contains
// pairBytes bytes for each pair.
func (w *pairsWorker) compare(ctx context.Context, candidates []byte) ([]byte, error) {
	shared, err := w.shared(ctx)
	if err != nil {
		return nil, err
	}
	sketcher, err := dedup.NewSketcher(*w.Options.Nearly)
	if err != nil {
		return nil, err
	}
	reader, err := newDocumentReader(ctx, w.Paths(), shared.where)
	if err != nil {
		return nil, err
	}
	defer reader.close()
	sets := setCache{load: func(number uint32, spare dedup.Set) (dedup.Set, error) {
		doc, err := reader.document(number)
		if err != nil {
			return dedup.Set{}, err
		}
		shared.repeated.remove(doc)
		return sketcher.Shingles(doc.Text, spare), nil
	}}
	similar := similarRows{limits: &w.Options}
	for ; len(candidates) > 0; candidates = candidates[pairBytes:] {
		p := dedup.Pair{A: binary.LittleEndian.Uint32(candidates), B: binary.LittleEndian.Uint32(candidates[4:])}
		a, err := sets.get(p.A)
		if err != nil {
			return nil, err
		}
		b, err := sets.get(p.B)
		if err != nil {
			return nil, err
		}
		similar.judge(p, a, b)
		w.Meter.Add(1)
	}
	return similar.rows, nil
}

// similarRows collects the rows of a file of similar pairs.
type similarRows struct {
	limits *Options // which pairs get a row: Nearly.Similar and containment
	rows   []byte   // similarBytes for each row
}

// add appends a row.
func (s *similarRows) add(p dedup.Pair, value float64) {
	s.rows = binary.LittleEndian.AppendUint32(appendPair(s.rows, p), math.Float32bits(float32(value)))
}

// judge appends a row with the similarity of the documents of p if they are duplicates, and
// with 0 if they are tied. a and b are their shingles. Of documents that are not duplicates,
// for each of the two that is contained in the other, judge appends a row with the contained
// fraction, negated.
func (s *similarRows) judge(p dedup.Pair, a, b dedup.Set) {
	switch share := dedup.Jaccard(a, b); {
	case share >= s.limits.Nearly.Threshold:
		s.add(p, share)
		return
	case share >= s.limits.Nearly.Similar:
		s.add(p, 0)
	}
	limit := s.limits.containment()
	if limit == 0 {
		return
	}
	if share := dedup.Contained(a, b); share >= limit {
		s.add(p, -share)
	}
	if share := dedup.Contained(b, a); share >= limit {
		s.add(dedup.Pair{A: p.B, B: p.A}, -share)
	}
}

// pairsShared is what all tasks of the stage pairs read.
type pairsShared struct {
	where    *documentTable // all documents
	repeated lineSet
}

// shared returns what all tasks read. The first call in a job creates it.
func (w *pairsWorker) shared(ctx context.Context) (*pairsShared, error) {
	shared, err := w.Share(func() (any, error) {
		plan, err := newPlan(ctx, w.Paths())
		if err != nil {
			return nil, err
		}
		repeated, err := w.repeated(ctx)
		return &pairsShared{newDocumentTable(plan.tasks), repeated}, err
	})
	if err != nil {
		return nil, err
	}
	return shared.(*pairsShared), nil
}

// Finish combines similar documents into clusters and writes the decisions.
func (w *pairsWorker) Finish(ctx context.Context, results []stage.Result) error {
	results = slices.DeleteFunc(results, func(r stage.Result) bool { return r.SideCar == "" })
	index, err := openSignatures(ctx, w.Signatures, w.Budget)
	if err != nil {
		return err
	}
	defer index.close()
	found := &similarities{clusters: dedup.NewClusters(index.Len()), nearest: make([]float32, index.Len()),
		ties: &ties{clusters: dedup.NewClusters(index.Len())}}
	if err := index.Equal(ctx, found.clusters); err != nil {
		return err
	}
	all := &joinedPairs{similarities: found, equal: make([]bool, index.Len())}
	for i := range all.equal {
		all.equal[i] = found.clusters.First(uint32(i)) != uint32(i)
	}
	for _, r := range results {
		if err := w.join(ctx, r.Task, all); err != nil {
			return err
		}
	}
	if len(all.inside) > 0 {
		if err := w.contain(ctx, found, all.inside); err != nil {
			return err
		}
	}
	for i := range uint32(index.Len()) {
		found.ties.clusters.Join(i, found.clusters.First(i))
	}
	files, err := found.decide(ctx, w.Env, index)
	if err != nil {
		return err
	}
	return w.Manifest(ctx, results, sharding.Manifest{Files: files})
}

// joinedPairs collects the pairs of all tasks.
type joinedPairs struct {
	*similarities
	equal  []bool      // equal[i]: document i has the same words as an earlier document
	inside []insideRow // documents that are contained in another
}

// join adds the similar pairs of one task to the clusters in all, and the contained
// documents of the task to all.inside.
func (w *pairsWorker) join(ctx context.Context, task int, all *joinedPairs) error {
	rows, err := readRows(ctx, w.Out(), similarName(task)+binarySuffix, similarBytes)
	if err != nil {
		return err
	}
	for ; len(rows) > 0; rows = rows[similarBytes:] {
		a, b := binary.LittleEndian.Uint32(rows), binary.LittleEndian.Uint32(rows[4:])
		if max(a, b) >= uint32(len(all.equal)) {
			return fmt.Errorf("read %s: %w: no document %d", similarName(task), sharding.ErrFormat, max(a, b))
		}
		s := math.Float32frombits(binary.LittleEndian.Uint32(rows[8:]))
		if s < 0 {
			all.inside = append(all.inside, insideRow{a, b, -s})
			continue
		}
		if s == 0 {
			all.ties.clusters.Join(a, b)
			continue
		}
		all.clusters.Join(a, b)
		for _, d := range []uint32{a, b} {
			if !all.equal[d] {
				all.nearest[d] = max(all.nearest[d], s)
			}
		}
	}
	if need := insideRowBytes * int64(len(all.inside)); need > w.Budget {
		return &stage.MemoryError{Need: 2 * need, Have: 2 * w.Budget, Why: fmt.Sprintf("deciding about %d pairs of documents of which one contains the other", len(all.inside))}
	}
	return nil
}

// A documentTable locates documents by their number among all documents.
type documentTable struct {
	first []uint32 // number of the first document of each block
	runs  []blockRun
}

// A blockRun is consecutive blocks of a file.
type blockRun struct {
	first int // index of the first block of the run among all blocks
	sharding.FileBlocks
}

// place returns the location of the block with the given index among all blocks.
func (t *documentTable) place(number int) blockPlace {
	run := t.runs[sort.Search(len(t.runs), func(i int) bool { return t.runs[i].first > number })-1]
	return blockPlace{run.Folder, run.Name, run.Blocks[number-run.first]}
}

type blockPlace struct {
	folder int
	name   string
	block  extract.Block
}

func newDocumentTable(tasks []task) *documentTable {
	t := new(documentTable)
	number := uint32(0)
	for _, task := range tasks {
		for _, f := range task.Blocks {
			if len(f.Blocks) > 0 {
				t.runs = append(t.runs, blockRun{len(t.first), f})
			}
			for _, b := range f.Blocks {
				t.first = append(t.first, number)
				number += uint32(b.Documents)
			}
		}
	}
	return t
}

// A documentReader reads single documents by their number among all documents.
type documentReader struct {
	ctx       context.Context
	locations []string
	table     *documentTable
	blocks    *extract.BlockReader
	files     map[string]store.File
}

// openFiles is the maximum number of open files of a documentReader.
const openFiles = 32

func newDocumentReader(ctx context.Context, locations []string, table *documentTable) (*documentReader, error) {
	blocks, err := extract.NewBlockReader()
	return &documentReader{ctx, locations, table, blocks, map[string]store.File{}}, err
}

func (r *documentReader) close() {
	r.blocks.Close()
	r.closeFiles()
}

func (r *documentReader) closeFiles() {
	for _, f := range r.files {
		f.Close()
	}
	clear(r.files)
}

func (r *documentReader) document(number uint32) (*extract.Document, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	i, found := slices.BinarySearch(r.table.first, number+1)
	for found && i > 0 && r.table.first[i-1] == number+1 {
		i-- // empty blocks have the same first number as the next block
	}
	i--
	if i < 0 {
		return nil, fmt.Errorf("%w: no document %d", sharding.ErrFormat, number)
	}
	at := r.table.place(i)
	f, err := r.open(at)
	if err != nil {
		return nil, err
	}
	n := number - r.table.first[i]
	for doc, err := range r.blocks.Documents(f, at.block) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", at.name, err)
		}
		if n == 0 {
			return doc, nil
		}
		n--
	}
	return nil, fmt.Errorf("read %s: %w", at.name, &extract.CorruptError{Offset: at.block.Offset, Reason: "fewer documents in the block than its side-car says"})
}

func (r *documentReader) open(at blockPlace) (store.File, error) {
	key := fmt.Sprint(at.folder, "/", at.name)
	if f := r.files[key]; f != nil {
		return f, nil
	}
	if len(r.files) >= openFiles {
		r.closeFiles()
	}
	folder, err := store.Open(r.locations[at.folder])
	if err != nil {
		return nil, err
	}
	f, err := folder.Open(r.ctx, at.name)
	if err == nil {
		r.files[key] = f
	}
	return f, err
}

// A setCache keeps the most recently used sets of shingles.
type setCache struct {
	load func(uint32, dedup.Set) (dedup.Set, error)
	sets []cachedSet // the most recently used one is last
}

type cachedSet struct {
	number uint32
	set    dedup.Set
}

// cachedSets is the maximum number of cached sets: for a document and those compared with
// it.
const cachedSets = 8

func (c *setCache) get(number uint32) (dedup.Set, error) {
	if i := slices.IndexFunc(c.sets, func(s cachedSet) bool { return s.number == number }); i >= 0 {
		found := c.sets[i]
		c.sets = append(slices.Delete(c.sets, i, i+1), found)
		return found.set, nil
	}
	var spare dedup.Set
	if len(c.sets) == cachedSets {
		spare = c.sets[0].set
		c.sets = slices.Delete(c.sets, 0, 1)
	}
	set, err := c.load(number, spare)
	if err == nil {
		c.sets = append(c.sets, cachedSet{number, set})
	}
	return set, err
}
