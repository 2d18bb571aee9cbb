package clitest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestCommandLinesOfAPage(t *testing.T) {
	const page = "Use `prog do --name x`, or `other do`; prog is nice.\n\n```sh\n$ prog do --name=x --out o   # why\ngo run ./cmd/prog do | prog sum > f\n" +
		"bin/prog do \\\n    --name x\nprogram do\n```\n\n    prog do a …\n"
	want := []string{"do --name x", "do --name=x --out o", "do", "do      --name x", "do a"}
	if diff := cmp.Diff(want, CommandLines(page, "prog")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALineThatIsNoCommandIsFound(t *testing.T) {
	root := &cobra.Command{Use: "prog"}
	do := &cobra.Command{Use: "do", Run: func(*cobra.Command, []string) {}}
	do.Flags().String("name", "", "")
	root.AddCommand(do)
	root.PersistentFlags().String("config", "", "")
	for line, wrong := range map[string]bool{
		"do --name x": false, "do --name=x a b --config c": false, "do --help": false, "--version": false,
		"do --nmae x": true, "doo": true, "done --name x": true,
	} {
		if err := checkLine(root, line); (err != nil) != wrong {
			t.Errorf("%s: got %v, want an error: %v", line, err, wrong)
		}
	}
}
