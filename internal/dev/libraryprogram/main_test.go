package main

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"pretext/counts"
	"pretext/internal/democorpus"
	"pretext/internal/dev/realdata"
	"pretext/sharding"
	"pretext/sharding/survey"
	"pretext/sharding/verify"
	"pretext/trainer/loader"
)

// The program of the page is at most forty lines, and imports what other modules may
// import.
func TestThePageShowsThisProgram(t *testing.T) {
	page, err := os.ReadFile("../../../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n```go\n"+string(program)+"```\n") {
		t.Error("docs/library.md shows another program than internal/dev/libraryprogram/main.go")
	}
	lines := 0
	for line := range strings.Lines(string(program)) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines > 40 {
		t.Errorf("the program has %d lines, want at most 40", lines)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", program, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range file.Imports {
		if strings.Contains(i.Path.Value, "internal") {
			t.Errorf("the program imports %s, which another module may not", i.Path.Value)
		}
	}
}

// The modules that go test writes into a test binary are those of the package under
// test, without what its tests import.
func TestTheProgramLinksNoBeamAndNoCloud(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) < 5 {
		t.Fatalf("no list of the modules in this program: %v", info)
	}
	for _, dep := range info.Deps {
		for _, unwanted := range []string{"apache/beam", "cloud.google.com", "google.golang.org/api", "google.golang.org/genproto", "google.golang.org/grpc", "aws", "minio", "azure", "spf13"} {
			if strings.Contains(strings.ToLower(dep.Path), unwanted) {
				t.Errorf("the program links %s", dep.Path)
			}
		}
	}
}

// inputs writes a dump and a vocabulary, and returns the program's arguments.
func inputs(t *testing.T) (dump, vocab, out string) {
	t.Helper()
	dir := t.TempDir()
	dump, vocab, out = filepath.Join(dir, democorpus.DumpName), filepath.Join(dir, "vocab.txt"), filepath.Join(dir, "out")
	var tokens strings.Builder
	tokens.WriteString("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
	for c := '!'; c < 0x250; c++ {
		if !('A' <= c && c <= 'Z') && !(0x7f <= c && c <= 0xa0) {
			tokens.WriteString(string(c) + "\n##" + string(c) + "\n")
		}
	}
	for path, content := range map[string][]byte{dump: democorpus.Dump(), vocab: []byte(tokens.String())} {
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dump, vocab, out
}

// printed runs main with arguments and returns the lines that it prints. An error in
// main ends the tests with its message.
func printed(t *testing.T, args ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stdout")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	defer func(args []string, stdout *os.File) { os.Args, os.Stdout = args, stdout }(os.Args, os.Stdout)
	os.Args, os.Stdout = append([]string{"libraryprogram"}, args...), file
	main()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// The program writes a data set that every reader of ours accepts, and reads it.
func TestTheProgramWritesADataSet(t *testing.T) {
	dump, vocab, out := inputs(t)
	lines := printed(t, dump, vocab, out)
	ctx := t.Context()
	v, err := verify.Dataset(ctx, out, verify.Options{})
	if err != nil || !v.OK() || v.Records == 0 || int64(len(lines)) != v.Records+1 {
		t.Fatalf("%d lines printed; verify: %+v, %v", len(lines), v, err)
	}
	all, err := survey.Inspect(ctx, out, true)
	if err != nil || len(all) != 1 || all[0].Counts[counts.KeyOf("records")] != v.Records || all[0].Counts[counts.KeyOf("unknown_tokens")] == 0 || all[0].Inputs[0].Name != democorpus.DumpName {
		t.Errorf("inspect: got %+v, %v", all, err)
	}
	if _, err := survey.Collect(ctx, out, survey.Options{}); err != nil {
		t.Errorf("stats: %v", err)
	}
	shards, err := loader.Open(ctx, out, loader.Options{Split: sharding.Train, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	if x, err := shards.Index(ctx); err != nil || x.Len() != v.Records {
		t.Errorf("index: %v", err)
	}
	if v, err := shards.Vocab(ctx); err != nil || v == nil {
		t.Errorf("vocabulary: %v, %v", v, err)
	}
}

// Another module builds the program. It requires what this module requires, in the same
// versions, so that the build needs nothing that building this module did not fetch.
func TestTheProgramBuiltByAnotherModuleRuns(t *testing.T) {
	realdata.Variable(t, "PRETEXT_BUILDS", "make builds compiles the program for this")
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "internal/dev/libraryprogram/main.go"} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.mod" {
			b = []byte(strings.Replace(string(b), "module pretext\n", "module example.org/mine\n", 1) + "\nrequire pretext v0.0.0\n\nreplace pretext => " + root + "\n")
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	command(t, dir, "go", "build", "-mod=readonly", "-o", "mine", ".")
	dump, vocab, out := inputs(t)
	if lines := command(t, dir, "./mine", dump, vocab, out); strings.Count(lines, "\n") < 2 {
		t.Errorf("the program printed %q", lines)
	}
}

// command runs a command in a directory, without a network.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, new(strings.Builder)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, cmd.Stderr)
	}
	return string(out)
}
