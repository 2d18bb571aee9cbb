package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
)

// manyFlags is a command with flags a to p.
func manyFlags() *cobra.Command {
	root := &cobra.Command{Use: "prog"}
	do := &cobra.Command{Use: "do", Short: "Do", Run: func(*cobra.Command, []string) {}}
	for r := 'a'; r <= 'p'; r++ {
		do.Flags().Bool(string(r), false, "set "+string(r))
	}
	do.Flags().Bool("hidden", false, "no one sees it")
	_ = do.Flags().MarkHidden("hidden")
	few := &cobra.Command{Use: "few", Run: func(*cobra.Command, []string) {}}
	few.Flags().Bool("p", false, "set p")
	root.AddCommand(do, few)
	cli.GroupFlags(root, []cli.Group{{Heading: "First", Flags: []string{"p", "c"}}, {Heading: "Second", Flags: []string{"a", "nowhere"}}})
	do.InitDefaultHelpFlag() // as running does, after the headings
	return root
}

func TestFlagsStandUnderTheirHeadingsInTheirOrder(t *testing.T) {
	root := manyFlags()
	usage := root.Commands()[0].UsageString()
	const want = "First:\n      --p      set p\n      --c      set c\n\nSecond:\n      --a      set a\n\nOther flags:\n      --b      set b\n"
	if !strings.Contains(usage, want) || strings.Contains(usage, "hidden") || strings.Contains(usage, "nowhere") {
		t.Errorf("got\n%s\nwant in it\n%s", usage, want)
	}
	if !strings.Contains(usage, "set o\n  -h, --help   help for do\n") {
		t.Errorf("--help does not end the last group:\n%s", usage)
	}
	for r := 'a'; r <= 'p'; r++ {
		if n := strings.Count(usage, "--"+string(r)+" "); n != 1 {
			t.Errorf("--%c stands %d times, want once:\n%s", r, n, usage)
		}
	}
	if few := root.Commands()[1].UsageString(); !strings.Contains(few, "\nFlags:\n") || strings.Contains(few, "First") {
		t.Errorf("got headings for few flags:\n%s", few)
	}
}

func TestPagesHaveTheHeadingsToo(t *testing.T) {
	for _, page := range cli.Pages(manyFlags()) {
		text := string(page.Roff)
		switch page.Name {
		case "prog-do.1":
			first, second := strings.Index(text, ".SS First\n"), strings.Index(text, ".SS Second\n")
			if p := strings.Index(text, `\-\-p\fR`); first < 0 || p < first || second < p || strings.Contains(text, "hidden") {
				t.Errorf("headings at %d and %d, --p at %d of\n%s", first, second, p, text)
			}
		case "prog-few.1":
			if strings.Contains(text, ".SS") {
				t.Errorf("headings for few flags:\n%s", text)
			}
		}
	}
}
