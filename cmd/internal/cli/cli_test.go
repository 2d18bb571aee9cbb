package cli_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"pretext/cmd/internal/cli"
	"pretext/internal/realdata"
)

// program is a small command line.
func program(long, usage string) *cobra.Command {
	root := &cobra.Command{Use: "prog", Short: "Do things", Long: long}
	do := &cobra.Command{Use: "do PATH...", Short: "Do one thing", Long: long, Example: usage, RunE: func(*cobra.Command, []string) error { return nil }}
	do.Flags().IntP("workers", "w", 3, usage)
	do.Flags().String("name", "", usage)
	root.AddCommand(do)
	return root
}

// requests are the roff requests that pages are made of.
var requests = []string{".TH", ".SH", ".PP", ".TP", ".BR", ".nf", ".fi"}

// Whatever a text holds, no line of it is taken for a request, and no backslash
// for an escape.
func TestManualPagesTakeTextAsText(t *testing.T) {
	word := rapid.SampledFrom([]string{".SH", "'b", "\\fB", "-x", "a", "\n", "\n\n", "\n  code", ".", "\"", "\n.nf", "% d"})
	rapid.Check(t, func(t *rapid.T) {
		text := "x" + strings.Join(rapid.SliceOf(word).Draw(t, "words"), " ")
		for _, page := range cli.Pages(program(text, text)) {
			for line := range strings.SplitSeq(string(page.Roff), "\n") {
				if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !slices.Contains(requests, strings.Fields(line)[0]) {
					t.Fatalf("%q is taken for a request", line)
				}
				rest := strings.NewReplacer(`\fB`, "", `\fI`, "", `\fR`, "", `\e`, "", `\-`, "", `\&`, "", `\(dq`, "").Replace(line)
				if strings.Contains(rest, `\`) {
					t.Fatalf("%q holds an escape", line)
				}
			}
		}
	})
}

func TestManualPagesNameEveryCommandAndFlag(t *testing.T) {
	pages := cli.Pages(program("Long text.\n\n  an example\n\nMore.", "how many"))
	if len(pages) != 2 || pages[0].Name != "prog.1" || pages[1].Name != "prog-do.1" {
		t.Fatalf("got %d pages", len(pages))
	}
	for _, want := range []string{`.TH "PROG\-DO" "1"`, `\fB\-w\fR, \fB\-\-workers\fR \fIint\fR`, "how many (default 3)", ".BR prog (1)", ".nf\n  an example\n.fi"} {
		if !strings.Contains(string(pages[1].Roff), want) {
			t.Errorf("no %q in\n%s", want, pages[1].Roff)
		}
	}
	if !strings.Contains(string(pages[0].Roff), `\fBdo\fR`) {
		t.Errorf("no command in\n%s", pages[0].Roff)
	}
}

// Where mandoc is installed, it finds no fault but the date that pages do not
// have: they are the same whenever they are written.
func TestMandocFindsNothingWrong(t *testing.T) {
	mandoc := realdata.Tool(t, "mandoc")
	for _, page := range cli.Pages(program("Long text.\n\n  an example\n\nMore.", "how many")) {
		cmd := exec.Command(mandoc, "-Tlint", "-Wwarning")
		cmd.Stdin = strings.NewReader(string(page.Roff))
		out, _ := cmd.CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if !strings.Contains(line, "missing date") {
				t.Errorf("%s: %s", page.Name, line)
			}
		}
	}
}

func TestAFlagThatWasMeantIsSuggested(t *testing.T) {
	root := program("", "")
	do := root.Commands()[0]
	err := cli.Suggest(do, do.ParseFlags([]string{"--wrokers", "1"}))
	if err == nil || err.Error() != "unknown flag: --wrokers, did you mean --workers?" {
		t.Errorf("got %v", err)
	}
	if err := cli.Suggest(do, do.ParseFlags([]string{"--workers", "x"})); err == nil || strings.Contains(err.Error(), "mean") {
		t.Errorf("got %v", err)
	}
}

func TestACommandThatWasMeantIsSuggested(t *testing.T) {
	for args, want := range map[string]string{
		"od":        `unknown command "od", did you mean do?`,
		"elsewhere": `unknown command "elsewhere"`,
		"more tow":  `unknown command "more tow", did you mean two?`,
	} {
		root := program("", "")
		more := &cobra.Command{Use: "more", RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
		more.AddCommand(&cobra.Command{Use: "two", RunE: func(*cobra.Command, []string) error { return nil }})
		root.AddCommand(more)
		cli.Complain(root)
		root.SetArgs(strings.Fields(args))
		root.SilenceErrors, root.SilenceUsage = true, true
		if err := root.Execute(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		} else if code := cli.Code(err); code != cli.ExitUsage {
			t.Errorf("%s: exit code %d", args, code)
		}
	}
}

func ExamplePages() {
	for _, page := range cli.Pages(program("Long text.", "")) {
		fmt.Println(filepath.Ext(page.Name), page.Name)
	}
	// Output:
	// .1 prog.1
	// .1 prog-do.1
}

func TestAMessageIsOneLineThatShowsControlCharacters(t *testing.T) {
	for message, want := range map[string]string{
		"read a\nb":       "read a; b",
		"a\x1b[31m\tb":    `a\x1b[31m\x09b`,
		"BUG: a\nstack\n": "BUG: a\nstack\n",
	} {
		if got := cli.OneLine(message); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}
