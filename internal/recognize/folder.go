package recognize

import (
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"

	"pretext/internal/store"
)

// folder returns the kind of a directory.
func folder(ctx context.Context, location string) Kind {
	entries, err := store.ReadDir(ctx, location)
	if err != nil {
		return ""
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	if len(entries) == 0 {
		return EmptyFolder
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	begins := func(prefix string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), prefix) })
	}
	weights := has("model.safetensors") || has("pytorch_model.bin") || has("model.safetensors.index.json") || has("pytorch_model.bin.index.json")
	switch {
	case has("config.json") && weights:
		return Model // a checkpoint has a manifest.json too
	case has("manifest.json") || has("plan.json"):
		return stageFolder(ctx, location)
	case hasStage(ctx, location, "shards") || hasStage(ctx, location, "documents"):
		return PreparedRun
	case has("metrics.jsonl"), begins("step-"):
		return TrainingRun
	case has("dataset_info.json") && (has("state.json") || begins("data-")), has("dataset_dict.json"):
		return Saved
	case has("tokenizer.json"), has("vocab.txt") && len(entries) < 8:
		return TokenizerFolder
	}
	return byEndings(entries)
}

// stageFolder returns the kind of a stage's folder.
func stageFolder(ctx context.Context, location string) Kind {
	var recipe struct {
		Stage string `json:"stage"`
	}
	for _, name := range []string{"manifest.json", "plan.json"} {
		raw, err := store.ReadSmall(ctx, store.Join(location, name), store.Parts)
		if err == nil && json.Unmarshal(raw, &recipe) == nil && recipe.Stage != "" {
			break
		}
	}
	return map[string]Kind{"download": Downloads, "extract": Documents, "filter": Documents, "vocab": VocabFolder, "examples": Shards, "convert": Converted}[recipe.Stage]
}

// hasStage reports whether any directory below location is a stage's folder.
func hasStage(ctx context.Context, location, name string) bool {
	for _, file := range []string{"manifest.json", "plan.json"} {
		if _, err := store.Stat(ctx, store.Join(location, name, file)); err == nil {
			return true
		}
	}
	return false
}

// endings maps kinds of files to the ends of their names.
var endings = []struct {
	kind Kind
	ends []string
}{
	{DumpFolder, []string{".xml", ".xml.bz2", ".xml.gz", ".xml.7z"}},
	{TextFolder, []string{".txt", ".txt.gz", ".txt.zst", ".epub", ".wiki", ".wikitext", ".mediawiki", ".md"}},
	{JSONFolder, []string{".json", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson", ".json.gz"}},
	{ParquetFolder, []string{".parquet"}},
	{ArchiveFolder, []string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".7z", ".tar.bz2"}},
	{HTMLFolder, []string{".html", ".htm", ".xhtml"}},
	{PDFFolder, []string{".pdf"}},
	{WeightsFolder, []string{".pt", ".pth", ".ckpt"}},
}

// byEndings returns the kind that most files of a directory have according to their names;
// "" if it is unknown.
func byEndings(entries []fs.DirEntry) Kind {
	counts := map[Kind]int{}
	files := 0
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		files++
		name := strings.ToLower(path.Base(e.Name()))
		for _, ending := range endings {
			if slices.ContainsFunc(ending.ends, func(end string) bool { return strings.HasSuffix(name, end) }) {
				counts[ending.kind]++
			}
		}
	}
	for kind, n := range counts {
		if 2*n > files {
			return kind
		}
	}
	return ""
}
