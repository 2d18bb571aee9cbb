package clitest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// CheckPages checks the calls of a program in README.md, ARCHITECTURE.md, docs/*.md and docs/for/*.md
// of a directory: every line of a code block and every `code` that begins with the
// program's name must be an existing command with existing flags.
func CheckPages(t *testing.T, folder string, root *cobra.Command) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(folder, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	consumers, err := filepath.Glob(filepath.Join(folder, "docs", "for", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(append(pages, consumers...), filepath.Join(folder, "README.md"), filepath.Join(folder, "ARCHITECTURE.md"))
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		written, _, _ := strings.Cut(string(text), "<!-- What follows is written by ") // the rest is generated from the commands' help
		for _, line := range CommandLines(written, root.Name()) {
			found++
			if err := checkLine(root, line); err != nil {
				t.Errorf("%s: %s %s: %v", filepath.Base(page), root.Name(), line, err)
			}
		}
	}
	if found < 10 {
		t.Errorf("found %d commands of %s, want at least 10", found, root.Name())
	}
}

var (
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	// prompt matches the text before the program's name in a shell line.
	prompt = regexp.MustCompile(`^\s*(\$ )?((CGO|PRETEXT)_\w+=\S+ )*`)
	// commandEnd matches the end of a command: a comment, a pipe, a redirection or
	// the next command.
	commandEnd = regexp.MustCompile(`\s+#|[|<>;&]|\s…$`)
)

// CommandLines returns the arguments of every call of a program in a page of Markdown,
// one line per call.
func CommandLines(page, program string) (lines []string) {
	page = strings.ReplaceAll(page, "\\\n", " ")
	var calls []string
	for line := range strings.Lines(page) {
		calls = append(calls, strings.TrimRight(prompt.ReplaceAllString(line, ""), "\n"))
		for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
			calls = append(calls, m[1])
		}
	}
	for _, call := range calls {
		for _, name := range []string{program, "bin/" + program, "go run ./cmd/" + program} {
			rest, ok := strings.CutPrefix(call, name+" ")
			if !ok || strings.Contains(rest, "`") { // a line of prose, in which `code` is found separately
				continue
			}
			if end := commandEnd.FindStringIndex(rest); end != nil {
				rest = rest[:end[0]]
			}
			lines = append(lines, strings.TrimSpace(rest))
		}
	}
	return lines
}

// checkLine checks that the command and the flags of a line exist.
func checkLine(root *cobra.Command, line string) error {
	root.InitDefaultCompletionCmd()
	args := strings.Fields(line)
	if len(args) > 0 && args[0] == "COMMAND" {
		return nil // "prepare-data COMMAND" stands for any command
	}
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("no command %q", rest[0])
	}
	cmd.InitDefaultHelpFlag()
	for _, arg := range rest {
		name, ok := strings.CutPrefix(arg, "--")
		if !ok || name == "" || cmd == root && name == "version" {
			continue
		}
		name, _, _ = strings.Cut(name, "=")
		if cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			return fmt.Errorf("%s has no flag --%s", cmd.CommandPath(), name)
		}
	}
	return nil
}
