package card

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"pretext/sharding"
	"pretext/sharding/survey"
)

// A config is a named set of files with equal columns. The function load_dataset of the
// Python package datasets loads it by name.
type config struct {
	Name    string `yaml:"config_name"`
	Default bool   `yaml:"default,omitempty"`
	// Content identifies the content of the files. The cache of datasets knows a local
	// folder by its name and the configs alone, and would give the rows of another one.
	Content string     `yaml:"description,omitempty"`
	Files   []dataFile `yaml:"data_files"`
}

type dataFile struct {
	Split string `yaml:"split"`
	Path  string `yaml:"path"` // glob pattern, relative to the card
}

// info declares the columns of a config. Without info, load_dataset infers the columns
// from the first lines of the first file, and fails at later documents with more
// metadata.
type info struct {
	Config   string   `yaml:"config_name"`
	Features []column `yaml:"features"`
}

type column struct {
	Name   string   `yaml:"name"`
	Type   string   `yaml:"dtype,omitempty"`
	Struct []column `yaml:"struct,omitempty"`
}

// documentFeatures are the fields of a document; see docs/file-format.md.
var documentFeatures = []column{{Name: "id", Type: "string"}, {Name: "text", Type: "string"}, {Name: "source", Type: "string"},
	{Name: "metadata", Struct: []column{{Name: "title", Type: "string"}, {Name: "lang", Type: "string"},
		{Name: "url", Type: "string"}, {Name: "revision", Type: "int64"}, {Name: "timestamp", Type: "string"}, {Name: "license", Type: "string"}}}}

// configs returns a config for each folder of documents, in the order of data
// flow. The default config is the last one, from which the shards were made.
func configs(s *survey.Stats) (list []config) {
	taken, content := map[string]bool{}, map[string]string{}
	for _, stage := range s.Stages {
		if stage.Manifest != "" {
			content[stage.Folder] = "content " + stage.Manifest
		}
	}
	for i, d := range s.Documents {
		if d.Documents == 0 {
			continue // load_dataset rejects a config without rows
		}
		name := configName(d.Folder)
		for taken[name] {
			name += "-" + fmt.Sprint(i)
		}
		taken[name] = true
		pattern := escapeGlob(slashed(d.Folder)) + "*" + sharding.DocumentsSuffix
		list = append(list, config{Name: name, Content: content[d.Folder], Files: []dataFile{{Split: "train", Path: pattern}}})
	}
	if len(list) > 1 {
		list[len(list)-1].Default = true
	}
	return list
}

var notInConfigNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\pL\pN._-]+`) })

// configName converts a folder name to a config name that the package datasets accepts as
// part of a path.
func configName(folder string) string {
	if name := strings.Trim(notInConfigNames().ReplaceAllString(filepath.ToSlash(folder), "-"), "-."); name != "" {
		return name
	}
	return "documents"
}

// escapeGlob escapes the special characters of a path. fsspec treats the path as a glob
// pattern, and the escaped pattern matches only this path.
func escapeGlob(name string) string {
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(name)
}

// slashed returns a folder as a prefix for paths relative to the card: the folder with a
// trailing slash, or "" for the card's own folder.
func slashed(folder string) string {
	if folder == "." {
		return ""
	}
	return path.Clean(filepath.ToSlash(folder)) + "/"
}

// addFiles sets the file names and patterns for the commands and programs on the card.
func (v *view) addFiles() {
	v.Check = "."
	for _, stage := range v.Stages {
		if sharding.Records.Of(stage.Counts) > 0 {
			o, _ := stage.Examples()
			v.Gzip = o.Compression == sharding.CompressionGzip
			pattern := escapeGlob(slashed(stage.Folder)) + "train-*.tfrecord"
			if len(o.LengthBins) > 0 { // show only the last length bin
				pattern = fmt.Sprintf("%strain_%d-*.tfrecord", escapeGlob(slashed(stage.Folder)), o.MaxSeqLength)
			}
			if v.Gzip {
				pattern += ".gz"
			}
			v.RecordFiles = "tf.io.gfile.glob(" + pythonString(pattern) + ")"
		}
	}
	if v.Stats.Records == nil || len(v.Stats.Records.Bare) == 0 {
		return
	}
	names := v.Stats.Records.Bare
	v.Gzip = strings.HasSuffix(names[0], ".gz")
	var list []string
	for _, name := range names {
		list = append(list, pythonString(name))
	}
	v.RecordFiles = "[" + strings.Join(list, ", ") + "]"
	if pattern, ok := commonPattern(names); ok && len(names) > shownFiles {
		v.RecordFiles = "sorted(tf.io.gfile.glob(" + pythonString(pattern) + "))"
	}
	if filepath.Base(v.Path) == names[0] && len(names) == 1 {
		v.Check = names[0]
	}
}

// shownFiles is the maximum number of record files that a card lists individually.
const shownFiles = 4

// commonPattern returns a glob pattern for names: their common prefix, "*" and
// their common suffix. ok is false if the pattern would also match README.md.
func commonPattern(names []string) (pattern string, ok bool) {
	prefix, suffix := names[0], names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
		for !strings.HasSuffix(name, suffix) {
			suffix = suffix[1:]
		}
	}
	pattern = escapeGlob(prefix) + "*" + escapeGlob(suffix)
	return pattern, strings.Contains(suffix, ".tfrecord") || len(prefix) > 2
}

// pythonString returns s as a Python string literal. It uses JSON encoding,
// because every JSON escape is also valid in Python.
func pythonString(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: a string is no JSON: " + err.Error())
	}
	return string(b)
}
