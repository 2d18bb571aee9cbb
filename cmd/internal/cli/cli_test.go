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
	"pretext/internal/dev/realdata"
	"pretext/internal/failure"
)

// program returns a small command line.
func program(long, usage string) *cobra.Command {
	root := &cobra.Command{Use: "prog", Short: "Do things", Long: long}
	do := &cobra.Command{Use: "do PATH...", Short: "Do one thing", Long: long, Example: usage, RunE: func(*cobra.Command, []string) error { return nil }}
	do.Flags().IntP("workers", "w", 3, usage)
	do.Flags().String("name", "", usage)
	root.AddCommand(do)
	return root
}

// requests are the roff requests that manual pages may contain.
var requests = []string{".TH", ".SH", ".PP", ".TP", ".BR", ".nf", ".fi"}

// No line of a text becomes a roff request, and no backslash an escape.
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

// If mandoc is installed, it finds no fault in the pages except the missing date,
// which would make pages differ from day to day.
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

// parseError returns the error of parsing args for the command do.
func parseError(h cli.Hints, args ...string) error {
	root := program("", "")
	root.SilenceErrors, root.SilenceUsage = true, true
	h.Complain(root)
	root.SetArgs(append([]string{"do"}, args...))
	return root.Execute()
}

func TestAFlagThatWasMeantIsSuggested(t *testing.T) {
	h := cli.Hints{Flags: map[string]string{"jobs": "--workers", "colour": "--color", "input": "give PATH"}}
	for args, want := range map[string]string{
		"--wrokers=1": "unknown flag: --wrokers, did you mean --workers?",
		"--jobs=1":    "unknown flag: --jobs: here it is --workers",
		"--colour":    "unknown flag: --colour",
		"--input=x":   "unknown flag: --input: give PATH",
		"--path=x":    "unknown flag: --path: it needs no name: prog do PATH...",
		"-name=x":     "unknown flag: -name, did you mean --name?",
		"-x":          "unknown shorthand flag: 'x' in -x",
	} {
		if err := parseError(h, args); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		} else if code := failure.ExitCode(err); code != failure.ExitUsage {
			t.Errorf("%s: exit code %d", args, code)
		}
	}
}

// The error for a number that Go cannot parse shows the number that was meant.
func TestAWrongNumberIsAnsweredWithTheRightOne(t *testing.T) {
	for value, want := range map[string]string{
		"1k": ": write 1000", "2M": ": write 2000000", "1e4": ": write 10000", "1,000": ": write 1000", "1_0_00,": "", "10.0": ": write 10", "10.5": "", "50%": "",
		"": ", and is empty", "many": "", "12 ": ": write 12", "1e99": "", "NaN": "",
	} {
		if err := parseError(cli.Hints{}, "--workers="+value); err == nil || err.Error() != fmt.Sprintf("--workers %q: must be a whole number%s", value, want) {
			t.Errorf("%q: got %v, want %q", value, err, want)
		}
	}
	if err := parseError(cli.Hints{}, "--workers=99999999999999999999"); err == nil || err.Error() != `--workers "99999999999999999999": the number is too large` {
		t.Errorf("got %v", err)
	}
}

func TestAFractionIsAnsweredWithTheRightOne(t *testing.T) {
	root := &cobra.Command{Use: "prog", SilenceErrors: true, SilenceUsage: true}
	do := &cobra.Command{Use: "do", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return nil }}
	do.Flags().Float64("fraction", 0, "")
	do.Flags().Bool("lower", false, "")
	do.Flags().Duration("wait", 0, "")
	do.Flags().IntSlice("ids", nil, "")
	root.AddCommand(do)
	cli.Hints{}.Complain(root)
	for arg, want := range map[string]string{
		"--fraction=10%":  `--fraction "10%": must be a number: write 0.1`,
		"--fraction=15 %": `--fraction "15 %": must be a number: write 0.15`,
		"--fraction=0,05": `--fraction "0,05": must be a number: write 0.05`,
		"--fraction=1/3":  `--fraction "1/3": must be a number: write 0.333333333333`,
		"--fraction=1/0":  `--fraction "1/0": must be a number`,
		"--fraction=some": `--fraction "some": must be a number`,
		"--lower=yes":     `--lower "yes": must be true or false`,
		"--wait=10":       `--wait "10": must be a time with its unit, such as 30s, 90m or 1h30m`,
		"--ids=1;2":       `--ids "1;2": must be whole numbers with commas between them, such as 1,2,3`,
	} {
		root.SetArgs([]string{"do", arg})
		if err := root.Execute(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", arg, err, want)
		}
	}
}

func TestAWrongNumberOfArgumentsIsAnsweredWithTheUsage(t *testing.T) {
	root := &cobra.Command{Use: "prog", SilenceErrors: true, SilenceUsage: true}
	run := func(*cobra.Command, []string) error { return nil }
	none := &cobra.Command{Use: "none --out DIR", Args: cobra.NoArgs, RunE: run}
	none.Flags().Bool("lower", false, "")
	root.AddCommand(none, &cobra.Command{Use: "one PATH --out DIR", Args: cobra.ExactArgs(1), RunE: run}, &cobra.Command{Use: "two A B", Args: cobra.ExactArgs(2), RunE: run})
	cli.Hints{}.Complain(root)
	for args, want := range map[string]string{
		"one":                "one takes one argument, PATH, and got 0: prog one PATH --out DIR",
		"two x":              "two takes 2 arguments, A and B, and got 1: prog two A B",
		"none x":             `"x" is not a flag, and none takes no arguments`,
		"none --lower False": `"False" is no argument: the value of a flag that is true or false follows =, as in --lower=False`,
		"none –out":          `"–out" begins with a dash that is no hyphen: write --out`,
	} {
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

func TestACommandThatWasMeantIsSuggested(t *testing.T) {
	for args, want := range map[string]string{
		"od":        `unknown command "od", did you mean do?`,
		"elsewhere": `unknown command "elsewhere"`,
		"more tow":  `unknown command "more tow", did you mean two?`,
		"more big":  `unknown command "more big": must be one of two`,
		"Start":     `unknown command "Start", did you mean do?`,
		"train":     `unknown command "train": another program trains`,
	} {
		root := program("", "")
		more := &cobra.Command{Use: "more", RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
		more.AddCommand(&cobra.Command{Use: "two", RunE: func(*cobra.Command, []string) error { return nil }})
		root.AddCommand(more)
		cli.Hints{Commands: map[string]string{"start": "do", "train": "another program trains"}}.Complain(root)
		root.SetArgs(strings.Fields(args))
		root.SilenceErrors, root.SilenceUsage = true, true
		if err := root.Execute(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		} else if code := failure.ExitCode(err); code != failure.ExitUsage {
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
