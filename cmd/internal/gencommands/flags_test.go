package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	preparedata "pretext/cmd/prepare-data/command"
	trainbert "pretext/cmd/train-bert/command"
	"pretext/internal/failure"
)

// uses returns the number of flags that each command of a program shows, without
// --help and the flags that all commands have.
func uses(c *cobra.Command, counts map[string]int) (all int) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && c.HasParent() {
			counts[c.CommandPath()]++
			all++
		}
	})
	for _, sub := range c.Commands() {
		if sub.Name() != "completion" && sub.Name() != "help" {
			all += uses(sub, counts)
		}
	}
	return all
}

// A command has few flags, so that they can be read: rarely used ones are settings.
func TestCommandsHaveFewFlags(t *testing.T) {
	counts := map[string]int{}
	data, train := uses(preparedata.NewRoot(), counts), uses(trainbert.NewRoot(), counts)
	t.Logf("prepare-data %d, train-bert %d, run %d, plan %d", data, train, counts["prepare-data run"], counts["prepare-data plan"])
	for name, most := range map[string]int{"prepare-data run": 50, "prepare-data plan": 55, "train-bert train": 35} {
		if n := counts[name]; n > most || n == 0 {
			t.Errorf("%s has %d flags, want at most %d: make the ones that are rarely given settings", name, n, most)
		}
	}
	if data > 350 || train > 150 {
		t.Errorf("uses of flags: prepare-data %d, train-bert %d, want at most 350 and 150", data, train)
	}
}

// testdata/flags.txt lists all flags from before settings existed. Each is still a
// flag, or the command ends with exit code 2 and one line that says what to write
// instead.
func TestEveryFormerFlagIsOneOrSaysWhatToWrite(t *testing.T) {
	list, err := os.ReadFile("testdata/flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]func() *cobra.Command{"prepare-data": preparedata.NewRoot, "train-bert": trainbert.NewRoot}
	flags, settings, gone := 0, 0, 0
	for line := range strings.Lines(string(list)) {
		path, names, _ := strings.Cut(strings.TrimSpace(line), ": ")
		words := strings.Fields(path)
		for _, name := range strings.Fields(names) {
			root := programs[words[0]]()
			c, _, err := root.Find(words[1:])
			if err != nil || c == root {
				t.Fatalf("%s: no such command, and no alias: %v", path, err)
			}
			f := c.Flags().Lookup(name)
			if f != nil && !f.Hidden {
				flags++
				continue
			}
			args := append(words[1:len(words):len(words)], "--"+name)
			if f == nil || f.NoOptDefVal == "" {
				args = append(args, "1")
			}
			if strings.Contains(c.Use, c.Name()+" PATH") {
				args = append(args, "x")
			}
			root.SetArgs(args)
			root.SetOut(io.Discard)
			root.SetErr(io.Discard)
			err = root.Execute()
			want := "write --set " + name
			if f == nil {
				want = "prepare-data "
				gone++
			} else {
				settings++
			}
			if failure.ExitCode(err) != failure.ExitUsage || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want %q", strings.Join(args, " "), err, want)
			}
			if f != nil && !cli.IsSetting(f) {
				t.Errorf("%s --%s is hidden", path, name)
			}
		}
	}
	if flags < 400 || settings < 200 || gone == 0 {
		t.Errorf("%d flags, %d settings, %d gone: the list is not read", flags, settings, gone)
	}
}
