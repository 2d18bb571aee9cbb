package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pretext/internal/store"
	"pretext/sharding"
)

// A folderManifest is a finished stage of a run and its manifest.
type folderManifest struct {
	*sharding.Stage
	manifest *sharding.Manifest
}

// chain compares the stages of a run. Shards must be made from the documents in
// the run, and each shard from the blocks that [sharding.Assign] assigns to it.
// Shards whose inputs are not in the run are not checked.
func (v *verifier) chain(ctx context.Context, run []folderManifest) error {
	documents := map[string]string{} // hash of a manifest → its folder
	for _, f := range run {
		if len(f.manifest.DocumentsFiles()) == 0 {
			continue
		}
		in, err := sharding.ManifestInput(ctx, f)
		if err != nil {
			return err
		}
		documents[in.SHA256] = f.String()
	}
	for _, f := range run {
		if f.manifest.Stage != sharding.StageExamples {
			continue
		}
		var found []string
		wanted := 0
		for _, in := range f.manifest.Inputs {
			if in.Name != sharding.ManifestName {
				continue
			}
			wanted++
			if path, ok := documents[in.SHA256]; ok {
				found = append(found, path)
			}
		}
		switch {
		case len(found) == 0 && len(documents) > 0 && wanted > 0:
			v.problem(f.String(), sharding.Problem{File: sharding.ManifestName,
				Reason: "made of other documents than those that lie beside it: make one of the two anew, or keep them apart"})
		case len(found) == wanted && wanted > 0:
			if err := v.assigned(ctx, f, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// assigned assigns the blocks of the documents to shards again and compares the
// result with the plan of the shards.
func (v *verifier) assigned(ctx context.Context, f folderManifest, documents []string) error {
	inputs, err := sharding.OpenDocuments(ctx, documents)
	if errors.Is(err, sharding.ErrFormat) || errors.Is(err, fs.ErrNotExist) {
		return nil // reported with the side-car
	}
	if err != nil {
		return err
	}
	var o sharding.ExamplesOptions
	if f.manifest.DecodeOptions(f, &o) != nil {
		return nil // reported with the manifest
	}
	plan, err := sharding.Assign(inputs, o)
	if err != nil {
		v.problem(f.String(), sharding.Problem{File: sharding.PlanName, Reason: fmt.Sprintf("cannot be made of the documents: %v", err)})
		return nil
	}
	for i, task := range plan.Tasks {
		raw, err := store.ReadFile(ctx, f, sharding.PlanFolder+"/"+sharding.TaskFile(i))
		if errors.Is(err, fs.ErrNotExist) {
			continue // reported with the plan
		}
		if err != nil {
			return err
		}
		if !sameJSON(raw, task) {
			v.problem(f.String(), sharding.Problem{File: sharding.PlanFolder + "/" + sharding.TaskFile(i), Reason: "not how these documents are dealt to shards"})
		}
	}
	return nil
}

// sameJSON reports whether raw is the JSON of v, apart from white space.
func sameJSON(raw []byte, v any) bool {
	want, err := json.Marshal(v)
	if err != nil {
		panic("BUG: cannot be marshalled: " + err.Error())
	}
	var got bytes.Buffer
	return json.Compact(&got, raw) == nil && slices.Equal(got.Bytes(), want)
}
