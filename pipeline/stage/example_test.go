package stage_test

import (
	"context"
	"fmt"

	"pretext/extract"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// A stage of your own: the length of each document, in one file per documents file.
type lengthsWorker struct{ *stage.Env }

func init() {
	stage.Register(stage.Definition{Name: "lengths", Algorithm: 1,
		New: stage.New(func(env *stage.Env, _ struct{}) stage.Worker { return lengthsWorker{env} })})
}

func (w lengthsWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var blocks sharding.BlockList // the task's plan
	if err := w.Task(ctx, index, &blocks); err != nil {
		return nil, err
	}
	file := stage.TaskFile{Task: index, Name: fmt.Sprintf("lengths-%05d.tsv", index), Size: blocks.TextBytes()}
	return w.WriteFile(ctx, file, func(out *stage.Output) (sharding.Counts, error) {
		counts := sharding.Counts{}
		for doc, err := range w.Documents(ctx, blocks) {
			if err != nil {
				return nil, err
			}
			extract.Documents.Add(counts, 1)
			fmt.Fprintf(out, "%s\t%d\n", doc.ID, len(doc.Text))
		}
		return counts, nil
	})
}

func Example() {
	documents, out, remove := demoDocuments()
	defer remove()
	in, err := sharding.OpenDocumentsFolder(context.Background(), documents)
	if err != nil {
		panic(err)
	}
	c := stage.Config{Stage: "lengths", Target: stage.Target{Out: out}, Inputs: []sharding.Input{in.Input}, Paths: []string{in.Location}, Work: struct{}{}}
	c.Tasks = sharding.TaskList{Len: len(in.Files), Plan: func(i int) any {
		return sharding.BlockList{{Name: in.Files[i].Name, Blocks: in.Files[i].Blocks}}
	}}
	for range 2 { // the second run finds all done
		m, err := stage.Run(context.Background(), stage.Runner{Workers: 2}, c)
		if err != nil {
			panic(err)
		}
		fmt.Println(m.Counts)
	}
	// Output:
	// map[documents:87]
	// map[documents:87]
}
