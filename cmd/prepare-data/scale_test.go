package main_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/cmd/prepare-data/command"
)

var updateScale = flag.Bool("update-scale", false, "write what the commands print to docs/scale.md")

// The page on many machines shows what its commands print.
func TestTheTablesOfManyMachinesAreWhatPlanPrints(t *testing.T) {
	const path = "../../docs/scale.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)(<!-- plan -->\n```text\n\\$ prepare-data )([^\n]*)\n(.*?)```")
	commands := 0
	want := block.ReplaceAllStringFunc(string(page), func(shown string) string {
		commands++
		m := block.FindStringSubmatch(shown)
		return m[1] + m[2] + "\n" + planned(t, strings.Fields(m[2])) + "```"
	})
	if commands < 2 {
		t.Errorf("%d commands in %s, want 2", commands, path)
	}
	if *updateScale {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("run this test with -update-scale and read the difference: %s", diff)
	}
}

// planned returns the table that plan prints. The crawl is a thousand files of 2.5
// GB that have a size, but no blocks.
func planned(t *testing.T, args []string) string {
	t.Helper()
	dir := t.TempDir()
	for i, a := range args {
		if a == "crawl" {
			args[i] = makeCrawl(t, filepath.Join(dir, a))
		}
	}
	var out bytes.Buffer
	root := command.NewRoot()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(append(args, "--memory", "100GB", "--out", dir))
	_ = root.Execute() // the disk of this machine may be too small for the run
	_, table, ok := strings.Cut(out.String(), "\nSimulated ")
	if !ok {
		t.Fatalf("%v: no table in %s", args, out.String())
	}
	table, _, _ = strings.Cut(table, "\nprepare-data:")
	return "Simulated " + strings.TrimRight(table, "\n") + "\n"
}

func makeCrawl(t *testing.T, dir string) string {
	t.Helper()
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		path := filepath.Join(dir, fmt.Sprintf("part-%04d.txt", i))
		if err := errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, 2_500_000_000)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
