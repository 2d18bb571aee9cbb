// Gencommands writes the output of --help of all commands to the end of
// docs/commands.md, and the table of counts to the end of docs/file-format.md.
//
//	go generate ./cmd/internal/gencommands
package main

//go:generate go run . ../../../docs/commands.md ../../../docs/file-format.md

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	preparedata "pretext/cmd/prepare-data/command"
	trainbert "pretext/cmd/train-bert/command"
)

// mark separates the hand-written part of the page from the generated one.
const mark = "<!-- What follows is written by go generate ./cmd/internal/gencommands. -->\n"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "gencommands: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: gencommands COMMANDS.md FORMAT.md")
	}
	if err := writeCounts(args[1]); err != nil {
		return err
	}
	page, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	head, _, found := strings.Cut(string(page), mark)
	if !found {
		return fmt.Errorf("%s: no line %q", args[0], mark)
	}
	return os.WriteFile(args[0], []byte(head+mark+Reference(preparedata.NewRoot(), trainbert.NewRoot())), 0o666)
}

// Reference returns the help of all commands of programs in Markdown.
func Reference(programs ...*cobra.Command) string {
	var b strings.Builder
	b.WriteString("\n## Reference\n")
	for _, root := range programs {
		cli.HideMachine(root)
		describe(&b, root)
	}
	return b.String()
}

func describe(b *strings.Builder, c *cobra.Command) {
	c.InitDefaultHelpFlag()
	fmt.Fprintf(b, "\n### %s\n\n```text\n%s\n```\n", c.CommandPath(), strings.TrimRight(help(c), "\n"))
	for _, sub := range c.Commands() {
		if (sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand()) && sub.Name() != "help" && sub.Name() != "completion" {
			describe(b, sub)
		}
	}
}

// help returns the output of --help.
func help(c *cobra.Command) string {
	return strings.TrimSpace(cli.Described(c)) + "\n\n" + cli.UsageText(c)
}
