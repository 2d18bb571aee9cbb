package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"

	"pretext/internal/store"
	"pretext/sharding"
)

// A folderManifest is a finished stage of a run with its manifest.
type folderManifest struct {
	*sharding.Stage
	manifest *sharding.Manifest
}

// chain compares the stages of a run with each other. Shards must be made from the
// documents in the run, and each shard from the blocks that [sharding.Assign] assigns to
// it. Shards whose inputs are not in the run are not checked. If the run has shards,
// converted shards must be made from them. If a documents folder contains template
// definitions, its documents must be made with these definitions.
func (v *verifier) chain(ctx context.Context, run []folderManifest) error {
	v.expanded(run)
	if err := v.conversions(ctx, run); err != nil {
		return err
	}
	documents := map[string]string{} // hash of a manifest → its folder; the documents folders
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

// conversions checks that converted shards were made from the shards in the run.
func (v *verifier) conversions(ctx context.Context, run []folderManifest) error {
	shards := map[string]bool{} // manifest hashes of the shard folders
	for _, f := range run {
		if f.manifest.Stage == sharding.StageExamples {
			in, err := sharding.ManifestInput(ctx, f)
			if err != nil {
				return err
			}
			shards[in.SHA256] = true
		}
	}
	for _, f := range run {
		if f.manifest.Stage != sharding.StageConvert || len(shards) == 0 {
			continue
		}
		for _, in := range f.manifest.Inputs {
			if in.Name == sharding.ManifestName && !shards[in.SHA256] {
				v.problem(f.String(), sharding.Problem{File: sharding.ManifestName,
					Reason: "converted from other shards than those that lie beside it: convert these with --overwrite, or keep them apart"})
			}
		}
	}
	return nil
}

// expanded checks that documents were made with the template definitions in their folder,
// if it contains any.
func (v *verifier) expanded(run []folderManifest) {
	templates := map[string]*sharding.Manifest{} // manifests of templates folders, by path
	for _, f := range run {
		if f.manifest.Stage == sharding.TemplatesFolder {
			templates[f.String()] = f.manifest
		}
	}
	for _, f := range run {
		collected := templates[store.Join(f.String(), sharding.TemplatesFolder)]
		var options struct {
			Definitions []struct {
				Source string
				SHA256 string
			}
		}
		if collected == nil || f.manifest.DecodeOptions(f, &options) != nil { // corrupt options are reported with the manifest
			continue
		}
		for _, d := range options.Definitions {
			name := sharding.DefinitionsFile(d.Source)
			if !slices.ContainsFunc(collected.Files, func(e sharding.FileEntry) bool { return e.Name == name && e.SHA256 == d.SHA256 }) {
				v.problem(f.String(), sharding.Problem{File: sharding.ManifestName,
					Reason: "templates were expanded by other definitions than those in " + sharding.TemplatesFolder + "/" + name})
			}
		}
	}
}

// assigned assigns the blocks of the documents to shards again, and compares the result
// with the plan of the shards in f.
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
	var plan *sharding.Assignment
	if o.Mix == nil {
		plan, err = sharding.Assign(inputs, o)
	} else if plan, err = v.mixed(ctx, f, inputs, o); plan == nil && err == nil {
		return nil
	}
	if err != nil {
		v.problem(f.String(), sharding.Problem{File: sharding.PlanName, Reason: fmt.Sprintf("cannot be made of the documents: %v", err)})
		return nil
	}
	return v.planned(ctx, f, plan)
}

// mixed assigns the blocks of the documents again for shards with a mix, using the token
// counts in the shards' folder. It also compares the table of the mix with these counts.
// It returns nil if the counts were removed, or if they are corrupt, which is reported
// elsewhere.
func (v *verifier) mixed(ctx context.Context, f folderManifest, inputs []sharding.DocumentsInput, o sharding.ExamplesOptions) (*sharding.Assignment, error) {
	folder, err := store.Open(store.Join(f.String(), sharding.MixFolder))
	if err != nil {
		return nil, err
	}
	if _, err := sharding.ReadManifest(ctx, folder); err != nil {
		return nil, nil
	}
	again := o
	plan, err := sharding.ResolveMix(ctx, folder, inputs, &again)
	if errors.Is(err, sharding.ErrFormat) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !reflect.DeepEqual(again.Mix.Table, o.Mix.Table) {
		v.problem(f.String(), sharding.Problem{File: sharding.ManifestName, Reason: "the table of the mix is not that of the tokens counted in " + sharding.MixFolder})
	}
	return plan, err
}

const dealtOtherwise = "not how these documents are dealt to shards"

// planned reports each task of f whose plan differs from want.
func (v *verifier) planned(ctx context.Context, f folderManifest, want *sharding.Assignment) error {
	t, err := sharding.OpenTasks(ctx, f)
	switch {
	case errors.Is(err, sharding.ErrFormat):
		return nil // reported with the plan
	case errors.Is(err, fs.ErrNotExist):
		return v.plannedOld(ctx, f, want)
	case err != nil:
		return err
	}
	defer t.Close()
	for i := range want.Shards {
		raw, err := t.Raw(i)
		if errors.Is(err, sharding.ErrFormat) {
			continue // reported with the plan
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(raw, sharding.Compact(want.Task(i))) {
			v.problem(f.String(), sharding.Problem{File: sharding.PlanFolder + "/" + sharding.TasksName, Reason: fmt.Sprintf("task %d: %s", i, dealtOtherwise)})
		}
	}
	return ctx.Err()
}

// plannedOld does the same as planned for a folder of an earlier version, which has one
// file for each task.
func (v *verifier) plannedOld(ctx context.Context, f folderManifest, want *sharding.Assignment) error {
	for i := range want.Shards {
		name := sharding.PlanFolder + "/" + sharding.OldTaskFile(i)
		raw, err := store.ReadFile(ctx, f, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // reported with the plan
		}
		if err != nil {
			return err
		}
		if !sameOldTask(raw, want.Task(i)) {
			v.problem(f.String(), sharding.Problem{File: name, Reason: dealtOtherwise})
		}
	}
	return nil
}

// sameOldTask reports whether raw is the plan of task in the format of earlier versions,
// ignoring white space.
func sameOldTask(raw []byte, task sharding.ShardTask) bool {
	want, err := json.Marshal(map[string][]sharding.FileBlocks{"blocks": task.Blocks})
	if err != nil {
		panic("BUG: cannot be marshalled: " + err.Error())
	}
	var got bytes.Buffer
	return json.Compact(&got, raw) == nil && slices.Equal(got.Bytes(), want)
}
