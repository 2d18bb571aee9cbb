//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"pretext/extract"
	"pretext/internal/dev/realdata"
)

// The program of docs/own-stage.md in Python is run as it stands there, between
// extract and examples.
func TestAStrangersStageStandsBetweenOurs(t *testing.T) {
	python := []string{realdata.Tool(t, "python3"), writeProgram(t, "python", "stage.py")}
	realdata.Tool(t, "zstd")
	documents, want := strangersDocuments(t)
	standsBetweenOurs(t, python, documents, want)
	// Before the folder before it is finished, a stage does nothing.
	if err := os.Remove(filepath.Join(documents, "manifest.json")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python[0], python[1], documents, filepath.Join(t.TempDir(), "none")).CombinedOutput(); err == nil || !strings.Contains(string(out), "not finished") {
		t.Errorf("an unfinished folder: %v, %s", err, out)
	}
}

// The page's program in Go as well.
func TestAStrangersBuiltStageStandsBetweenOurs(t *testing.T) {
	realdata.Variable(t, "PRETEXT_BUILDS", "make builds compiles a stage for this")
	documents, want := strangersDocuments(t)
	standsBetweenOurs(t, []string{realdata.Tool(t, "go"), "run", writeProgram(t, "go", "stage.go")}, documents, want)
}

// strangersDocuments returns a documents folder of ours, as extract would write it, and
// what the stage of docs/own-stage.md makes of it.
func strangersDocuments(t *testing.T) (folder string, want []extract.Document) {
	t.Helper()
	dir := t.TempDir()
	var source []byte
	for i := range 60 {
		text := fmt.Sprintf("Write to editor%d@example.org about it.\n", i) + strings.Repeat(fmt.Sprintf("The river number %d runs to the sea. ", i), 1+i%9)
		d := extract.Document{ID: fmt.Sprint("doc:", i), Text: strings.TrimSpace(text), Source: "some", Title: fmt.Sprint("Nº ", i), Lang: "en"}
		source = d.AppendJSON(source)
		if len(strings.Fields(text)) >= 30 {
			d.Text = regexp.MustCompile(`editor\d+@example.org`).ReplaceAllString(d.Text, "[address]")
			want = append(want, d)
		}
	}
	jsonl, folder := filepath.Join(dir, "source.jsonl"), filepath.Join(dir, "documents")
	if err := os.WriteFile(jsonl, source, 0o666); err != nil {
		t.Fatal(err)
	}
	prepareData(t, "filter", jsonl, "--rule", "min-words=1", "--quiet", "--out", folder).succeed(t)
	return folder, want
}

// standsBetweenOurs runs a stage over documents, and our stages over what it makes.
func standsBetweenOurs(t *testing.T, stage []string, documents string, want []extract.Document) {
	t.Helper()
	mine, vocab, shards := t.TempDir(), t.TempDir(), t.TempDir()
	if out, err := exec.Command(stage[0], append(stage[1:], documents, mine)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", stage, err, out)
	}
	prepareData(t, "vocab", mine, "--vocab-size=300", "--quiet", "--out", vocab).succeed(t)
	prepareData(t, "examples", mine, "--vocab", filepath.Join(vocab, "vocab.txt"), "--quiet", "--out", shards).succeed(t)
	prepareData(t, "verify", shards).succeed(t)
	if diff := cmp.Diff(want, imported(t, filepath.Join(shards, "imported"))); diff != "" {
		t.Error(diff)
	}
}

// writeProgram writes the page's program in a language to a file.
func writeProgram(t *testing.T, lang, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/own-stage.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n```"+lang+"\n")
	program, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("no program in %s", lang)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(program+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// imported returns the documents of a folder of ours.
func imported(t *testing.T, dir string) (docs []extract.Document) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "documents-*.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		plain, err := zstd.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		for dec := json.NewDecoder(bufio.NewReader(plain)); dec.More(); {
			var d extract.Document
			if err := dec.Decode(&d); err != nil {
				t.Fatal(err)
			}
			docs = append(docs, d)
		}
	}
	return docs
}

// The page shows the example that the tests of pipeline/stage run.
func TestTheStageOnOurEngineIsTheExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/own-stage.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../pipeline/stage/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n```go\n"+string(example)+"```\n") {
		t.Error("docs/own-stage.md shows another program than pipeline/stage/example_test.go")
	}
	if n := strings.Count(string(example), "\n"); n > 60 {
		t.Errorf("the example has %d lines, want at most 60", n)
	}
}
