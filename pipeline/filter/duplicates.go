package filter

import (
	"context"
	"fmt"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/dedup"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// binarySuffix is the suffix of binary files.
const binarySuffix = ".bin"

func signaturesName(task int) string { return fmt.Sprintf("%s%05d", sharding.SignaturesPrefix, task) }
func samplesName(task int) string {
	return fmt.Sprintf("%s%05d%s", sharding.SamplesPrefix, task, binarySuffix)
}
func candidatesName(n int) string {
	return fmt.Sprintf("%s%05d%s", sharding.CandidatesPrefix, n, binarySuffix)
}
func similarName(task int) string { return fmt.Sprintf("%s%05d", sharding.SimilarPrefix, task) }
func decisionsName(task int) string {
	return fmt.Sprintf("%s%05d%s", sharding.DecisionsPrefix, task, binarySuffix)
}

// findDuplicates runs the stage signatures and, for [DedupMinHash], the stage pairs. It
// sets the paths of their directories in w. run is the configuration of the filter stage.
func (w *work) findDuplicates(ctx context.Context, r stage.Runner, run stage.Config) error {
	below := func(name string) stage.Target {
		t := run.Target.In(name)
		t.Out = store.Absolute(t.Out)
		return t
	}
	pairs := below(sharding.PairsFolder)
	run.Stage, run.Target = "signatures", below(sharding.SignaturesFolder)
	w.Signatures, w.Decisions, run.Work = run.Out, run.Out, w
	m, err := stage.Run(ctx, r, run)
	if err != nil || w.Options.Dedup != DedupMinHash {
		return err
	}
	input, err := signaturesInput(ctx, run.Out)
	if err != nil {
		return err
	}
	run.Stage, run.Target, w.Decisions = "pairs", pairs, pairs.Out
	run.Inputs = []sharding.Input{input}
	tasks := make([]pairsTask, max(1, candidateFiles.Of(m.Counts)))
	for i := range tasks {
		tasks[i].Candidates = candidatesName(i)
	}
	if candidates.Of(m.Counts) == 0 {
		tasks[0] = pairsTask{} // a job needs at least one task
	}
	run.Tasks, run.Total, run.Unit = stage.Tasks(tasks), candidates.Of(m.Counts), "pairs"
	_, err = stage.Run(ctx, r, run)
	return err
}

// signaturesInput returns the manifest of the signatures directory at location, as an
// input of the pairs stage.
func signaturesInput(ctx context.Context, location string) (sharding.Input, error) {
	folder, err := store.Open(location)
	if err != nil {
		return sharding.Input{}, err
	}
	return sharding.ManifestInput(ctx, folder)
}

// Counts of the search for duplicates.
var (
	rejected       = counts.Declare("rejected", counts.About{Meaning: "documents that break a rule, of which no duplicates are looked for"})
	candidates     = counts.Declare("candidates", counts.About{Meaning: "pairs of documents that may be similar"})
	candidateFiles = counts.Declare("candidate_files", counts.About{Meaning: "files of such pairs"})
	copies         = counts.Declare("copies", counts.About{Meaning: "documents of which another one is kept"})
	compared       = counts.Declare("compared", counts.About{Meaning: "pairs whose whole texts were compared"})
	similarPairs   = counts.Declare("similar", counts.About{Meaning: "pairs that are similar"})
)

func init() {
	stage.Register(stage.Definition{
		Name:      "signatures",
		Algorithm: algorithm,
		New:       stage.New(func(env *stage.Env, work work) stage.Worker { return &signaturesWorker{env, work} }),
		Counts:    []counts.Count{extract.Documents, rejected, candidates, candidateFiles, copies},
	})
}

// signaturesWorker writes signatures.
type signaturesWorker struct {
	*stage.Env
	work
}

// SideCars names the side-car of a task, for helpers on a cluster.
func (w *signaturesWorker) SideCars(index int, _ func(to any) error) ([]string, error) {
	return []string{signaturesName(index) + sharding.SideCarSuffix}, nil
}

func (w *signaturesWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t task
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	name := signaturesName(index)
	sideCar := name + sharding.SideCarSuffix
	if results, ok, err := w.Proved(ctx, index, sideCar); err != nil || ok {
		w.Meter.Add(t.Blocks.TextBytes())
		return results, err
	}
	tools, err := w.tools(w.Env)
	if err != nil {
		return nil, err
	}
	defer w.Give(tools)
	bands := 0
	if w.Options.Nearly != nil {
		bands = w.Options.Nearly.Bands
	}
	repeated, err := w.linesToRemove(ctx)
	if err != nil {
		return nil, err
	}
	builder, samples := dedup.NewBuilder(bands), new(dedup.SampleBuilder)
	aside := int64(0)
	for doc, err := range w.Documents(ctx, t.Blocks) {
		if err != nil {
			return nil, err
		}
		removed, _ := repeated.remove(doc)
		switch {
		case removed > 0 && doc.Text == "", tools.rules.Check(doc).Rule != "":
			builder.AddAside(doc.ID)
			samples.Add(nil)
			aside++
		default:
			sketch := tools.sketcher.Sketch(doc.Text)
			builder.Add(doc.ID, sketch)
			samples.Add(sketch.Samples)
		}
	}
	out, err := w.Create(ctx, name+binarySuffix)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	if _, err := builder.WriteTo(out); err != nil {
		return nil, err
	}
	if err := w.Commit(ctx, out); err != nil {
		return nil, err
	}
	car := sharding.SideCar{Task: index, File: out.Entry(index, sharding.Counts{extract.Documents.Key: int64(builder.Len()), rejected.Key: aside})}
	if w.Options.containment() > 0 {
		entry, err := w.writeSamples(ctx, index, samples)
		if err != nil {
			return nil, err
		}
		car.More = []sharding.FileEntry{entry}
	}
	result, err := w.Prove(ctx, sideCar, car)
	return []stage.Result{result}, err
}

// linesToRemove returns the repeated lines, which all tasks share.
func (w *signaturesWorker) linesToRemove(ctx context.Context) (lineSet, error) {
	shared, err := w.Share(func() (any, error) { return w.repeated(ctx) })
	if err != nil {
		return nil, err
	}
	return shared.(lineSet), nil
}

// candidatesPerTask is the maximum number of candidate pairs in a task of the pairs
// stage.
const candidatesPerTask = 4096

// Finish writes the candidates. If the filter searches only for exact duplicates, Finish
// writes the decisions instead.
func (w *signaturesWorker) Finish(ctx context.Context, results []stage.Result) error {
	index, err := openSignatures(ctx, w.Out(), w.Budget)
	if err != nil {
		return err
	}
	defer index.close()
	clusters := dedup.NewClusters(index.Len())
	if err := index.Equal(ctx, clusters); err != nil {
		return err
	}
	if w.Options.Nearly == nil {
		files, err := (&similarities{clusters: clusters}).decide(ctx, w.Env, index)
		if err != nil {
			return err
		}
		return w.Manifest(ctx, results, sharding.Manifest{Files: files})
	}
	spill, err := w.TempFile()
	if err != nil {
		return err
	}
	defer spill.Close()
	files, err := w.candidates(ctx, index, clusters, spill)
	if err != nil {
		return err
	}
	return w.Manifest(ctx, results, sharding.Manifest{Files: files})
}

// candidates finds pairs of documents that may be similar. It writes them to files of at
// most candidatesPerTask pairs.
func (w *signaturesWorker) candidates(ctx context.Context, index *signatureSet, clusters *dedup.Clusters, spill dedup.Spill) (files []sharding.FileEntry, err error) {
	var rows []byte
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		entry, err := w.Write(ctx, candidatesName(len(files)), rows)
		entry.Counts = sharding.Counts{candidates.Key: int64(len(rows) / pairBytes), candidateFiles.Key: 1}
		files, rows = append(files, entry), rows[:0]
		return err
	}
	add := func(p dedup.Pair) error {
		rows = appendPair(rows, p)
		if len(rows) < candidatesPerTask*pairBytes {
			return nil
		}
		return flush()
	}
	if err := index.Candidates(ctx, clusters, spill, add); err != nil {
		return nil, err
	}
	if w.Options.containment() > 0 {
		samples, err := openSamples(ctx, w.Out(), w.Options.containment(), w.Budget)
		if err != nil {
			return nil, err
		}
		defer samples.close()
		first := func(document uint32) bool { return clusters.First(document) == document }
		if err := samples.Candidates(ctx, first, spill, add); err != nil { // spill can be reused, because index.Candidates is done with it
			return nil, err
		}
	}
	return files, flush()
}

// A signatureSet contains the files of a signatures directory.
type signatureSet struct {
	*dedup.Index
	*taskFiles
	each []*dedup.Signatures
}

func openSignatures(ctx context.Context, location string, budget int64) (*signatureSet, error) {
	set := new(signatureSet)
	name := func(task int) string { return signaturesName(task) + binarySuffix }
	var err error
	set.taskFiles, err = openTasks(ctx, location, name, func(f store.File) error {
		s, err := dedup.OpenSignatures(f, f.Size())
		set.each = append(set.each, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	if set.Index, err = dedup.NewIndex(set.each, budget); err != nil {
		set.close()
	}
	return set, err
}

// similarities are the clusters of duplicates. nearest[i] is the similarity of document i
// to the most similar document in its cluster, or 0 if an earlier document has the same
// words. nearest is nil if the filter searches only for exact duplicates.
type similarities struct {
	clusters *dedup.Clusters
	nearest  []float32
	within   map[uint32]containment // key: first document of a dropped cluster; value: the document that contains it
	ties     *ties                  // nil if the filter searches only for exact duplicates
}

// stays reports whether a document is neither a copy of an earlier one nor contained in
// another.
func (found *similarities) stays(document uint32) bool {
	_, contained := found.within[document]
	return !contained && found.clusters.First(document) == document
}

// decide writes the decisions, one file per task of the filter.
func (found *similarities) decide(ctx context.Context, env *stage.Env, index *signatureSet) (files []sharding.FileEntry, err error) {
	if found.ties != nil {
		found.ties.count(index.Len(), found.stays)
	}
	number := uint32(0)
	for task, signatures := range index.each {
		aside, err := signatures.Aside()
		if err != nil {
			return nil, err
		}
		var rows []byte
		counts := sharding.Counts{copies.Key: 0}
		for i := range aside {
			of := found.clusters.First(number)
			_, contained := found.within[of]
			if of != number || contained {
				copies.Add(counts, 1)
			}
			if of != number || contained || aside[i] {
				d := decision{document: uint32(i), of: of}
				if found.nearest != nil {
					d.similarity = found.nearest[number]
				}
				if in, ok := found.within[of]; ok { // the whole cluster is dropped
					d.of, d.similarity = in.of, -in.share
				}
				rows = d.append(rows)
			} else if found.ties != nil {
				if d, ok := found.ties.of(number); ok {
					d.document = uint32(i)
					rows = d.append(rows)
				}
			}
			number++
		}
		entry, err := env.Write(ctx, decisionsName(task), rows)
		if err != nil {
			return nil, err
		}
		entry.Counts = counts
		files = append(files, entry)
	}
	return files, nil
}

// readRows reads a file that consists of rows of size bytes. If the last row is
// truncated, the error matches [sharding.ErrFormat].
func readRows(ctx context.Context, location, name string, size int) ([]byte, error) {
	folder, err := store.Open(location)
	if err != nil {
		return nil, err
	}
	rows, err := store.ReadFile(ctx, folder, name)
	if err == nil && len(rows)%size != 0 {
		err = fmt.Errorf("read %s in %s: %w", name, folder, sharding.ErrFormat)
	}
	return rows, err
}
