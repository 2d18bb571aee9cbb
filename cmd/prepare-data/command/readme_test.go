package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/pipeline/stage"
)

// The README begins with a record of the demo, as head shows it.
func TestTheREADMEShowsWhatHeadPrints(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(readme), "\n$ prepare-data head demo")
	_, shown, _ = strings.Cut(shown, "\n")
	shown, _, ok := strings.Cut(shown, "```")
	if !ok || strings.Count(shown, "\n") != 5 {
		t.Fatalf("the README shows %q, want five lines", shown)
	}
	stage.Init(nil)
	dir := t.TempDir()
	run := func(args ...string) string {
		var out bytes.Buffer
		root := NewRoot()
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(&out)
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, &out)
		}
		return out.String()
	}
	run("demo", "--out", filepath.Join(dir, "demo"), "--quiet")
	printed := strings.ReplaceAll(run("head", filepath.Join(dir, "demo"), "--color", "never"), dir+string(filepath.Separator), "")
	if !strings.Contains(filepath.ToSlash(printed), shown) {
		t.Errorf("head prints\n%s\nbut the README shows\n%s", printed, shown)
	}
}
