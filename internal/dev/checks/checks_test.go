package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// script is a check of the repositories of these tests. Each run leaves a line in runs.
const script = `#!/usr/bin/env bash
# reads: test:core go:tool/... data:words env:python block:README.md#Try_it notes/one.txt internal/dev/checks
set -e
echo ran >>"$RUNS"
[ ! -e fail ]
[ ! -e "$RUNS.change" ] || echo changed >>notes/one.txt
`

// repository makes a repository with one check and returns its root.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	t.Setenv("RUNS", filepath.Join(t.TempDir(), "runs"))
	t.Setenv("PRETEXT_DATA", t.TempDir())
	for name, text := range map[string]string{
		".gitignore":                "ignored\n",
		"go.mod":                    "module pretext\n",
		"go.sum":                    "",
		"README.md":                 "# x\n\n## Try it\n\n```sh\ngo run .\n```\n\nand so on\n",
		"core/core.go":              "package core\n\nimport _ \"pretext/ground\"\n",
		"core/core_test.go":         "package core\n\nimport _ \"pretext/helper\"\n",
		"core/testdata/a.txt":       "a",
		"ground/ground.go":          "package ground\n",
		"ground/embedded/t.txt":     "t",
		"ground/ground_test.go":     "package ground\n",
		"ground/ground.md":          "ground",
		"helper/helper.go":          "package helper\n",
		"tool/one/main.go":          "package main\n",
		"tool/one/main_test.go":     "package main\n",
		"other/other.go":            "package other\n",
		"notes/one.txt":             "1",
		"notes/two.txt":             "2",
		folder + "/env.sh":          "",
		folder + "/envs/python.txt": "x==1\n",
		folder + "/scripts/it.sh":   script,
	} {
		write(t, filepath.Join(root, name), text)
	}
	write(t, filepath.Join(os.Getenv("PRETEXT_DATA"), "words"), "w")
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

// run runs the checks of a repository. It returns what was printed and how often the
// check has run so far.
func run(t *testing.T, root string, names ...string) (printed string, runs int, err error) {
	t.Helper()
	var out bytes.Buffer
	r := runner{root: root, out: &out}
	err = r.run(t.Context(), names, 2)
	log, _ := os.ReadFile(os.Getenv("RUNS"))
	return out.String(), strings.Count(string(log), "ran\n"), err
}

func TestACheckRunsAgainWhenAnInputChangesAndOnlyThen(t *testing.T) {
	root := repository(t)
	data := filepath.Join(os.Getenv("PRETEXT_DATA"), "words")
	if _, runs, err := run(t, root); runs != 1 || err != nil {
		t.Fatalf("got %d runs and %v, want one", runs, err)
	}
	if out, runs, _ := run(t, root); runs != 1 || !strings.Contains(out, "it: not run") {
		t.Fatalf("got %d runs and %q, want no second run of what has not changed", runs, out)
	}
	want := 1
	for _, path := range []string{"core/core.go", "core/core_test.go", "core/testdata/a.txt", "ground/ground.go", "ground/embedded/t.txt", "helper/helper.go",
		"tool/one/main.go", "go.mod", "go.sum", "notes/one.txt", folder + "/env.sh", folder + "/envs/python.txt", folder + "/scripts/it.sh", data} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		old, _ := os.ReadFile(path)
		write(t, path, string(old)+"\n")
		want++
		if _, runs, err := run(t, root); runs != want || err != nil {
			t.Fatalf("after a change of %s: got %d runs and %v, want %d", path, runs, err, want)
		}
	}
	write(t, filepath.Join(root, "core/new.go"), "package core\n")
	if _, runs, _ := run(t, root); runs != want+1 {
		t.Errorf("after a new file of a package: got %d runs, want %d", runs, want+1)
	}
	for _, path := range []string{"other/other.go", "ground/ground_test.go", "ground/ground.md", "tool/one/main_test.go", "notes/two.txt", "ignored"} {
		write(t, filepath.Join(root, path), "package changed\n")
	}
	if _, runs, _ := run(t, root); runs != want+1 {
		t.Errorf("after changes of what it does not read: got %d runs, want %d", runs, want+1)
	}
}

// The README's text is free, its commands are not.
func TestABlockCountsAndTheTextAroundItDoesNot(t *testing.T) {
	root := repository(t)
	readme := filepath.Join(root, "README.md")
	text, _ := os.ReadFile(readme)
	run(t, root)
	write(t, readme, strings.Replace(string(text), "and so on", "and more", 1))
	if _, runs, _ := run(t, root); runs != 1 {
		t.Errorf("another sentence: got %d runs, want 1", runs)
	}
	write(t, readme, strings.Replace(string(text), "go run .", "go run ./x", 1))
	if _, runs, _ := run(t, root); runs != 2 {
		t.Errorf("another command: got %d runs, want 2", runs)
	}
}

func TestOnlySuccessIsWrittenDown(t *testing.T) {
	root := repository(t)
	write(t, filepath.Join(root, "fail"), "")
	if out, _, err := run(t, root); err == nil || !strings.Contains(out, "it: FAILED") {
		t.Errorf("a failing check: got %v and %q, want an error", err, out)
	}
	os.Remove(filepath.Join(root, "fail"))
	if _, runs, err := run(t, root); runs != 2 || err != nil {
		t.Errorf("after a failure: got %d runs and %v, want another run", runs, err)
	}
}

func TestACheckWhoseInputChangesMeanwhileRunsAgain(t *testing.T) {
	root := repository(t)
	write(t, os.Getenv("RUNS")+".change", "")
	if out, _, err := run(t, root); err != nil || !strings.Contains(out, "will run again") {
		t.Fatalf("got %q and %v, want a note", out, err)
	}
	os.Remove(os.Getenv("RUNS") + ".change")
	if _, runs, _ := run(t, root); runs != 2 {
		t.Errorf("got %d runs, want 2", runs)
	}
}

// What a fuzz target finds by chance is shown and not green, but fails no change.
func TestAFindingOfAFuzzTargetFailsNothing(t *testing.T) {
	root := repository(t)
	write(t, filepath.Join(root, "core/core_test.go"), "package core\n\nfunc FuzzCore() {}\n")
	write(t, filepath.Join(root, fuzzAll), "#!/usr/bin/env bash\necho ran >>\"$RUNS\"\nexit 1\n")
	for want := 1; want < 3; want++ {
		out, runs, err := run(t, root, "fuzz")
		if err != nil || runs != want || !strings.Contains(out, "fuzz:core: FOUND SOMETHING") {
			t.Errorf("got %q, %d runs and %v, want a finding, run again each time, and no error", out, runs, err)
		}
	}
}

func TestAnUnknownCheckOrInputIsAnError(t *testing.T) {
	root := repository(t)
	if _, _, err := run(t, root, "itt"); err == nil || !strings.Contains(err.Error(), `no check "itt"`) {
		t.Errorf("got %v, want an error for a check that does not exist", err)
	}
	for _, word := range []string{"nowhere.txt", "go:nowhere", "data:nowhere", "block:README.md#Nothing", "what:ever"} {
		write(t, filepath.Join(root, folder, "scripts/it.sh"), "# reads: "+word+"\n")
		if _, _, err := run(t, root); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("reads %s: got %v, want an error that names it", word, err)
		}
	}
	write(t, filepath.Join(root, folder, "scripts/it.sh"), "true\n")
	if _, _, err := run(t, root); err == nil {
		t.Error("a check that reads nothing: got no error")
	}
}

var (
	pathWord = regexp.MustCompile(`(?:internal|cmd|trainer|docs|pipeline|python)/[A-Za-z0-9_./-]*[A-Za-z0-9_]`)
	envWord  = regexp.MustCompile(`env\.sh ([a-z-]+)`)
)

// What a script names, it declares: a check must not stay green when that changes. And
// a new machine can run it.
func TestEveryScriptDeclaresWhatItNames(t *testing.T) {
	root := moduleRoot()
	checks, err := readChecks(root)
	if err != nil {
		t.Fatal(err)
	}
	in, err := newInputs(root)
	if err != nil {
		t.Fatal(err)
	}
	paths := 0
	for _, c := range checks {
		if c.group != "" {
			continue
		}
		items := map[string]string{}
		for _, word := range c.reads {
			if strings.HasPrefix(word, "data:") {
				continue
			}
			if err := in.add(items, word); err != nil {
				t.Fatalf("%s reads %s: %v", c.name, word, err)
			}
		}
		text, err := os.ReadFile(filepath.Join(root, c.args[0]))
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(root, c.args[0])); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: %s is not executable (%v)", c.name, c.args[0], err)
		}
		for _, path := range pathWord.FindAllString(string(text), -1) {
			paths++
			if path == greenFile {
				continue
			}
			if info, err := os.Stat(filepath.Join(root, path)); err != nil || items[path] != "" || info.IsDir() && anyBelow(items, path) {
				continue
			}
			t.Errorf("%s names %s, which its lines \"# reads:\" leave out", c.name, path)
		}
		for _, env := range envWord.FindAllStringSubmatch(string(text), -1) {
			if items[folder+"/envs/"+env[1]+".txt"] == "" {
				t.Errorf("%s uses the Python %s, which its lines \"# reads:\" leave out", c.name, env[1])
			}
		}
	}
	if paths < 20 {
		t.Errorf("%d paths in all scripts: does the pattern still fit?", paths)
	}
}

func anyBelow(items map[string]string, dir string) bool {
	for name := range items {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}
