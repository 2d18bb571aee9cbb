package sharding_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pretext/internal/democorpus"
	"pretext/sharding"
	"pretext/sharding/survey"
	"pretext/sharding/verify"
	"pretext/trainer/loader"
)

// A strangersModule is a module outside of this one with the program of
// docs/library.md.
func strangersModule(t *testing.T) (dir string, program string) {
	t.Helper()
	page, err := os.ReadFile("../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok1 := strings.Cut(string(page), "```go\n")
	program, _, ok2 := strings.Cut(after, "```")
	root, err := filepath.Abs("..")
	if err != nil || !ok1 || !ok2 {
		t.Fatalf("the page has no program, or %v", err)
	}
	own, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go .*$`).FindString(string(own))
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, content := range map[string]string{"main.go": program, "go.sum": string(sums),
		"go.mod": "module example.org/mine\n\n" + version + "\n\nrequire pretext v0.0.0\n\nreplace pretext => " + root + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir, program
}

// output runs a command in a directory, without a network.
func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, new(strings.Builder)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, cmd.Stderr)
	}
	return string(out)
}

// A program of another module makes a data set in at most forty lines, without Beam,
// and every reader of ours accepts it.
func TestAStrangersProgramWritesADataSet(t *testing.T) {
	dir, program := strangersModule(t)
	lines := 0
	for line := range strings.Lines(program) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines > 40 {
		t.Errorf("the program has %d lines, want at most 40", lines)
	}
	for dep := range strings.Lines(output(t, dir, "go", "list", "-deps", ".")) {
		for _, unwanted := range []string{"github.com/apache/beam", "cloud.google.com", "google.golang.org/api", "google.golang.org/genproto", "google.golang.org/grpc", "amazonaws", "minio", "azure", "github.com/spf13"} {
			if strings.Contains(dep, unwanted) {
				t.Errorf("the program links %s", dep)
			}
		}
	}
	dump, vocab, out := filepath.Join(dir, democorpus.DumpName), filepath.Join(dir, "vocab.txt"), filepath.Join(dir, "out")
	if err := os.WriteFile(dump, democorpus.Dump(), 0o666); err != nil {
		t.Fatal(err)
	}
	var tokens strings.Builder
	tokens.WriteString("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
	for c := '!'; c < 0x250; c++ {
		if !('A' <= c && c <= 'Z') && !(0x7f <= c && c <= 0xa0) {
			tokens.WriteString(string(c) + "\n##" + string(c) + "\n")
		}
	}
	if err := os.WriteFile(vocab, []byte(tokens.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	output(t, dir, "go", "build", "-o", "mine", ".")
	printed := strings.Split(strings.TrimSpace(output(t, dir, "./mine", dump, vocab, out)), "\n")

	ctx := t.Context()
	v, err := verify.Dataset(ctx, out, verify.Options{})
	if err != nil || !v.OK() || v.Records == 0 || int64(len(printed)) != v.Records+1 {
		t.Fatalf("%d lines printed; verify: %+v, %v", len(printed), v, err)
	}
	all, err := survey.Inspect(ctx, out, true)
	if err != nil || len(all) != 1 || all[0].Counts["records"] != v.Records || all[0].Counts["unknown_tokens"] == 0 || all[0].Inputs[0].Name != democorpus.DumpName {
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
