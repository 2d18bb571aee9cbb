package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/sharding"
	"pretext/sharding/survey"
	"pretext/sharding/survey/card"
)

// reproduction returns the command line that repeats a run: "run" with every flag whose
// value in the manifests differs from the default. It returns "" if s does not describe a
// run.
func reproduction(root *cobra.Command, s *survey.Stats) string {
	if len(s.Stages) < 2 || !slices.ContainsFunc(s.Stages, func(stage survey.Stage) bool { return stage.Stage == sharding.StageExamples }) {
		return ""
	}
	run, _, err := root.Find([]string{"run"})
	if err != nil {
		panic("BUG: there is no command run: " + err.Error())
	}
	r := repetition{flags: run.Flags(), given: map[string]bool{}, downloaded: map[string]bool{}, parts: []string{"prepare-data run"}}
	for _, stage := range s.Stages {
		r.add(stage)
	}
	return strings.Join(append(r.parts, "--out DIR"), " \\\n  ")
}

// A repetition is a command line that repeats the run that made a data set.
type repetition struct {
	flags      *pflag.FlagSet  // flags of the command run
	given      map[string]bool // flags that parts already has, or that need not be given
	downloaded map[string]bool // names of inputs that the command downloads
	parts      []string        // flags of the command line, after the command
}

// add adds the flags of a stage.
func (r *repetition) add(stage survey.Stage) {
	switch stage.Stage {
	case "download":
		r.parts = append(r.parts, downloadFlagsOf(stage)...)
		r.downloaded[filepath.Base(stage.Folder)] = true // the downloaded books are one input, named after the folder
		for _, d := range stage.Downloads {
			r.downloaded[d.Name] = true
		}
		return
	case "extract":
		for _, in := range stage.Inputs {
			if !r.downloaded[in.Name] {
				r.parts = append(r.parts, sourceFlag(in.Name))
			}
		}
	case sharding.StageConvert:
		r.addFormat(stage)
		return
	}
	r.addOptions(stage)
}

// addFormat adds the flag --format for converted shards, if their directory is the one
// that run would choose.
func (r *repetition) addFormat(stage survey.Stage) {
	var o sharding.ConvertOptions
	if json.Unmarshal(stage.Options, &o) != nil {
		return
	}
	format := o.Format
	name, _, _ := strings.Cut(filepath.ToSlash(stage.Folder), "/")
	if part := "--format " + format; name == format && !slices.Contains(r.parts, part) {
		r.parts = append(r.parts, part)
	}
}

// addOptions adds the options of a stage that differ from their defaults.
func (r *repetition) addOptions(stage survey.Stage) {
	options := sharding.FlattenOptions(stage.Options)
	if vocab := vocabFlag(stage, options); vocab != "" {
		r.parts = append(r.parts, vocab)
		// A tokenizer.json determines these two options itself.
		ofFile := strings.HasPrefix(vocab, "--tokenizer")
		r.given["do-lower-case"], r.given["tokenizer-profile"] = ofFile, ofFile
	}
	recipe := plainValue(options["recipe"])
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if rule, ok := strings.CutPrefix(name, "limits."); ok { // a limit of the filter stage is given as --rule
			r.parts = append(r.parts, r.option("rule", rule+"="+plainValue(options[name])))
			continue
		}
		if flag := mixFlagOf(name, options[name]); flag != "" {
			r.parts = append(r.parts, flag)
			continue
		}
		if flag := flagOf(strings.TrimPrefix(name, "replace.")); !lacksFlag(recipe, flag) {
			r.addFlag(flag, plainValue(options[name]))
		}
	}
}

// addFlag adds a flag of run with a value. It does nothing if the value is the default, if
// the flag is given already, or if run does not have it.
func (r *repetition) addFlag(name, value string) {
	f := r.flags.Lookup(name)
	if f == nil || r.given[name] {
		return
	}
	if f.Value.Type() == "intSlice" {
		value = strings.Trim(value, "[]")
	}
	if value == f.DefValue || value == strings.Trim(f.DefValue, "[]") {
		return
	}
	r.given[name] = true
	r.parts = append(r.parts, r.option(name, value))
}

// option returns the text that gives run an option on the command line: --NAME VALUE for a
// flag, --set NAME=VALUE for a setting.
func (r *repetition) option(name, value string) string {
	if f := r.flags.Lookup(name); f != nil && cli.IsSetting(f) {
		return "--set " + card.ShellWord(name+"="+value)
	}
	return fmt.Sprintf("--%s %s", name, card.ShellWord(value))
}

// mixFlagOf returns the flag for an option that a mix has for each source; "" for other
// options.
func mixFlagOf(name, value string) string {
	for option, flag := range map[string]string{"mix.weights.": "weight", "mix.epochs.": "epochs"} {
		if source, ok := strings.CutPrefix(name, option); ok {
			return fmt.Sprintf("--%s %s", flag, card.ShellWord(source+"="+value))
		}
	}
	return ""
}

// flagOf returns the name of the flag that sets an option of a manifest: usually the
// last part of the option's name.
func flagOf(option string) string {
	switch option {
	case "nearly.threshold":
		return "dedup-threshold"
	case "nearly.containment":
		return "dedup-containment"
	}
	return strings.ReplaceAll(option[strings.LastIndexByte(option, '.')+1:], "_", "-")
}

// vocabFlag returns the flag for the user's vocabulary file, or "" if the vocab stage
// trained a vocabulary.
func vocabFlag(stage survey.Stage, options map[string]string) string {
	if options["given"] != "true" || len(stage.Inputs) == 0 {
		return ""
	}
	name := stage.Inputs[len(stage.Inputs)-1].Name
	if strings.HasSuffix(name, ".json") {
		return "--tokenizer " + card.ShellWord(name)
	}
	return "--vocab " + card.ShellWord(name)
}

// sourceFlag returns the flag and value for a local source file with the given name.
func sourceFlag(name string) string {
	if strings.Contains(name, ".xml") {
		return "--wiki-dump " + card.ShellWord(name)
	}
	if strings.Contains(name, ".ndjson") || strings.Contains(name, ".html") || strings.Contains(name, "_namespace_") {
		return "--wiki-html " + card.ShellWord(name)
	}
	return "--books " + card.ShellWord(filepath.Base(name))
}

// plainValue converts a JSON value to the text that a flag takes.
func plainValue(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) == nil {
		return s
	}
	return strings.Trim(raw, "[]")
}
