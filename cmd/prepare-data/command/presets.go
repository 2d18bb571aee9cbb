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

// A preset is a named set of flag values.
type preset struct {
	About string              `json:"about"`
	Flags map[string][]string `json:"flags"` // flag → its values, as they would be typed
}

// presetsData is the content of presets.json.
type presetsData struct {
	Presets map[string]preset `json:"presets"`
	Typical struct {
		Wikis map[string]typicalSize `json:"wikis"`
		Books map[string]int64       `json:"books"` // number of books in Project Gutenberg, by language
	} `json:"typical"`
}

// A typicalSize is a recorded size of a dump. It is used when plan cannot ask a server.
type typicalSize struct {
	Bytes  int64  `json:"bytes"`
	Source string `json:"source"`
}

// presets returns the parsed content of presets.json.
var presets = sync.OnceValue(func() (data presetsData) {
	if err := json.Unmarshal(presetsFile, &data); err != nil {
		panic("BUG: presets.json: " + err.Error())
	}
	return data
})

func presetNames() []string { return slices.Sorted(maps.Keys(presets().Presets)) }

// defaultPreset is the preset of a run if no sources are given.
const defaultPreset = "small"

// sourceFlagNames are the flags that name sources. If any of them is given, a preset does
// not set the others.
var sourceFlagNames = []string{"wiki-dump", "wiki-html", "books", "wiki", "gutenberg", "gutenberg-ids", "gutenberg-limit", "url"}

// usePreset applies a preset: it sets those of its flags that are not given on the command
// line. It returns the preset's name. If name is "", the preset is [defaultPreset]; with a
// source flag it is none, and usePreset returns "".
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
