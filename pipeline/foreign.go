package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pretext/sharding"
)

// sortDocuments tells arguments that are documents folders of ours from those
// that must be made into one first: BERT text, JSON lines, folders of JSON lines.
func sortDocuments(arguments, texts []string) (folders []string, foreign []Source, err error) {
	for _, arg := range arguments {
		sources, ours, err := classify(arg)
		if err != nil {
			return nil, nil, err
		}
		if ours {
			folders = append(folders, arg)
		}
		foreign = append(foreign, sources...)
	}
	for _, path := range texts {
		foreign = append(foreign, Source{KindText, path})
	}
	return folders, foreign, nil
}

// classify tells documents folders of ours from JSON lines.
func classify(arg string) (foreign []Source, ours bool, err error) {
	if err := checkLocal(Source{KindJSONL, arg}); err != nil {
		return nil, false, err
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		return []Source{{KindJSONL, arg}}, false, nil
	}
	for _, name := range []string{sharding.ManifestName, sharding.PlanName} {
		if _, err := os.Stat(filepath.Join(arg, name)); err == nil {
			return nil, true, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, false, err
		}
	}
	entries, err := os.ReadDir(arg) // sorted by name
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		if stem, _, found := strings.Cut(e.Name(), ".jsonl"); found && stem != "" && !strings.HasPrefix(stem, ".") && !e.IsDir() {
			foreign = append(foreign, Source{KindJSONL, filepath.Join(arg, e.Name())})
		}
	}
	if len(foreign) == 0 {
		return nil, false, fmt.Errorf("%s: %w", arg, sharding.ErrUnfinished)
	}
	return foreign, false, nil
}
