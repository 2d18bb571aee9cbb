//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/cmd/internal/clitest"
)

// The commands of docs/recipes.md run as they stand there, over the demo's
// documents; those that name sources of a mix are run by testdata/script/mix.txtar.
func TestTheCommandsOfTheRecipesPageRun(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "recipes.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	prepareData(t, "demo", "--quiet", "--out", filepath.Join(dir, "demo")).succeed(t)
	documents := filepath.Join(dir, "demo", "documents")
	prepareData(t, "vocab", documents, "--model", "bpe", "--vocab-size", "800", "--quiet", "--out", filepath.Join(dir, "bpe")).succeed(t)
	ran := 0
	for _, line := range clitest.CommandLines(string(page), "prepare-data") {
		args := strings.Fields(line)
		if args[0] != "examples" || slices.Contains(args, "--weight") || slices.Contains(args, "--epochs") {
			continue
		}
		ran++
		out := filepath.Join(dir, "out")
		for i, arg := range args {
			args[i] = strings.NewReplacer("DOCUMENTS", documents, "OUT", out).Replace(arg)
			switch arg {
			case "vocab.txt":
				args[i] = filepath.Join(dir, "demo", "vocab", "vocab.txt")
			case "tokenizer.json":
				args[i] = filepath.Join(dir, "bpe", "tokenizer.json")
			}
		}
		p := prepareData(t, append(args, "--quiet", "--strict")...)
		if code := p.code(t); code != 0 {
			t.Errorf("prepare-data %s: exit code %d: %s", line, code, p.stderr.String())
			continue
		}
		prepareData(t, "verify", out).succeed(t)
		os.RemoveAll(out)
	}
	if ran < 7 {
		t.Errorf("%d commands were run, want at least 7", ran)
	}
}
