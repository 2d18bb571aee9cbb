package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pretext/sharding"
	"pretext/sharding/survey"
	"pretext/sharding/survey/card"
)

func newCard() *cobra.Command {
	var flags surveyFlags
	var o card.Options
	var out outFile
	cmd := &cobra.Command{
		Use:   "card PATH --out README.md",
		Short: "Write a dataset card for Hugging Face",
		Long: `Writes the dataset card that Hugging Face shows: YAML for machines (license,
language, size, configs) and Markdown for people (sources with hashes and licences,
options, counts, how to make, check and read it).

Write it to PATH/README.md: its paths are relative to PATH. load_dataset of the
package datasets then reads the documents, from there or from the Hub. It cannot
read TFRecords; the card shows how TensorFlow does.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			so, err := flags.survey()
			if err != nil {
				return err
			}
			if out.path == "" {
				return usagef("no output file: give --out README.md")
			}
			s, err := survey.Collect(cmd.Context(), args[0], so)
			if err != nil {
				return err
			}
			o.Command = reproduction(cmd.Root(), s)
			var text bytes.Buffer
			if err := card.Write(&text, s, o); err != nil {
				return err
			}
			if bytes.Contains(text.Bytes(), []byte("\n  - unknown\n")) {
				fmt.Fprintln(cmd.ErrOrStderr(), "prepare-data: note: the licence of a source is not known: give --license when you know it")
			}
			return out.write(cmd, text.Bytes())
		},
	}
	flags.add(cmd.Flags())
	fs := cmd.Flags()
	out.add(fs)
	fs.StringVar(&o.Name, "name", "", "name of the data set; default: the name of its folder")
	fs.StringArrayVar(&o.Licences, "license", nil, "`licence` of the data as the Hugging Face Hub names it, such as cc-by-sa-4.0; may be repeated; default: the licences of the downloads")
	return cmd
}

// reproduction returns the command line that repeats a run: "run" with every flag whose
// value in the manifests differs from the default. It returns "" if s does not describe a
// run.
func reproduction(root *cobra.Command, s *survey.Stats) string {
	var run *cobra.Command
	for _, c := range root.Commands() {
		if c.Name() == "run" {
			run = c
		}
	}
	parts := []string{"prepare-data run"}
	made := false
	given := map[string]bool{}
	downloaded := map[string]bool{}
	for _, stage := range s.Stages {
		made = made || stage.Stage == "examples"
		if stage.Stage == "download" {
			parts = append(parts, downloadFlagsOf(stage)...)
			downloaded[filepath.Base(stage.Folder)] = true // the books of it are one input
			for _, d := range stage.Downloads {
				downloaded[d.Name] = true
			}
			continue
		}
		if stage.Stage == "extract" {
			for _, in := range stage.Inputs {
				if !downloaded[in.Name] {
					parts = append(parts, sourceFlag(in.Name))
				}
			}
		}
		options := sharding.FlattenOptions(stage.Options)
		if vocab := vocabFlag(stage, options); vocab != "" {
			parts = append(parts, vocab)
			// A tokenizer.json decides these itself.
			ofFile := strings.HasPrefix(vocab, "--tokenizer")
			given["do-lower-case"], given["tokenizer-profile"] = ofFile, ofFile
		}
		for _, name := range slices.Sorted(maps.Keys(options)) {
			if rule, ok := strings.CutPrefix(name, "limits."); ok { // of the filter
				parts = append(parts, fmt.Sprintf("--rule %s=%s", rule, plainValue(options[name])))
				continue
			}
			if flag := mixFlagOf(name, options[name]); flag != "" {
				parts = append(parts, flag)
				continue
			}
			flag := flagOf(strings.TrimPrefix(name, "replace."))
			f := run.Flags().Lookup(flag)
			value := plainValue(options[name])
			if f != nil && f.Value.Type() == "intSlice" {
				value = strings.Trim(value, "[]")
			}
			if f == nil || lacksFlag(plainValue(options["recipe"]), flag) || given[flag] || value == f.DefValue || value == strings.Trim(f.DefValue, "[]") {
				continue
			}
			given[flag] = true
			parts = append(parts, fmt.Sprintf("--%s %s", flag, card.ShellWord(value)))
		}
	}
	if !made || len(s.Stages) < 2 {
		return ""
	}
	return strings.Join(append(parts, "--out DIR"), " \\\n  ")
}

// mixFlagOf returns the flag for an option of a mix that belongs to one source; "" for
// other options.
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

// vocabFlag returns the flag for the vocabulary file that a vocab stage was given, or
// "" if the stage trained a vocabulary.
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

// plainValue returns a JSON value in the form of a flag's value.
func plainValue(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) == nil {
		return s
	}
	return strings.Trim(raw, "[]")
}
