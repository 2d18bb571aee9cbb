package filter

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"pretext/extract"
	"pretext/extract/dedup"
	"pretext/extract/quality"
	"pretext/internal/store"
	"pretext/pipeline/documents"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// worker writes the documents that pass the filter.
type worker struct {
	*stage.Env
	work
}

// tools are the buffers of a running task. The next task reuses them.
type tools struct {
	rules    *quality.Filter
	limited  map[string]bool // languages with limits of their own
	sketcher *dedup.Sketcher // nil if the filter does not search for duplicates
	blocks   *extract.Writer // nil before the first documents file
}

func (w *work) tools(env *stage.Env) (*tools, error) {
	if spare, ok := env.Take().(*tools); ok {
		return spare, nil
	}
	rules, err := quality.New(w.Options.Options)
	if err != nil {
		return nil, err
	}
	t := &tools{rules: rules, limited: map[string]bool{}}
	for key := range w.Options.Limits {
		if lang, _ := quality.SplitLimit(key); lang != "" && lang != quality.NoSpaces {
			t.limited[lang] = true
		}
	}
	if w.Options.Dedup != DedupNone {
		var o dedup.Options
		if w.Options.Nearly != nil {
			o = *w.Options.Nearly
		}
		t.sketcher, err = dedup.NewSketcher(o)
	}
	return t, err
}

// SideCars names the side-car of a task, for helpers on a cluster.
func (w *worker) SideCars(_ int, plan func(to any) error) ([]string, error) {
	var t task
	err := plan(&t)
	return []string{t.Name + sharding.SideCarSuffix}, err
}

func (w *worker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t task
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	sideCar := t.Name + sharding.SideCarSuffix
	if results, ok, err := w.Proved(ctx, index, sideCar); err != nil || ok {
		w.Meter.Add(t.Blocks.TextBytes())
		return results, err
	}
	shared, err := w.shared(ctx)
	if err != nil {
		return nil, err
	}
	decisions, err := w.decisions(ctx, index, shared.bases)
	if err != nil {
		return nil, err
	}
	defer decisions.ids.close()
	tools, err := w.tools(w.Env)
	if err != nil {
		return nil, err
	}
	defer w.Give(tools)
	return w.writeTask(ctx, index, t, &judge{tools, decisions, shared.repeated, w.Options.Nearly != nil, false})
}

// writeTask writes the documents of a task that pass the filter, and the list of the
// rejected ones.
func (w *worker) writeTask(ctx context.Context, index int, t task, j *judge) ([]stage.Result, error) {
	out, err := documents.Create(ctx, w.Env, documents.File{Task: index, Stem: t.Name, BlockBytes: t.BlockBytes, Level: extract.DefaultLevel, Spare: j.blocks})
	if err != nil {
		return nil, err
	}
	j.blocks = out.Spare()
	defer out.Abort()
	counts := sharding.Counts{}
	for doc, err := range w.Documents(ctx, t.Blocks) {
		if err != nil {
			return nil, err
		}
		lines, bytes := j.repeated.remove(doc)
		removedLines.Add(counts, lines)
		removedBytes.Add(counts, bytes)
		line, err := j.judge(doc, int(read.Of(counts)), lines > 0 && doc.Text == "")
		if err != nil {
			return nil, err
		}
		read.Add(counts, 1)
		if lang := quality.BaseLang(doc.Lang); j.limited[lang] {
			counts[sharding.LimitedDocuments.Member(lang)]++
		}
		if line != nil {
			counts[extract.Rejects.Member(line.Reason)]++
			out.Reject(*line)
			continue
		}
		extract.Documents.Add(counts, 1)
		if doc.SimilarTo != "" {
			tiedDocuments.Add(counts, 1)
		}
		if j.untied {
			untiedDocuments.Add(counts, 1)
		}
		if err := out.Write(doc); err != nil {
			return nil, err
		}
	}
	return out.Prove(ctx, counts, sharding.DocumentsBody{})
}

// A judge decides which documents of a task are rejected. It must be asked in the order
// of the documents.
type judge struct {
	*tools
	*decisionReader
	repeated lineSet
	near     bool // whether the search for near duplicates decides about ties
	untied   bool // whether the last document is in a cluster that is too large
}

// judge returns the reject line for a document, or nil if the document is kept. number is
// the index of the document in the task; emptied reports that it had only repeated lines. With a search for duplicates, the decisions also
// contain the documents that break a quality rule. For these, judge checks the rules
// again, only to get the measured value.
func (j *judge) judge(doc *extract.Document, number int, emptied bool) (*sharding.RejectLine, error) {
	d, decided := j.next(number)
	if emptied {
		return &sharding.RejectLine{ID: doc.ID, Reason: sharding.RejectRepeatedLines}, nil
	}
	if j.near {
		doc.SimilarTo = "" // of an earlier search
	}
	j.untied = decided && d.similarity == tooMany
	switch {
	case j.ids.bases != nil && !decided, j.untied:
		return nil, nil
	case decided && d.similarity == tied:
		id, err := j.ids.id(d.of)
		doc.SimilarTo = id
		return nil, err
	}
	if decided && d.of != j.first+d.document {
		id, err := j.ids.id(d.of)
		if err != nil {
			return nil, err
		}
		reason := sharding.RejectDuplicate
		switch {
		case d.similarity > 0:
			reason = sharding.RejectNearDuplicate
		case d.similarity < 0:
			return &sharding.RejectLine{ID: doc.ID, Reason: sharding.RejectContained, Of: id, Share: -d.similarity}, nil
		}
		return &sharding.RejectLine{ID: doc.ID, Reason: reason, Of: id, Similarity: d.similarity}, nil
	}
	if v := j.rules.Check(doc); v.Rule != "" {
		return &sharding.RejectLine{ID: doc.ID, Reason: extract.Reject(v.Rule), Value: &v.Value}, nil
	}
	return nil, nil
}

func (w *worker) Finish(ctx context.Context, results []stage.Result) error {
	equal, err := documents.EqualIDs(ctx, w.Env, results)
	if err != nil {
		return err
	}
	return w.Manifest(ctx, results, sharding.Manifest{Counts: sharding.Counts{sharding.EqualIDs.Key: equal}})
}

// A decision states that a document is dropped, or tied to another one.
type decision struct {
	document   uint32  // index of the document in its task
	of         uint32  // number, among all documents, of its duplicate, of the document that contains it or of that it is tied to; its own number if a rule rejects it
	similarity float32 // similarity to the duplicate; if negative, minus the contained fraction; for a document that is kept: [tied] or [tooMany]
}

const decisionBytes = 12

func (d decision) append(dst []byte) []byte {
	le := binary.LittleEndian
	return le.AppendUint32(le.AppendUint32(le.AppendUint32(dst, d.document), d.of), math.Float32bits(d.similarity))
}

// A decisionReader reads the decisions about the documents of a task, in order.
type decisionReader struct {
	rows  []byte
	first uint32 // number, among all documents, of the task's first document
	ids   *idReader
}

func (w *worker) decisions(ctx context.Context, task int, bases []uint32) (*decisionReader, error) {
	if w.Decisions == "" {
		return &decisionReader{ids: new(idReader)}, nil
	}
	rows, err := readRows(ctx, w.Decisions, decisionsName(task), decisionBytes)
	if err != nil {
		return nil, err
	}
	return &decisionReader{rows, bases[task], &idReader{ctx: ctx, location: w.Signatures, bases: bases}}, nil
}

// filterShared is what all tasks of the filter read.
type filterShared struct {
	bases    []uint32 // number of the first document in each signatures file; nil without decisions
	repeated lineSet
}

// shared returns what all tasks read. The first call in a job creates it.
func (w *worker) shared(ctx context.Context) (*filterShared, error) {
	shared, err := w.Share(func() (any, error) {
		repeated, err := w.repeated(ctx)
		if err != nil || w.Decisions == "" {
			return &filterShared{nil, repeated}, err
		}
		set, err := openSignatures(ctx, w.Signatures, 0)
		if err != nil {
			return nil, err
		}
		bases := make([]uint32, len(set.each))
		for i := 1; i < len(bases); i++ {
			bases[i] = bases[i-1] + uint32(set.each[i-1].Len())
		}
		return &filterShared{bases, repeated}, set.close()
	})
	if err != nil {
		return nil, err
	}
	return shared.(*filterShared), nil
}

// next returns the decision about the document with the given index in the task. ok is
// false if there is none. next must be called for all documents in order.
func (r *decisionReader) next(number int) (d decision, ok bool) {
	if len(r.rows) == 0 {
		return d, false
	}
	le := binary.LittleEndian
	d = decision{le.Uint32(r.rows), le.Uint32(r.rows[4:]), math.Float32frombits(le.Uint32(r.rows[8:]))}
	if int(d.document) != number {
		return d, false
	}
	r.rows = r.rows[decisionBytes:]
	return d, true
}

// An idReader returns the ID of a document by its number. It keeps the signatures file that
// it read last open, because duplicates in one source are often in the same file.
type idReader struct {
	ctx      context.Context
	location string
	bases    []uint32 // number of the first document in each signatures file
	file     store.File
	open     int // index of the open file
	read     *dedup.Signatures
}

func (r *idReader) id(number uint32) (string, error) {
	i, found := slices.BinarySearch(r.bases, number+1)
	for found && i > 0 && r.bases[i-1] == number+1 {
		i-- // empty files have the same base as the next file
	}
	i--
	if r.file == nil || r.open != i {
		if err := r.turn(i); err != nil {
			return "", err
		}
	}
	id, err := r.read.ID(int(number - r.bases[i]))
	if err != nil {
		return "", fmt.Errorf("read %s%s: %w: %w", signaturesName(i), binarySuffix, sharding.ErrFormat, err)
	}
	return id, nil
}

// turn closes the open file and opens the signatures file of task i.
func (r *idReader) turn(i int) error {
	r.close()
	folder, err := store.Open(r.location)
	if err != nil {
		return err
	}
	name := signaturesName(i) + binarySuffix
	if r.file, err = folder.Open(r.ctx, name); err != nil {
		return err
	}
	r.open = i
	r.read, err = dedup.OpenSignatures(r.file, r.file.Size())
	if err != nil {
		return fmt.Errorf("read %s in %s: %w: %w", name, folder, sharding.ErrFormat, err)
	}
	return nil
}

func (r *idReader) close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}
