package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"pretext/internal/config"
	"pretext/internal/redact"
)

// An effective is a flag's value after all settings are applied, and its origin.
type effective struct {
	Name   string   `json:"name"` // flag name with underscores, as in a settings file
	Values []string `json:"values"`
	Origin string   `json:"origin"` // flag, "run.yaml line 3", PRETEXT_…, preset, default
	list   bool
	quote  bool
}

// NewConfig returns the command that shows the effective flags of another command. Its
// output is a file for --config.
func NewConfig(s *Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "config COMMAND [FLAGS]",
		Short: "Show the settings that a command would use, and the origin of each",
		Long: `Shows the value that each flag of a command would have, without running the command.
In order of precedence, values come from the command line, the environment, the file
of --config, a preset, and the defaults, which are shown as comments. The output can be
used as the file of --config. From each URL, the user name and the query string are
removed, because they may be secret.

The keys of such a file are flag names. Keys at the top apply to all commands; keys
under the name of a command apply to that command ("finetune squad" for a command of
two words). Environment variables are the prefix ` + s.Prefix + ` and the flag name in
capitals; several values of a flag are separated by line feeds. An unknown key is an
error.`,
		Example:            s.Example,
		DisableFlagParsing: true, // the arguments include flags of the other command
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, c := range withSettings(cmd.Root()) {
				words := strings.Fields(nameOf(c))
				if n := len(args); n < len(words) && slices.Equal(args, words[:n]) && !slices.Contains(names, words[n]) {
					names = append(names, words[n])
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			asJSON := len(args) > 0 && args[0] == "--json"
			if asJSON {
				args = args[1:]
			}
			if len(args) == 0 || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				return cmd.Help()
			}
			target, args, err := meant(cmd, args)
			if err != nil {
				return err
			}
			values, err := s.effective(target, args)
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				return enc.Encode(values)
			}
			return writeYAML(cmd.OutOrStdout(), nameOf(target), values)
		},
	}
}

// meant finds the command that the first words of args name. It returns the command and
// the remaining arguments.
func meant(self *cobra.Command, args []string) (*cobra.Command, []string, error) {
	at, path := self.Root(), args
	for {
		var names []string
		next := (*cobra.Command)(nil)
		for _, c := range at.Commands() {
			names = append(names, c.Name())
			if len(path) > 0 && (c.Name() == path[0] || c.HasAlias(path[0])) && c != self {
				next = c
			}
		}
		if next == nil {
			return nil, nil, notOne(args[:min(len(args), len(args)-len(path)+1)], names)
		}
		at, path = next, path[1:]
		if len(withSettings(at)) == 0 {
			return at, path, nil
		}
	}
}

// notOne returns the error for words that do not name a command with settings. The error
// suggests the most similar command in names.
func notOne(words, names []string) error {
	hint := ""
	if near, ok := config.Nearest(words[len(words)-1], names); ok {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return &config.Error{Origin: "config", Reason: fmt.Sprintf("%q is not a command with settings%s", strings.Join(words, " "), hint)}
}

// effective returns the value and origin of each flag of the command target when it is
// called with args, sorted by name.
func (s *Settings) effective(target *cobra.Command, args []string) ([]effective, error) {
	if err := target.ParseFlags(args); err != nil {
		return nil, target.Root().FlagErrorFunc()(target, err)
	}
	origins, err := s.apply(target)
	if err != nil {
		return nil, err
	}
	if s.Preset != nil {
		if err := s.Preset(target); err != nil {
			return nil, err
		}
	}
	values := []effective{}
	target.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains([]string{"help", configFlag, setFlag}, f.Name) {
			return
		}
		origin := cmp.Or(origins[f.Name], "default")
		if origin == "default" && f.Changed {
			origin = "preset"
		}
		if origin == "default" && f.Hidden && !IsSetting(f) {
			return
		}
		values = append(values, newEffective(f, origin))
	})
	return values, nil
}

func newEffective(f *pflag.Flag, origin string) effective {
	e := effective{Name: strings.ReplaceAll(f.Name, "-", "_"), Origin: origin, list: !slices.Contains(scalars, f.Value.Type())}
	e.quote = slices.Contains([]string{"string", "size"}, f.Value.Type()) || e.list
	if list, ok := f.Value.(interface{ GetSlice() []string }); ok {
		e.Values = list.GetSlice()
	} else {
		e.Values = []string{f.Value.String()}
	}
	if shown := redact.Texts(e.Values); !slices.Equal(shown, e.Values) {
		e.Values, e.Origin = shown, e.Origin+", without what may be secret: write it again"
	}
	if e.list && (len(e.Values) == 0 || len(e.Values) == 1 && e.Values[0] == "") {
		e.Values = []string{}
	}
	return e
}

// writeYAML writes values as a file for --config, with the defaults as comments.
func writeYAML(w io.Writer, command string, values []effective) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s, each value with its origin\n", command)
	width := 0
	lines := make([]string, len(values))
	for i, v := range values {
		lines[i] = v.Name + ": " + v.yaml()
		if v.Origin == "default" {
			lines[i] = "# " + lines[i] // as a value, it would override presets
		}
		width = max(width, min(len(lines[i]), 50))
	}
	for i, v := range values {
		fmt.Fprintf(&out, "%-*s  # %s\n", width, lines[i], v.Origin)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// yaml returns the value as YAML on one line.
func (e effective) yaml() string {
	scalar := func(s string) string {
		n := yaml.Node{Kind: yaml.ScalarNode, Value: s}
		if e.quote {
			n.SetString(s)
			if s == "" || strings.ContainsAny(s, "\n,[]{}#:") {
				n.Style = yaml.DoubleQuotedStyle
			}
		}
		b, err := yaml.Marshal(&n)
		if err != nil {
			panic("BUG: a string is no YAML: " + err.Error())
		}
		return strings.TrimSuffix(string(b), "\n")
	}
	if !e.list {
		return scalar(e.Values[0])
	}
	var parts []string
	for _, v := range e.Values {
		parts = append(parts, scalar(v))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
