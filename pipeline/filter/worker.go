package filter

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"pretext/extract"
	"pretext/extract/dedup"
	"pretext/extract/quality"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// rejectsSuffix is that of the list of rejects beside a documents file. It is
// no name that a pattern for documents matches.
const rejectsSuffix = ".rejects"

// A rejectLine is a line of the list of rejects.
type rejectLine struct {
	ID         string   `json:"id"`
	Reason     string   `json:"reason"`
	Value      *float64 `json:"value,omitempty"`      // that the rule measured
	Of         string   `json:"of,omitempty"`         // ID of the document that is kept
	Similarity float32  `json:"similarity,omitempty"` // with the most similar document of the cluster
	Share      float32  `json:"share,omitempty"`      // of the cluster's first document that the one kept holds
}

// worker writes the documents that stay.
type worker struct {
	*stage.Env
	work
}

// tools are what a task holds while it is at work.
type tools struct {
	rules    *quality.Filter
	sketcher *dedup.Sketcher // nil where there is nothing to compare
}

func (w *work) tools(env *stage.Env) (*tools, error) {
	if spare, ok := env.Take().(*tools); ok {
		return spare, nil
	}
	rules, err := quality.New(w.Options.Options)
	if err != nil {
		return nil, err
	}
	t := &tools{rules: rules}
	if w.Options.Dedup != DedupNone {
		var o dedup.Options
		if w.Options.Nearly != nil {
			o = *w.Options.Nearly
		}
		t.sketcher, err = dedup.NewSketcher(o)
	}
	return t, err
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
	decisions, err := w.decisions(ctx, index)
	if err != nil {
		return nil, err
	}
	defer decisions.ids.close()
	tools, err := w.tools(w.Env)
	if err != nil {
		return nil, err
	}
	defer w.Give(tools)
	result, err := w.writeTask(ctx, index, t, tools, decisions)
	return []stage.Result{result}, err
}

// writeTask writes the documents of a task that stay, and the list of the others.
func (w *worker) writeTask(ctx context.Context, index int, t task, tools *tools, decisions *decisionReader) (stage.Result, error) {
	out, err := w.Create(ctx, t.Name+sharding.DocumentsSuffix)
	if err != nil {
		return stage.Result{}, err
	}
	defer out.Abort()
	rejects, err := w.Create(ctx, t.Name+rejectsSuffix)
	if err != nil {
		return stage.Result{}, err
	}
	defer rejects.Abort()
	documents, err := extract.NewWriter(out, t.BlockBytes)
	if err != nil {
		return stage.Result{}, err
	}
	counts := sharding.Counts{}
	var ids sharding.IDList
	for doc, err := range t.Blocks.Documents(ctx, w.Documents, w.Meter.Add) {
		if err != nil {
			return stage.Result{}, err
		}
		line, err := w.judge(doc, int(counts["read"]), tools, decisions)
		if err != nil {
			return stage.Result{}, err
		}
		counts["read"]++
		if line == nil {
			counts["documents"]++
			ids.Add(doc.ID)
			err = documents.Write(doc)
		} else {
			counts["reject."+line.Reason]++
			_, err = rejects.Write(sharding.Compact(line))
		}
		if err != nil {
			return stage.Result{}, err
		}
	}
	var body sharding.DocumentsBody
	if body.Blocks, err = documents.Close(); err != nil {
		return stage.Result{}, err
	}
	for _, b := range body.Blocks {
		counts["text_bytes"] += b.TextBytes
	}
	counts["blocks"] = int64(len(body.Blocks))
	raw, err := json.Marshal(body)
	if err != nil {
		return stage.Result{}, err
	}
	for _, o := range []*stage.Output{out, rejects} {
		if err := w.Commit(ctx, o); err != nil {
			return stage.Result{}, err
		}
	}
	idsEntry, err := w.Write(ctx, t.Name+sharding.IDsSuffix, ids.Bytes())
	if err != nil {
		return stage.Result{}, err
	}
	idsEntry.Task = index
	return w.Prove(ctx, t.Name+sharding.SideCarSuffix, sharding.SideCar{Task: index, File: out.Entry(index, counts), Index: idsEntry,
		More: []sharding.FileEntry{rejects.Entry(index, nil)}, Body: raw})
}

// judge returns the line of a reject, nil for a document that stays. What rules
// reject takes no part in finding copies; where copies were looked for, the rules
// have been asked by then and are asked again only for the value.
func (w *worker) judge(doc *extract.Document, number int, tools *tools, decisions *decisionReader) (*rejectLine, error) {
	d, decided := decisions.next(number)
	if decisions.ids.bases != nil && !decided {
		return nil, nil
	}
	if decided && d.of != decisions.first+d.document {
		id, err := decisions.ids.id(d.of)
		if err != nil {
			return nil, err
		}
		reason := sharding.RejectDuplicate
		switch {
		case d.similarity > 0:
			reason = sharding.RejectNearDuplicate
		case d.similarity < 0:
			return &rejectLine{ID: doc.ID, Reason: sharding.RejectContained, Of: id, Share: -d.similarity}, nil
		}
		return &rejectLine{ID: doc.ID, Reason: reason, Of: id, Similarity: d.similarity}, nil
	}
	if v := tools.rules.Check(doc); v.Rule != "" {
		return &rejectLine{ID: doc.ID, Reason: v.Rule, Value: &v.Value}, nil
	}
	return nil, nil
}

func (w *worker) Finish(ctx context.Context, results []stage.Result) error {
	var lists []string
	for _, r := range results {
		lists = append(lists, strings.TrimSuffix(r.SideCar, sharding.SideCarSuffix)+sharding.IDsSuffix)
	}
	equal, err := sharding.CountEqualIDs(ctx, w.Folder, lists)
	if err != nil {
		return err
	}
	return w.Manifest(ctx, results, sharding.Manifest{Counts: sharding.Counts{"equal_ids": equal}})
}

// A decision says that a document does not stay.
type decision struct {
	document   uint32  // its number in its task
	of         uint32  // number, among all, of the document that it is a copy of; its own where a rule rejects it
	similarity float32 // negative: the share of it that the other holds
}

const decisionBytes = 12

func (d decision) append(dst []byte) []byte {
	le := binary.LittleEndian
	return le.AppendUint32(le.AppendUint32(le.AppendUint32(dst, d.document), d.of), math.Float32bits(d.similarity))
}

// A decisionReader reads the decisions about the documents of a task, in their
// order.
type decisionReader struct {
	rows  []byte
	first uint32 // number, among all, of the task's first document
	ids   *idReader
}

func (w *worker) decisions(ctx context.Context, task int) (*decisionReader, error) {
	if w.Decisions == "" {
		return &decisionReader{ids: new(idReader)}, nil
	}
	rows, err := readRows(ctx, w.Decisions, decisionsName(task), decisionBytes)
	if err != nil {
		return nil, err
	}
	bases, err := w.bases(ctx)
	if err != nil {
		return nil, err
	}
	return &decisionReader{rows, bases[task], &idReader{ctx: ctx, location: w.Signatures, bases: bases}}, nil
}

// bases returns the number of the first document of each file of signatures,
// found once for the job.
func (w *worker) bases(ctx context.Context) ([]uint32, error) {
	shared, err := w.Share(func() (any, error) {
		set, err := openSignatures(ctx, w.Signatures, 0)
		if err != nil {
			return nil, err
		}
		bases := make([]uint32, len(set.each))
		for i := 1; i < len(bases); i++ {
			bases[i] = bases[i-1] + uint32(set.each[i-1].Len())
		}
		return bases, set.close()
	})
	if err != nil {
		return nil, err
	}
	return shared.([]uint32), nil
}

// next returns the decision about a document, if there is one.
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

// An idReader finds the IDs of documents by their numbers. It keeps the file
// open that it read last: copies of one source are often near each other.
type idReader struct {
	ctx      context.Context
	location string
	bases    []uint32 // number of the first document of each file of signatures
	file     store.File
	open     int // its number
	read     *dedup.Signatures
}

func (r *idReader) id(number uint32) (string, error) {
	i, found := slices.BinarySearch(r.bases, number+1)
	for found && i > 0 && r.bases[i-1] == number+1 {
		i-- // files without documents share a base
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

// turn opens another file.
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
