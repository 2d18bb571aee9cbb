// Package documents writes the common output of the stages extract and filter: a
// documents file, the list of its IDs, the list of its rejects, and the side-car that
// proves that they are complete.
package documents

import (
	"context"
	"encoding/json"
	"strings"

	"pretext/extract"
	"pretext/extract/parallel"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// A Writer writes the documents file of one task and the list of its rejects.
type Writer struct {
	*stage.Env
	task   int
	stem   string
	out    *stage.Output
	blocks *extract.Writer
	ids    sharding.IDList

	rejects *stage.Output
	failed  error // error of writing to rejects
}

// A File configures the documents file of a task.
type File struct {
	Task       int
	Stem       string // file name without a suffix
	BlockBytes int64  // size of a full block, in bytes of text
	Level      extract.Level

	Spare *extract.Writer // writer of an earlier file, whose memory is reused; may be nil
	Team  *parallel.Team  // compresses the blocks; nil: the writer does
}

// Create creates a documents file and the list of its rejects. Call Abort when done.
func Create(ctx context.Context, env *stage.Env, f File) (*Writer, error) {
	out, err := env.Create(ctx, f.Stem+sharding.DocumentsSuffix)
	if err != nil {
		return nil, err
	}
	created := false
	defer func() {
		if !created {
			out.Abort()
		}
	}()
	blocks := f.Spare
	if blocks != nil {
		blocks.Reset(out, f.BlockBytes)
	} else if blocks, err = extract.NewWriter(out, f.BlockBytes, f.Level); err != nil {
		return nil, err
	}
	if f.Team != nil {
		blocks.Share(f.Team)
	}
	rejects, err := env.Create(ctx, f.Stem+sharding.RejectsSuffix)
	if err != nil {
		return nil, err
	}
	created = true
	return &Writer{Env: env, task: f.Task, stem: f.Stem, out: out, blocks: blocks, rejects: rejects}, nil
}

// Write appends a document.
func (w *Writer) Write(doc *extract.Document) error {
	if w.failed != nil {
		return w.failed
	}
	w.ids.Add(doc.ID)
	return w.blocks.Write(doc)
}

// Reject appends a line to the list of rejects. The next Write or Prove returns
// its error.
func (w *Writer) Reject(line sharding.RejectLine) {
	if w.failed == nil {
		_, w.failed = w.rejects.Write(sharding.Compact(line))
	}
}

// Spare returns the value for a later file's [File.Spare]. Call it after this file is
// complete.
func (w *Writer) Spare() *extract.Writer { return w.blocks }

// Abort discards the files; after Prove it does nothing.
func (w *Writer) Abort() {
	w.out.Abort()
	w.rejects.Abort()
}

// Prove commits the documents file and the list of rejects, then writes the list
// of IDs and the side-car. It sets body.Blocks, and adds the number of blocks
// and the bytes of text to counts.
func (w *Writer) Prove(ctx context.Context, counts sharding.Counts, body sharding.DocumentsBody) ([]stage.Result, error) {
	err := w.failed
	if err != nil {
		return nil, err
	}
	if body.Blocks, err = w.blocks.Close(); err != nil {
		return nil, err
	}
	extract.Blocks.Add(counts, int64(len(body.Blocks)))
	for _, b := range body.Blocks {
		extract.TextBytes.Add(counts, b.TextBytes)
	}
	car := sharding.SideCar{Task: w.task}
	if car.Body, err = json.Marshal(body); err != nil {
		return nil, err
	}
	for _, o := range []*stage.Output{w.out, w.rejects} {
		if err := o.Wait(); err != nil {
			return nil, err
		}
	}
	car.File = w.out.Entry(w.task, counts)
	car.More = []sharding.FileEntry{w.rejects.Entry(w.task, nil)}
	ids := stage.Small{Name: w.stem + sharding.IDsSuffix, Data: w.ids.Bytes()}
	car.Index = ids.Entry()
	car.Index.Task = w.task
	result, err := w.Publish(ctx, []*stage.Output{w.out, w.rejects}, []stage.Small{ids}, w.stem+sharding.SideCarSuffix, car)
	return []stage.Result{result}, err
}

// EqualIDs returns how many documents of a stage have the same ID as an earlier document.
func EqualIDs(ctx context.Context, env *stage.Env, results []stage.Result) (int64, error) {
	var lists []string
	for _, r := range results {
		lists = append(lists, strings.TrimSuffix(r.SideCar, sharding.SideCarSuffix)+sharding.IDsSuffix)
	}
	return sharding.CountEqualIDs(ctx, env.Folder, lists, func() (sharding.IDSpill, error) { return env.TempFile() })
}
