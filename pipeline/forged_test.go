package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pretext/extract"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// Plans and side-cars are files, and anyone may have written them. Whatever
// stands in them, a task ends in good order: with its documents, or with an
// error that says what is damaged.
func FuzzForgedPlansAndSideCars(f *testing.F) {
	base := f.TempDir()
	source := filepath.Join(base, "w.xml")
	if err := os.WriteFile(source, dump(5), 0o666); err != nil {
		f.Fatal(err)
	}
	documents := filepath.Join(base, "documents")
	if _, err := Extract(context.Background(), oneWorker, ExtractConfig{Target: stage.Target{Out: documents}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: []Source{{KindWiki, source}}}); err != nil {
		f.Fatal(err)
	}
	const name = "documents-w-00000"
	in, err := sharding.OpenDocumentsFolder(context.Background(), documents)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sharding.Compact(vocabTask{sharding.BlockList{{Folder: 0, Name: in.Files[0].Name, Blocks: in.Files[0].Blocks}}}))
	f.Add([]byte(`{"blocks":[{"folder":1,"name":"x","blocks":[{"offset":-1,"length":1}]}]}`))
	f.Add([]byte(`{"blocks":[{"folder":-9,"name":"../../w.xml","blocks":[{"offset":0,"length":9223372036854775807,"raw_length":1}]}]}`))
	f.Add([]byte(`{"source":7,"number":-1,"range":{"start":-5,"end":3}}`))
	f.Add([]byte(`{"books":{"path":"/","bytes":-1}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ctx := t.Context()
		out, err := store.Open(filepath.Join(fastDir(t), "out"))
		if err != nil {
			t.Fatal(err)
		}
		recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "vocab"}
		plan := sharding.StagePlan{Version: 1, Recipe: recipe, Tasks: 1, Fingerprint: recipe.Fingerprint()}
		if err := store.WriteFile(ctx, out, sharding.PlanName, sharding.Marshal(plan)); err != nil {
			t.Fatal(err)
		}
		if err := store.WriteFile(ctx, out.Folder(sharding.PlanFolder), sharding.OldTaskFile(0), raw); err != nil {
			t.Fatal(err)
		}
		for name, work := range map[string]any{
			"vocab":   vocabWork{Training: DefaultVocabOptions()},
			"extract": extractWork{Options: DefaultExtractOptions(), Sources: []SourceSpec{{Kind: KindWiki, Paths: []string{source}, Stem: "w"}}},
		} {
			spec, err := stage.Config{Target: stage.Target{Out: out.String()}, Stage: name, Paths: []string{documents}, Work: work}.Spec(recipe.Fingerprint())
			if err != nil {
				t.Fatal(err)
			}
			w, err := spec.Worker()
			if err != nil {
				t.Fatal(err)
			}
			results, err := w.Do(ctx, 0)
			if err == nil && (len(results) != 1 || results[0].SideCar == "") {
				t.Errorf("%s: %d results and no error", spec.Stage, len(results))
			}
			if err != nil && errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v", spec.Stage, err)
			}
			noTemporary(t, "a forged plan", out.String())
		}
		forgedSideCar(t, out, documents, name, raw)
	})
}

// forgedSideCar reads documents whose table is forged.
func forgedSideCar(t *testing.T, out store.Folder, documents, name string, raw []byte) {
	ctx := t.Context()
	whole, err := os.ReadFile(filepath.Join(documents, name+sharding.DocumentsSuffix))
	if err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{name + sharding.DocumentsSuffix: whole, name + sharding.SideCarSuffix: raw} {
		if err := store.WriteFile(ctx, out, file, data); err != nil {
			t.Fatal(err)
		}
	}
	body, err := sharding.ReadDocumentsBody(ctx, out, name+sharding.DocumentsSuffix)
	if err != nil {
		if !errors.Is(err, sharding.ErrFormat) {
			t.Errorf("side-car: got %v, want an error of its format", err)
		}
		return
	}
	for _, err := range (sharding.BlockList{{Name: name + sharding.DocumentsSuffix, Blocks: body.Blocks}}).Documents(ctx, []string{out.String()}, new(stage.Meter).Add) {
		if err != nil && !errors.Is(err, extract.ErrCorrupt) {
			t.Errorf("documents: got %v, want an error of damaged data", err)
		}
	}
}
