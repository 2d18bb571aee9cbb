package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// commandLine matches a line of a page that a reader would type.
var commandLine = regexp.MustCompile(`^ *(\$ )?(prepare-data|train-bert|python) `)

// Scripts run what page.sh finds in the pages of docs/for: so each page has a script, and
// no command stands where page.sh does not look.
func TestEveryCommandOfThePagesForConsumersIsRun(t *testing.T) {
	root := "../../.."
	scripts, err := filepath.Glob("scripts/*.sh")
	if err != nil {
		t.Fatal(err)
	}
	run := map[string]string{}
	for _, name := range scripts {
		text := read(t, name)
		for line := range strings.Lines(text) {
			words, ok := strings.CutPrefix(line, "# reads: ")
			if ok && (strings.Contains(text, `checks/page.sh" "$page"`) || strings.Contains(text, "checks/page.sh docs/for/")) {
				for _, word := range strings.Fields(words) {
					run[word] = name
				}
			}
		}
	}
	pages, err := filepath.Glob(root + "/docs/for/*.md")
	if err != nil || len(pages) < 9 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		name := "docs/for/" + filepath.Base(page)
		if run[name] == "" {
			t.Errorf("%s: no script runs its commands", name)
		}
		for _, line := range overlooked(read(t, page)) {
			t.Errorf("%s: page.sh overlooks a command: %s", name, line)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// overlooked returns the commands of a page that are outside its blocks of sh. Blocks of
// text are for other projects' programs.
func overlooked(page string) (lines []string) {
	block, found := "", 0
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		if language, ok := strings.CutPrefix(line, "```"); ok {
			block = language
			if language != "" && !slices.Contains([]string{"sh", "python", "yaml", "text"}, language) {
				lines = append(lines, line)
			}
			continue
		}
		own := strings.HasPrefix(strings.TrimSpace(line), "prepare-data ")
		switch {
		case block == "sh":
			found++
		case commandLine.MatchString(line) && (block != "text" || own):
			lines = append(lines, line)
		}
	}
	if found == 0 {
		lines = append(lines, "there is no block of sh")
	}
	return lines
}

func TestACommandOutsideABlockOfShIsOverlooked(t *testing.T) {
	const block = "```sh\nprepare-data run\n```\n"
	for page, want := range map[string]int{
		block:                                   0,
		block + "    prepare-data verify x\n":   1,
		"```\nprepare-data verify x\n```\n":     2,
		block + "```text\nprepare-data x\n```":  1,
		block + "```text\npython train.py\n```": 0,
		block + "```bash\nls\n```":              1,
	} {
		if got := overlooked(page); len(got) != want {
			t.Errorf("%q: got %q, want %d", page, got, want)
		}
	}
}
