package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/onefile"
	"pretext/internal/store"
)

// NewMan returns the command that writes manual pages.
func NewMan() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "man --out DIR",
		Short: "Write manual pages",
		Long: `Writes a manual page for the program and for each of its commands (section 1). Copy
them to a directory of MANPATH, or read one with man -l.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return cmd.Root().FlagErrorFunc()(cmd, fmt.Errorf("no output folder: give --out DIR"))
			}
			if err := CheckFolder("out", out); err != nil {
				return err
			}
			HideMachine(cmd.Root())
			for _, page := range Pages(cmd.Root()) {
				file := onefile.Output{Path: store.Join(out, page.Name), Kind: onefile.ManPage, Fixed: true}
				if err := file.Write(cmd.Context(), page.Roff); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), page.Name)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder to write to (required)")
	return cmd
}

// A Page is a manual page in roff, in the macros of man(7).
type Page struct {
	Name string // file name, such as prepare-data-verify.1
	Roff []byte
}

// Pages returns the manual page of a command, followed by those of its subcommands.
func Pages(root *cobra.Command) []Page {
	root.InitDefaultHelpFlag()
	pages := []Page{page(root)}
	for _, c := range documented(root) {
		pages = append(pages, Pages(c)...)
	}
	return pages
}

// documented returns the subcommands that have a page of their own: all except the
// subcommands of completion.
func documented(c *cobra.Command) (all []*cobra.Command) {
	if c.Name() == "completion" {
		return nil
	}
	for _, sub := range c.Commands() {
		if (sub.IsAvailableCommand() || sub.Name() == settingsTopic) && sub.Name() != "help" {
			all = append(all, sub)
		}
	}
	return all
}

func page(c *cobra.Command) Page {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	var w roff
	w.linef(`.TH "%s" "1" "" "%s" "User commands"`, escape(strings.ToUpper(name)), escape(c.Root().Name()))
	w.section("NAME")
	w.linef(`%s \- %s`, escape(name), escape(lowerFirst(c.Short)))
	w.section("SYNOPSIS")
	w.synopsis(c)
	w.section("DESCRIPTION")
	w.text(Described(c))
	if c.HasAvailableSubCommands() {
		w.section("COMMANDS")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "help" {
				w.item(`\fB`+escape(sub.Name())+`\fR`, sub.Short)
			}
		}
	}
	w.section("OPTIONS")
	for _, g := range grouped(c.LocalFlags()) {
		if g.heading != "" {
			w.linef(".SS %s", escape(g.heading))
		}
		for _, f := range g.flags {
			w.flag(f)
		}
	}
	if example := strings.ReplaceAll(c.Example, "%[1]s", c.Root().Name()); example != "" {
		w.section("EXAMPLES")
		w.text(example)
	}
	w.section("SEE ALSO")
	w.seeAlso(c)
	return Page{name + ".1", w.Bytes()}
}

func lowerFirst(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// A roff is a page under construction.
type roff struct{ bytes.Buffer }

func (w *roff) linef(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *roff) section(name string) { w.linef(".SH %s", name) }

func (w *roff) synopsis(c *cobra.Command) {
	if c.HasAvailableSubCommands() {
		w.linef(`\fB%s\fR \fICOMMAND\fR [\fIOPTIONS\fR]`, escape(c.CommandPath()))
		return
	}
	use := strings.TrimPrefix(c.Use, c.Name())
	w.linef(`\fB%s\fR%s [\fIOPTIONS\fR]`, escape(c.CommandPath()), escape(use))
}

// text writes paragraphs; indented lines stay as they are.
func (w *roff) text(text string) {
	literal, apart := false, false
	for i, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
		if line == "" {
			apart = true
			continue
		}
		indented := strings.HasPrefix(line, "  ")
		if literal && !indented {
			w.linef(".fi")
			apart = true
		}
		if i > 0 && (apart || indented && !literal) {
			w.linef(".PP")
		}
		if indented && !literal {
			w.linef(".nf")
		}
		literal, apart = indented, false
		w.linef("%s", escape(line))
	}
	if literal {
		w.linef(".fi")
	}
}

func (w *roff) item(term, text string) {
	w.linef(".TP\n%s", term)
	w.linef("%s", escape(text))
}

func (w *roff) flag(f *pflag.Flag) {
	argument, _ := pflag.UnquoteUsage(f)
	term := `\fB` + escape("--"+f.Name) + `\fR`
	if f.Shorthand != "" {
		term = `\fB` + escape("-"+f.Shorthand) + `\fR, ` + term
	}
	if argument != "" {
		term += ` \fI` + escape(argument) + `\fR`
	}
	w.item(term, meaning(f))
}

func (w *roff) seeAlso(c *cobra.Command) {
	var names []string
	if c.HasParent() {
		names = append(names, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))
	}
	for _, sub := range documented(c) {
		names = append(names, strings.ReplaceAll(sub.CommandPath(), " ", "-"))
	}
	for i, n := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		w.linef(`.BR %s (1)%s`, escape(n), end)
	}
}

// escape escapes backslashes and hyphens, and a leading dot or quote, which roff would
// otherwise read as a request.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "…", "...").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
