//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/cmd/internal/clitest"
	"pretext/internal/democorpus"
)

// recipesPage returns docs/recipes.md, and its section on known models.
func recipesPage(t *testing.T) (page, known string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "recipes.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, known, _ = strings.Cut(string(raw), "## Data of known models")
	known, _, _ = strings.Cut(known, "\n## ")
	return string(raw), known
}

// The commands of docs/recipes.md run as they stand there, over the demo's
// documents; those that name sources of a mix are run by testdata/script/mix.txtar.
func TestTheCommandsOfTheRecipesPageRun(t *testing.T) {
	page, known := recipesPage(t)
	dir := t.TempDir()
	prepareData(t, "demo", "--quiet", "--out", filepath.Join(dir, "demo")).succeed(t)
	documents := filepath.Join(dir, "demo", "documents")
	prepareData(t, "vocab", documents, "--model", "bpe", "--vocab-size", "800", "--quiet", "--out", filepath.Join(dir, "bpe")).succeed(t)
	ran := 0
	for _, line := range clitest.CommandLines(strings.Replace(page, known, "", 1), "prepare-data") {
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

// The commands from a dump to data of known models run as they stand, over the
// demo's dump and with a small vocabulary.
func TestTheCommandsOfKnownModelsRun(t *testing.T) {
	_, section := recipesPage(t)
	dir := t.TempDir()
	dump := filepath.Join(dir, democorpus.DumpName)
	if err := os.WriteFile(dump, democorpus.Dump(), 0o666); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, line := range clitest.CommandLines(section, "prepare-data") {
		args := strings.Fields(line)
		for i, arg := range args {
			switch {
			case arg == "DUMP":
				args[i] = dump
			case i > 0 && args[i-1] == "--vocab-size":
				args[i] = "800"
			case i > 0 && args[i-1] == "--out", strings.HasPrefix(arg, "modernbert/"):
				args[i] = filepath.Join(dir, arg)
			}
		}
		prepareData(t, append(args, "--quiet", "--strict")...).succeed(t)
		prepareData(t, "verify", args[slices.Index(args, "--out")+1]).succeed(t)
		ran++
	}
	if ran < 4 {
		t.Errorf("%d commands were run, want at least 4", ran)
	}
}
