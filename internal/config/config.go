// Package config reads the settings of a command line program from environment
// variables and from a YAML file, as values for flags that were not given.
//
//	file, err := config.Parse("run.yaml", raw)
//	if err != nil {
//		return err // *Error, with the line
//	}
//	if err := file.Check(known); err != nil { // flags by command
//		return err // *Error: an unknown key, with a suggestion
//	}
//	settings := config.Merge(file.For("run"), config.Environment("PRETEXT_", os.Environ(), nil))
//
// # File
//
// Keys are flag names; hyphens and underscores are equivalent. Top-level keys
// apply to every command with such a flag. Keys under a command's name apply
// only to that command and take precedence. A subcommand is named by both words
// ("finetune squad") and also inherits the keys under the first one. A value is
// a scalar, or a list for a flag that may be repeated. The order of lists and
// keys is kept.
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
// A variable is the prefix and the flag name in capitals with underscores:
// PRETEXT_WORKERS=4. Several values of a flag are separated by line feeds.
//
// A key that no command has is an error, in the file and in the environment, because a
// silently ignored setting can cost hours. The package does not set flags; it returns
// settings. It has no global state.
package config

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Setting is the value of one key.
type Setting struct {
	Key    string   // flag name, with hyphens
	Values []string // the value, or all values of a list
	Origin string   // "run.yaml line 3" or "PRETEXT_WORKERS"
}

// An Error reports an invalid setting.
type Error struct {
	Origin string // "run.yaml line 3", "PRETEXT_WORKERS"
	Reason string
}

func (e *Error) Error() string { return e.Origin + ": " + e.Reason }

// Usage marks the error as a usage error, so that commands exit with code 2.
func (e *Error) Usage() bool { return true }

// A File is a parsed YAML file.
type File struct {
	top      []Setting
	sections map[string][]Setting // by command
	order    []string             // commands in the order of the file
}

// maxBytes limits the size of a settings file.
const maxBytes = 1 << 20

// Parse parses a YAML file with the content raw. Errors begin with name.
func Parse(name string, raw []byte) (*File, error) {
	f := &File{sections: map[string][]Setting{}}
	if len(raw) > maxBytes {
		return nil, &Error{name, fmt.Sprintf("%d bytes are no file of settings", len(raw))}
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(raw)))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return f, nil // empty, or only comments
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

// A parser is the state of one call of Parse.
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

// mapping calls each for every entry of the YAML mapping n. It returns an error for a key
// that is not a name or occurs twice.
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

// Normal returns a key as a flag name, with hyphens.
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

// Check returns an error for a key of f that is not a flag of its command.
// flags lists the flags of each command.
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

// For returns the settings for a command, whose other names are others. In order of
// increasing precedence they come from the top-level keys, the keys under the first word of
// the command's name, the keys under its other names, and the keys under its full name.
func (f *File) For(command string, others ...string) []Setting {
	settings := f.top
	for i, r := range command {
		if r == ' ' {
			settings = Merge(settings, f.sections[command[:i]])
		}
	}
	for _, name := range append(others, command) {
		settings = Merge(settings, f.sections[name])
	}
	return settings
}

// Merge returns the settings in first and second. If both have a key, the
// setting in second is used.
func Merge(first, second []Setting) (all []Setting) {
	for _, s := range first {
		if !slices.ContainsFunc(second, func(o Setting) bool { return o.Key == s.Key }) {
			all = append(all, s)
		}
	}
	return append(all, second...)
}

// Environment returns the settings in variables that begin with prefix, sorted by name. It
// ignores reserved variables: those whose name after the prefix is in reserved, or begins
// with an element of reserved that ends in an underscore.
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

// CheckEnvironment returns an error for a setting that is not a flag of any
// command. flags lists the flags of each command.
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
