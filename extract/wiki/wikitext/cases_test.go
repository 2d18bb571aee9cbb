package wikitext

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
)

// A case is a line of a case list: wikitext, and what its text must be.
// The fields are those of the shared list of cases.
type testCase struct {
	Name        string   `json:"name"`
	Category    string   `json:"category"`
	Wikitext    string   `json:"wikitext"`
	Expected    *string  `json:"expected"`
	Accept      []string `json:"accept"`
	Contains    []string `json:"contains"`
	NotContains []string `json:"not_contains"`
	Mode        string   `json:"mode"`
	Title       string   `json:"title"`
	Lang        string   `json:"lang"`
	Optional    bool     `json:"optional"`
}

func readCases(tb testing.TB, path string) []testCase {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var cases []testCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var c testCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		cases = append(cases, c)
	}
	return cases
}

// normal makes every run of white space one space.
func normal(s string) string { return strings.Join(strings.Fields(s), " ") }

func normalLines(s string) string {
	var lines []string
	for l := range strings.SplitSeq(s, "\n") {
		if l = normal(l); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

// wrong returns what is wrong with the text of a case, "" if nothing is.
func (c testCase) wrong(text string) string {
	compare := normal
	if c.Mode == "lines" {
		compare = normalLines
	}
	got := compare(text)
	var wanted []string
	if c.Expected != nil {
		wanted = append(wanted, *c.Expected)
	}
	wanted = append(wanted, c.Accept...)
	matches := slices.ContainsFunc(wanted, func(w string) bool { return compare(w) == got })
	if c.Expected != nil && !matches {
		return "want " + compare(*c.Expected)
	}
	if c.Expected == nil && matches {
		return ""
	}
	for _, part := range c.Contains {
		if !strings.Contains(normal(text), normal(part)) {
			return "must contain " + part
		}
	}
	for _, part := range c.NotContains {
		if strings.Contains(normal(text), part) {
			return "must not contain " + part
		}
	}
	return ""
}

func runCases(t *testing.T, path string) {
	s := NewScanner(DefaultOptions())
	for _, c := range readCases(t, path) {
		t.Run(c.Name, func(t *testing.T) {
			text := string(s.AppendText(nil, []byte(c.Wikitext), Page{Title: c.Title, Lang: c.Lang}))
			if why := c.wrong(text); why != "" {
				if c.Optional {
					t.Logf("optional: got %q, %s", text, why)
					return
				}
				t.Errorf("wikitext %q\n got %q\n %s", c.Wikitext, text, why)
			}
		})
	}
}

func TestSharedCasesGiveTheirText(t *testing.T) {
	runCases(t, realdata.Path(t, "cases/wikitext.jsonl"))
}

func TestOwnCasesGiveTheirText(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case lists: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".jsonl"), func(t *testing.T) { runCases(t, path) })
	}
}
