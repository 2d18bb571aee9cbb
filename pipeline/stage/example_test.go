package stage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"pretext/extract"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// A stage of one's own: beside each documents file it makes a list of how many
// words every document has. Its options travel to workers as JSON:
type lengthsWork struct{ Documents string }

// Its plan, one for each file:
type lengthsTask struct{ File string }

type lengthsWorker struct {
	*stage.Env
	lengthsWork
}

func init() {
	stage.Register(stage.Definition{
		Name:   "lengths",
		New:    stage.New(func(env *stage.Env, work lengthsWork) stage.Worker { return &lengthsWorker{env, work} }),
		Owns:   stage.Prefixed("lengths-"),
		Counts: [][2]string{{"documents", "documents"}, {"words", "words"}},
	})
}

func (w *lengthsWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t lengthsTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("lengths-%05d", index)
	if results, ok, err := w.Proved(ctx, index, name+sharding.SideCarSuffix); err != nil || ok {
		return results, err // an earlier run has done this task
	}
	out, err := w.Create(ctx, name+".tsv")
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	counts := sharding.Counts{}
	err = eachDocument(ctx, w.Documents, t.File, func(doc *extract.Document) {
		words := len(strings.Fields(doc.Text))
		counts.Add(sharding.Counts{"documents": 1, "words": int64(words)})
		fmt.Fprintf(out, "%s\t%d\n", doc.ID, words)
	})
	if err != nil {
		return nil, err
	}
	if err := w.Commit(ctx, out); err != nil {
		return nil, err
	}
	result, err := w.Prove(ctx, name+sharding.SideCarSuffix, sharding.SideCar{Task: index, File: out.Entry(index, counts)})
	return []stage.Result{result}, err
}

func (w *lengthsWorker) Finish(ctx context.Context, results []stage.Result) error {
	return w.Manifest(ctx, results, sharding.Manifest{})
}

// lengths runs the stage on a documents folder.
func lengths(ctx context.Context, documents, out string) (*sharding.Manifest, error) {
	folder, err := store.Open(documents)
	if err != nil {
		return nil, err
	}
	m, err := sharding.ReadManifest(ctx, folder)
	if err != nil {
		return nil, err
	}
	raw := sharding.Marshal(m)
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "lengths", Algorithm: 1, Options: json.RawMessage(`{}`),
		Inputs: []sharding.Input{{Name: sharding.ManifestName, Bytes: int64(len(raw)), SHA256: sharding.Hash(raw)}}}
	var tasks []any
	for _, f := range m.Files {
		if strings.HasSuffix(f.Name, sharding.DocumentsSuffix) {
			tasks = append(tasks, lengthsTask{f.Name})
		}
	}
	spec := stage.NewSpec("lengths", out, []string{documents}, lengthsWork{documents})
	return stage.Run(ctx, stage.Runner{Workers: 2}, stage.Config{Spec: spec, Recipe: recipe, Tasks: tasks})
}

func Example() {
	documents, out, remove := demoDocuments()
	defer remove()
	for range 2 { // the second run finds all done
		m, err := lengths(context.Background(), documents, out)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, f := range m.Files {
			fmt.Println(f.Name, f.Counts["documents"])
		}
	}
	// Output:
	// lengths-00000.json 0
	// lengths-00000.tsv 87
	// lengths-00000.json 0
	// lengths-00000.tsv 87
}
