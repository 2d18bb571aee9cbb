package command

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
)

//go:embed presets.json
var presetsFile []byte

// A preset is a set of flags under a name.
type preset struct {
	About string              `json:"about"`
	Flags map[string][]string `json:"flags"` // flag → its values, as they would be typed
}

// presetsData is presets.json.
type presetsData struct {
	Presets map[string]preset `json:"presets"`
	Typical struct {
		Wikis map[string]typicalSize `json:"wikis"`
		Books map[string]int64       `json:"books"` // of Project Gutenberg, by language
	} `json:"typical"`
}

// A typicalSize stands for the size of a dump that nobody could be asked for.
type typicalSize struct {
	Bytes  int64  `json:"bytes"`
	Source string `json:"source"`
}

// presets returns what the file says.
var presets = sync.OnceValue(func() (data presetsData) {
	if err := json.Unmarshal(presetsFile, &data); err != nil {
		panic("BUG: presets.json: " + err.Error())
	}
	return data
})

func presetNames() []string { return slices.Sorted(maps.Keys(presets().Presets)) }

// defaultPreset is what a run without sources is.
const defaultPreset = "small"

// sourceFlagNames are the flags that name sources. Where one is given, no preset
// adds others.
var sourceFlagNames = []string{"wiki-dump", "books", "wiki", "gutenberg", "gutenberg-ids", "gutenberg-limit", "url"}

// usePreset sets the flags of a preset that were not given, and returns its
// name. Without a name and without sources it is [defaultPreset].
func usePreset(fs *pflag.FlagSet, name string) (string, error) {
	given := slices.ContainsFunc(sourceFlagNames, fs.Changed)
	if name == "" && given {
		return "", nil
	}
	if name == "" {
		name = defaultPreset
	}
	p, ok := presets().Presets[name]
	if !ok {
		return "", usagef("--preset %q: must be one of %s", name, strings.Join(presetNames(), ", "))
	}
	for _, flag := range slices.Sorted(maps.Keys(p.Flags)) {
		if fs.Changed(flag) || given && slices.Contains(sourceFlagNames, flag) {
			continue
		}
		for _, value := range p.Flags[flag] {
			if err := fs.Set(flag, value); err != nil {
				return "", usagef("preset %s: --%s: %w", name, flag, err)
			}
		}
	}
	return name, nil
}
