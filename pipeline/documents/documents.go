// Package documents writes the output that the stages extract and filter have in
// common: a documents file, the list of its IDs, and the side-car that proves both.
package documents

import (
	"context"
	"encoding/json"
	"strings"

	"pretext/extract"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// A Writer writes the documents file of one task.
type Writer struct {
	*stage.Env
	task   int
	stem   string
	out    *stage.Output
	blocks *extract.Writer
	ids    sharding.IDList
}

// A File names the documents file of a task.
type File struct {
	Task       int
	Stem       string // its name without a suffix
	BlockBytes int64  // bytes of text at which a block is closed
	Level      extract.Level

	Spare *extract.Writer // of an earlier file, whose memory is used again; may be nil
}

// Create begins a documents file. Call Abort when done.
func Create(ctx context.Context, env *stage.Env, f File) (*Writer, error) {
	out, err := env.Create(ctx, f.Stem+sharding.DocumentsSuffix)
	if err != nil {
		return nil, err
	}
	blocks := f.Spare
	if blocks != nil {
		blocks.Reset(out, f.BlockBytes)
	} else if blocks, err = extract.NewWriter(out, f.BlockBytes, f.Level); err != nil {
		out.Abort()
		return nil, err
	}
	return &Writer{Env: env, task: f.Task, stem: f.Stem, out: out, blocks: blocks}, nil
}

// Write appends a document.
func (w *Writer) Write(doc *extract.Document) error {
	w.ids.Add(doc.ID)
	return w.blocks.Write(doc)
}

// Spare returns what a later file may use as its [File.Spare], after the end of
// this file.
func (w *Writer) Spare() *extract.Writer { return w.blocks }

// Abort discards the file; after Prove it does nothing.
func (w *Writer) Abort() { w.out.Abort() }

// Prove commits the documents file and the files in more, then writes the list
// of IDs and the side-car. It sets body.Blocks, and adds the number of blocks
// and the bytes of text to counts.
func (w *Writer) Prove(ctx context.Context, counts sharding.Counts, body sharding.DocumentsBody, more ...*stage.Output) ([]stage.Result, error) {
	var err error
	if body.Blocks, err = w.blocks.Close(); err != nil {
		return nil, err
	}
	counts["blocks"] = int64(len(body.Blocks))
	for _, b := range body.Blocks {
		counts["text_bytes"] += b.TextBytes
	}
	car := sharding.SideCar{Task: w.task}
	if car.Body, err = json.Marshal(body); err != nil {
		return nil, err
	}
	for _, o := range append([]*stage.Output{w.out}, more...) {
		if err := w.Commit(ctx, o); err != nil {
			return nil, err
		}
	}
	car.File = w.out.Entry(w.task, counts)
	for _, o := range more {
		car.More = append(car.More, o.Entry(w.task, nil))
	}
	if car.Index, err = w.Env.Write(ctx, w.stem+sharding.IDsSuffix, w.ids.Bytes()); err != nil {
		return nil, err
	}
	car.Index.Task = w.task
	result, err := w.Env.Prove(ctx, w.stem+sharding.SideCarSuffix, car)
	return []stage.Result{result}, err
}

// EqualIDs returns how many documents of a stage have the ID of an earlier
// document.
func EqualIDs(ctx context.Context, env *stage.Env, results []stage.Result) (int64, error) {
	var lists []string
	for _, r := range results {
		lists = append(lists, strings.TrimSuffix(r.SideCar, sharding.SideCarSuffix)+sharding.IDsSuffix)
	}
	return sharding.CountEqualIDs(ctx, env.Folder, lists, func() (sharding.IDSpill, error) { return env.TempFile() })
}
