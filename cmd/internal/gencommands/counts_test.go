package main

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pretext/counts"
)

func TestTheTableOfCountsIsThatOfTheDeclarations(t *testing.T) {
	page, err := os.ReadFile("../../../docs/file-format.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, table, _ := strings.Cut(string(page), countsMark); table != CountsTable() {
		t.Error("docs/file-format.md has another table of counts: run go generate ./cmd/internal/gencommands")
	}
	for _, stage := range counts.Stages() {
		if !slices.Contains(dataFlow, stage) {
			t.Errorf("stage %q has no place in the data flow", stage)
		}
	}
}

const module = "../../.."

// declared matches a declaration in the code.
var declared = regexp.MustCompile(`counts\.Declare(?:Family\[\w+\])?\("([a-z_]+)"`)

func TestEveryCountIsThatOfAStage(t *testing.T) {
	var listed []string
	for _, stage := range counts.Stages() {
		for _, k := range counts.OfStage(stage) {
			listed = append(listed, k.Key.String())
			if k.Meaning == "" {
				t.Errorf("count %s of stage %s has no meaning", k.Key, stage)
			}
		}
	}
	found := 0
	err := fs.WalkDir(os.DirFS(module), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (strings.HasPrefix(path, "internal/dev") || len(path) > 1 && strings.HasPrefix(d.Name(), ".")) {
			return cmp.Or(err, fs.SkipDir)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "counts/counts.go" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(module, path))
		for _, m := range declared.FindAllSubmatch(text, -1) {
			found++
			if !slices.Contains(listed, string(m[1])) {
				t.Errorf("%s declares the count %s, and no stage lists it", path, m[1])
			}
		}
		if strings.Contains(string(text), "counts.KeyOf(") {
			t.Errorf("%s calls counts.KeyOf: use the declaration of the count", path)
		}
		return err
	})
	if err != nil || found < 30 {
		t.Errorf("%d declarations (%v)", found, err)
	}
}
