// Package config reads the settings of a command line program from the
// environment and from a YAML file, for those that were not given as flags.
//
//	file, err := config.Parse("run.yaml", raw)
//	if err != nil {
//		return err // *Error, with the line
//	}
//	if err := file.Check(known); err != nil { // flags by command
//		return err // *Error: an unknown key, and which one is meant
//	}
//	settings := config.Merge(file.For("run"), config.Environment("PRETEXT_", os.Environ(), nil))
//
// # File
//
// Keys are the names of flags; hyphens and underscores are the same. Keys at the
// top hold for every command that has such a flag, those below the name of a
// command for it alone, and these win. A command below another is named by both
// words, and takes what stands below the first one too. A value is a scalar, or a
// list where a flag may be repeated. Lists keep their order, and so do keys.
//
//	workers: 4
//	wiki_dump: [a.xml.bz2, b.xml.bz2]
//	examples:
//	  max_seq_length: 512
//	finetune squad:
//	  doc_stride: 64
//
// # Environment
//
// PREFIX and the name of a flag in capitals, with underscores: PRETEXT_WORKERS=4.
// The values of a flag that may be repeated stand on lines of their own.
//
// A key that no command knows is an error in both, since a setting that is
// silently ignored costs hours. The package knows nothing of flags: it is text
// in, settings out, and keeps no state.
package config

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Setting is what one key says.
type Setting struct {
	Key    string   // name of a flag, with hyphens
	Values []string // one, or as many as there are in a list
	Origin string   // "run.yaml line 3" or "PRETEXT_WORKERS"
}

// An Error is a wrong setting.
type Error struct {
	Origin string // "run.yaml line 3", "PRETEXT_WORKERS"
	Reason string
}

func (e *Error) Error() string { return e.Origin + ": " + e.Reason }

// A File is a YAML file that was parsed.
type File struct {
	top      []Setting
	sections map[string][]Setting // by command
	order    []string             // of sections
}

// maxBytes bounds a file of settings; no sound one comes near.
const maxBytes = 1 << 20

// Parse reads a file. Its name is for errors.
func Parse(name string, raw []byte) (*File, error) {
	f := &File{sections: map[string][]Setting{}}
	if len(raw) > maxBytes {
		return nil, &Error{name, fmt.Sprintf("%d bytes are no file of settings", len(raw))}
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(raw)))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return f, nil // empty, or comments alone
	case err != nil:
		return nil, &Error{name, strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, &Error{name, "more than one document"}
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return f, nil
	}
	p := parser{name}
	return f, p.file(root, f)
}

// A parser is one call of Parse.
type parser struct{ name string }

func (p parser) fault(n *yaml.Node, format string, args ...any) error {
	return &Error{p.origin(n), fmt.Sprintf(format, args...)}
}

func (p parser) origin(n *yaml.Node) string { return fmt.Sprintf("%s line %d", p.name, n.Line) }

func (p parser) file(root *yaml.Node, f *File) error {
	return p.mapping(root, func(key string, k, v *yaml.Node) error {
		if v.Kind != yaml.MappingNode {
			s, err := p.setting(key, k, v)
			f.top = append(f.top, s)
			return err
		}
		f.sections[key] = []Setting{}
		f.order = append(f.order, key)
		return p.mapping(v, func(inner string, k, v *yaml.Node) error {
			s, err := p.setting(inner, k, v)
			f.sections[key] = append(f.sections[key], s)
			return err
		})
	})
}

// mapping calls each for the entries of a mapping, whose keys it has seen to be
// names, each once.
func (p parser) mapping(n *yaml.Node, each func(key string, k, v *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return p.fault(n, "must be a list of \"key: value\"")
	}
	seen := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			return p.fault(k, "a key must be the name of a flag")
		}
		key := Normal(k.Value)
		if line, ok := seen[key]; ok {
			return p.fault(k, "%s again: it is set in line %d", k.Value, line)
		}
		seen[key] = k.Line
		if err := each(key, k, v); err != nil {
			return err
		}
	}
	return nil
}

// Normal returns the name of a flag: with hyphens.
func Normal(key string) string { return strings.ReplaceAll(key, "_", "-") }

func (p parser) setting(key string, k, v *yaml.Node) (Setting, error) {
	s := Setting{Key: key, Origin: p.origin(k)}
	nodes := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		nodes = v.Content
	}
	for _, n := range nodes {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			return s, p.fault(k, "%s: must be a value or a list of values", k.Value)
		}
		s.Values = append(s.Values, n.Value)
	}
	return s, nil
}

// Check finds keys that no command knows, given the flags of each.
func (f *File) Check(flags map[string][]string) error {
	var all, commands []string
	for command, names := range flags {
		commands = append(commands, command)
		all = append(all, names...)
	}
	for _, s := range f.top {
		if !slices.Contains(all, s.Key) {
			return unknown(s.Origin, s.Key, all)
		}
	}
	for _, command := range f.order {
		names, ok := flags[command]
		if !ok {
			origin := command
			if s := f.sections[command]; len(s) > 0 {
				origin = s[0].Origin
			}
			return &Error{origin, fmt.Sprintf("below %q: not a command%s", command, suggestion(command, commands))}
		}
		for _, s := range f.sections[command] {
			if !slices.Contains(names, s.Key) {
				return unknown(s.Origin, s.Key, names)
			}
		}
	}
	return nil
}

func unknown(origin, key string, names []string) error {
	return &Error{origin, fmt.Sprintf("unknown key %q%s", key, suggestion(key, names))}
}

func suggestion(name string, names []string) string {
	if near, ok := Nearest(name, names); ok {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}

// For returns what the file says to a command, in the file's order: at its top,
// below the first word of the command's name, and so on.
func (f *File) For(command string) []Setting {
	settings := f.top
	for i, r := range command {
		if r == ' ' {
			settings = Merge(settings, f.sections[command[:i]])
		}
	}
	return Merge(settings, f.sections[command])
}

// Merge returns the settings of both; where both have a key, the second wins.
func Merge(first, second []Setting) (all []Setting) {
	for _, s := range first {
		if !slices.ContainsFunc(second, func(o Setting) bool { return o.Key == s.Key }) {
			all = append(all, s)
		}
	}
	return append(all, second...)
}

// Environment returns the settings of variables that begin with a prefix, sorted
// by name, without those whose rest is reserved for something else, or begins
// with what is: with a reserved word that ends in an underscore.
func Environment(prefix string, environ, reserved []string) (settings []Setting) {
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(variable, "=")
		rest, ok := strings.CutPrefix(name, prefix)
		taken := func(r string) bool { return rest == r || strings.HasSuffix(r, "_") && strings.HasPrefix(rest, r) }
		if !ok || slices.ContainsFunc(reserved, taken) {
			continue
		}
		settings = append(settings, Setting{Key: Normal(strings.ToLower(rest)), Values: strings.Split(value, "\n"), Origin: name})
	}
	return settings
}

// CheckEnvironment finds variables that no command knows.
func CheckEnvironment(settings []Setting, flags map[string][]string) error {
	var all []string
	for _, names := range flags {
		all = append(all, names...)
	}
	for _, s := range settings {
		if slices.Contains(all, s.Key) {
			continue
		}
		hint := ""
		if near, ok := Nearest(s.Key, all); ok {
			prefix := s.Origin[:len(s.Origin)-len(s.Key)]
			hint = fmt.Sprintf(", did you mean %s%s?", prefix, strings.ToUpper(strings.ReplaceAll(near, "-", "_")))
		}
		return &Error{s.Origin, "this environment variable is no setting" + hint}
	}
	return nil
}
