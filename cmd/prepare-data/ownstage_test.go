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
	"pretext/internal/realdata"
)

// The programs of docs/own-stage.md are run as they stand there, between
// extract and examples.
func TestAStrangersStageStandsBetweenOurs(t *testing.T) {
	page, err := os.ReadFile("../../docs/own-stage.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var lines, want []extract.Document
	for i := range 60 {
		text := fmt.Sprintf("Write to editor%d@example.org about it.\n", i) + strings.Repeat(fmt.Sprintf("The river number %d runs to the sea. ", i), 1+i%9)
		d := extract.Document{ID: fmt.Sprint("doc:", i), Text: strings.TrimSpace(text), Source: "some", Title: fmt.Sprint("Nº ", i), Lang: "en"}
		lines = append(lines, d)
		if len(strings.Fields(text)) >= 30 {
			d.Text = regexp.MustCompile(`editor\d+@example.org`).ReplaceAllString(d.Text, "[address]")
			want = append(want, d)
		}
	}
	var source []byte
	for _, d := range lines {
		source = d.AppendJSON(source)
	}
	jsonl := filepath.Join(dir, "source.jsonl")
	if err := os.WriteFile(jsonl, source, 0o666); err != nil {
		t.Fatal(err)
	}
	// A documents folder of ours, as extract would write it.
	documents := filepath.Join(dir, "documents")
	prepareData(t, "filter", jsonl, "--rule", "min-words=1", "--quiet", "--out", documents).succeed(t)

	for name, run := range map[string]func(*testing.T, string, ...string){"python": runPython, "go": runGo} {
		t.Run(name, func(t *testing.T) {
			mine, vocab, shards := t.TempDir(), t.TempDir(), t.TempDir()
			run(t, fence(t, string(page), name), documents, mine)
			prepareData(t, "vocab", mine, "--vocab-size=300", "--quiet", "--out", vocab).succeed(t)
			prepareData(t, "examples", mine, "--vocab", filepath.Join(vocab, "vocab.txt"), "--quiet", "--out", shards).succeed(t)
			prepareData(t, "verify", shards).succeed(t)
			if diff := cmp.Diff(want, imported(t, filepath.Join(shards, "imported"))); diff != "" {
				t.Error(diff)
			}
		})
	}
	// Before the folder before it is finished, a stage does nothing.
	if err := os.Remove(filepath.Join(documents, "manifest.json")); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "stage.py")
	if err := os.WriteFile(script, []byte(fence(t, string(page), "python")), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("python3", script, documents, filepath.Join(dir, "none")).CombinedOutput(); err == nil || !strings.Contains(string(out), "not finished") {
		t.Errorf("an unfinished folder: %v, %s", err, out)
	}
}

// fence returns the program of a language.
func fence(t *testing.T, page, lang string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n```"+lang+"\n")
	program, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("no program in %s", lang)
	}
	return program + "\n"
}

func runPython(t *testing.T, program string, args ...string) {
	t.Helper()
	realdata.Tool(t, "python3")
	realdata.Tool(t, "zstd")
	runProgram(t, "stage.py", program, append([]string{"python3"}, args...), 1)
}

func runGo(t *testing.T, program string, args ...string) {
	t.Helper()
	realdata.Tool(t, "go")
	runProgram(t, "stage.go", program, append([]string{"go", "run"}, args...), 2)
}

// runProgram writes a program to a file and runs it, the file's path being the
// argument at a place.
func runProgram(t *testing.T, name, program string, args []string, at int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	args = append(args[:at:at], append([]string{path}, args[at:]...)...)
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
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
